"""Turns: what one speaker says in one go, with text, times and every guess flagged."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.settings import TurnSettings
from pipeline.speech.attribute import UNKNOWN, SpokenWord
from pipeline.speech.nist import SpeakerTurn
from pipeline.times import Interval, Seconds, format_clock, merge, round_time

__all__ = ["Turn", "make_turns", "vtt_of"]


@dataclass(frozen=True)
class Turn:
    """Consecutive words of one speaker."""

    speaker: str
    """Diarization label, or ``unknown``."""
    words: tuple[SpokenWord, ...]
    """At least one, in order of time."""
    overlap: Seconds
    """Seconds of the turn in which another speaker talks too."""

    @property
    def interval(self) -> Interval:
        """From the first word's start to the last end of a word."""
        return Interval(self.words[0].word.start, max(spoken.word.end for spoken in self.words))

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return " ".join(spoken.word.text for spoken in self.words)

    @property
    def flags(self) -> list[str]:
        """Every guess about a word of this turn, sorted."""
        return sorted({flag for spoken in self.words for flag in (*spoken.flags, *spoken.word.flags)})

    @property
    def confidence(self) -> float | None:
        """Mean over the words that have one."""
        known = [spoken.word.confidence for spoken in self.words if spoken.word.confidence is not None]
        return sum(known) / len(known) if known else None

    def to_row(self, conversation_id: str, index: int) -> dict[str, Any]:
        """The turn as a row of `pipeline.schemas.TURNS`."""
        return {
            "conversation_id": conversation_id,
            "turn_index": index,
            "speaker": self.speaker,
            "start": round_time(self.interval.start),
            "end": round_time(self.interval.end),
            "text": self.text,
            "word_count": len(self.words),
            "confidence": self.confidence,
            "overlap": round_time(self.overlap),
            "words": [
                {
                    "word_index": spoken.index,
                    "text": spoken.word.text,
                    "start": round_time(spoken.word.start),
                    "end": round_time(spoken.word.end),
                    "confidence": spoken.word.confidence,
                }
                for spoken in self.words
            ],
            "flags": self.flags,
        }


def make_turns(spoken: Sequence[SpokenWord], stretches: Sequence[SpeakerTurn], settings: TurnSettings) -> list[Turn]:
    """Cut the words of a recording into turns: at a change of speaker and at a pause of ``settings.pause`` seconds.

    Args:
        spoken: Words in order of time, each with its speaker.
        stretches: Diarized stretches; they say how long another speaker talks too.
        settings: The pause.
    """
    groups: list[list[SpokenWord]] = []
    for word in spoken:
        last = groups[-1][-1] if groups else None
        same = last is not None and word.speaker == last.speaker
        if last is not None and same and word.word.start - last.word.end < settings.pause:
            groups[-1].append(word)
        else:
            groups.append([word])
    by_speaker: dict[str, list[Interval]] = {}
    for stretch in stretches:
        by_speaker.setdefault(stretch.speaker, []).append(stretch.interval)
    return [_turn(group, by_speaker) for group in groups]


def _turn(words: Sequence[SpokenWord], by_speaker: dict[str, list[Interval]]) -> Turn:
    speaker = words[0].speaker
    span = Interval(words[0].word.start, max(word.word.end for word in words))
    others = (
        merge(interval for label, intervals in by_speaker.items() if label != speaker for interval in intervals)
        if speaker != UNKNOWN
        else []
    )
    return Turn(speaker, tuple(words), sum(other.overlap(span) for other in others))


def vtt_of(turns: Iterable[Turn]) -> str:
    """The turns as WebVTT with a voice tag each; cue ids are turn numbers.

    A cue text may hold no blank line and no bare ``&``, ``<``, ``>`` (https://www.w3.org/TR/webvtt1/#webvtt-cue-text).
    """
    cues = [
        f"{number}\n{format_clock(turn.interval.start)} --> {format_clock(_cue_end(turn))}\n"
        f"<v {html.escape(turn.speaker, quote=False)}>{html.escape(' '.join(turn.text.split()), quote=False)}\n"
        for number, turn in enumerate(turns, start=1)
    ]
    return "\n".join(["WEBVTT\n", *cues])


def _cue_end(turn: Turn) -> Seconds:
    """A cue must end after it starts, also where a word has no length."""
    return max(turn.interval.end, turn.interval.start + 0.001)
