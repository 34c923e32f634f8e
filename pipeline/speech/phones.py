"""Forced alignment inside the packages: PocketSphinx with the English acoustic model and dictionary of its wheel.

The words of a segment become a chain of phones with optional silence and noise between them; the times of a word are
those of its phones on the best path (Viterbi alignment of hidden Markov models), in steps of 10 ms. Measured against
the recogniser's attention: docs/reference/quality.md, "Word times".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.extras import load
from pipeline.speech.align import spread
from pipeline.times import Interval

__all__ = ["LANGUAGE", "PhoneAligner"]

LANGUAGE = "en"
"""The language of the model."""

_FRAME = 0.01
"""Seconds of a frame."""
_SHORTEST = 1600
"""Samples below which nothing can be aligned."""
_PEAK = 0.9 * 32767
"""Each segment is brought to this level: a quiet recording would lose its detail in whole numbers."""
_PART = re.compile(r"[^\W\d_]+(?:['.][^\W\d_]+)*'?|\d+")

_DIGITS = dict(
    zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)
)
"""Longer numbers are read in many ways, so they are not spelled."""


class PhoneAligner:
    """Places English words by their phones. Not for use in several threads at once.

    A word of which a part is not in the dictionary (long numbers, rare names) has no times.

    Raises:
        PrerequisiteError: If pocketsphinx is not installed.
    """

    def __init__(self) -> None:
        # Without a language model: it would only be needed to recognise.
        self._decoder = load("pocketsphinx", "speech").Decoder(lm=None, loglevel="FATAL")

    def place(self, texts: Sequence[str], sound: NDArray[Any]) -> Sequence[Interval | None] | None:
        """As `pipeline.speech.align.Aligner.place`."""
        spelled = [self._spelled(text) for text in texts]
        parts = [part for word in spelled for part in word]
        peak = float(np.abs(sound).max(initial=0.0))
        if not parts or len(sound) < _SHORTEST or peak <= 0:
            return None
        decoder = self._decoder
        decoder.reinit_feat()  # the mean of what was heard before would move words of this segment
        decoder.set_align_text(" ".join(parts))
        decoder.start_utt()
        decoder.process_raw((sound * (_PEAK / peak)).astype(np.int16).tobytes(), no_search=False, full_utt=True)
        decoder.end_utt()
        if decoder.hyp() is None:
            return None
        found = [
            Interval(part.start_frame * _FRAME, (part.end_frame + 1) * _FRAME)
            for part in decoder.seg()
            if not part.word.startswith(("<", "["))  # silence and noise
        ]
        # A path that ended before the last word says that the text is not what is heard.
        return spread(found, [len(word) for word in spelled]) if len(found) == len(parts) else None

    def _spelled(self, text: str) -> list[str]:
        """The dictionary's entries for a word; none if one is missing."""
        plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower()
        parts = [self._entry(part) for part in _PART.findall(plain)]
        return [part for part in parts if part] if all(parts) else []

    def _entry(self, part: str) -> str | None:
        part = _DIGITS.get(part, part)
        return next((form for form in (part, part.strip("'.")) if form and self._decoder.lookup_word(form)), None)
