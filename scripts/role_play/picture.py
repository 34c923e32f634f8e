"""The picture: three drawn people on chairs. Who speaks is lit and moves the mouth; a caption says what is done."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from pipeline.conversation import THERAPIST
from pipeline.times import Interval
from scripts.role_play.perform import Performance
from scripts.role_play.script import Line, Script
from scripts.role_play.voices import RATE, Samples

__all__ = ["FRAME_RATE", "SIZE", "frames"]

FRAME_RATE = 12
SIZE = (480, 270)
_ZOOM = 2
"""Drawn larger and scaled down: Pillow's shapes have hard edges."""
_MOUTHS = 4
_LOUD = 0.16
"""Root mean square of a frame at which the mouth is open widest."""

_Colour = tuple[int, int, int]
_ROOM: _Colour = (236, 231, 222)
_FLOOR: _Colour = (214, 204, 190)
_INK: _Colour = (52, 50, 56)
_LIT: _Colour = (198, 84, 58)
_PAPER: _Colour = (250, 248, 244)
_LIPS: _Colour = (150, 70, 70)


@dataclass(frozen=True)
class _Look:
    x: int
    """Middle of the figure."""
    skin: _Colour
    hair: _Colour
    clothes: _Colour
    long_hair: bool


_LOOKS = {
    "Nora": _Look(90, (238, 201, 172), (96, 56, 40), (62, 112, 122), long_hair=True),
    THERAPIST: _Look(240, (208, 164, 132), (172, 170, 168), (112, 96, 128), long_hair=False),
    "Daniel": _Look(390, (228, 188, 156), (44, 42, 48), (92, 110, 76), long_hair=False),
}


@dataclass(frozen=True)
class _State:
    """All that a frame depends on."""

    mouths: tuple[int, ...]
    """Per figure, 0 closed to 3 wide."""
    speaking: tuple[bool, ...]
    gazes: tuple[tuple[int, int], ...]
    """Per figure, where the pupils are, in pixels from the middle of the eye."""
    caption: str


def frames(script: Script, performance: Performance) -> Iterator[npt.NDArray[np.uint8]]:
    """Every frame in order, shape (270, 480, 3), RGB."""
    for index in range(round(performance.duration * FRAME_RATE)):
        middle = (index + 0.5) / FRAME_RATE
        line, time = _line_at(script, performance, middle)
        mouths = [_level(performance.tracks[name], index) for name in _LOOKS]
        speaker = line.row.primary_speaker if time.start <= middle < time.end else None
        yield _draw(
            _State(
                mouths=tuple(mouths),
                speaking=tuple(name == speaker or mouth > 0 for name, mouth in zip(_LOOKS, mouths, strict=True)),
                gazes=tuple(_gaze(name, line) for name in _LOOKS),
                caption=line.stage.direction or "",
            )
        )


def _line_at(script: Script, performance: Performance, middle: float) -> tuple[Line, Interval]:
    """The row that is heard; in a pause the next one, for what it says is done is done before the words."""
    rows = list(zip(script.lines, performance.times, strict=True))
    return next((row for row in rows if middle < row[1].end), rows[-1])


def _level(track: Samples, index: int) -> int:
    width = RATE // FRAME_RATE
    piece = track[index * width : (index + 1) * width]
    rms = float(np.sqrt(np.mean(piece**2))) if len(piece) else 0.0
    return min(_MOUTHS - 1, int(np.ceil(rms / _LOUD * (_MOUTHS - 1) - 0.1)))


def _gaze(name: str, line: Line) -> tuple[int, int]:
    if name in line.stage.eyes_down:
        return 0, 3
    seen = line.row.target[0] if name == line.row.primary_speaker else line.row.primary_speaker
    if seen not in _LOOKS:
        return 0, 0
    return (3 if _LOOKS[seen].x > _LOOKS[name].x else -3), 0


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size * _ZOOM)


@lru_cache(maxsize=256)
def _draw(state: _State) -> npt.NDArray[np.uint8]:
    width, height = SIZE
    image = Image.new("RGB", (width * _ZOOM, height * _ZOOM), _ROOM)
    canvas = _Canvas(ImageDraw.Draw(image))
    canvas.box((0, 176, width, height), _FLOOR)
    for (name, look), mouth, speaks, gaze in zip(
        _LOOKS.items(), state.mouths, state.speaking, state.gazes, strict=True
    ):
        _figure(canvas, look, mouth, gaze)
        canvas.box((look.x - 48, 190, look.x + 48, 212), _LIT if speaks else _FLOOR, radius=8)
        canvas.text((look.x, 201), name, 13, _PAPER if speaks else _INK)
    if state.caption:
        canvas.box((0, 224, width, height), _INK)
        canvas.text((width // 2, 247), textwrap.fill(state.caption, 74), 12, _PAPER)
    return np.asarray(image.resize(SIZE, Image.Resampling.LANCZOS))


def _figure(canvas: _Canvas, look: _Look, mouth: int, gaze: tuple[int, int]) -> None:
    x, y = look.x, 92
    if look.long_hair:
        canvas.box((x - 38, y - 42, x + 38, y + 52), look.hair, radius=30)
    canvas.box((x - 52, y + 44, x + 52, y + 130), look.clothes, radius=34)
    canvas.box((x - 52, y + 84, x + 52, SIZE[1]), look.clothes)
    canvas.box((x - 12, y + 26, x + 12, y + 56), look.skin, radius=10)
    canvas.oval((x - 32, y - 42, x + 32, y + 42), look.hair)
    canvas.oval((x - 29, y - 32, x + 29, y + 42), look.skin)
    for eye in (x - 12, x + 12):
        canvas.oval((eye - 7, y - 8, eye + 7, y + 4), _PAPER)
        canvas.oval((eye - 3 + gaze[0], y - 5 + gaze[1], eye + 3 + gaze[0], y + 1 + gaze[1]), _INK)
        canvas.box((eye - 8, y - 15, eye + 8, y - 13), look.hair)
    opening = 1 + 3 * mouth
    canvas.oval((x - 11, y + 24 - opening // 2, x + 11, y + 26 + opening // 2), _LIPS)


class _Canvas:
    """Draws in pixels of the final picture."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self._draw = draw

    def box(self, edges: tuple[int, int, int, int], fill: _Colour, radius: int = 0) -> None:
        """A rectangle, given as left, top, right, bottom."""
        self._draw.rounded_rectangle(_scaled(edges), radius * _ZOOM, fill=fill)

    def oval(self, edges: tuple[int, int, int, int], fill: _Colour) -> None:
        """An ellipse in a rectangle."""
        self._draw.ellipse(_scaled(edges), fill=fill)

    def text(self, middle: tuple[int, int], text: str, size: int, fill: _Colour) -> None:
        """Text around its middle."""
        x, y = middle[0] * _ZOOM, middle[1] * _ZOOM
        self._draw.multiline_text((x, y), text, font=_font(size), fill=fill, anchor="mm", align="center")


def _scaled(edges: tuple[int, int, int, int]) -> list[int]:
    return [edge * _ZOOM for edge in edges]
