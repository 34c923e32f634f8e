"""What an edit does to a row: merged field by field with what others saved meanwhile, or refused as a conflict.

A save says which version of the row it was made on. Fields that nobody changed since go in. A field that both changed,
to different values, is a conflict, and then nothing of the change is applied: nothing is ever overwritten unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.review.entries import DRAFT, FIELDS, VERIFIED, Entry, fields_of, row_json
from pipeline.review.errors import Conflict, Invalid
from pipeline.review.layers import Changed, Layer
from pipeline.store import Json

__all__ = ["Change", "Edited", "History", "apply_edits"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


RowId = Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
Base = Annotated[int, Field(ge=1, le=2_000_000_000)]


class Edit(_Shape):
    """Set some fields, and the status if it is given."""

    op: Literal["edit"]
    row_id: RowId
    base_version: Base
    fields: dict[str, Any] = Field(default_factory=dict)
    status: Literal["draft", "verified"] | None = None


class Insert(_Shape):
    """A new row."""

    op: Literal["insert"]
    row_id: RowId
    fields: dict[str, Any]


class Discard(_Shape):
    """Take a row out, with the reason."""

    op: Literal["discard"]
    row_id: RowId
    base_version: Base
    reason: str = Field(min_length=1, max_length=1000)


class Undiscard(_Shape):
    """Bring a row back."""

    op: Literal["undiscard"]
    row_id: RowId
    base_version: Base


class Restore(_Shape):
    """The row as it was at an earlier version."""

    op: Literal["restore"]
    row_id: RowId
    base_version: Base
    to_version: Base


class MachineSeen(_Shape):
    """What recognition says now was looked at."""

    op: Literal["machine_seen"]
    row_id: RowId
    base_version: Base


_Later = Edit | Discard | Undiscard | Restore | MachineSeen
"""What is done to a row that is there."""
AnyEdit = Annotated[Insert | _Later, Field(discriminator="op")]


class Change(_Shape):
    """Edits that are applied together or not at all."""

    change_id: RowId
    edits: Annotated[list[AnyEdit], Field(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class History:
    """What an edit may have to look up."""

    since: Callable[[str, int], Sequence[Any]]
    """Row id and version to the later changes: each with ``delta``, ``by``, ``at``."""
    at: Callable[[Entry, int], Entry]
    """A row as at a version."""
    machine: Callable[[Entry], Mapping[str, Json] | None]
    """What recognition says now of a row's stretch."""


@dataclass
class Edited:
    """What came of the edits of a change."""

    changed: list[Changed] = field(default_factory=list)
    merged: dict[str, list[str]] = field(default_factory=dict)
    """Row id to fields that somebody else had changed and that stay."""
    to_verify: set[str] = field(default_factory=set)
    """Rows that are verified by this change: they must be free of errors."""


def apply_edits(layer: Layer, edits: Sequence[AnyEdit], past: History) -> Edited:
    """Apply edits to a layer, without storing anything.

    Raises:
        Invalid: If an edit cannot be applied to any state of the row.
        Conflict: If others changed the same fields; it holds every conflict of the change.
    """
    _check_ids(layer, edits)
    # Evidence may name a row that this same change brings in.
    ids = [*layer.entries, *(edit.row_id for edit in edits if isinstance(edit, Insert))]
    sequence = max((entry.sequence for entry in layer.entries.values()), default=0)
    edited = Edited()
    conflicts: list[Json] = []
    for position, edit in enumerate(edits):
        place = f"edits.{position}"
        if isinstance(edit, Insert):
            sequence += 1
            edited.changed.append(_inserted(edit, sequence, ids, place))
            continue
        entry = layer.entries[edit.row_id]
        if edit.base_version > entry.version:
            raise Invalid(f"{place}.base_version", f"the row has only {entry.version} versions")
        later = past.since(entry.row_id, edit.base_version) if edit.base_version < entry.version else ()
        target = _target(entry, edit, ids, past, place)
        conflict = _conflict(entry, edit, target, later)
        if conflict is not None:
            conflicts.append(conflict)
            continue
        theirs = [name for name in _changed_in(later) if name in FIELDS and name not in target.named]
        if theirs:
            edited.merged[entry.row_id] = theirs
        after = replace(target.entry, version=entry.version + 1)
        delta = _delta(entry, after)
        if delta:
            edited.changed.append(Changed(after, edit.op, delta))
        if after.status == VERIFIED and (entry.status != VERIFIED or delta):
            edited.to_verify.add(entry.row_id)
    if conflicts:
        raise Conflict(conflicts)
    return edited


