"""A draft as one more version beside those of people, which it never touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.annotation.io import read_annotation, save_annotation
from pipeline.annotation.model import Annotation, Origin, Row, Status
from pipeline.annotation.versions import FOLDER, version_files
from pipeline.errors import InputError
from pipeline.keys import key_of
from pipeline.station import Workspace
from pipeline.store import digest_json

__all__ = ["Place", "author_of", "place_for", "save_draft"]

_WAY_OUT = "give the draft a name of its own with --as NAME"


@dataclass(frozen=True)
class Place:
    """Where a draft goes."""

    workspace: Workspace
    author: str
    model: str
    """Full name."""

    @property
    def path(self) -> Path:
        """The version file."""
        return self.workspace.raw / FOLDER / f"{key_of(self.author)}.json"

    def check(self) -> Annotation | None:
        """The draft of this model that may be replaced; None if there is none.

        Raises:
            InputError: If the name is taken by anything else: work of a person, another model's draft, or this model's
                that was edited since, or the annotation of the conversation.
        """
        identity, path = self.workspace.conversation.id, self.path
        named = self.workspace.source(self.workspace.conversation.annotations)
        if named is not None and named.absolute() == path.absolute():
            msg = "the file is the annotation of the conversation"
            raise InputError(msg, conversation=identity, file=path, hint=_WAY_OUT)
        for other in version_files(self.workspace.raw):
            if other.stem.casefold() == path.stem.casefold() and other.name != path.name:
                msg = f"{self.author!r} has another file there"
                raise InputError(msg, conversation=identity, file=other, hint=_WAY_OUT)
        if not path.exists():
            return None
        try:
            found = read_annotation(path)
        except InputError as error:
            msg = "a file of that name is there, and no draft"
            raise InputError(msg, conversation=identity, file=path, hint=_WAY_OUT) from error
        origin = found.origin
        if origin is None or origin.status is not Status.DRAFT or origin.rows_digest is None:
            msg = "a person's annotation has that name"
            raise InputError(msg, conversation=identity, file=path, hint=_WAY_OUT)
        if origin.rows_digest != _digest(found.rows):
            msg = "the draft was edited since it was written"
            raise InputError(msg, conversation=identity, file=path, hint=_WAY_OUT)
        if origin.model != self.model:
            msg = f"the name belongs to a draft of {origin.model}"
            raise InputError(msg, conversation=identity, file=path, hint=_WAY_OUT)
        return found


def author_of(model: str) -> str:
    """Whose work a draft is, where no name is given."""
    return f"model:{model}"


def place_for(workspace: Workspace, model: str, name: str | None) -> Place:
    """Where the draft of a model goes, after a look that nothing of a person is there.

    Raises:
        InputError: If the place is taken.
    """
    place = Place(workspace, name or author_of(model), model)
    place.check()
    return place


def save_draft(place: Place, annotation: Annotation, prompt_digest: str) -> Path:
    """Write a draft, unless the same one is there.

    Raises:
        InputError: If the place was taken meanwhile.
    """
    origin = Origin(
        author=place.author,
        time=datetime.now(UTC).replace(microsecond=0),
        status=Status.DRAFT,
        model=place.model,
        prompt_digest=prompt_digest,
        rows_digest=_digest(annotation.rows),
    )
    before = place.check()
    if before is not None and before.origin is not None:
        earlier = before.origin.model_copy(update={"time": origin.time})
        if earlier == origin:
            return place.path
    save_annotation(place.path, annotation.model_copy(update={"origin": origin}))
    return place.path


def _digest(rows: Sequence[Row]) -> str:
    return digest_json([row.model_dump(mode="json") for row in rows])
