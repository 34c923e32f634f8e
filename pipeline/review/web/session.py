"""Routes of the session."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pipeline.review import trail
from pipeline.review.accounts import change_password, find_user, list_users, open_session, sign_in, sign_out
from pipeline.review.errors import Refused
from pipeline.review.web.access import COOKIE, Access, Anyone, SignedIn
from pipeline.store import Json

__all__ = ["router"]

router = APIRouter(prefix="/api/session")


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class Credentials(_Body):
    """A name and a password."""

    name: str = Field(max_length=200)
    password: str = Field(max_length=1000)


class NewPassword(_Body):
    """The password so far and the one to come."""

    current: str = Field(max_length=1000)
    new: str = Field(max_length=1000)


def _access(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


@router.get("")
def read(request: Request, caller: Anyone) -> Json:
    """Who is signed in."""
    return _access(request).session_json(caller.user, caller.token)


@router.post("")
def enter(request: Request, response: Response, body: Credentials, caller: Anyone) -> Json:
    """Sign in."""
    database = request.app.state.database
    address = request.client.host if request.client else "unknown"
    try:
        found = sign_in(database, body.name, body.password, address)
    except Refused as refused:
        if refused.code == "password_ended":
            with database.writing() as connection:
                trail.note(connection, None, "sign_in_failed", detail="one-time password not used in time")
        raise
    with database.writing() as connection:
        if caller.token is not None:  # whoever was signed in here before is not any more
            sign_out(connection, caller.token)
        if found:
            trail.note(connection, found[0], "sign_in")
        else:  # a name that nobody has may be a password in the wrong field
            known = any(one.name.casefold() == body.name.casefold() for one in list_users(connection))
            trail.note(connection, None, "sign_in_failed", detail=body.name.casefold() if known else None)
    if found is None:
        hint = "type both again, or ask your administrator"
        raise Refused(401, "wrong_credentials", "the name or the password is wrong", hint=hint)
    user, token = found
    _access(request).give(request, response, token)
    return _access(request).session_json(user, token)


@router.delete("", status_code=204)
def leave(request: Request, response: Response, caller: SignedIn) -> None:
    """Sign out."""
    assert caller.token is not None
    with request.app.state.database.writing() as connection:
        sign_out(connection, caller.token)
        trail.note(connection, caller.user, "sign_out")
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


@router.post("/password")
def password(request: Request, response: Response, body: NewPassword, caller: SignedIn) -> Json:
    """Take a new password."""
    assert caller.user is not None
    address = request.client.host if request.client else "unknown"
    try:
        change_password(request.app.state.database, caller.user, body.current, body.new, address)
    except Refused:
        with request.app.state.database.writing() as connection:
            trail.note(connection, caller.user, "change_password_failed")
        raise
    with request.app.state.database.writing() as connection:
        user = find_user(connection, caller.user.id)
        token = open_session(connection, user)
        trail.note(connection, user, "change_password")
    _access(request).give(request, response, token)
    return _access(request).session_json(user, token)
