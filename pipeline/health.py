"""What about a built conversation deserves a look: too quiet, speech without words, too many speakers, a poor fit.

Each of these is read from what the stations wrote. None stops a build: what cannot be used has failed before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.schemas import read_rows
from pipeline.station import Record, State, Workspace
from pipeline.store import Json
from pipeline.times import Interval, merge

__all__ = ["LOOKS", "Complaint", "Look", "look_at"]

_BREATH = 1.0
"""Seconds between two words of one stretch of speech."""
_COVERED = 0.6
"""Share of the detected speech that words must cover. Music and noise are taken for speech at times."""
_LEAST_SPEECH = 5.0
"""Seconds of speech under which a share says nothing."""
_MATCHED = 0.75
"""Share of the annotated words that must be found again in the recording."""
_AGREED = 0.85
"""Share of the rows whose machine speaker must be the annotated one."""
_OFFSET = 0.5
"""Seconds by which all annotated times may be off."""
_DRIFT = 0.5
"""Percent by which the annotation may run faster or slower than the recording."""


@dataclass(frozen=True)
class Complaint:
    """Why a conversation deserves a look, and what to do."""

    conversation_id: str
    text: str
    hint: str


Summary = Mapping[str, Json]


@dataclass(frozen=True)
class Look:
    """One question asked of every conversation."""

    name: str
    station: str
    """The station whose result is looked at."""
    description: str
    find: Callable[[Summary, Workspace], list[tuple[str, str]]]
    """From the summary of the station: complaints, each with its hint."""


def look_at(look: Look, workspaces: Sequence[Workspace]) -> list[Complaint]:
    """The complaints about all conversations for which the station is done."""
    found = []
    for workspace in workspaces:
        record = Record.read(workspace.record(look.station))
        if record.state is State.DONE:
            said = look.find(record.summary or {}, workspace)
            found += [Complaint(workspace.conversation.id, text, hint) for text, hint in said]
    return found


def _sound(summary: Summary, workspace: Workspace) -> list[tuple[str, str]]:
    del workspace
    hint = "listen to it; a better copy of the recording gives better turns"
    return [(warning, hint) for warning in summary.get("warnings", ())]


def _covered(summary: Summary, workspace: Workspace) -> list[tuple[str, str]]:
    speech = summary["speech_seconds"]
    if speech < _LEAST_SPEECH:
        return []
    words = read_rows(workspace.artifact("words.parquet"))
    said = merge((Interval(word["start"], word["end"]) for word in words), join_gap=_BREATH)
    share = min(1.0, sum(part.duration for part in said) / speech)
    if share >= _COVERED:
        return []
    hint = "set `language:` in conversation.yaml if it is another one; else try a larger recognition model"
    return [(f"words cover {share:.0%} of {speech:.0f} s of speech", hint)]


def _speakers(summary: Summary, workspace: Workspace) -> list[tuple[str, str]]:
    if not summary["flags"]:
        return []
    conversation, bounds = workspace.conversation, workspace.conversation.speaker_bounds
    people = len(conversation.participants) + conversation.has_therapist
    listed = f"{people} people are listed" if conversation.participants else "nobody is listed"
    asked = f", {bounds.min} to {bounds.max} were asked for" if bounds else ""
    hint = "correct `participants:` or `speakers:` in conversation.yaml, or listen whether somebody hardly speaks"
    return [(f"{summary['speakers']} speakers were found; {listed}{asked}", hint)]


def _fit(summary: Summary, workspace: Workspace) -> list[tuple[str, str]]:
    del workspace
    found = []
    first = "see `look_first` in join.json"
    matched, agreed = summary.get("matched_share"), summary.get("speaker_agreement")
    offset, drift = summary.get("offset"), summary.get("drift_percent")
    if matched is not None and matched < _MATCHED:
        found.append((f"{matched:.0%} of the annotated words were found in the recording", first))
    if agreed is not None and agreed < _AGREED:
        found.append((f"the machine hears the annotated speaker in {agreed:.0%} of the rows", first))
    if offset is not None and abs(offset) > _OFFSET:
        found.append((f"annotated times are off by {offset:+.1f} s", "is the annotation of another cut?"))
    if drift is not None and abs(drift) > _DRIFT:
        found.append((f"the annotation runs {drift:+.1f} % off", "is the recording of another frame rate?"))
    return found


LOOKS: Sequence[Look] = (
    Look("sound_is_good", "audio", "The sound is loud enough, not overdriven, and has no holes.", _sound),
    Look("words_cover_speech", "words", "Where somebody speaks, there are words.", _covered),
    Look("speakers_as_expected", "speakers", "As many speakers as there are participants.", _speakers),
    Look("annotation_fits", "rows", "The annotation is of this recording: words, speakers, and times meet.", _fit),
)
"""The questions, in the order of the stations."""
