"""What a user says of a recording: ``raw_video/<folder>/conversation.yaml``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from pipeline.errors import InputError, RescueError
from pipeline.keys import key_of
from pipeline.store import write_text

__all__ = [
    "CONVERSATION_FILE",
    "THERAPIST",
    "Conversation",
    "Discovery",
    "Scenario",
    "SpeakerBounds",
    "closest",
    "discover",
    "load_conversation",
    "save_conversation",
]

CONVERSATION_FILE = "conversation.yaml"
THERAPIST = "Therapist"
"""The entity that stands for the therapist; never a therapist's own name."""

Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Scenario(StrEnum):
    """Who talks with the therapist; it decides the label sets."""

    COUPLE = "couple"
    FAMILY = "family"

    @property
    def group_label(self) -> str:
        """The entity that stands for the whole group: ``Couple`` or ``Family``."""
        return self.value.capitalize()


_LONGEST_NAME = 255


class SpeakerBounds(BaseModel):
    """How many people speak, as bounds for diarization."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min: int = Field(ge=1)
    max: int = Field(ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> SpeakerBounds:
        if self.min > self.max:
            msg = f"speakers.min is {self.min}, above speakers.max {self.max}"
            raise ValueError(msg)
        return self


class Conversation(BaseModel):
    """One recorded conversation.

    File names are relative to the conversation's folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    """The identity everywhere; any text."""
    title: str | None = None
    """A line for people."""
    scenario: Scenario | None = None
    """Needed once there are annotations."""
    group: Name | None = None
    """The couple or family; its conversations stay on one side of a split. Default: the id up to its last ``/``."""
    participants: tuple[Name, ...] = ()
    """The people who take part, without the therapist."""
    therapist: bool | None = None
    """Whether a therapist speaks. Default: yes if there is a scenario."""
    speakers: SpeakerBounds | None = None
    """Bounds for diarization. Default: from participants and therapist. A plain number means exactly that many."""
    media: str | None = None
    """The recording, video or sound; absent for conversations that come as annotations only."""
    audio_track: int | None = Field(default=None, ge=0)
    """Which audio stream to use, counted from 0. Default: by language, then the default flag, then the first."""
    subtitles: str | None = None
    """They say what is said, and when. Default: the .srt or .vtt file beside the recording, if there is just one."""
    annotations: str | None = None
    reference: tuple[str, ...] = ()
    """Files that say how it truly was, for error rates: RTTM, STM, UEM and others. Default: those with the name of the
    recording."""
    language: str | None = None
    """Spoken language as a two-letter code. Default: the profile's."""

    @field_validator("speakers", mode="before")
    @classmethod
    def _exact_count(cls, value: Any) -> Any:
        return {"min": value, "max": value} if isinstance(value, int) else value

    @field_validator("reference", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("reference")
    @classmethod
    def _all_inside_its_folder(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            cls._inside_its_folder(name)
        return names

    @field_validator("media", "subtitles", "annotations")
    @classmethod
    def _inside_its_folder(cls, name: str | None) -> str | None:
        # A folder that came from somebody else must not bring in other files of this machine.
        if name is not None and (not name or PurePath(name).is_absolute() or ".." in PurePath(name).parts):
            msg = f"{name!r} is no file of the conversation's own folder; copy the file there, or link it there"
            raise ValueError(msg)
        if name is not None and any(len(part.encode()) > _LONGEST_NAME for part in PurePath(name).parts):
            msg = f"the file name is longer than {_LONGEST_NAME} bytes"
            raise ValueError(msg)
        return name

    @field_validator("participants")
    @classmethod
    def _closed_and_distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        roles = {role.casefold() for role in (THERAPIST, *(scenario.group_label for scenario in Scenario))}
        taken = next((name for name in names if name.casefold() in roles), None)
        if taken is not None:
            msg = f"{taken!r} is a role, no participant; for a therapist say `therapist: true`"
            raise ValueError(msg)
        if len(set(names)) < len(names):
            msg = "participants are listed twice"
            raise ValueError(msg)
        return names

    @property
    def key(self) -> str:
        """The id as a safe name for folders and partitions."""
        return key_of(self.id)

    @property
    def group_id(self) -> str:
        """The couple or family this conversation belongs to."""
        return self.group or (self.id.rpartition("/")[0] or self.id)

    @property
    def has_therapist(self) -> bool:
        """Whether a therapist speaks."""
        return self.scenario is not None if self.therapist is None else self.therapist

    @property
    def entities(self) -> tuple[str, ...]:
        """The closed set of names that rows may use: participants, the therapist, the group label."""
        therapist = (THERAPIST,) if self.has_therapist else ()
        group = (self.scenario.group_label,) if self.scenario else ()
        return (*self.participants, *therapist, *group)

    @property
    def speaker_bounds(self) -> SpeakerBounds | None:
        """How many speakers diarization may find; None if nothing is known.

        From the participant list the count is an upper bound only: someone listed may stay silent in a scene.
        """
        if self.speakers is not None:
            return self.speakers
        count = len(self.participants) + self.has_therapist
        return SpeakerBounds(min=min(2, count), max=count) if self.participants else None


def load_conversation(folder: Path) -> Conversation:
    """Read ``conversation.yaml`` of a folder.

    Raises:
        InputError: If it is missing, no YAML, or has a wrong or unknown field; the message names the field.
    """
    source = folder / CONVERSATION_FILE
    name = folder.name
    try:
        value = yaml.safe_load(source.read_text("utf-8-sig"))
    except FileNotFoundError as error:
        hint = f"use `rescue add MEDIA`, or write {CONVERSATION_FILE} by hand (raw_video/README.md shows how)"
        msg = "the folder has no conversation.yaml"
        raise InputError(msg, conversation=name, file=source, hint=hint) from error
    except OSError as error:
        msg = f"the file cannot be read: {error.strerror}"
        raise InputError(msg, conversation=name, file=source) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that does not exist is a ValueError
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else None
        msg = f"the file is not YAML: {getattr(error, 'problem', None) or error}"
        raise InputError(msg, conversation=name, file=source, place=place) from error
    if not isinstance(value, dict):
        msg = "the file holds no fields"
        raise InputError(msg, conversation=name, file=source, hint="it needs at least `id:` and `media:`")
    try:
        conversation = Conversation.model_validate(value)
    except ValidationError as error:
        raise _first_error(error, name, source) from error
    conversation.key  # noqa: B018 - an id that cannot be a key is refused at intake
    return conversation


def save_conversation(folder: Path, conversation: Conversation) -> Path:
    """Write ``conversation.yaml`` into a folder, leaving out what is not set, and return its path."""
    content = conversation.model_dump(mode="json", exclude_defaults=True)
    target = folder / CONVERSATION_FILE
    write_text(target, yaml.safe_dump(content, allow_unicode=True, sort_keys=False))
    return target


@dataclass(frozen=True)
class Discovery:
    """The conversations found under a folder, and the folders that could not be read."""

    conversations: tuple[tuple[Conversation, Path], ...]
    """Each with its folder, ordered by id."""
    problems: tuple[RescueError, ...]


def discover(raw_dir: Path) -> Discovery:
    """Find the conversations under ``raw_dir``: every folder that holds a ``conversation.yaml``.

    A folder that cannot be read is a problem in the result, so the other conversations go on; so is an id that stands
    twice. Folders without the file are left alone: a user may keep other things there.
    """
    found: dict[str, tuple[Conversation, Path]] = {}
    folded: dict[str, str] = {}
    problems: list[RescueError] = []
    for source in sorted(raw_dir.glob(f"**/{CONVERSATION_FILE}")):
        folder = source.parent
        try:
            conversation = load_conversation(folder)
            twin = folded.get(conversation.key.casefold())
            if twin is not None:
                msg = f"the id {conversation.id!r} is taken by the folder {found[twin][1].name!r}"
                raise InputError(msg, conversation=conversation.id, file=source, hint="give one of them another id")
        except RescueError as error:
            problems.append(error)
            continue
        folded[conversation.key.casefold()] = conversation.id
        found[conversation.id] = (conversation, folder)
    return Discovery(tuple(found[name] for name in sorted(found)), tuple(problems))


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely means, or None."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else None


def _first_error(error: ValidationError, name: str, source: Path) -> InputError:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or None
    hint = None
    if first["type"] == "extra_forbidden":
        near = closest(str(first["loc"][-1]), Conversation.model_fields)
        hint = f"did you mean {near!r}?" if near else f"fields are: {', '.join(Conversation.model_fields)}"
    return InputError(first["msg"], conversation=name, file=source, place=place and f"field {place}", hint=hint)
