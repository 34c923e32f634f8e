"""A scene as it is looked for: its words, each with the time at which it should be heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.annotation.model import Row
from pipeline.join.match import tokens
from pipeline.times import Seconds

__all__ = ["Scene", "scene_of"]


@dataclass(frozen=True)
class Scene:
    """The rows of a conversation, and their words in order of time."""

    conversation_id: str
    rows: tuple[Row, ...]
    """In order of time."""
    words: tuple[str, ...]
    times: npt.NDArray[np.float64]
    """Seconds from the start of the scene's clip; one for each of ``words``."""

    @property
    def end(self) -> Seconds:
        """When its last row ends."""
        return max((row.end_time for row in self.rows), default=0.0)


def scene_of(conversation_id: str, rows: Sequence[Row]) -> Scene:
    """A scene from annotation rows. A row's words are spread evenly over it."""
    ordered = tuple(sorted(rows, key=lambda row: (row.start_time, row.row_index)))
    spoken = [(row, tokens(row.dialogue_cleaned)) for row in ordered]
    words = [word for _, said in spoken for word in said]
    times = [
        row.start_time + place / len(said) * (row.end_time - row.start_time)
        for row, said in spoken
        for place in range(len(said))
    ]
    return Scene(conversation_id, ordered, tuple(words), np.array(times, dtype=np.float64))
