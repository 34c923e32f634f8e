"""Routes of administrators."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from pipeline.review import trail
from pipeline.review.accounts import Role, add_user, change_user, list_users
from pipeline.review.assignments import Source, Task
from pipeline.review.errors import Refused
from pipeline.review.rating import NewBatch
from pipeline.review.web.access import Administrator
from pipeline.review.web.work import Id
from pipeline.store import Json

__all__ = ["router"]

router = APIRouter(prefix="/api")

UserId = Annotated[int, Path(ge=1, le=2_000_000_000)]
Key = Annotated[str, Path(max_length=400)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class NewUser(_Body):
    """An account to make."""

    name: str = Field(max_length=200)
    role: Role


class UserChange(_Body):
    """What to change of an account."""

    role: Role | None = None
    disabled: bool | None = Field(default=None, strict=True)
    reset_password: bool = Field(default=False, strict=True)


class NewAssignment(_Body):
    """Who gets a conversation, and for what."""

    user_id: int = Field(strict=True, ge=1, le=2_000_000_000)
    task: Task
    source: Source = Source.AUTO


class Export(_Body):
    """How to export."""

    replace: bool = Field(default=False, strict=True)


def _state(request: Request) -> Any:
    return request.app.state


def _days(request: Request) -> float:
    return float(_state(request).one_time_life / timedelta(days=1))


@router.get("/users")
def users(request: Request, user: Administrator) -> Json:
    """All accounts."""
    del user
    with _state(request).database.reading() as connection:
        return {"users": [one.to_json() for one in list_users(connection)]}


@router.post("/users", status_code=201)
def add(request: Request, user: Administrator, body: NewUser) -> Json:
    """Make an account."""
    with _state(request).database.writing() as connection:
        made = add_user(connection, body.name, body.role, life=_state(request).one_time_life)
        trail.note(connection, user, "add_user", detail=f"{made.user.name}, {made.user.role.value}")
    return {"user": made.user.to_json(), "password": made.password, "password_days": _days(request)}


@router.patch("/users/{user_id}")
def change(request: Request, user: Administrator, user_id: UserId, body: UserChange) -> Json:
    """Change an account."""
    if user_id == user.id:
        hint = "another administrator can; your password you change yourself"
        raise Refused(409, "exists", "you cannot change your own account here", hint=hint)
    with _state(request).database.writing() as connection:
        changed, password = change_user(
            connection, user_id, role=body.role, disabled=body.disabled, reset_password=body.reset_password,
            life=_state(request).one_time_life,
        )  # fmt: skip
        given = body.model_dump(mode="json", exclude_unset=True)
        detail = f"{changed.name}: {', '.join(f'{name} {value}' for name, value in sorted(given.items()))}"
        trail.note(connection, user, "change_user", detail=detail)
    return {"user": changed.to_json(), "password": password, "password_days": _days(request)}


@router.get("/conversations")
def conversations(request: Request, user: Administrator) -> Json:
    """All conversations."""
    del user
    return {"conversations": _state(request).office.conversations()}


@router.post("/conversations/{key}/assignments", status_code=201)
def assign(request: Request, user: Administrator, key: Key, body: NewAssignment) -> Json:
    """Give a conversation to a person."""
    return _state(request).office.assign(user, key, body.user_id, body.task, body.source)


@router.delete("/conversations/{key}/assignments/{assignment}", status_code=204)
def withdraw(request: Request, user: Administrator, key: Key, assignment: Id) -> None:
    """Take a conversation from a person."""
    _state(request).office.withdraw(user, key, assignment)


@router.post("/conversations/{key}/export")
def export(request: Request, user: Administrator, key: Key, body: Export) -> Json:
    """Write annotation files."""
    done = _state(request).office.export(user, key, replace=body.replace)
    return {"files": done.files, "notes": done.notes}


@router.get("/batches")
def batches(request: Request, user: Administrator) -> Json:
    """All batches of ratings."""
    del user
    return _state(request).ratings.overview()


@router.post("/batches", status_code=201)
def add_batch(request: Request, user: Administrator, body: NewBatch) -> Json:
    """Make a batch."""
    return _state(request).ratings.add(body, user)


@router.post("/batches/{batch}/export")
def export_batch(request: Request, user: Administrator, batch: Id) -> Json:
    """Write the ratings of a batch."""
    return {"files": _state(request).ratings.export(batch, user)}


@router.get("/audit")
def audit(
    request: Request,
    user: Administrator,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Json:
    """The audit log."""
    del user
    with _state(request).database.reading() as connection:
        return {"entries": trail.entries(connection, limit=limit, before=before)}
