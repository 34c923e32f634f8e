"""Small conversations: pieces of a few seconds out of real recordings, with no two alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import soundfile

from pipeline.conversation import Conversation, save_conversation

__all__ = ["write_pieces"]

_SECONDS = 2.5
_RECORDINGS = ("katiesteve_mono", "commercial_mono", "ami_debug/trn08", "ami_debug/dev00", "ami_debug/dev01")


def write_pieces(media: Path, raw: Path, number: int) -> list[str]:
    """Write conversations with one piece each, and return their ids in order.

    Args:
        media: The folder of shared recordings.
        raw: The folder of conversations.
        number: How many; the same number gives the same pieces.
    """
    names = []
    for position, (piece, rate) in zip(range(number), _pieces(media), strict=False):
        name = f"piece{position:03d}"
        folder = raw / name
        folder.mkdir(parents=True)
        soundfile.write(folder / "piece.wav", piece, rate)
        save_conversation(folder, Conversation(id=name, media="piece.wav"))
        names.append(name)
    return names


def _pieces(media: Path) -> Iterator[tuple[object, int]]:
    """Pieces out of each recording in turn; every round through them starts a little later."""
    paths = [media / "audio" / f"{name}.wav" for name in _RECORDINGS]
    recordings = [soundfile.read(path, dtype="int16") for path in paths]
    for turn in count():
        for samples, rate in recordings:
            length = int(_SECONDS * rate)
            start = int(turn * 0.37 * rate) % (len(samples) - length)
            yield samples[start : start + length], rate
