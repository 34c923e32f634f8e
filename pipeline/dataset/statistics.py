"""Figures about the data set: what the published tables and figures show, for every split and over all.

Counts are gathered conversation by conversation; rates are computed from the sums at the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pipeline.annotation.agreement import agreement
from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation
from pipeline.conversation import Scenario
from pipeline.store import Json
from pipeline.tasks import Built

__all__ = ["Statistics", "statistics_json", "statistics_rows"]

_TENTHS = 10


@dataclass
class _Scenario:
    conversations: int = 0
    seconds: float = 0.0
    rows: int = 0
    therapist_rows: int = 0
    speakers: int = 0
    relation: Counter[str] = field(default_factory=Counter)
    strategies: Counter[str] = field(default_factory=Counter)
    utterances: Counter[str] = field(default_factory=Counter)
    transitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    minutes: Counter[int] = field(default_factory=Counter)
    """Whole minutes that a conversation lasts, rounded down."""
    therapist_tenths: Counter[int] = field(default_factory=Counter)
    """Tenth that the therapist's share of a conversation's rows lies in."""
    relation_by_tenth: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, other: _Scenario) -> None:
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            elif isinstance(value, dict):
                for tenth, counts in value.items():
                    getattr(self, name)[tenth].update(counts)
            else:
                setattr(self, name, getattr(self, name) + value)


class Statistics:
    """The counts of one split, or of several added up."""

    def __init__(self) -> None:
        self._scenarios: dict[str, _Scenario] = defaultdict(_Scenario)
        self._instances: dict[str, Counter[str]] = defaultdict(Counter)
        self._with_instances: dict[str, Counter[str]] = defaultdict(Counter)
        self._excluded: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._media_only = 0
        self._ratings: dict[str, list[Json]] = defaultdict(list)
        self._rated = 0

    def add_media_only(self) -> None:
        """A conversation that nobody annotated."""
        self._media_only += 1

    def add(self, annotation: Annotation, seconds: float) -> None:
        """An annotated conversation of a given length."""
        part = self._scenarios[annotation.scenario.value]
        rows = annotation.rows
        part.conversations += 1
        part.seconds += seconds
        part.minutes[int(seconds // 60)] += 1
        part.rows += len(rows)
        therapist_rows = sum(row.is_therapist for row in rows)
        part.therapist_rows += therapist_rows
        if rows:
            part.therapist_tenths[min(_TENTHS - 1, therapist_rows * _TENTHS // len(rows))] += 1
        part.speakers += len({row.primary_speaker for row in rows})
        part.utterances.update(row.utterance_type for row in rows if row.utterance_type)
        part.strategies.update(move.strategy_type for row in rows for move in row.support_strategy[:1])
        labels = [(position, row.relation_label) for position, row in enumerate(rows) if row.relation_label]
        part.relation.update(label for _, label in labels if label)
        for position, label in labels:
            part.relation_by_tenth[position * _TENTHS // len(rows)][str(label)] += 1
        for (_, before), (_, after) in pairwise(labels):
            if before != after:
                part.transitions[str(before), str(after)] += 1

    def add_task(self, task: str, scenario: Scenario, built: Built) -> None:
        """The instances of a task in one conversation."""
        self._instances[task][scenario.value] += len(built.instances)
        self._with_instances[task][scenario.value] += bool(built.instances)
        self._excluded[task][scenario.value].update(built.excluded)

    def add_ratings(self, values: Mapping[str, list[Json]]) -> None:
        """What several annotators gave for the same stretches of one conversation, by field."""
        self._rated += bool(values)
        for name, ratings in values.items():
            self._ratings[name] += ratings

    def merge(self, other: Statistics) -> None:
        """Add the counts of another split."""
        self._media_only += other._media_only
        self._rated += other._rated
        for name, ratings in other._ratings.items():
            self._ratings[name] += ratings
        for name, part in other._scenarios.items():
            self._scenarios[name].add(part)
        for task in other._instances:
            self._instances[task].update(other._instances[task])
            self._with_instances[task].update(other._with_instances[task])
            for name, reasons in other._excluded[task].items():
                self._excluded[task][name].update(reasons)

    def to_json(self) -> dict[str, Json]:
        """Sizes, instances, exclusions and labels, each by scenario."""
        return {
            "sizes": {name: _sizes(part) for name, part in sorted(self._scenarios.items())},
            "media_only_conversations": self._media_only,
            "instances": _plain(self._instances),
            "conversations_with_instances": _plain(self._with_instances),
            "excluded": {task: _plain(by_scenario) for task, by_scenario in sorted(self._excluded.items())},
            "conversations_by_minutes": _numbered(self._scenarios, "minutes"),
            "conversations_by_therapist_tenth": _numbered(self._scenarios, "therapist_tenths"),
            "labels": {name: _labels(Scenario(name), part) for name, part in sorted(self._scenarios.items())},
            "transitions": {name: _transitions(Scenario(name), part) for name, part in sorted(self._scenarios.items())},
            "relation_by_tenth": {
                name: [dict(sorted(part.relation_by_tenth[tenth].items())) for tenth in range(_TENTHS)]
                for name, part in sorted(self._scenarios.items())
            },
            "agreement": self._agreement(),
        }

    def _agreement(self) -> dict[str, Json]:
        if not self._rated:
            return {"conversations": 0, "fields": {}}
        # Nobody's name goes into the figures: kappa of pairs stays in the conversation's own file.
        fields = {
            found.field: {"kind": found.kind, "units": found.units, "alpha": found.alpha, "same": found.same}
            for found in agreement(self._ratings)
        }
        return {"conversations": self._rated, "fields": fields}


def statistics_json(by_split: Mapping[str, Statistics]) -> dict[str, Json]:
    """``statistics.json``: the figures over all splits, and under ``splits`` the same for each."""
    total = Statistics()
    for part in by_split.values():
        total.merge(part)
    return {**total.to_json(), "splits": {name: part.to_json() for name, part in by_split.items()}}


def statistics_rows(statistics: Mapping[str, Json]) -> list[dict[str, Any]]:
    """``statistics.json`` as rows of the ``statistics`` table: one number a row, ``split`` null over all splits."""
    parts = [(None, statistics), *statistics["splits"].items()]
    return [{"split": split, **row} for split, part in parts for row in _flat(part)]


def _flat(part: Mapping[str, Json]) -> Iterator[dict[str, Any]]:
    for cells in (_flat_counts(part), _flat_tasks(part), _flat_labels(part)):
        for figure, scenario, item, to, value in cells:
            yield {"figure": figure, "scenario": scenario, "item": item, "to": to, "value": value}


_Cells = Iterator[tuple[str, str | None, str | None, str | None, float | None]]
"""Figure, scenario, item, to, value."""


def _flat_counts(part: Mapping[str, Json]) -> _Cells:
    for scenario, sizes in part["sizes"].items():
        yield from ((figure, scenario, None, None, value) for figure, value in sizes.items())
    for figure in ("conversations_by_minutes", "conversations_by_therapist_tenth"):
        for scenario, counts in part[figure].items():
            yield from ((figure, scenario, item, None, value) for item, value in counts.items())


def _flat_tasks(part: Mapping[str, Json]) -> _Cells:
    for figure in ("instances", "conversations_with_instances"):
        for task, counts in part[figure].items():
            yield from ((figure, scenario, task, None, value) for scenario, value in counts.items())
    for task, by_scenario in part["excluded"].items():
        for scenario, reasons in by_scenario.items():
            yield from (("excluded", scenario, task, reason, value) for reason, value in reasons.items())


def _flat_labels(part: Mapping[str, Json]) -> _Cells:
    for scenario, kinds in part["labels"].items():
        for kind, labels in kinds.items():
            for label, found in labels.items():
                yield f"{kind}_count", scenario, label, None, found["count"]
                yield f"{kind}_share", scenario, label, None, found["share"]
    for scenario, matrix in part["transitions"].items():
        for before, found in matrix.items():
            yield from (("transition_share", scenario, before, after, value) for after, value in found["to"].items())
    for scenario, tenths in part["relation_by_tenth"].items():
        for tenth, counts in enumerate(tenths):
            yield from (
                ("relation_by_tenth_count", scenario, label, str(tenth), value) for label, value in counts.items()
            )
    for field_name, found in part["agreement"]["fields"].items():
        for figure in ("units", "alpha", "same"):
            yield f"agreement_{figure}", None, field_name, None, found[figure]


def _sizes(part: _Scenario) -> dict[str, Json]:
    return {
        "conversations": part.conversations,
        "minutes": round(part.seconds / 60, 1),
        "rows": part.rows,
        "minutes_per_conversation": round(part.seconds / 60 / part.conversations, 2),
        "rows_per_conversation": round(part.rows / part.conversations, 2),
        "speakers_per_conversation": round(part.speakers / part.conversations, 2),
        "therapist_share_of_rows": round(part.therapist_rows / part.rows, 4) if part.rows else None,
    }


def _labels(scenario: Scenario, part: _Scenario) -> dict[str, Json]:
    known = label_set(scenario)
    return {
        "relation_patterns": _shares(part.relation, (item.label for item in known.relation_patterns)),
        "support_strategies": _shares(part.strategies, (item.label for item in known.support_strategies)),
        "utterance_types": _shares(part.utterances, (item.label for item in known.utterance_types)),
    }


def _shares(counts: Counter[str], known: Iterable[str]) -> dict[str, Json]:
    """Count and share of every label of the set, absent ones too; labels outside the set are summed as ``other``."""
    listed = list(known)
    total = sum(counts.values())
    inside = {label: counts[label] for label in listed}
    inside["(outside the set)"] = total - sum(inside.values())
    return {
        label: {"count": count, "share": round(count / total, 4) if total else None} for label, count in inside.items()
    }


def _transitions(scenario: Scenario, part: _Scenario) -> dict[str, Json]:
    """Row-normalised transitions between consecutive labels, those to itself left out."""
    listed = [item.label for item in label_set(scenario).relation_patterns]
    matrix = {}
    for before in listed:
        counts = {after: part.transitions[before, after] for after in listed if after != before}
        total = sum(counts.values())
        matrix[before] = {
            "count": total,
            "to": {after: round(count / total, 4) if total else None for after, count in counts.items()},
        }
    return matrix


def _numbered(scenarios: Mapping[str, _Scenario], name: str) -> dict[str, Json]:
    return {
        scenario: {str(number): count for number, count in sorted(getattr(part, name).items())}
        for scenario, part in sorted(scenarios.items())
    }


def _plain(nested: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {
        outer: {name: count for name, count in sorted(inner.items()) if count}
        for outer, inner in sorted(nested.items())
    }
