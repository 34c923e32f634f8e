"""The leak audit: no prompt shows its answer or any later row, and no id tells the class.

Every field that could give an answer away, and every row after the last visible one, gets a marker that occurs nowhere
else. Then every instance is rendered in every mode and batch. A marker in a request is a leak. This also catches a leak
that nobody thought of: it does not depend on which fields the renderer should show, only on what may be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.schemas import TASKS, read_rows
from pipeline.tasks.render import Mode, Prompt, RenderOptions, batches, render

__all__ = [
    "Leak",
    "Renderer",
    "all_options",
    "audit_batches",
    "audit_ids",
    "audit_instances",
    "audit_prompts",
    "marked",
]

RowValue = Mapping[str, Any]
Instance = Mapping[str, Any]
Renderer = Callable[[Instance, Sequence[RowValue], RenderOptions], Prompt]

_GOLD_FIELDS = (
    "utterance_type",
    "internal_emotion",
    "viewpoints_attitudes",
    "support_strategy",
    "relation_label",
    "relation_pattern",
    "relation_pattern_reason",
    "relation_cycle_state",
    "relation_cycle_reason",
)
"""Fields that hold an answer of some task; never shown, of any row. SSP's recent emotion comes in the instance."""

_ANSWERS = frozenset({"label", "target", "strategy", "emotion", "viewpoints"})
"""Columns of task tables that hold the answer itself."""

