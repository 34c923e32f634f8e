"""The six tasks by brute force: slow, literal, and independent of the package under test.

Input is plain dicts with the field names of the published release; output is one list of plain dicts a task, with the
columns of the task tables that do not depend on the data set's own names (no instance id, split, or group).

Where the rules are silent or can be read in two ways, this is what was chosen:

Rows
1.  Rows are numbered by their place in `rows`, from 1. "Before", "next" and `n` go by that place; `row_index` and
    `context_rows` report the rows' own `row_index`.
2.  A group label is `Couple` or `Family`, whatever the scenario; "client" means neither of them nor `Therapist`.
    Names and labels are compared exactly: no stripping, no change of case.
3.  A text or label is empty if it is None, missing, or nothing but white space.

Context
4.  The context is the rows before the row: all, or the nearest k. For ITP it ends with the boundary row, which is one
    of the k. It is None where no row is left. An instance without context is kept.
5.  `include_current` (RPP) adds the row itself to the previous k. For ER and VP the row is always shown, so it is no
    part of their `context_rows`. Defaults: all rows for RPP, 3 for the other five.

Thinning
6.  If there are at most k candidates, all are kept. "The middle item" of m is the one with m // 2 before it.
7.  Duplicates: the positions found are taken as a set; while there are too few, the smallest position not yet taken
    is added. The result is in row order.
8.  VP, like ER, keeps the first item when k = 1. `max_per_sample=None` keeps all.

ITP
9.  Rows of a group label count as "not the therapist's", for both kinds of boundary. No row is left out for its text.

RPP
10. An older field that is not empty wins even if its label is not in the scenario's set: there is no fall back to the
    newer field, and so no instance.
11. `rpp_any_row` applies the same rule, and the same set, to every row.

Targets
12. "One name" is one distinct name: a name listed twice is one. Empty names are left out. Several names, a group label
    among them or not, become the scenario's group label; one name stays, even if it is the other scenario's label.
13. The provider is not looked at, nor whether the rest of the item is filled. If `support_strategy` is empty no support
    target is resolved from the row's own target.
14. The participants are the names in the field `participants` (without `Therapist` and group labels), put in order of
    first appearance; those who never appear come after them, in the field's order. Someone missing from the field is
    a candidate only as "any other target of a therapist row". With `participants_from_rows=True` they are instead
    all clients that appear in any row, and the field is ignored.
15. Appearance is looked for in all rows of the sample, in a row in the order speaker, targets, then targets of all
    support items. Background speech and described persons do not count.
16. "Any other target of a therapist row" is a row target or a target of a support item, in order, never `Therapist`; a
    gold label that is still missing is added last. But for that, all rows of a sample have the same candidates.

STP, SSP
17. STP takes any strategy type that is not empty. SSP looks at the first item only: a later valid type does not count.
18. The recent emotion is a dict of row_index, person, emotion, intensity: the first item in the row's list that fits
    and has a description; the intensity is given as annotated, even if invalid or None. For the group (either label) a
    participant of reading 14 fits, not an emotion given to the group label itself; else only the target.

ER
19. The gold is the first emotion of the speaker that has a description and a valid intensity; a first one that is
    invalid hides no later one. The intensity is the annotated number, not rounded. Rounding is Python's: -0.5 and 10.5
    are valid; text, booleans, NaN and infinities are not.
20. A typographic apostrophe is no part of a word. The cut is `min(ceil(early_cut * n), n - 1)` with n all rows of the
    sample, and comes before thinning.

VP
21. The gold list holds only the viewpoints of the speaker with a target and a text, in order; others in the row are
    left out. The attitude may be empty. A viewpoint about oneself, about the group or the therapist is kept.
"""

from __future__ import annotations

import math
import re
from typing import Any

Record = dict[str, Any]

THERAPIST = "Therapist"
GROUP_LABELS = {"couple": "Couple", "family": "Family"}

