"""What a draft is made from: machine turns and subtitles, in windows that fit a request."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pipeline.annotation.stations import known_duration
from pipeline.conversation import Conversation, Scenario
from pipeline.errors import InputError
from pipeline.schemas import read_rows
from pipeline.station import Workspace
from pipeline.subtitles import Cue, subtitle_cues
from pipeline.times import Interval, Seconds

__all__ = ["Material", "Turn", "Window", "read_material", "windows_of"]


@dataclass(frozen=True)
class Turn:
    """A turn."""

    index: int
    """Counted from 1."""
    speaker: str
    """Label of a voice."""
    interval: Interval
    text: str
    flags: tuple[str, ...] = ()
    """Guesses of the machine."""


@dataclass(frozen=True)
class Material:
    """What is known of a conversation without an annotation."""

    conversation: Conversation
    scenario: Scenario
    turns: tuple[Turn, ...]
    """At least one."""
    cues: tuple[Cue, ...] = ()
    duration: Seconds | None = None
    recording: Path | None = None
    """The video, where pictures are to be shown."""


@dataclass(frozen=True)
class Window:
    """Turns that are annotated in one request, with those around them."""

    number: int
    """Counted from 1."""
    turns: tuple[Turn, ...]
    before: tuple[Turn, ...]
    after: tuple[Turn, ...]
    cues: tuple[Cue, ...] = ()
    """Those of this stretch: each cue is in one window."""

    @property
    def span(self) -> Interval:
        """From the first start to the last end of its turns."""
        return Interval(min(turn.interval.start for turn in self.turns), max(turn.interval.end for turn in self.turns))


def read_material(workspace: Workspace, *, pictures: bool = False) -> Material:
    """Read what a draft needs.

    Args:
        workspace: A built conversation.
        pictures: Whether pictures of the recording are to be shown.

    Raises:
        InputError: If turns, scenario, participants, or the picture that is wanted are missing.
    """
    conversation = workspace.conversation
    if conversation.scenario is None:
        msg = "it is not said whether this is a couple or a family"
        raise InputError(msg, conversation=conversation.id, hint="add `scenario: couple` to conversation.yaml")
    if not conversation.participants:
        msg = "it is not said who takes part, so a model would invent names"
        raise InputError(msg, conversation=conversation.id, hint="add `participants: [Anna, Ben]` to conversation.yaml")
    path = workspace.artifact("turns.parquet")
    if not path.is_file():
        msg = "there are no turns"
        raise InputError(msg, conversation=conversation.id, file=path, hint=f"rescue build {conversation.key}")
    turns = tuple(
        Turn(
            row["turn_index"],
            row["speaker"],
            Interval(row["start"], row["end"]),
            row["text"],
            tuple(row["flags"] or ()),
        )
        for row in read_rows(path)
    )
    if not turns:
        msg = "nobody was heard to speak"
        raise InputError(msg, conversation=conversation.id, file=path, hint="there is nothing to draft")
    return Material(
        conversation,
        conversation.scenario,
        turns,
        tuple(subtitle_cues(conversation, workspace.raw)),
        known_duration(workspace),
        _video(workspace) if pictures else None,
    )


def windows_of(material: Material, *, size: int, context: int) -> list[Window]:
    """Cut the turns into windows.

    The last two share what is left, so that none is a scrap.

    Args:
        material: The conversation.
        size: Turns of a window at most.
        context: Turns shown before and after a window at most.
    """
    turns = material.turns
    count = -(-len(turns) // size)
    borders = [round(part * len(turns) / count) for part in range(count + 1)]
    # A cue belongs where its middle lies; a window lasts until the next one begins.
    ends = [turns[last].interval.start for last in borders[1:-1]]
    shares: list[list[Cue]] = [[] for _ in range(count)]
    for cue in material.cues:
        shares[bisect(ends, cue.interval.middle)].append(cue)
    return [
        Window(
            number,
            turns[first:last],
            turns[max(0, first - context) : first],
            turns[last : last + context],
            tuple(shares[number - 1]),
        )
        for number, (first, last) in enumerate(pairwise(borders), start=1)
    ]


def _video(workspace: Workspace) -> Path:
    path = workspace.source(workspace.conversation.media)
    if path is None or not path.is_file():
        msg = "there is no recording to take pictures from"
        raise InputError(msg, conversation=workspace.conversation.id, file=path, hint="leave out --frames")
    return path
