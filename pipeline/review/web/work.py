"""Routes of the people who work on conversations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import FileResponse

from pipeline.review.desk import Desk
from pipeline.review.editing import Change
from pipeline.review.guidelines import guidelines_html
from pipeline.review.web.access import Person
from pipeline.store import Json

__all__ = ["router"]

router = APIRouter(prefix="/api")

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,100}$")]
"""An id in an address; what can be none does not exist."""
Version = Annotated[int, Path(ge=1, le=2_000_000_000)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class Check(_Body):
    """A row as it would be."""

    row_id: str
    fields: dict[str, Any]


class Done(_Body):
    """Whether the work is done."""

    done: bool


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


@router.get("/assignments")
def queue(request: Request, user: Person) -> Json:
    """The person's conversations."""
    return {"assignments": _desk(request).queue(user)}


@router.get("/assignments/{assignment}")
def conversation(request: Request, user: Person, assignment: Id) -> Json:
    """Everything of one conversation."""
    return _desk(request).open(user, assignment)


@router.get("/assignments/{assignment}/media")
def media(request: Request, user: Person, assignment: Id) -> FileResponse:
    """The recording; Starlette answers ranges."""
    found = _desk(request).media(user, assignment)
    return FileResponse(found.path, media_type=found.type, headers={"cache-control": "private, no-store"})


@router.get("/assignments/{assignment}/waveform")
def waveform(request: Request, user: Person, assignment: Id) -> FileResponse:
    """The waveform."""
    return FileResponse(_desk(request).waveform(user, assignment), media_type="application/octet-stream")


@router.post("/assignments/{assignment}/changes")
def save(request: Request, user: Person, assignment: Id, body: Change) -> Json:
    """Save a change."""
    return _desk(request).save(user, assignment, body)


@router.get("/assignments/{assignment}/changes")
def since(
    request: Request, user: Person, assignment: Id, since: Annotated[int, Query(ge=0, le=2_000_000_000)] = 0
) -> Json:
    """What changed since."""
    return _desk(request).since(user, assignment, since)


@router.post("/assignments/{assignment}/check")
def check(request: Request, user: Person, assignment: Id, body: Check) -> Json:
    """What the rules would say."""
    return {"findings": _desk(request).check(user, assignment, body.row_id, body.fields)}


@router.get("/assignments/{assignment}/rows/{row_id}/history")
def row_history(request: Request, user: Person, assignment: Id, row_id: Id) -> Json:
    """The changes of a row."""
    return {"entries": _desk(request).row_history(user, assignment, row_id)}


@router.get("/assignments/{assignment}/rows/{row_id}/history/{version}")
def row_at(request: Request, user: Person, assignment: Id, row_id: Id, version: Version) -> Json:
    """A row as it was."""
    return _desk(request).row_at(user, assignment, row_id, version)


@router.get("/assignments/{assignment}/history")
def history(
    request: Request,
    user: Person,
    assignment: Id,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2_000_000_000)] = None,
) -> Json:
    """The changes of the layer."""
    return {"entries": _desk(request).whole_history(user, assignment, limit=limit, before=before)}


@router.post("/assignments/{assignment}/done")
def done(request: Request, user: Person, assignment: Id, body: Done) -> Json:
    """The work is done, or open again."""
    return _desk(request).finish(user, assignment, done=body.done)


@router.get("/assignments/{assignment}/versions")
def versions(request: Request, user: Person, assignment: Id) -> Json:
    """What all annotators said, for the adjudicator."""
    return _desk(request).versions(user, assignment)


@router.get("/guidelines")
def guidelines(user: Person) -> Json:
    """The guidelines."""
    del user
    return {"html": guidelines_html()}