_MARKER = re.compile(r"zq[a-z]+\d+qz")
_TELLING = re.compile(
    r"(?:^|[^a-z])(pos|neg|positive|negative|gold|true|false|yes|no|actual|continue)(?:[^a-z]|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class Leak:
    """One place where a request shows too much."""

    task: str
    instance_id: str
    kind: str
    """``answer``, ``later row``, ``batch``, ``id``."""
    detail: str


def marked(rows: Iterable[RowValue]) -> list[dict[str, Any]]:
    """The rows with a marker in every text: ``zqrow12qz`` in what may be shown, ``zqgold12qz`` in what never may."""
    result = []
    for row in rows:
        index = row["row_index"]
        changed = {
            name: _mark(value, f"zqgold{index}qz" if name in _GOLD_FIELDS else f"zqrow{index}qz", name)
            for name, value in row.items()
        }
        result.append(changed)
    return result


def audit_instances(
    instances: Iterable[Instance],
    rows: Mapping[str, Sequence[RowValue]],
    options: Iterable[RenderOptions],
    renderer: Renderer = render,
) -> list[Leak]:
    """Render every instance with every set of options, and look for markers that may not be there.

    Args:
        instances: Rows of the task tables, of any task.
        rows: Conversation id to its rows.
        options: The ways of showing to try.
        renderer: What renders; the audit of another renderer shows where it leaks.
    """
    ways = list(options)
    marks = {conversation: marked(listed) for conversation, listed in rows.items()}
    leaks = []
    for plain in instances:
        gold = f"zqgold{plain['row_index']}qz"
        instance = {name: _mark(value, gold, name) if name in _ANSWERS else value for name, value in plain.items()}
        for way in ways:
            prompt = renderer(instance, marks[instance["conversation_id"]], way)
            leaks += _look(instance, f"{prompt.system}\n{prompt.user}", _last_visible(instance, way))
    return leaks


def audit_batches(
    instances: Sequence[Instance],
    sizes: Iterable[int],
    batcher: Callable[[Iterable[Instance], int], Iterable[Sequence[Instance]]] = batches,
) -> list[Leak]:
    """Put instances into requests of every size, and look for one whose context answers another one of the request."""
    leaks = []
    for size in sizes:
        for batch in batcher(instances, size):
            for one in batch:
                for other in batch:
                    if other is not one and _answers(other, one):
                        detail = f"shown together with {other['instance_id']} in a request of {size}"
                        leaks.append(Leak(one["task"], one["instance_id"], "batch", detail))
    return leaks


def audit_ids(instances: Iterable[Instance]) -> list[Leak]:
    """Look for ids with a word that tells the class. `leak_score` of the tests also tries to learn it."""
    return [
        Leak(instance["task"], instance["instance_id"], "id", f"the id says {match[1]!r}")
        for instance in instances
        if (match := _TELLING.search(str(instance["instance_id"])))
    ]


def audit_prompts(prompts: Iterable[Mapping[str, Any]]) -> list[Leak]:
    """Audit prompts that were rendered elsewhere from marked rows.

    Args:
        prompts: Mappings with ``task``, ``instance_id``, ``prompt`` (the whole text of the request that the instance
            was sent in), and ``last_visible`` (the last row that it may show).
    """
    leaks = []
    for prompt in prompts:
        leaks += _look(prompt, str(prompt["prompt"]), int(prompt["last_visible"]))
        leaks += audit_ids([prompt])
    return leaks


def all_options(context_sizes: Iterable[int | None] = (None, 0, 1, 3)) -> list[RenderOptions]:
    """Every mode with every context length and every switch: what `audit_instances` tries by default."""
    return [
        RenderOptions(mode=mode, context_size=size, include_current=current, candidate_order=order)
        for mode in Mode
        for size in context_sizes
        for current in (False, True)
        for order in ("fixed", "shuffled")
    ]


def audit_built(benchmark: Path, *, limit: int | None = None) -> tuple[list[Leak], int]:
    """Audit the instances of a built data set in every way of showing and in requests of several sizes.

    Args:
        benchmark: The folder with the tables.
        limit: Instances of each task at most, the first ones.

    Returns:
        The leaks, and how many instances were looked at.
    """
    rows: dict[str, list[RowValue]] = {}
    for file in sorted((benchmark / "rows").glob("*.parquet")):
        for row in read_rows(file):
            rows.setdefault(row["conversation_id"], []).append(row)
    leaks: list[Leak] = []
    checked = 0
    for task in TASKS:
        listed = [item for file in sorted((benchmark / task).glob("*.parquet")) for item in read_rows(file)][:limit]
        checked += len(listed)
        leaks += audit_instances(listed, rows, all_options())
        leaks += audit_batches(listed, (2, 10))
        leaks += audit_ids(listed)
    return leaks, checked


def _look(instance: Instance, text: str, last: int) -> list[Leak]:
    leaks = []
    for marker in sorted(set(_MARKER.findall(text))):
        index = int(re.sub(r"\D", "", marker))
        kind = "answer" if "gold" in marker else "later row" if index > last else None
        if kind:
            leaks.append(Leak(instance["task"], instance["instance_id"], kind, f"shows {kind} of row {index}"))
    return leaks


def _last_visible(instance: Instance, way: RenderOptions | None = None) -> int:
    """The last row that may be shown. The row in question counts for ER and VP, for ITP it is the boundary row.

    STP and SSP ask what the therapist's row does, so that row is hidden; RPP may show it if it is asked to.
    """
    shown = instance["task"] in {"itp", "er", "vp"} or (
        instance["task"] == "rpp" and (way is None or way.include_current)
    )
    return int(instance["row_index"]) - (not shown)


def _answers(other: Instance, one: Instance) -> bool:
    """Whether the rows that ``other`` may show hold a row later than ``one`` may show, in the same conversation."""
    same = other["conversation_id"] == one["conversation_id"]
    return bool(same and (_last_visible(other) > _last_visible(one) or other["row_index"] == one["row_index"]))


_KEPT = frozenset(
    {"conversation_id", "group_id", "scenario", "primary_speaker", "person", "speaker", "initiator", "target"}
)
"""Names stay valid: a prompt shows them, and they tell nothing."""


def _mark(value: Any, marker: str, name: str) -> Any:
    if value is None or (name in _KEPT and "row" in marker):
        return value
    if isinstance(value, str):
        return f"{value} {marker}"
    if isinstance(value, list):
        return [_mark(item, marker, name) for item in value]
    if isinstance(value, dict):
        return {key: _mark(item, marker, key) for key, item in value.items()}
    return value