def _inserted(edit: Insert, sequence: int, ids: Sequence[str], place: str) -> Changed:
    for needed in ("start_time", "end_time"):
        if needed not in edit.fields:
            raise Invalid(f"{place}.fields.{needed}", "a new row needs it")
    fields = fields_of(edit.fields, None, ids, f"{place}.fields")
    return Changed(Entry(edit.row_id, 1, sequence, fields, origin={"from": "person"}), "insert", ())


@dataclass(frozen=True)
class _Target:
    """What an edit wants a row to be."""

    entry: Entry
    named: frozenset[str]
    """Fields that the edit speaks about."""
    whole: bool
    """Whether it speaks about the row as its author saw it, so that any later change is one that was not seen."""


def _check_ids(layer: Layer, edits: Sequence[AnyEdit]) -> None:
    seen: set[str] = set()
    for position, edit in enumerate(edits):
        place = f"edits.{position}.row_id"
        if edit.row_id in seen:
            raise Invalid(place, "one change edits a row once")
        seen.add(edit.row_id)
        if isinstance(edit, Insert) == (edit.row_id in layer.entries):
            there = "it is there already" if isinstance(edit, Insert) else "there is no such row"
            raise Invalid(place, there)


def _target(entry: Entry, edit: _Later, ids: Sequence[str], past: History, place: str) -> _Target:
    if isinstance(edit, Discard):
        if not edit.reason.strip():
            raise Invalid(f"{place}.reason", "say why")
        target = replace(entry, discarded=True, discard_reason=edit.reason, status=DRAFT)
        return _Target(target, frozenset({"discarded"}), whole=not entry.discarded)
    if isinstance(edit, Undiscard):
        target = replace(entry, discarded=False, discard_reason=None)
        return _Target(target, frozenset({"discarded"}), whole=False)
    if isinstance(edit, Restore):
        old = past.at(entry, edit.to_version)
        target = replace(
            entry, fields=old.fields, status=old.status, discarded=old.discarded, discard_reason=old.discard_reason
        )
        return _Target(target, frozenset({*FIELDS, "status", "discarded"}), whole=True)
    if isinstance(edit, MachineSeen):
        return _Target(replace(entry, machine=past.machine(entry)), frozenset(), whole=False)
    assert isinstance(edit, Edit)
    given = fields_of(edit.fields, entry.fields, ids, f"{place}.fields")
    fields = {**entry.fields, **given}
    touched = any(entry.fields[name] != value for name, value in given.items())
    status = edit.status or (DRAFT if touched else entry.status)
    named = frozenset((*given, *(["status"] if edit.status else [])))
    return _Target(replace(entry, fields=fields, status=status), named, whole=edit.status == VERIFIED)


def _conflict(entry: Entry, edit: _Later, target: _Target, later: Sequence[Any]) -> Json | None:
    """What others changed since and this edit would undo, or judge without having seen it; None if there is nothing."""
    now, yours = _parts(entry), _wanted(edit, target)
    if isinstance(edit, Edit) and entry.discarded:
        changed = ["discarded"]  # also where its author knew: it must be brought back first
    else:
        scope = [name for name in _changed_in(later) if name in now and (target.whole or name in target.named)]
        changed = [name for name in scope if name not in yours or yours[name] != now[name]]
    if not changed:
        return None
    first = {part["field"]: part["from"] for change in reversed(later) for part in change.delta}
    last = {part["field"]: change for change in later for part in change.delta}
    return {
        "row_id": entry.row_id,
        "base_version": edit.base_version,
        "row": row_json(entry, None),
        "yours": yours,
        "fields": [
            {
                "field": name,
                "base": first.get(name),
                "theirs": now[name],
                "yours": yours.get(name, first.get(name)),
                "by": last[name].by if name in last else None,
                "at": last[name].at if name in last else None,
            }
            for name in changed
        ],
        "merged": {name: value for name, value in yours.items() if name not in changed},
    }


def _wanted(edit: _Later, target: _Target) -> dict[str, Json]:
    """The fields that an edit itself gives."""
    parts = _parts(target.entry)
    return {name: parts[name] for name in target.named} if not isinstance(edit, Restore) else parts


def _parts(entry: Entry) -> dict[str, Json]:
    return {**entry.fields, "status": entry.status, "discarded": entry.discarded}


def _changed_in(later: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(part["field"] for change in later for part in change.delta))


def _delta(before: Entry, after: Entry) -> list[Mapping[str, Json]]:
    old = {**_parts(before), "discard_reason": before.discard_reason, "machine": before.machine}
    new = {**_parts(after), "discard_reason": after.discard_reason, "machine": after.machine}
    return [{"field": name, "from": old[name], "to": new[name]} for name in new if old[name] != new[name]]
