"""From raw rows to an annotation, with repairs recorded; and our own JSON, exact both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from pipeline.annotation.findings import Change
from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation, Origin, Row
from pipeline.annotation.normalize import normalize_rows
from pipeline.conversation import Conversation, Scenario
from pipeline.errors import InputError
from pipeline.store import Json, write_text

__all__ = ["Loaded", "annotation_of", "read_annotation", "save_annotation"]


@dataclass(frozen=True)
class Loaded:
    """An annotation, and what was repaired to read it."""

    annotation: Annotation
    changes: tuple[Change, ...]


def annotation_of(value: Mapping[str, Json], conversation: Conversation, path: Path | None = None) -> Loaded:
    """An annotation from an object with ``rows``.

    Raises:
        InputError: If a row has the wrong shape, the scenario is unknown, or it names another conversation.
    """
    rows = value.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        msg = "the file holds no list of `rows`"
        raise InputError(msg, conversation=conversation.id, file=path, hint='it needs {"rows": [{...}, ...]}')
    named = value.get("conversation_id") or value.get("sample_id")
    if named is not None and named != conversation.id:
        msg = f"the file belongs to conversation {named!r}"
        raise InputError(msg, conversation=conversation.id, file=path, hint="give each conversation its own file")
    scenario = conversation.scenario or value.get("scenario")
    if scenario is None:
        msg = "it is not said whether this is a couple or a family"
        raise InputError(msg, conversation=conversation.id, hint="add `scenario: couple` to conversation.yaml")
    try:
        known = Scenario(scenario)
    except ValueError as error:
        msg = f"the scenario {scenario!r} is neither couple nor family"
        raise InputError(msg, conversation=conversation.id, file=path, place="field scenario") from error
    fixed, changes = normalize_rows(rows, conversation_id=conversation.id, labels=label_set(known), scenario=known)
    return Loaded(
        Annotation(
            conversation_id=conversation.id,
            scenario=known,
            participants=tuple(conversation.participants or value.get("participants") or ()),
            source_file=value.get("source_file"),
            origin=_origin(value.get("origin"), conversation.id, path),
            rows=_rows(fixed, conversation.id, path),
        ),
        tuple(changes),
    )


def read_annotation(path: Path) -> Annotation:
    """Read an annotation that `save_annotation` wrote, exactly.

    Raises:
        InputError: If it is missing, or not of that form.
    """
    try:
        return Annotation.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        msg = "the annotation is missing"
        raise InputError(msg, file=path, hint="run `rescue build`") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(first["msg"], file=path, place=place, hint="delete it and run `rescue build`") from error


def save_annotation(path: Path, annotation: Annotation) -> None:
    """Write an annotation as our JSON, atomically.

    Raises:
        InputError: If a text is none: half of a surrogate pair, as programs leave that cut in the middle of an emoji.
    """
    try:
        content = annotation.model_dump_json(indent=2)
    except PydanticSerializationError as error:
        place = next((f"row {row.row_index}" for row in annotation.rows if not _is_text(row)), None)
        msg = "a text holds half of a character"
        hint = "delete the broken character, often an emoji at the end of a text"
        raise InputError(msg, conversation=annotation.conversation_id, place=place, hint=hint) from error
    write_text(path, content + "\n")


def _is_text(row: Row) -> bool:
    try:
        row.model_dump_json()
    except PydanticSerializationError:
        return False
    return True


def _origin(value: Json, conversation_id: str, path: Path | None) -> Origin | None:
    try:
        return None if value is None else Origin.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(("origin", *(str(part) for part in first["loc"])))
        hint = "an origin has `author`, `time` and `status` (draft, reviewed, adjudicated)"
        raise InputError(first["msg"], conversation=conversation_id, file=path, place=place, hint=hint) from error


def _rows(rows: Sequence[Mapping[str, Json]], conversation_id: str, path: Path | None) -> tuple[Row, ...]:
    result = []
    for position, row in enumerate(rows, start=1):
        try:
            result.append(Row.model_validate(row))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            place = f"row {row.get('row_index', position)}, field {field}"
            hint = "docs/reference/formats.md lists the fields" if first["type"] == "extra_forbidden" else None
            raise InputError(first["msg"], conversation=conversation_id, file=path, place=place, hint=hint) from error
    return tuple(result)
