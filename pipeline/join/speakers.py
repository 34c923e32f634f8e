"""Which diarization label stands for which participant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.annotation.model import Row
from pipeline.join.match import Alignment
from pipeline.store import Json

__all__ = ["SpeakerMap", "map_speakers"]

_SPLIT_SHARE = 0.8
"""Share of a label's words that one participant must have said for a label that is left over to be theirs too."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class SpeakerMap:
    """Labels of one diarization run and the participants they stand for.

    Labels are arbitrary in every run, so the map holds for one run id only.
    """

    run_id: str | None
    participant: Mapping[str, str]
    margin: Mapping[str, float]
    """Label to the share of its words that its participant said more than anyone else, -1..1."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {"run_id": self.run_id, "participant": dict(self.participant), "margin": dict(self.margin)}


def map_speakers(rows: Sequence[Row], alignment: Alignment, run_id: str | None) -> SpeakerMap:
    """Assign labels to participants so that as many matched words as possible are said by the right person.

    Each participant gets one label first. A label that is left over stands for someone who has one already only if
    nearly all of its words are theirs: diarization split a voice in two.
    """
    said: dict[str, Counter[str]] = {}
    for row, match in zip(rows, alignment.rows, strict=True):
        for word in alignment.words_of(match):
            if word.speaker and word.speaker != _UNKNOWN:
                said.setdefault(word.speaker, Counter())[row.primary_speaker] += 1
    labels = sorted(said)
    people = sorted({person for counts in said.values() for person in counts})
    if not labels:
        return SpeakerMap(run_id, {}, {})
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to load, and only media need it

    counts = np.array([[said[label][person] for person in people] for label in labels])
    mapping = {
        labels[row]: people[column]
        for row, column in zip(*linear_sum_assignment(counts, maximize=True), strict=True)
        if counts[row, column]
    }
    for position, label in enumerate(labels):
        best = int(counts[position].argmax())
        if label not in mapping and counts[position, best] >= _SPLIT_SHARE * counts[position].sum():
            mapping[label] = people[best]
    return SpeakerMap(run_id, mapping, {label: _margin(said[label], mapping[label]) for label in sorted(mapping)})


def _margin(counts: Counter[str], person: str) -> float:
    others = max((count for other, count in counts.items() if other != person), default=0)
    return round((counts[person] - others) / sum(counts.values()), 3)
