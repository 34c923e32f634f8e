"""Reading ``speakers.rttm`` back."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError
from pipeline.speech.diarize import SpeakerTurn

__all__ = ["read_rttm"]


def read_rttm(source: Path) -> list[SpeakerTurn]:
    """The speaker stretches of an RTTM file, ordered by start; lines of other types and comments are passed over.

    Raises:
        InputError: If a line has too few fields or a time is no number; the message names the line.
    """
    turns = []
    for number, line in enumerate(source.read_text("utf-8-sig").splitlines(), start=1):
        fields = line.split()
        if not fields or fields[0] != "SPEAKER":
            continue
        try:
            start, length, speaker = float(fields[3]), float(fields[4]), fields[7]
        except (IndexError, ValueError) as error:
            msg = f"not a SPEAKER line of an RTTM file: {line.strip()!r}"
            raise InputError(msg, file=source, place=f"line {number}") from error
        turns.append(SpeakerTurn(start, start + length, speaker))
    return sorted(turns)
