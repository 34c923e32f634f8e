"""Forced alignment: where the recognised words of a segment lie in its sound.

The text stays as it was recognised. A word that an aligner cannot spell comes back without times and is placed by
`pipeline.speech.words`; a segment whose text does not fit its sound keeps the times that it had.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from pipeline.speech.sound import Sound
from pipeline.speech.voice import SAMPLE_RATE
from pipeline.speech.words import RawWord
from pipeline.times import Interval, Seconds

__all__ = ["NOT_ALIGNED", "Aligner", "LetterAligner", "align", "letter_spans", "spread"]

NOT_ALIGNED = "not_aligned"
"""The text did not fit its sound; the word keeps the recogniser's own times."""

_MARGIN = 0.2
"""Seconds around a segment in which its first and last word may lie."""
_SHORTEST = 400
"""Samples below which wav2vec2 gives no frame."""

Tensor: TypeAlias = Any


class Aligner(Protocol):
    """Places words in sound."""

    def place(self, texts: Sequence[str], sound: NDArray[Any]) -> Sequence[Interval | None] | None:
        """Where each word of a segment lies, in seconds from the start of ``sound``.

        Args:
            texts: The words as recognised.
            sound: Mono float32 at 16 kHz, a little longer than the segment.

        Returns:
            An interval a word, None for one that cannot be spelled; None for all if the text does not fit.
        """


@dataclass(frozen=True)
class LetterAligner:
    """A wav2vec2 model and its alphabet. Needs torch.

    The model gives a probability for each letter every 20 ms; the times of a word are those of its letters on the best
    path through them (CTC segmentation, Kürzinger et al., 2020; ``torchaudio.functional.forced_align``). Letters that
    the model does not know are left out, so a word of digits only has no times.
    """

    emit: Callable[[Tensor], Tensor]
    """From samples (1, n) at 16 kHz to log probabilities (frames, letters)."""
    alphabet: dict[str, int]
    """Lower-case letter to its column."""
    blank: int
    """Column of the CTC blank."""

    def place(self, texts: Sequence[str], sound: NDArray[Any]) -> Sequence[Interval | None] | None:
        """As `Aligner.place`."""
        import torch

        spelled = [[self.alphabet[letter] for letter in text.lower() if letter in self.alphabet] for text in texts]
        letters = [letter for word in spelled for letter in word]
        if not letters or len(sound) < _SHORTEST:
            return None
        emission = self.emit(torch.from_numpy(sound)[None])
        spans = letter_spans(emission, letters, self.blank)
        if spans is None:
            return None
        frame = len(sound) / SAMPLE_RATE / len(emission)
        return spread([Interval(start * frame, end * frame) for start, end in spans], [len(own) for own in spelled])


def spread(parts: Sequence[Interval], counts: Sequence[int]) -> list[Interval | None]:
    """One interval a word from those of its parts, in order; None for a word of none.

    Example:
        >>> spread([Interval(0, 1), Interval(1, 2)], [2, 0])
        [Interval(start=0, end=2), None]
    """
    ends = list(accumulate(counts))
    return [
        Interval(parts[end - count].start, parts[end - 1].end) if count else None
        for end, count in zip(ends, counts, strict=True)
    ]


def align(aligner: Aligner, words: Sequence[RawWord], sound: Sound) -> list[RawWord]:
    """The same words with times from alignment, segment by segment.

    Args:
        aligner: The model.
        words: With the recogniser's times, in order; they say where each segment lies.
        sound: Mono float32 at 16 kHz.
    """
    aligned: list[RawWord] = []
    for _, group in groupby(words, key=lambda word: word.segment):
        aligned.extend(_align_segment(aligner, list(group), sound))
    return aligned


def letter_spans(emission: Tensor, letters: Sequence[int], blank: int) -> list[tuple[int, int]] | None:
    """First and past-last frame of each letter on the best path; None if there are too few frames.

    Args:
        emission: Log probabilities (frames, columns).
        letters: Columns of the letters, in order.
        blank: Column of the CTC blank.
    """
    import torch
    import torchaudio.functional

    repeats = sum(first == second for first, second in pairwise(letters))
    if len(letters) + repeats > len(emission):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchaudio 2.8 warns that these functions may move
        targets = torch.tensor([list(letters)], dtype=torch.int32)
        path, scores = torchaudio.functional.forced_align(emission[None].float().cpu(), targets, blank=blank)
        spans = torchaudio.functional.merge_tokens(path[0], scores[0].exp(), blank=blank)
    return [(span.start, span.end) for span in spans]


def _align_segment(aligner: Aligner, words: list[RawWord], sound: Sound) -> list[RawWord]:
    span = _span(words, len(sound) / SAMPLE_RATE)
    first = int(span.start * SAMPLE_RATE) if span else 0
    places = aligner.place([word.text for word in words], sound[first : int(span.end * SAMPLE_RATE)]) if span else None
    if places is None:
        return [replace(word, flags=(*word.flags, NOT_ALIGNED)) for word in words]
    return [_placed(word, place, first / SAMPLE_RATE) for word, place in zip(words, places, strict=True)]


def _placed(word: RawWord, place: Interval | None, start: Seconds) -> RawWord:
    if place is None:
        return replace(word, start=None, end=None)
    return replace(word, start=start + place.start, end=start + place.end, time_source="alignment")


def _span(words: Sequence[RawWord], duration: Seconds) -> Interval | None:
    starts = [word.start for word in words if word.start is not None]
    ends = [word.end for word in words if word.end is not None]
    if not starts or not ends:
        return None
    span = Interval(max(0.0, min(starts) - _MARGIN), min(duration, max(ends) + _MARGIN))
    return span if span.duration > 0 else None
