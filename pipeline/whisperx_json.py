"""The JSON that whisperx writes and its users read: ``segments``, each with ``words``.

Fields: ``start``, ``end``, ``text``, ``speaker`` of a segment; ``word``, ``start``, ``end``, ``score``, ``speaker`` of
a word (whisperx 3.8, ``whisperx.types``). whisper-timestamped writes ``text`` and ``confidence`` instead of ``word``
and ``score``. A word may lack times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.annotation.formats.base import Source
from pipeline.store import Json
from pipeline.times import Seconds

__all__ = ["Segment", "TimedWord", "is_whisperx", "read_whisperx", "whisperx_of"]


@dataclass(frozen=True)
class TimedWord:
    """A word and when it is said; times are None where the file has none."""

    text: str
    start: Seconds | None
    end: Seconds | None


@dataclass(frozen=True)
class Segment:
    """What is said in one go."""

    start: Seconds
    end: Seconds
    text: str
    speaker: str | None
    words: tuple[TimedWord, ...]


def is_whisperx(value: Json) -> bool:
    """Whether a JSON value is of this form."""
    return isinstance(value, dict) and isinstance(value.get("segments"), list)


def read_whisperx(value: Mapping[str, Json], source: Source) -> list[Segment]:
    """The segments of a file, in its order.

    Raises:
        InputError: If a segment has no times or no text; the message names it.
    """
    return [_segment(segment, f"segment {number}", source) for number, segment in enumerate(value["segments"], start=1)]


def whisperx_of(turns: Sequence[Mapping[str, Json]], language: str | None) -> dict[str, Json]:
    """Turns in this form.

    Args:
        turns: Rows of `pipeline.schemas.TURNS`.
        language: Two-letter code.
    """
    segments = [
        {
            "start": turn["start"],
            "end": turn["end"],
            "text": turn["text"],
            "speaker": turn["speaker"],
            "words": [_word(word, turn["speaker"]) for word in turn["words"]],
        }
        for turn in turns
    ]
    return {
        "segments": segments,
        "word_segments": [word for segment in segments for word in segment["words"]],
        "language": language,
    }


def _word(word: Mapping[str, Json], speaker: str) -> dict[str, Json]:
    score = {} if word["confidence"] is None else {"score": round(word["confidence"], 3)}
    return {"word": word["text"], "start": word["start"], "end": word["end"], **score, "speaker": speaker}


def _segment(value: Json, place: str, source: Source) -> Segment:
    if not isinstance(value, dict):
        raise source.error("it is no object", place=place)
    start, end = _time(value.get("start")), _time(value.get("end"))
    if start is None or end is None or end < start:
        msg = "it has no `start` and `end` in seconds"
        raise source.error(msg, place=place, hint="export it again")
    words = value.get("words")
    timed = tuple(_words(words, place, source)) if isinstance(words, list) else ()
    text = value.get("text")
    if not isinstance(text, str):
        text = " ".join(word.text for word in timed)
    speaker = value.get("speaker")
    return Segment(start, end, text.strip(), speaker if isinstance(speaker, str) else None, timed)


def _words(values: Sequence[Json], place: str, source: Source) -> Iterator[TimedWord]:
    for number, value in enumerate(values, start=1):
        text = value.get("word", value.get("text")) if isinstance(value, dict) else None
        if not isinstance(text, str):
            raise source.error("it has no `word`", place=f"{place}, word {number}")
        yield TimedWord(text.strip(), _time(value.get("start")), _time(value.get("end")))


def _time(value: Json) -> Seconds | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return float(value) if usable else None
