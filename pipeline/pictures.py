"""Small pictures of a conversation, for pages that show many: who speaks when, what is annotated, what is seen.

Drawn as plain SVG: it takes a millisecond, and nothing but the standard library. Colours are those of Okabe and Ito;
lanes are told apart by place and name, so that nothing rests on colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from pipeline.schemas import read_rows
from pipeline.station import Workspace
from pipeline.store import read_json
from pipeline.times import Seconds, format_clock

__all__ = ["Picture", "Span", "pictures_of", "timeline"]

_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_WIDTH, _NAMES, _LANE, _TOP = 760, 150, 22, 18
"""Pixels: of the picture, the names on the left, one lane, and the axis on top."""
_TICKS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_MOST_TICKS = 8
_LONGEST_NAME = 22
_TILES = 12
_TILE = 180
"""Pixels of one picture on the overview."""


@dataclass(frozen=True)
class Picture:
    """A picture with its name."""

    title: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Span:
    """A stretch of time in a lane."""

    lane: str
    start: Seconds
    end: Seconds
    label: str = ""
    """Shown on the stretch where there is room, and when it is pointed at."""


def pictures_of(station: str, workspace: Workspace) -> list[Picture]:
    """The pictures of what a station made for a conversation; none for most stations.

    Args:
        station: Its name.
        workspace: The conversation, for which the station is done.
    """
    draw = _DRAWINGS.get(station)
    return draw(workspace) if draw else []


def timeline(spans: Sequence[Span], duration: Seconds) -> bytes:
    """Lanes over time as SVG, in the order in which lanes first come.

    Args:
        spans: What to draw.
        duration: Length of the axis in seconds.
    """
    lanes = list(dict.fromkeys(span.lane for span in spans))
    height = _TOP + _LANE * len(lanes) + 4
    scale = (_WIDTH - _NAMES - 8) / max(duration, 0.001)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    step = next((tick for tick in _TICKS if duration / tick <= _MOST_TICKS), _TICKS[-1])
    for tick in range(0, int(duration) + 1, step):
        place = _NAMES + tick * scale
        parts.append(f'<path d="M{place:.1f} {_TOP - 4}V{height}" stroke="#d0d0d0"/>')
        parts.append(f'<text x="{place:.1f}" y="{_TOP - 7}" fill="#555555">{_clock(tick)}</text>')
    for number, lane in enumerate(lanes):
        top = _TOP + _LANE * number
        name = lane if len(lane) <= _LONGEST_NAME else lane[: _LONGEST_NAME - 1] + "\u2026"
        parts.append(f'<text x="4" y="{top + 15}" fill="#222222">{escape(name)}</text>')
        parts += [_bar(span, scale, top, _PALETTE[number % len(_PALETTE)]) for span in spans if span.lane == lane]
    return "".join([*parts, "</svg>"]).encode()


def _clock(seconds: int) -> str:
    return format_clock(seconds).partition(".")[0].removeprefix("00:")


def _bar(span: Span, scale: float, top: int, colour: str) -> str:
    left, width = _NAMES + span.start * scale, max((span.end - span.start) * scale, 1.0)
    told = f"{span.label}, " if span.label else ""
    title = f"{told}{format_clock(span.start)} to {format_clock(span.end)}"
    return (
        f'<rect x="{left:.1f}" y="{top + 3}" width="{width:.1f}" height="{_LANE - 6}" fill="{colour}" '
        f'stroke="#555555" stroke-width="0.5">'
        f"<title>{escape(title)}</title></rect>"
    )


def _turns(workspace: Workspace) -> list[Picture]:
    turns = read_rows(workspace.artifact("turns.parquet"))
    spans = [Span(turn["speaker"], turn["start"], turn["end"]) for turn in turns]
    return _drawn("who speaks when", sorted(spans, key=lambda span: span.lane), workspace)


def _rows(workspace: Workspace) -> list[Picture]:
    rows = read_rows(workspace.artifact("rows.parquet"))
    spoken = [_span(row, row["primary_speaker"], row["utterance_type"]) for row in rows]
    relations = [_span(row, row["relation_label"], "relation") for row in rows if row["relation_label"]]
    moves = [
        _span(row, move["strategy_type"], "support")
        for row in rows
        for move in row["support_strategy"] or ()
        if move["strategy_type"]
    ]
    spans = [part for found in (spoken, relations, moves) for part in sorted(found, key=lambda one: one.lane)]
    return _drawn("what is annotated", spans, workspace)


def _span(row: Mapping[str, Any], lane: str, label: str | None) -> Span:
    return Span(lane, row["start_time"], row["end_time"], label or "")


def _drawn(title: str, spans: Sequence[Span], workspace: Workspace) -> list[Picture]:
    if not spans:
        return []
    duration = max(span.end for span in spans)
    source = workspace.artifact("source.json")
    if source.is_file():
        duration = max(duration, float(read_json(source)["duration"]))
    return [Picture(title, "image/svg+xml", timeline(spans, duration))]


def _clips(workspace: Workspace) -> list[Picture]:
    """First frames of up to twelve rows, evenly spread, side by side."""
    import cv2  # noqa: PLC0415 - an extra
    import numpy as np  # noqa: PLC0415

    clips = read_json(workspace.artifact("clips/index.json"))["clips"]
    chosen = [clips[place * len(clips) // _TILES] for place in range(_TILES)] if len(clips) > _TILES else clips
    tiles = []
    for clip in chosen:
        picture = cv2.imread(str(workspace.artifact("clips") / f"{clip['row']}.jpg"))
        if picture is None:
            continue
        height, width = picture.shape[:2]
        smaller = cv2.resize(picture, (_TILE, max(1, height * _TILE // width)), interpolation=cv2.INTER_AREA)
        for colour, thickness in ((0, 4), (255, 1)):  # readable on light and dark
            cv2.putText(smaller, str(clip["row"]), (5, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (colour,) * 3, thickness)
        tiles.append(smaller)
    if not tiles:
        return []
    columns = min(4, len(tiles))
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % columns)
    lines = [cv2.hconcat(tiles[at : at + columns]) for at in range(0, len(tiles), columns)]
    done, content = cv2.imencode(".jpg", cv2.vconcat(lines), [cv2.IMWRITE_JPEG_QUALITY, 75])
    return [Picture("the first picture of rows", "image/jpeg", content.tobytes())] if done else []


_DRAWINGS: Mapping[str, Callable[[Workspace], list[Picture]]] = {"turns": _turns, "rows": _rows, "clips": _clips}
