"""Figures of conversations beside their states: error rates, and how subtitles and recognition differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.cli.console import print_table
from pipeline.station import Record, State
from pipeline.store import Json

__all__ = ["print_figures"]

Standing = Mapping[str, Mapping[str, Record]]


def print_figures(standing: Standing) -> None:
    """Error rates of the conversations that have a reference, then the differences of those that have subtitles.

    Args:
        standing: Conversation to station to its record.
    """
    _print(
        standing,
        "quality",
        "Against the reference (starts: median, and nine of ten within, in seconds)",
        _QUALITY,
        lambda summary: summary,
    )
    _print(
        standing,
        "words",
        "Subtitles against recognition (docs/reference/quality.md explains the columns)",
        _SUBTITLES,
        lambda summary: summary.get("subtitles"),
    )


def _percent(value: Json) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _offset(value: Json) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _within(value: Json) -> str:
    return "-" if value is None else f"{value:.3f}"


def _plain(value: Json) -> str:
    return "-" if value is None else str(value)


_Column = tuple[str, Callable[[Json], str]]
_QUALITY: Mapping[str, _Column] = {
    "der": ("DER", _percent),
    "der_single": ("no overlap", _percent),
    "wer": ("WER", _percent),
    "cpwer": ("cpWER", _percent),
    "turn_start_median": ("turn starts", _offset),
    "turn_start_p90": ("9 of 10", _within),
    "word_start_median": ("word starts", _offset),
    "word_start_p90": ("9 of 10", _within),
}
_SUBTITLES: Mapping[str, _Column] = {
    "words": ("words", _plain),
    "misheard": ("misheard", _plain),
    "not_heard": ("not heard", _plain),
    "heard_only": ("extra", _plain),
    "cues": ("cues", _plain),
    "cues_without_speech": ("silent", _plain),
    "speech_without_cue": ("missing", _plain),
    "sound_effects": ("sounds", _plain),
    "left_out": ("unusable", _plain),
    "offset": ("offset", _offset),
}


def _print(
    standing: Standing,
    station: str,
    title: str,
    columns: Mapping[str, _Column],
    part: Callable[[Mapping[str, Json]], Mapping[str, Json] | None],
) -> None:
    """One row a conversation whose station is done and has figures."""
    rows = []
    for name, records in standing.items():
        record = records.get(station)
        figures = part(record.summary) if record and record.state is State.DONE and record.summary else None
        if figures:
            rows.append([name, *(shown(figures.get(key)) for key, (_, shown) in columns.items())])
    if rows:
        print_table(["conversation", *(heading for heading, _ in columns.values())], rows, title=title)