RELATION_PATTERNS = {
    "couple": (
        "pursue_withdraw",
        "attack_attack",
        "withdraw_withdraw",
        "repair_softening",
        "constructive_alignment",
        "mixed_transition",
    ),
    "family": (
        "escalation_conflict",
        "pursue_withdraw",
        "mutual_disengagement",
        "cross_generational_coalition",
        "boundary_hierarchy_strain",
        "repair_softening",
        "cooperative_family_alliance",
        "mixed_transition",
    ),
}

SUPPORT_STRATEGIES = {
    "couple": (
        "track",
        "reframe",
        "evoke",
        "enact",
        "join",
        "detach",
        "repair",
        "counterbalance",
        "safeguard",
        "goal_align",
    ),
    "family": (
        "join",
        "track",
        "counterbalance",
        "enact",
        "boundary",
        "reframe",
        "repair",
        "safeguard",
    ),
}


# Small words of the rules


def is_empty(text: str | None) -> bool:
    """Whether a text or label holds nothing."""
    return text is None or text.strip() == ""


def is_therapist(row: Record) -> bool:
    """Whether the row is the therapist's."""
    return bool(row["primary_speaker"] == THERAPIST)


def is_client(name: str) -> bool:
    """Whether the name is neither the therapist nor a group label."""
    return name != THERAPIST and name not in GROUP_LABELS.values()


def items(row: Record, field: str) -> list[Any]:
    """A list field of a row or item; empty if None or missing."""
    return list(row.get(field) or [])


def add_once(names: list[str], name: str) -> None:
    """Append a name that is not empty and not there yet."""
    if not is_empty(name) and name not in names:
        names.append(name)


def rows_between(rows: list[Record], first: int, last: int) -> tuple[int, int] | None:
    """The row indices at two places counted from 1; None if there is no row between them."""
    if first > last:
        return None
    return rows[first - 1]["row_index"], rows[last - 1]["row_index"]


def context_before(rows: list[Record], number: int, context_size: int | None) -> tuple[int, int] | None:
    """First and last of the rows before place `number`, at most `context_size` of them."""
    first = 1 if context_size is None else max(1, number - context_size)
    return rows_between(rows, first, number - 1)


def fill_from_front(positions: list[int], k: int) -> list[int]:
    """Replace duplicates by the smallest positions that are free, until there are `k`."""
    kept = set(positions)
    free = 0
    while len(kept) < k:
        kept.add(free)
        free += 1
    return sorted(kept)


