"""What the six tasks share: instances, exclusions, thinning, and who counts as a client."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import THERAPIST, Scenario

__all__ = [
    "Built",
    "TaskOptions",
    "context_before",
    "context_upto",
    "instance",
    "is_client",
    "sample",
    "thin",
    "unique",
]

Item = TypeVar("Item")


class TaskOptions(BaseModel):
    """How instances are made; the defaults are those of the published benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    context_size: int | None = Field(default=None, ge=0)
    """Rows of context that an instance may show at most; none means all earlier rows. Rendering can show fewer."""
    rpp_therapist_rows_only: bool = True
    """RPP: only rows of the therapist count; else any row with a label, where a client's own field counts too."""
    ssp_emotion_window: int | None = Field(default=3, ge=0)
    """SSP: rows before the target row in which the target's most recent emotion is looked for; none means all."""
    max_per_conversation: int = Field(default=5, ge=1)
    """ER and VP: instances kept of a conversation, evenly thinned."""
    er_min_words: int = Field(default=5, ge=0)
    """ER: words that a row must have."""
    er_early_cut: float = Field(default=0.3, ge=0, lt=1)
    """ER: share of the rows at the start that are left out, since too little is known there."""


@dataclass
class Built:
    """The instances of one task in one conversation, and why other rows are none."""

    instances: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the task's table, without the columns of the conversation."""
    excluded: Counter[str] = field(default_factory=Counter)
    """Reason to number of rows."""


_ROLES = frozenset({THERAPIST, *(scenario.group_label for scenario in Scenario)})


def is_client(name: str) -> bool:
    """Whether a name is a person other than the therapist; ``Couple`` and ``Family`` are none in either scenario."""
    return name not in _ROLES


def thin(items: Sequence[Item], keep: int) -> list[Item]:
    """Keep ``keep`` items, evenly spread, in order.

    Position ``round(rank * (m - 1) / (k - 1))`` for rank 0..k-1 out of m, with Python's ``round`` (halves to even); the
    middle item when one is kept. Where two ranks meet, the free positions from the front fill up.

    Example:
        >>> thin(range(10), 4)
        [0, 3, 6, 9]
    """
    count = len(items)
    if keep >= count:
        return list(items)
    if keep <= 0:
        return []
    if keep == 1:
        return [items[count // 2]]
    chosen = {round(rank * (count - 1) / (keep - 1)) for rank in range(keep)}
    for position in range(count):
        if len(chosen) == keep:
            break
        chosen.add(position)
    return [items[position] for position in sorted(chosen)]


def sample(items: Sequence[Item], keep: int) -> list[Item]:
    """`thin` for ER and VP, which keep the first item where they keep one."""
    return list(items[:1]) if keep == 1 else thin(items, keep)


def context_before(row_index: int, options: TaskOptions) -> dict[str, int] | None:
    """First and last row of the longest context that ends before a row; None before the first one."""
    return context_upto(row_index - 1, options)


def context_upto(row_index: int, options: TaskOptions) -> dict[str, int] | None:
    """First and last row of the longest context that ends with a row."""
    size = options.context_size
    if row_index < 1 or size == 0:
        return None
    return {"first": 1 if size is None else max(1, row_index - size + 1), "last": row_index}


def instance(
    task: str, annotation: Annotation, row: Row, context: Mapping[str, int] | None, **gold: Any
) -> dict[str, Any]:
    """A row of a task's table. The id is a digest of task, conversation and row: it tells nothing of the class."""
    text = f"{task}\0{annotation.conversation_id}\0{row.row_index}"
    return {
        "instance_id": f"{task}-{hashlib.sha256(text.encode()).hexdigest()[:16]}",
        "task": task,
        "conversation_id": annotation.conversation_id,
        "scenario": annotation.scenario.value,
        "row_index": row.row_index,
        "context_rows": dict(context) if context else None,
        **gold,
    }


def unique(names: Iterable[str]) -> list[str]:
    """Without repeats, in order of first appearance."""
    return list(dict.fromkeys(names))
