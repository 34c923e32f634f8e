"""What names say: season and episode in a file name and in an id, and the order of scenes within an episode."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Tag", "file_tag", "natural", "out_of_order", "scene_tag"]

_SCENE = re.compile(r"(?<![a-z0-9])s(\d{1,2})[ ._-]?e(\d{1,3})(?!\d)")
_FILE = (
    _SCENE,
    re.compile(r"(?<![a-z0-9])(\d{1,2})x(\d{2,3})(?!\d)"),
    re.compile(r"(?:season|series)[ ._-]*(\d{1,2})(?!\d).*?(?:episode|ep)[ ._-]*(\d{1,3})(?!\d)"),
)
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, order=True)
class Tag:
    """Season and episode."""

    season: int
    episode: int

    def __str__(self) -> str:
        return f"S{self.season:02d}E{self.episode:02d}"


def scene_tag(conversation_id: str) -> Tag | None:
    """The tag in the id of a released conversation.

    Example:
        >>> str(scene_tag("anna_ben/004_s1e3_ct2_segment01"))
        'S01E03'
    """
    match = _SCENE.search(conversation_id.casefold().replace("_", " "))
    return Tag(int(match[1]), int(match[2])) if match else None


def file_tag(name: str) -> Tag | None:
    """The tag in the name of an episode, its folders included.

    Example:
        >>> str(file_tag("Season 2/Episode 11.mkv"))
        'S02E11'
    """
    text = name.casefold().replace("_", " ")
    match = next((found for pattern in _FILE if (found := pattern.search(text))), None)
    return Tag(int(match[1]), int(match[2])) if match else None


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key under which 2 stands before 10."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in _DIGITS.split(text))


def out_of_order(offsets: Sequence[float]) -> list[int]:
    """Positions outside the longest rising subsequence: the fewest that have to be wrong for the rest to be in order.

    Example:
        >>> out_of_order([10.0, 300.0, 20.0, 30.0])
        [1]
    """
    tails: list[float] = []
    last: list[int] = []
    before: list[int] = []
    for position, offset in enumerate(offsets):
        length = bisect_left(tails, offset)
        before.append(last[length - 1] if length else -1)
        if length == len(tails):
            tails.append(offset)
            last.append(position)
        else:
            tails[length], last[length] = offset, position
    kept = set()
    position = last[-1] if last else -1
    while position >= 0:
        kept.add(position)
        position = before[position]
    return [position for position in range(len(offsets)) if position not in kept]
