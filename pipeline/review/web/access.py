"""Who asks: the session cookie, the CSRF token, the role."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request, Response
from itsdangerous import BadSignature, URLSafeSerializer

from pipeline import __version__
from pipeline.review.accounts import Role, User, session_user, touch_session
from pipeline.review.database import Database
from pipeline.review.errors import NotFound, Refused
from pipeline.review.rights import make_private
from pipeline.store import Json, atomic_path

__all__ = ["COOKIE", "Access", "Administrator", "Anyone", "Caller", "Person", "SignedIn", "read_secret"]

COOKIE = "rescue_session"


def read_secret(folder: Path) -> bytes:
    """The key that signs sessions; made at the first start, readable for the owner alone."""
    path = folder / "secret.key"
    if not path.is_file():
        with atomic_path(path) as temporary:
            temporary.write_bytes(secrets.token_bytes(32))
        make_private(path)
    return path.read_bytes()


@dataclass(frozen=True)
class Caller:
    """Who sent a request."""

    user: User | None
    token: str | None


class Access:
    """Sessions in cookies."""

    def __init__(self, database: Database, secret: bytes, idle: timedelta) -> None:
        self._database = database
        self._secret = secret
        self._cookies = URLSafeSerializer(secret, salt="session", signer_kwargs={"digest_method": hashlib.sha256})
        self._idle = idle

    def caller(self, request: Request) -> Caller:
        """The person whose session the cookie names, if it is good."""
        try:
            token = self._cookies.loads(request.cookies.get(COOKIE, ""))
        except BadSignature:
            return Caller(None, None)
        if not isinstance(token, str):
            return Caller(None, None)
        with self._database.reading() as connection:
            user, due = session_user(connection, token, self._idle)
        if user is not None and due:
            with self._database.writing() as connection:
                touch_session(connection, token, user)
        return Caller(user, token if user else None)

    def csrf(self, token: str) -> str:
        """The token that every change must bear: known only to a page that can read our answers."""
        return hmac.new(self._secret, b"csrf:" + token.encode(), hashlib.sha256).hexdigest()

    def check_csrf(self, request: Request, token: str) -> None:
        """Refuse a change without its token.

        Raises:
            Refused: If it is missing or wrong.
        """
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), self.csrf(token).encode()):
            raise Refused(403, "csrf", "the request bears no valid token", hint="load the page again")

    def give(self, request: Request, response: Response, token: str) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            COOKIE, self._cookies.dumps(token), httponly=True, samesite="strict", secure=request.url.scheme == "https",
            path="/",
        )  # fmt: skip

    def session_json(self, user: User | None, token: str | None) -> dict[str, Json]:
        """The session as its page sees it."""
        shown = None
        if user is not None:
            shown = {
                "id": user.id,
                "name": user.name,
                "role": user.role.value,
                "must_change_password": user.must_change_password,
            }
        return {"user": shown, "csrf": self.csrf(token) if token else None, "version": __version__}


def _caller(request: Request) -> Caller:
    access: Access = request.app.state.access
    return access.caller(request)


Anyone = Annotated[Caller, Depends(_caller)]
"""Also who is not signed in."""


def _signed_in(request: Request, caller: Anyone) -> Caller:
    if caller.user is None or caller.token is None:
        raise Refused(401, "signed_out", "you are not signed in", hint="sign in again")
    if request.method not in ("GET", "HEAD"):
        access: Access = request.app.state.access
        access.check_csrf(request, caller.token)
    return caller


SignedIn = Annotated[Caller, Depends(_signed_in)]
"""Who is signed in, also if a new password is due."""


def _person(caller: SignedIn) -> User:
    assert caller.user is not None
    if caller.user.must_change_password:
        raise Refused(403, "password_change_needed", "choose a password of your own first", hint="change it")
    return caller.user


Person = Annotated[User, Depends(_person)]
"""Who is signed in and may work."""


def _with_role(role: Role) -> Callable[[User], User]:
    def checked(user: Person) -> User:
        if user.role is not role:
            raise NotFound
        return user

    return checked


Administrator = Annotated[User, Depends(_with_role(Role.ADMINISTRATOR))]
"""Who may administer; the route is not there for others."""
