"""Our JSON form of an annotation: read with repairs recorded, and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pipeline.annotation.findings import Change
from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation, Row
from pipeline.annotation.normalize import normalize_rows
from pipeline.conversation import Conversation, Scenario
from pipeline.errors import InputError
from pipeline.store import Json, write_text

__all__ = ["Loaded", "annotation_of", "load_annotation", "read_annotation", "save_annotation"]


@dataclass(frozen=True)
class Loaded:
    """An annotation, and what was repaired to read it."""

    annotation: Annotation
    changes: tuple[Change, ...]


def load_annotation(path: Path, conversation: Conversation) -> Loaded:
    """Read an annotation file of a conversation, repairing what is certain.

    The file is our JSON or one sample of the published release: an object with ``rows``.

    Raises:
        InputError: If it is missing, no JSON, or a row has the wrong shape; the message names row and field.
    """
    return annotation_of(_read(path, conversation.id), conversation, path)


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
    """Write an annotation as our JSON, atomically."""
    write_text(path, annotation.model_dump_json(indent=2) + "\n")


def _read(path: Path, conversation_id: str) -> Mapping[str, Json]:
    try:
        value = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError as error:
        msg = "there is no such file"
        hint = "check `annotations:` in conversation.yaml"
        raise InputError(msg, conversation=conversation_id, file=path, hint=hint) from error
    except UnicodeDecodeError as error:
        msg = "the file is not UTF-8 text"
        raise InputError(msg, conversation=conversation_id, file=path, hint="save it again as UTF-8") from error
    except json.JSONDecodeError as error:
        msg = f"the file is not JSON: {error.msg}"
        raise InputError(msg, conversation=conversation_id, file=path, place=f"line {error.lineno}") from error
    if not isinstance(value, dict):
        msg = "the file holds no object"
        raise InputError(msg, conversation=conversation_id, file=path, hint='it needs {"rows": [...]}')
    return value


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