def thin(found: list[Any], k: int, single: str) -> list[Any]:
    """Keep `k` items, evenly spread; `single` says whether one alone is the "middle" or the "first"."""
    m = len(found)
    if m <= k:
        return list(found)
    if k <= 0:
        return []
    if k == 1:
        return [found[m // 2]] if single == "middle" else [found[0]]
    positions = [round(rank * (m - 1) / (k - 1)) for rank in range(k)]
    return [found[position] for position in fill_from_front(positions, k)]


# ITP


def itp(annotation: Record, *, context_size: int | None = 3) -> list[Record]:
    """Intervention timing: does the therapist speak next."""
    rows = annotation["rows"]
    n = len(rows)

    positive = []
    for i in range(2, n + 1):
        row, row_before = rows[i - 1], rows[i - 2]
        if is_therapist(row) and not is_therapist(row_before):
            positive.append(i - 1)

    negative = []
    for i in range(1, n):
        row, row_after = rows[i - 1], rows[i]
        if not is_therapist(row) and not is_therapist(row_after):
            negative.append(i)

    k = min(len(positive), len(negative))
    positive = thin(positive, k, "middle")
    negative = thin(negative, k, "middle")

    return [
        {
            "row_index": rows[boundary - 1]["row_index"],
            "context_rows": context_before(rows, boundary + 1, context_size),
            "should_speak": boundary in positive,
        }
        for boundary in sorted(positive + negative)
    ]


# RPP


def relation_label(row: Record) -> str | None:
    """The older field if it holds something, else the newer one."""
    for field in ("relation_cycle_state", "relation_pattern"):
        label: str | None = row.get(field)
        if not is_empty(label):
            return label
    return None


def rpp(
    annotation: Record,
    *,
    context_size: int | None = None,
    include_current: bool = False,
    rpp_any_row: bool = False,
) -> list[Record]:
    """Relation pattern."""
    rows = annotation["rows"]
    labels = RELATION_PATTERNS[annotation["scenario"]]
    instances = []
    for number, row in enumerate(rows, start=1):
        if not is_therapist(row) and not rpp_any_row:
            continue
        label = relation_label(row)
        if label not in labels:
            continue
        context = context_before(rows, number, context_size)
        if include_current:
            context = (context[0] if context else row["row_index"], row["row_index"])
        instances.append(
            {"row_index": row["row_index"], "context_rows": context, "label": label, "candidates": list(labels)}
        )
    return instances


# STP and SSP


def names_without_therapist(names: list[str]) -> list[str]:
    """The distinct names that are not the therapist's."""
    kept: list[str] = []
    for name in names:
        if name != THERAPIST:
            add_once(kept, name)
    return kept


def support_target(row: Record, scenario: str) -> str | None:
    """Whom the row's first support item is for, or None."""
    strategies = items(row, "support_strategy")
    if not strategies:
        return None
    names = names_without_therapist(items(strategies[0], "target"))
    if not names:
        names = names_without_therapist(items(row, "target"))
    if not names:
        return None
    return names[0] if len(names) == 1 else GROUP_LABELS[scenario]


def named_in(row: Record) -> list[str]:
    """Everyone who appears in a row: speaker, targets, targets of support."""
    named = [row["primary_speaker"], *items(row, "target")]
    for strategy in items(row, "support_strategy"):
        named.extend(items(strategy, "target"))
    return named


def participants(annotation: Record, *, participants_from_rows: bool = False) -> list[str]:
    """The participants in order of first appearance."""
    appeared: list[str] = []
    for row in annotation["rows"]:
        for name in named_in(row):
            if is_client(name):
                add_once(appeared, name)
    if participants_from_rows:
        return appeared

    listed = [name for name in annotation["participants"] if is_client(name)]
    ordered = [name for name in appeared if name in listed]
    for name in listed:
        add_once(ordered, name)
    return ordered


def candidate_targets(annotation: Record, gold: str, *, participants_from_rows: bool = False) -> list[str]:
    """Participants, the group, other targets of the therapist; the gold label always among them."""
    candidates = participants(annotation, participants_from_rows=participants_from_rows)
    candidates.append(GROUP_LABELS[annotation["scenario"]])
    for row in annotation["rows"]:
        if is_therapist(row):
            for name in named_in(row):
                if name != THERAPIST:
                    add_once(candidates, name)
    add_once(candidates, gold)
    return candidates


def stp(annotation: Record, *, context_size: int | None = 3, participants_from_rows: bool = False) -> list[Record]:
    """Support target."""
    rows = annotation["rows"]
    instances = []
    for number, row in enumerate(rows, start=1):
        if not is_therapist(row):
            continue
        target = support_target(row, annotation["scenario"])
        if target is None or is_empty(row["support_strategy"][0]["strategy_type"]):
            continue
        instances.append(
            {
                "row_index": row["row_index"],
                "context_rows": context_before(rows, number, context_size),
                "target": target,
                "candidates": candidate_targets(annotation, target, participants_from_rows=participants_from_rows),
            }
        )
    return instances


def recent_emotion(
    annotation: Record, number: int, context_size: int | None, target: str, people: list[str]
) -> Record | None:
    """The nearest emotion before place `number`, within the context, of the target or of anyone in the group."""
    wanted = people if target in GROUP_LABELS.values() else [target]
    first = 1 if context_size is None else max(1, number - context_size)
    for earlier in range(number - 1, first - 1, -1):
        row = annotation["rows"][earlier - 1]
        for emotion in items(row, "internal_emotion"):
            if emotion["person"] in wanted and not is_empty(emotion["emotion_description"]):
                return {
                    "row_index": row["row_index"],
                    "person": emotion["person"],
                    "emotion": emotion["emotion_description"],
                    "intensity": emotion.get("intensity"),
                }
    return None


def ssp(annotation: Record, *, context_size: int | None = 3, participants_from_rows: bool = False) -> list[Record]:
    """Support strategy."""
    rows = annotation["rows"]
    labels = SUPPORT_STRATEGIES[annotation["scenario"]]
    people = participants(annotation, participants_from_rows=participants_from_rows)
    instances = []
    for number, row in enumerate(rows, start=1):
        if not is_therapist(row):
            continue
        target = support_target(row, annotation["scenario"])
        if target is None or row["support_strategy"][0]["strategy_type"] not in labels:
            continue
        instances.append(
            {
                "row_index": row["row_index"],
                "context_rows": context_before(rows, number, context_size),
                "strategy": row["support_strategy"][0]["strategy_type"],
                "candidates": list(labels),
                "support_target": target,
                "recent_emotion": recent_emotion(annotation, number, context_size, target, people),
            }
        )
    return instances


# ER


def is_valid_intensity(intensity: object) -> bool:
    """Whether a number rounds to 0..10."""
    if isinstance(intensity, bool) or not isinstance(intensity, int | float) or not math.isfinite(intensity):
        return False
    return 0 <= round(intensity) <= 10


def emotion_of_speaker(row: Record) -> Record | None:
    """The speaker's first emotion with words and a valid intensity."""
    for emotion in items(row, "internal_emotion"):
        if emotion["person"] != row["primary_speaker"] or is_empty(emotion["emotion_description"]):
            continue
        if is_valid_intensity(emotion.get("intensity")):
            return dict(emotion)
    return None


def er(
    annotation: Record,
    *,
    context_size: int | None = 3,
    max_per_sample: int | None = 5,
    min_words: int = 5,
    early_cut: float = 0.3,
) -> list[Record]:
    """Emotion."""
    rows = annotation["rows"]
    n = len(rows)
    cut = min(math.ceil(early_cut * n), n - 1)
    found = []
    for number, row in enumerate(rows, start=1):
        emotion = emotion_of_speaker(row)
        words = re.findall(r"[A-Za-z0-9']+", row.get("dialogue_cleaned") or "")
        if not is_client(row["primary_speaker"]) or emotion is None or len(words) < min_words or number <= cut:
            continue
        found.append(
            {
                "row_index": row["row_index"],
                "context_rows": context_before(rows, number, context_size),
                "emotion": emotion["emotion_description"],
                "intensity": emotion["intensity"],
            }
        )
    return found if max_per_sample is None else thin(found, max_per_sample, "first")


# VP


def vp(annotation: Record, *, context_size: int | None = 3, max_per_sample: int | None = 5) -> list[Record]:
    """Viewpoint."""
    rows = annotation["rows"]
    found = []
    for number, row in enumerate(rows, start=1):
        viewpoints = [
            {field: viewpoint.get(field) for field in ("source", "target", "viewpoint", "attitude")}
            for viewpoint in items(row, "viewpoints_attitudes")
            if viewpoint["source"] == row["primary_speaker"]
            and not is_empty(viewpoint["target"])
            and not is_empty(viewpoint["viewpoint"])
        ]
        if not is_client(row["primary_speaker"]) or not viewpoints:
            continue
        found.append(
            {
                "row_index": row["row_index"],
                "context_rows": context_before(rows, number, context_size),
                "viewpoints": viewpoints,
            }
        )
    return found if max_per_sample is None else thin(found, max_per_sample, "first")


# Counts

TASKS = {"itp": itp, "rpp": rpp, "stp": stp, "ssp": ssp, "er": er, "vp": vp}


def counts(annotations: list[Record]) -> dict[str, dict[str, int]]:
    """Instances by task and scenario."""
    return {
        task: {
            scenario: sum(len(build(each)) for each in annotations if each["scenario"] == scenario)
            for scenario in GROUP_LABELS
        }
        for task, build in TASKS.items()
    }


def samples(annotations: list[Record]) -> dict[str, dict[str, int]]:
    """Samples with at least one instance, by task and scenario."""
    return {
        task: {
            scenario: sum(1 for each in annotations if each["scenario"] == scenario and build(each))
            for scenario in GROUP_LABELS
        }
        for task, build in TASKS.items()
    }
