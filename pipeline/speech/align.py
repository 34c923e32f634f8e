"""Forced alignment: word times from a wav2vec2 model, where one is configured. Needs torch.

The model gives a probability for each letter every 20 ms; the times of a word are those of its letters on the best path
through them (CTC segmentation, Kürzinger et al., 2020; ``torchaudio.functional.forced_align``). Letters that the model
does not know are left out, so a word of digits only comes back without times and is placed by `pipeline.speech.words`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from pipeline.speech.sound import Sound
from pipeline.speech.voice import SAMPLE_RATE
from pipeline.speech.words import RawWord
from pipeline.times import Interval

__all__ = ["NOT_ALIGNED", "Aligner", "align", "letter_spans"]

NOT_ALIGNED = "not_aligned"
"""The text did not fit its sound; the word keeps the recogniser's own times."""

_MARGIN = 0.2
"""Seconds around a segment in which its first and last word may lie."""
_SHORTEST = 400
"""Samples below which wav2vec2 gives no frame."""

Tensor: TypeAlias = Any


@dataclass(frozen=True)
class Aligner:
    """A wav2vec2 model and its alphabet."""

    emit: Callable[[Tensor], Tensor]
    """From samples (1, n) at 16 kHz to log probabilities (frames, letters)."""
    alphabet: dict[str, int]
    """Lower-case letter to its column."""
    blank: int
    """Column of the CTC blank."""


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


def _align_segment(aligner: Aligner, words: list[RawWord], whole: Sound) -> list[RawWord]:
    import torch

    span = _span(words, len(whole) / SAMPLE_RATE)
    spelled = [
        [aligner.alphabet[letter] for letter in word.text.lower() if letter in aligner.alphabet] for word in words
    ]
    letters = [letter for word in spelled for letter in word]
    sound = whole[int(span.start * SAMPLE_RATE) : int(span.end * SAMPLE_RATE)] if span else whole[:0]
    spans = None
    if span is not None and letters and len(sound) >= _SHORTEST:
        emission = aligner.emit(torch.from_numpy(sound)[None])
        spans = letter_spans(emission, letters, aligner.blank)
        frame = span.duration / len(emission)
    if span is None or spans is None:
        return [replace(word, flags=(*word.flags, NOT_ALIGNED)) for word in words]
    done = []
    passed = 0
    for word, own in zip(words, spelled, strict=True):
        if own:
            start = span.start + spans[passed][0] * frame
            end = span.start + spans[passed + len(own) - 1][1] * frame
            done.append(replace(word, start=start, end=end, time_source="alignment"))
        else:
            done.append(replace(word, start=None, end=None))
        passed += len(own)
    return done


def _span(words: Sequence[RawWord], duration: float) -> Interval | None:
    starts = [word.start for word in words if word.start is not None]
    ends = [word.end for word in words if word.end is not None]
    if not starts or not ends:
        return None
    span = Interval(max(0.0, min(starts) - _MARGIN), min(duration, max(ends) + _MARGIN))
    return span if span.duration > 0 else None
