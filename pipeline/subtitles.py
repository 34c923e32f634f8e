"""The subtitles of a conversation: which file they are, and what its cues say.

Where a recording has subtitles they are the truth about what is said and when. What a cue describes instead of says
(``[music]``, ``(sighs)``, lyrics between notes) is kept apart from its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from pipeline.annotation.formats.base import Context, LeftOut, Source
from pipeline.annotation.formats.mapping import FormatMapping, load_mapping, mapping_beside
from pipeline.annotation.formats.subtitles import SrtFormat, VttFormat
from pipeline.conversation import Conversation
from pipeline.errors import InputError, RescueError
from pipeline.times import Interval, Seconds

__all__ = ["Cue", "Subtitles", "read_subtitles", "subtitle_candidates", "subtitle_cues", "subtitle_file"]

_FORMATS = {".srt": SrtFormat(), ".vtt": VttFormat()}
_EFFECT = re.compile(
    r"\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|\uff08[^\uff09]*\uff09|\u3010[^\u3011]*\u3011"  # remarks in brackets
    r"|[\u2669-\u266c]+[^\u2669-\u266c]*(?:[\u2669-\u266c]+|$)"  # lyrics from note to note
    r"|^#\s[^#]*#?$|^\*[^*]+\*$"
)
_SPEECH = re.compile(r"\w|[&%+=@$\u20ac\u00a3]")
"""What makes a piece of text a word; a dash or dots alone are none."""
_AT_ONCE: Seconds = 0.1
_MIN_ROLLING = 2


@dataclass(frozen=True)
class Cue:
    """What one person says in one cue. A cue in which two people speak gives two, at the same times."""

    place: str
    """Where it stands in the file, for example ``cue 3``."""
    start: Seconds
    end: Seconds
    text: str
    """As the file has it, without tags and the name of the speaker."""
    speaker: str | None = None
    """Whom the file names, by voice tag or before a colon; an entity of the conversation where it is known."""

    @property
    def interval(self) -> Interval:
        """Where it lies."""
        return Interval(self.start, self.end)

    @cached_property
    def effects(self) -> tuple[str, ...]:
        """What is described, not said: sounds, music, manner."""
        return tuple(_EFFECT.findall(self.text))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that are said, with their punctuation."""
        return tuple(word for word in _EFFECT.sub(" ", self.text).split() if _SPEECH.search(word))


@dataclass(frozen=True)
class Subtitles:
    """A subtitle file as it was read."""

    path: Path
    cues: tuple[Cue, ...]
    """In order of time; they may overlap."""
    left_out: tuple[LeftOut, ...] = ()
    """Cues that cannot be used, and why."""


def subtitle_candidates(conversation: Conversation, folder: Path) -> tuple[Path, ...]:
    """The files that may be the subtitles of a conversation: the named one alone, else those beside the recording.

    Several files are narrowed to the one that has the recording's name, where there is one. A file that is named as
    annotations or reference is none.

    Args:
        conversation: What is said of the recording.
        folder: Its folder under ``raw_video``.
    """
    if conversation.subtitles is not None:
        return (folder / conversation.subtitles,)
    if conversation.media is None:
        return ()
    media = folder / conversation.media
    others = {folder / name for name in (conversation.annotations, *conversation.reference) if name}
    found = [path for path in _beside(media) if path not in others]
    same = [path for path in found if path.stem == media.stem]
    return tuple(same if len(same) == 1 else found)


def subtitle_file(conversation: Conversation, folder: Path) -> Path | None:
    """The subtitles of a conversation, or None if it has none.

    Raises:
        InputError: If several files may be it and none is named.
    """
    found = subtitle_candidates(conversation, folder)
    if len(found) > 1:
        msg = f"there are {len(found)} subtitle files beside the recording: {', '.join(path.name for path in found)}"
        hint = "name the one to use as `subtitles:` in conversation.yaml"
        raise InputError(msg, conversation=conversation.id, hint=hint)
    return found[0] if found else None


def read_subtitles(path: Path, conversation: Conversation) -> Subtitles:
    """Read a subtitle file; a mapping file beside it may name its encoding and its speakers.

    Raises:
        InputError: If it is missing, damaged, or no subtitle file.
    """
    known = _FORMATS.get(path.suffix.casefold())
    if known is None:
        msg = f"{path.suffix or path.name!r} is no subtitle file that can be read"
        hint = f"known are {', '.join(_FORMATS)}; save it as one of these"
        raise InputError(msg, conversation=conversation.id, file=path, hint=hint)
    try:
        beside = mapping_beside(path)
        mapping = load_mapping(beside) if beside.is_file() else FormatMapping()
        context = Context(conversation.id, conversation.entities, mapping)
        found = known.read(Source.read(path, encoding=mapping.encoding), context)
    except RescueError as error:
        error.conversation = error.conversation or conversation.id
        raise
    cues = tuple(
        Cue(
            row.place,
            float(row.values["start_time"]),
            float(row.values["end_time"]),
            str(row.values["dialogue_cleaned"]),
            row.values.get("primary_speaker"),
        )
        for row in found.rows
    )
    kept, repeats = _without_repeats(cues)
    return Subtitles(path, tuple(kept), (*found.left_out, *repeats))


def subtitle_cues(conversation: Conversation, folder: Path) -> list[Cue]:
    """The cues of a conversation's subtitles in order of time; empty where it has none.

    Raises:
        InputError: As `subtitle_file` and `read_subtitles`.
    """
    path = subtitle_file(conversation, folder)
    return list(read_subtitles(path, conversation).cues) if path else []


def _beside(media: Path) -> list[Path]:
    if not media.parent.is_dir():
        return []
    return sorted(path for path in media.parent.iterdir() if path.suffix.casefold() in _FORMATS and path.is_file())


def _without_repeats(cues: Sequence[Cue]) -> tuple[list[Cue], list[LeftOut]]:
    """Rolling captions, each cue beginning with what the one before ends with, as every word once.

    Only where most cues do so: people do say ``No.`` twice.
    """
    repeated = [0, *(_repeated(before, cue) for before, cue in pairwise(cues))]
    rolling = sum(count > 0 for count in repeated)
    if rolling < _MIN_ROLLING or 2 * rolling < len(cues) - 1:
        return list(cues), []
    kept, left_out = [], []
    for cue, count in zip(cues, repeated, strict=True):
        text = " ".join(cue.text.split()[count:])
        if text:
            kept.append(replace(cue, text=text))
        else:
            left_out.append(LeftOut(cue.place, "it only repeats the cue before", cue.text))
    return kept, left_out


def _repeated(before: Cue, cue: Cue) -> int:
    """Words at the start of a cue that the cue before, which it follows at once, ends with."""
    if abs(cue.start - before.end) > _AT_ONCE:
        return 0
    old, new = before.text.split(), cue.text.split()
    return next((count for count in range(min(len(old), len(new)), 0, -1) if old[-count:] == new[:count]), 0)
