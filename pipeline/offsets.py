"""How far the machine's times lie from those of a reference.

Starts are compared, not ends: a start is where a listener hears something begin, an end is a matter of taste.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.annotation.model import Row
from pipeline.join.match import HeardWord, align, tokens
from pipeline.speech.nist import SpeakerTurn, Utterance
from pipeline.times import Seconds

__all__ = ["TimeOffsets", "speech_starts", "turn_starts", "word_pairs", "word_starts"]

_PAUSE: Seconds = 0.5
"""Words of one speaker that lie closer belong to one passage."""


@dataclass(frozen=True)
class TimeOffsets:
    """Machine's time less the reference's, in seconds, over the starts that both have."""

    compared: int
    of: int
    """Starts in the reference."""
    median: Seconds
    bias: Seconds
    """Mean: positive where the machine is late."""
    p90: Seconds
    """Nine of ten starts lie no further from the truth, early or late."""

    def to_json(self) -> dict[str, float | int]:
        """The figures by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class _Passage:
    """A stretch of reference text, and what is known to start at some of its words."""

    start: Seconds
    end: Seconds
    text: str
    known: Mapping[int, Utterance]
    """Place of a word among the tokens of the text to what starts with it."""


def turn_starts(text: Sequence[Utterance], heard: Sequence[Utterance]) -> TimeOffsets | None:
    """Offsets of the first word of each utterance, where the machine has that word too; None where none is found.

    Args:
        text: The reference's utterances.
        heard: The machine's words.
    """
    return _offsets([_Passage(part.start, part.end, part.text, {0: part}) for part in text], heard)


def word_starts(words: Sequence[Utterance], heard: Sequence[Utterance]) -> TimeOffsets | None:
    """Offsets of single words, where the machine has the word too; None where none is found.

    Args:
        words: The reference's, one utterance a word.
        heard: The machine's words.
    """
    return _offsets([_passage(group) for group in _passages(words)], heard)


def word_pairs(words: Sequence[Utterance], heard: Sequence[Utterance]) -> list[tuple[Utterance, Utterance]]:
    """Words of the reference, each with the same word of the machine; those it has not are left out.

    Args:
        words: The reference's, one utterance a word.
        heard: The machine's words.
    """
    return _pairs([_passage(group) for group in _passages(words)], heard)


def speech_starts(speech: Sequence[SpeakerTurn], heard: Sequence[SpeakerTurn]) -> TimeOffsets | None:
    """Offsets of stretches of speech: of each pair that share most of their union, each with no better partner.

    For references without words.
    """

    def best(one: SpeakerTurn, others: Sequence[SpeakerTurn]) -> SpeakerTurn | None:
        found = max(others, key=lambda other: _shared(one, other), default=None)
        return found if found is not None and _shared(one, found) > 0 else None

    pairs = [(turn, best(turn, heard)) for turn in speech]
    found = [other.start - turn.start for turn, other in pairs if other is not None and best(other, speech) == turn]
    return _statistics(found, len(speech))


def _shared(one: SpeakerTurn, two: SpeakerTurn) -> float:
    """Intersection over union."""
    both = one.interval.overlap(two.interval)
    union = one.interval.duration + two.interval.duration - both
    return both / union if union > 0 else 0.0


def _offsets(passages: Sequence[_Passage], heard: Sequence[Utterance]) -> TimeOffsets | None:
    known = sum(len(passage.known) for passage in passages if tokens(passage.text))
    return _statistics([machine.start - truth.start for truth, machine in _pairs(passages, heard)], known)


def _pairs(passages: Sequence[_Passage], heard: Sequence[Utterance]) -> list[tuple[Utterance, Utterance]]:
    """What is known of the passages, each with the machine's word that begins it."""
    passages = [passage for passage in passages if tokens(passage.text)]
    rows = [
        Row(
            row_index=number,
            start_time=passage.start,
            end_time=passage.end,
            primary_speaker="",
            dialogue_cleaned=passage.text,
        )
        for number, passage in enumerate(passages, start=1)
    ]
    alignment = align(rows, [HeardWord(index, word.text, word.start, word.end) for index, word in enumerate(heard)])
    found = []
    for passage, match in zip(passages, alignment.rows, strict=True):
        said = tokens(passage.text)
        for place, position in match.pairs:
            word = alignment.words[position]
            # A word that was misheard may be another one.
            if place in passage.known and tokens(word.text) == [said[place]]:
                found.append((passage.known[place], heard[word.word_index]))
    return found


def _statistics(offsets: Sequence[Seconds], of: int) -> TimeOffsets | None:
    if not offsets:
        return None
    values = np.array(offsets)
    figures = (np.median(values), values.mean(), np.percentile(np.abs(values), 90))
    return TimeOffsets(len(offsets), of, *(round(float(figure), 3) + 0.0 for figure in figures))


def _passages(words: Iterable[Utterance]) -> list[list[Utterance]]:
    """Words in groups: of one speaker, without a pause."""
    by_speaker: dict[str, list[list[Utterance]]] = {}
    for word in sorted(words):
        groups = by_speaker.setdefault(word.speaker, [])
        if groups and word.start - groups[-1][-1].end < _PAUSE:
            groups[-1].append(word)
        else:
            groups.append([word])
    return sorted((group for groups in by_speaker.values() for group in groups), key=lambda group: group[0])


def _passage(group: Sequence[Utterance]) -> _Passage:
    known: dict[int, Utterance] = {}
    place = 0
    for word in group:
        count = len(tokens(word.text))
        if count:
            known[place] = word
        place += count
    end = max(word.end for word in group)
    return _Passage(group[0].start, end, " ".join(word.text for word in group), known)
