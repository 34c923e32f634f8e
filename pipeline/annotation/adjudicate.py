"""One annotation out of several, by a rule that is stated and applied the same way every time.

1. Only reviewed versions count; drafts do not. An author counts once.
2. A stretch is a row of the result if more than half of the authors have it, counted with those who do not.
3. Each field takes the value that more than half of the authors of the stretch gave.
4. Where no value has that, the field takes the value of the first author in the order given, and is listed as open: a
   person decides it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.annotation.model import Annotation, Origin, Row, Status
from pipeline.annotation.versions import Unit, Version, unite
from pipeline.errors import InputError
from pipeline.store import Json, digest_json
from pipeline.times import Seconds

__all__ = ["Adjudicated", "Open", "adjudicate"]

AUTHOR = "adjudication"
_TIMES = ("start_time", "end_time")


@dataclass(frozen=True)
class Open:
    """Something that the rule leaves to a person."""

    row: int | None
    """Row of the result; None for a stretch that did not become a row."""
    start_time: Seconds
    field: str
    given: dict[str, Json]
    """Author to value."""


@dataclass(frozen=True)
class Adjudicated:
    """The result of the rule."""

    annotation: Annotation
    open: tuple[Open, ...]
    units: tuple[Unit, ...]
    """The stretches, with the rows of each author."""


def adjudicate(versions: Sequence[Version], *, tolerance: Seconds = 0.2) -> Adjudicated:
    """Apply the rule.

    Args:
        versions: One for each author; the first one decides where the rule leaves something open.
        tolerance: Seconds by which times may differ and still be the same; the first author's is taken then.

    Raises:
        InputError: If fewer than two reviewed versions are there, or two are of one author.
    """
    counted = [version for version in versions if version.origin.status is not Status.DRAFT]
    authors = [version.origin.author for version in counted]
    if len(counted) < 2:
        msg = f"{len(counted)} reviewed versions; at least two are needed"
        conversation = versions[0].annotation.conversation_id if versions else None
        raise InputError(msg, conversation=conversation, hint="put one file an author into `annotations/`")
    if len(set(authors)) < len(authors):
        twice = next(author for author in authors if authors.count(author) > 1)
        msg = f"two versions are by {twice!r}"
        raise InputError(msg, conversation=counted[0].annotation.conversation_id, hint="keep one of them")
    units = unite([(version.origin.author, version.annotation) for version in counted])
    kept = [unit for unit in units if 2 * len(unit) > len(counted)]
    left_open: list[Open] = []
    for unit in units:
        if 2 * len(unit) == len(counted):  # as many have it as have it not
            first = next(iter(unit.values()))
            left_open.append(
                Open(None, first.start_time, "row", {author: row.row_index for author, row in unit.items()})
            )
    rows = []
    new_index = {
        (author, row.row_index): position for position, unit in enumerate(kept, start=1) for author, row in unit.items()
    }
    for position, unit in enumerate(kept, start=1):
        values = {author: _renumbered(row, author, new_index) for author, row in unit.items()}
        row, undecided = _decide(values, position, authors, tolerance)
        rows.append(row)
        left_open += undecided
    first_version = counted[0].annotation
    times = [version.origin.time for version in counted if version.origin.time]
    status = Status.REVIEWED if left_open else Status.ADJUDICATED
    made = first_version.model_copy(
        update={
            "rows": tuple(rows),
            "participants": tuple(dict.fromkeys(name for v in counted for name in v.annotation.participants)),
            # The time of the newest version, not of this run: the same versions give the same bytes.
            "origin": Origin(author=AUTHOR, time=max(times) if times else None, status=status),
        }
    )
    return Adjudicated(made, tuple(left_open), tuple(units))


def _renumbered(row: Row, author: str, new_index: dict[tuple[str, int], int]) -> dict[str, Json]:
    """The row's values; evidence points to rows of the result, and to none that is not there."""
    values = row.model_dump(mode="json")
    for field in ("relation_pattern_evidence_rows", "relation_cycle_evidence_rows"):
        if values[field] is not None:
            found = [new_index[author, index] for index in values[field] if (author, index) in new_index]
            values[field] = found
    return values


def _decide(
    values: dict[str, dict[str, Json]], index: int, authors: Sequence[str], tolerance: Seconds
) -> tuple[Row, list[Open]]:
    order = [author for author in authors if author in values]
    decided: dict[str, Json] = {"row_index": index}
    undecided: list[Open] = []
    for field in Row.model_fields:
        if field == "row_index":
            continue
        given = {author: values[author][field] for author in order}
        near = tolerance if field in _TIMES else None
        ahead = next((author for author in order if _has_most(given[author], given.values(), near)), None)
        if ahead is None:
            undecided.append(Open(index, float(values[order[0]]["start_time"]), field, given))
        decided[field] = given[ahead or order[0]]
    return Row.model_validate(decided), undecided


def _has_most(value: Json, given: Collection[Json], near: Seconds | None) -> bool:
    """Whether more than half gave this value, or one near it."""
    if near is None:
        same = sum(digest_json(other) == digest_json(value) for other in given)
    else:
        same = sum(abs(other - value) <= near for other in given)
    return 2 * same > len(given)
