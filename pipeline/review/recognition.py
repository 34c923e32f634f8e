"""What recognition says of a stretch of the recording, then and now.

A changed recognition never touches a row. It only flags those whose words moved: what it says now of the stretch that
the row was made of differs from what it said then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.schemas import read_rows
from pipeline.station import Record, State, Workspace
from pipeline.store import Json
from pipeline.times import Seconds, round_time

__all__ = ["Heard", "heard"]

_CACHE: dict[Path, tuple[int, Heard]] = {}


class Heard:
    """The machine turns of a conversation."""

    def __init__(self, turns: Sequence[Mapping[str, Any]]) -> None:
        self.turns = turns
        said = ((word, turn["speaker"]) for turn in turns for word in turn["words"])
        words = [(word["start"], word["end"], word["text"], speaker) for word, speaker in said]
        self._words = sorted(words, key=lambda word: (word[0] + word[1]) / 2)
        self._middles = [(start + end) / 2 for start, end, _, _ in self._words]

    def within(self, start: Seconds, end: Seconds) -> dict[str, Json]:
        """Who says what between two times: the words whose middle lies there; the speaker is that of most of them."""
        found = self._words[bisect_left(self._middles, start) : bisect_left(self._middles, end)]
        speakers = Counter(speaker for _, _, _, speaker in found)
        return {
            "speaker": speakers.most_common(1)[0][0] if speakers else None,
            "start": round_time(start),
            "end": round_time(end),
            "text": " ".join(text for _, _, text, _ in found),
        }

    def now(self, machine: Mapping[str, Json] | None) -> dict[str, Json] | None:
        """What it says today of the stretch of a row; None if that is as it was."""
        if machine is None:
            return None
        today = self.within(machine["start"], machine["end"])
        # The labels of speakers are arbitrary in every run: only words count.
        return None if today["text"] == machine["text"] else {"speaker": today["speaker"], "text": today["text"]}

    def to_json(self) -> list[Json]:
        """``turns`` of the interface."""
        return [
            {
                "turn_index": turn["turn_index"],
                "speaker": turn["speaker"],
                "start": turn["start"],
                "end": turn["end"],
                "text": turn["text"],
                "confidence": turn["confidence"],
                "flags": turn["flags"] or [],
                "words": [{name: word[name] for name in ("text", "start", "end")} for word in turn["words"]],
            }
            for turn in self.turns
        ]


def heard(workspace: Workspace) -> Heard | None:
    """The machine turns; None where there are none."""
    path = workspace.artifact("turns.parquet")
    if Record.read(workspace.record("turns")).state is not State.DONE or not path.is_file():
        return None
    stamp = path.stat().st_mtime_ns
    known = _CACHE.get(path)
    if known is None or known[0] != stamp:
        known = _CACHE[path] = (stamp, Heard(read_rows(path)))
    return known[1]
