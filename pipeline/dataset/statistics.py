"""Figures about the data set: what the published tables and figures show, gathered conversation by conversation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation
from pipeline.conversation import Scenario
from pipeline.store import Json
from pipeline.tasks import Built

__all__ = ["Statistics"]

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
    relation_by_tenth: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


class Statistics:
    """Counts, added up over conversations; rates are computed from the sums at the end."""

    def __init__(self) -> None:
        self._scenarios: dict[str, _Scenario] = defaultdict(_Scenario)
        self._instances: dict[str, Counter[str]] = defaultdict(Counter)
        self._with_instances: dict[str, Counter[str]] = defaultdict(Counter)
        self._excluded: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._splits: Counter[str] = Counter()
        self._media_only = 0

    def add_media_only(self, split: str) -> None:
        """A conversation that nobody annotated."""
        self._media_only += 1
        self._splits[split] += 1

    def add(self, annotation: Annotation, seconds: float, split: str) -> None:
        """An annotated conversation of a given length."""
        part = self._scenarios[annotation.scenario.value]
        rows = annotation.rows
        part.conversations += 1
        part.seconds += seconds
        part.rows += len(rows)
        part.therapist_rows += sum(row.is_therapist for row in rows)
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
        self._splits[split] += 1

    def add_task(self, task: str, scenario: Scenario, built: Built) -> None:
        """The instances of a task in one conversation."""
        self._instances[task][scenario.value] += len(built.instances)
        self._with_instances[task][scenario.value] += bool(built.instances)
        self._excluded[task][scenario.value].update(built.excluded)

    def to_json(self) -> dict[str, Json]:
        """``statistics.json``."""
        return {
            "sizes": {name: _sizes(part) for name, part in sorted(self._scenarios.items())},
            "media_only_conversations": self._media_only,
            "conversations_by_split": dict(sorted(self._splits.items())),
            "instances": _plain(self._instances),
            "conversations_with_instances": _plain(self._with_instances),
            "excluded": {task: _plain(by_scenario) for task, by_scenario in sorted(self._excluded.items())},
            "labels": {name: _labels(Scenario(name), part) for name, part in sorted(self._scenarios.items())},
            "transitions": {name: _transitions(Scenario(name), part) for name, part in sorted(self._scenarios.items())},
            "relation_by_tenth": {
                name: [dict(sorted(part.relation_by_tenth[tenth].items())) for tenth in range(_TENTHS)]
                for name, part in sorted(self._scenarios.items())
            },
        }


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


def _plain(nested: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {
        outer: {name: count for name, count in sorted(inner.items()) if count}
        for outer, inner in sorted(nested.items())
    }
