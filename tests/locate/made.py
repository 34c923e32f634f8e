"""Episodes and scenes made of words, with known truth."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pipeline.annotation.model import Row
from pipeline.join.match import HeardWord, tokens
from pipeline.locate.index import Heard
from pipeline.locate.scene import Scene, scene_of

COMMON = tokens(
    "i you the a to and it that is of in we do not what have so this was my he she but for with on me your are know "
    "just like be think they if no yes all can about when at there how said feel want"
)
RARE = [
    first + middle + last
    for first in ("bar", "con", "del", "far", "gol", "hem", "jus", "kel", "lor", "mir")
    for middle in ("ba", "de", "fi", "go", "lu", "ma", "ne", "po")
    for last in ("n", "r", "st", "ly", "m")
]

Line = tuple[float, float, str]
"""Start, end, text."""


def talk(seed: int, length: float) -> list[Line]:
    """Lines of made speech: two words in three are common ones, as in real speech."""
    chance = random.Random(seed)
    lines, at = [], 1.0
    while at < length - 5:
        words = [chance.choice(COMMON if chance.random() < 0.67 else RARE) for _ in range(chance.randint(4, 14))]
        end = at + 0.35 * len(words)
        lines.append((round(at, 3), round(end, 3), " ".join(words)))
        at = end + chance.uniform(0.2, 1.5)
    return lines


def scene(name: str, lines: Iterable[Line]) -> Scene:
    rows = [
        Row(row_index=index, start_time=start, end_time=end, primary_speaker="A", dialogue_cleaned=text)
        for index, (start, end, text) in enumerate(lines, start=1)
    ]
    return scene_of(name, rows)


def spoken(
    lines: Iterable[Line], offset: float, *, speed: float = 1.0, wrong: float = 0.2, seed: int = 0
) -> list[HeardWord]:
    """Lines as a recogniser hears them in an episode: a share of words is wrong, edges are a little off."""
    chance = random.Random(seed)
    heard = []
    for start, end, text in lines:
        words = text.split()
        for place, word in enumerate(words):
            begin = offset + (start + place / len(words) * (end - start)) / speed + chance.gauss(0, 0.08)
            said = chance.choice(COMMON + RARE) if chance.random() < wrong else word
            heard.append(HeardWord(0, said, round(begin, 3), round(begin + 0.3, 3)))
    return heard


def episode(name: str, length: float, *pieces: Sequence[HeardWord], seed: int = 1) -> Heard:
    """An episode: the pieces where they are, and other talk wherever there is room."""
    taken = sorted((piece[0].start - 2, piece[-1].end + 2) for piece in pieces)
    words = [word for piece in pieces for word in piece]
    edges = [0.0, *(edge for span in taken for edge in span), length]
    for number, (start, end) in enumerate(pairwise(edges)):
        if number % 2 == 0 and end - start > 10:
            words += spoken(talk(1000 * seed + number, end - start), start)
    ordered = sorted(words, key=lambda word: word.start)
    return Heard(name, length, tuple(HeardWord(i, w.text, w.start, w.end) for i, w in enumerate(ordered)))
