"""NIST's evaluation files: RTTM (who speaks when), STM (who says what), CTM (words), UEM (what is evaluated).

Formats: appendix A of the RT-09 evaluation plan for RTTM and UEM, SCTK's documentation for STM and CTM. Practice
departs from them: tabs separate fields as well as blanks, trailing fields are missing, and one file holds several
recordings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pipeline.errors import InputError
from pipeline.times import Interval, Seconds

__all__ = ["SpeakerTurn", "Utterance", "read_ctm", "read_rttm", "read_stm", "read_uem", "rttm_of"]


@dataclass(frozen=True, order=True, slots=True)
class SpeakerTurn:
    """One stretch of speech of one speaker. Stretches of different speakers may overlap."""

    start: Seconds
    end: Seconds
    speaker: str

    @property
    def interval(self) -> Interval:
        """Where it lies."""
        return Interval(self.start, self.end)


@dataclass(frozen=True, order=True, slots=True)
class Utterance:
    """Text of one speaker at a time; in a machine's transcript usually a single word."""

    start: Seconds
    end: Seconds
    speaker: str
    text: str


_Part = TypeVar("_Part", SpeakerTurn, Utterance, Interval)


def read_rttm(source: Path, *, file_id: str | None = None) -> list[SpeakerTurn]:
    """The stretches of an RTTM file, ordered by start; lines of other types are passed over.

    Fields: type, file, channel, start, duration, orthography, speaker type, speaker, confidence, lookahead.

    Args:
        source: The file.
        file_id: The recording to take; needed where the file holds several.

    Raises:
        InputError: If a line has too few fields or a wrong time, or several recordings stand in the file and none is
            named; the message names the line.
    """

    def parts() -> Iterator[tuple[str, SpeakerTurn]]:
        for place, fields in _lines(source):
            if fields[0] == "SPEAKER":
                _check_fields(source, place, fields, 8)
                start, length = _time(source, place, fields[3]), _time(source, place, fields[4])
                yield fields[1], SpeakerTurn(start, start + length, fields[7])

    return _one_recording(source, parts(), file_id)


def rttm_of(turns: Iterable[SpeakerTurn], file_id: str) -> str:
    r"""The content of an RTTM file. ``file_id`` and labels must hold no blank.

    Example:
        >>> rttm_of([SpeakerTurn(0.5, 2.0, "SPEAKER_00")], "demo")
        'SPEAKER demo 1 0.500 1.500 <NA> <NA> SPEAKER_00 <NA> <NA>\n'
    """
    return "".join(
        f"SPEAKER {file_id} 1 {turn.start:.3f} {turn.end - turn.start:.3f} <NA> <NA> {turn.speaker} <NA> <NA>\n"
        for turn in turns
    )


def read_stm(source: Path, *, file_id: str | None = None) -> list[Utterance]:
    """The utterances of an STM file, ordered by start.

    Fields: file, channel, speaker, start, end, label in angle brackets (optional), text.

    Raises:
        InputError: As `read_rttm`.
    """

    def parts() -> Iterator[tuple[str, Utterance]]:
        for place, fields in _lines(source):
            _check_fields(source, place, fields, 5)
            text = " ".join(fields[5:])
            span = _span(source, place, fields[3], fields[4])
            yield fields[0], Utterance(span.start, span.end, fields[2], re.sub(r"^<[^>]*>\s*", "", text))

    return _one_recording(source, parts(), file_id)


def read_ctm(source: Path, *, file_id: str | None = None) -> list[Utterance]:
    """The words of a CTM file, ordered by start, one utterance a word; who says them is not told.

    Fields: file, channel, start, duration, word, and others that are passed over.

    Raises:
        InputError: As `read_rttm`.
    """

    def parts() -> Iterator[tuple[str, Utterance]]:
        for place, fields in _lines(source):
            _check_fields(source, place, fields, 5)
            start, length = _time(source, place, fields[2]), _time(source, place, fields[3])
            yield fields[0], Utterance(start, start + length, "", fields[4])

    return _one_recording(source, parts(), file_id)


def read_uem(source: Path, *, file_id: str | None = None) -> list[Interval]:
    """The evaluated parts of a UEM file, ordered by start. Fields: file, channel, start, end.

    Raises:
        InputError: As `read_rttm`.
    """

    def parts() -> Iterator[tuple[str, Interval]]:
        for place, fields in _lines(source):
            _check_fields(source, place, fields, 4)
            yield fields[0], _span(source, place, fields[2], fields[3])

    return _one_recording(source, parts(), file_id)


def _lines(source: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        content = source.read_text("utf-8-sig")
    except FileNotFoundError as error:
        msg = "the file is missing"
        raise InputError(msg, file=source) from error
    except UnicodeDecodeError as error:
        msg = "the file is no UTF-8 text"
        raise InputError(msg, file=source, hint="save it as UTF-8") from error
    for number, line in enumerate(content.split("\n"), start=1):
        fields = line.split()
        if fields and not fields[0].startswith(";"):
            yield f"line {number}", fields


def _check_fields(source: Path, place: str, fields: list[str], least: int) -> None:
    if len(fields) < least:
        msg = f"the line has {len(fields)} fields, at least {least} are needed"
        raise InputError(msg, file=source, place=place)


def _time(source: Path, place: str, text: str) -> Seconds:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        msg = f"{text!r} is no time in seconds"
        raise InputError(msg, file=source, place=place)
    return seconds


def _span(source: Path, place: str, start: str, end: str) -> Interval:
    span = Interval(_time(source, place, start), _time(source, place, end))
    if span.end < span.start:
        msg = f"the end {end} lies before the start {start}"
        raise InputError(msg, file=source, place=place)
    return span


def _one_recording(source: Path, parts: Iterable[tuple[str, _Part]], file_id: str | None) -> list[_Part]:
    found: dict[str, list[_Part]] = {}
    for recording, part in parts:
        found.setdefault(recording, []).append(part)
    if file_id is None and len(found) > 1:
        msg = f"the file holds {len(found)} recordings: {', '.join(sorted(found)[:5])}"
        raise InputError(msg, file=source, hint="name the recording")
    if file_id is not None and found and file_id not in found:
        msg = f"the file holds nothing of {file_id!r}"
        raise InputError(msg, file=source, hint=f"it holds {', '.join(sorted(found)[:5])}")
    return sorted(part for recording in found if file_id in (None, recording) for part in found[recording])
