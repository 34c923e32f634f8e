"""Word times: the recogniser's attention against forced alignment, on every recording with times of single words.

python -m benchmarks.word_times [--media DIR] [--json FILE]

Four ways of timing the same recognised words: attention as it is; attention less a constant, which is calibrated on the
other recordings; the words that PocketSphinx aligns; and what the stations do, alignment where it succeeds and shifted
attention elsewhere. Offsets are machine less reference, over the words that both have. The sum leaves out recordings
whose reference times were themselves made by a machine (``MADE``).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.recordings import recordings
from benchmarks.subtitles import words_of
from pipeline.offsets import word_pairs
from pipeline.privacy import go_private
from pipeline.settings import RecognitionSettings, load_settings
from pipeline.speech.align import NOT_ALIGNED
from pipeline.speech.models import Models
from pipeline.speech.nist import Utterance, read_ctm
from pipeline.speech.recognize import Recognition, recognize
from pipeline.speech.words import Word
from pipeline.store import write_json

ATTENTION, SHIFTED, ALIGNED, MIXED = (
    "attention",
    "less a constant",
    "aligned words only",
    "aligned, else less a constant",
)
MADE = frozenset({"grid_two_faces"})
"""Its word times come from forced alignment, most likely by PocketSphinx too; they cannot judge it."""
SIDES = ("start", "end")
HEAD = (
    "recording",
    "times from",
    "of",
    "words",
    "median",
    "bias",
    "9 of 10 within",
    "<= 50 ms",
    "<= 100 ms",
    "<= 200 ms",
)


@dataclass
class Measured:
    """The words of one recording, timed in each way."""

    reference: Sequence[Utterance]
    plain: Sequence[Word]
    """With the times of attention."""
    words: dict[str, Sequence[Word | None]] = field(default_factory=dict)
    """Way of timing to the same words in the same order; None for those it does not time."""
    segments: int = 0
    failed: int = 0
    """Segments whose text did not fit."""
    unplaced: int = 0
    """Words that the dictionary lacks, or that were placed before an earlier one: they lie between their neighbours."""
    seconds: float = 0.0
    """What alignment took."""

    def __post_init__(self) -> None:
        heard = [Utterance(word.start, word.end, str(index), word.text) for index, word in enumerate(self.plain)]
        # Matched once, so that every way is judged by the same words.
        self.pairs = [(truth, int(machine.speaker)) for truth, machine in word_pairs(self.reference, heard)]
        self.words[ATTENTION] = self.plain

    def offsets(self, way: str) -> dict[str, list[float]]:
        """Machine less reference, for starts and ends."""
        pairs = [(truth, self.words[way][index]) for truth, index in self.pairs]
        return {
            side: [getattr(word, side) - getattr(truth, side) for truth, word in pairs if word is not None]
            for side in SIDES
        }

    def followed(self, words: Sequence[Word]) -> list[Word | None]:
        """Words of another way in the order of the plain ones: overlapping segments may change places."""
        matcher = SequenceMatcher(
            None, [word.text for word in self.plain], [word.text for word in words], autojunk=False
        )
        found: list[Word | None] = [None] * len(self.plain)
        for first, other, size in matcher.get_matching_blocks():
            found[first : first + size] = words[other : other + size]
        return found


def figures(offsets: Sequence[float]) -> dict[str, float]:
    """Median, mean, 90th percentile of the distance, and shares of words within 50, 100 and 200 ms."""
    values = np.array(offsets)
    distances = np.abs(values)
    # Times are in steps of 10 ms: 0.05 must count as 0.05 whatever its last bit.
    shares = {f"within_{ms}_ms": float((distances < ms / 1000 + 1e-6).mean()) for ms in (50, 100, 200)}
    return {
        "words": len(values),
        "median": float(np.median(values)),
        "bias": float(values.mean()),
        "p90": float(np.percentile(distances, 90)),
        **shares,
    }


def measure(media: Path, models: Models, settings: RecognitionSettings) -> tuple[dict[str, Measured], dict[str, float]]:
    """Every recording with word times, and the constant that was used for it."""
    from faster_whisper import decode_audio

    found: dict[str, Measured] = {}
    sounds: dict[str, Any] = {}

    def heard(name: str, **options: Any) -> Recognition:
        return recognize(models.recognizer(), sounds[name], settings, language="en", **options)

    for recording in recordings(media):
        if words_of(recording).is_file():
            sounds[recording.name] = decode_audio(str(recording.media))
            found[recording.name] = Measured(read_ctm(words_of(recording)), heard(recording.name, lag=0.0).words)
    late = {name: one.offsets(ATTENTION) for name, one in found.items()}
    lags = {name: _constant([late[other] for other in found if other not in MADE | {name}]) for name in found}
    models.aligner("en")
    for name, one in found.items():
        one.words[SHIFTED] = [_earlier(word, lags[name]) for word in one.plain]
        began = perf_counter()
        heard(name, lag=lags[name])
        plain = perf_counter()
        mixed = heard(name, lag=lags[name], aligner=models.aligner).words
        one.seconds = (perf_counter() - plain) - (plain - began)
        one.words[MIXED] = one.followed(mixed)
        one.words[ALIGNED] = [
            word if word is not None and word.time_source == "alignment" else None for word in one.words[MIXED]
        ]
        segments = [list(group) for _, group in groupby(mixed, key=lambda word: word.segment)]
        failed = [any(NOT_ALIGNED in word.flags for word in segment) for segment in segments]
        one.segments, one.failed = len(segments), sum(failed)
        one.unplaced = sum(word.time_source == "interpolated" for word in mixed)
    return found, lags


def _constant(offsets: Sequence[Mapping[str, Sequence[float]]]) -> float:
    return float(np.median([value for one in offsets for side in SIDES for value in one[side]]))


def _earlier(word: Word, lag: float) -> Word:
    return replace(word, start=max(0.0, word.start - lag), end=max(0.0, word.end - lag))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--media", type=Path, default=Path(os.environ.get("RESCUE_TEST_MEDIA", "../shared/media")))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    go_private()
    settings = load_settings()
    found, lags = measure(arguments.media.absolute(), Models(settings), settings.recognition)
    content: dict[str, Any] = {"lags": lags, "recordings": {}, "sum": {}}
    table = Table(*HEAD, title="Word times in seconds, machine less reference")
    for side in SIDES:
        for way in (ATTENTION, SHIFTED, ALIGNED, MIXED):
            offsets = {name: one.offsets(way)[side] for name, one in found.items()}
            summed = [value for name, values in offsets.items() if name not in MADE for value in values]
            for name, values in [*offsets.items(), ("sum", summed)]:
                row = figures(values)
                times = [f"{row[key]:+.3f}" for key in ("median", "bias")] + [f"{row['p90']:.3f}"]
                shares = [f"{100 * row[f'within_{ms}_ms']:.0f} %" for ms in (50, 100, 200)]
                table.add_row(name, way, side, f"{row['words']:.0f}", *times, *shares)
                place = content["sum"] if name == "sum" else content["recordings"].setdefault(name, {})
                place.setdefault(side, {})[way] = row
    Console(width=150).print(table)
    for name, one in found.items():
        counts = {"segments": one.segments, "failed": one.failed, "unplaced": one.unplaced}
        content["recordings"][name] |= {**counts, "alignment_seconds": round(one.seconds, 2), "lag": lags[name]}
        print(f"{name}: {counts}, alignment {one.seconds:.2f} s, constant {lags[name]:.3f} s", file=sys.stderr)
    if arguments.json:
        write_json(arguments.json, content)


if __name__ == "__main__":
    main()
