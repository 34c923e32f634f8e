"""The annotation of a conversation as typed values.

These models hold rows as they are, quirks included: `pipeline.annotation.validate` says what is wrong with a row, not
a refusal to load it. Only the shape is fixed here. Field names are those of the published release.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import get_args

from pydantic import BaseModel, ConfigDict, Field

from pipeline.conversation import THERAPIST, Scenario

__all__ = [
    "RECORDS",
    "Annotation",
    "BackgroundDialogue",
    "Described",
    "Emotion",
    "Interaction",
    "Origin",
    "Row",
    "Status",
    "SupportStrategy",
    "Viewpoint",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class BackgroundDialogue(_Model):
    """Overlapping or secondary speech within a row."""

    speaker: str
    target: tuple[str, ...] = ()
    content: str


class Described(_Model):
    """Something visible of one person: posture, face, or self-directed behaviour."""

    person: str
    description: str


class Interaction(_Model):
    """Observable, directed, non-verbal behaviour."""

    initiator: str
    target: tuple[str, ...] = ()
    description: str


class Emotion(_Model):
    """What one person feels, in words, with its strength."""

    person: str
    emotion_description: str
    intensity: float | None = None
    """0 to 10."""


class Viewpoint(_Model):
    """What one person thinks of another one on screen."""

    source: str
    target: str
    viewpoint: str
    attitude: str


class SupportStrategy(_Model):
    """A supportive move of the therapist."""

    provider: str
    target: tuple[str, ...] = ()
    strategy_type: str
    strategy_content: str


class Row(_Model):
    """One row: a stretch of the conversation with one speaker, one addressee and one function.

    Times are seconds from the start of the clip.
    """

    row_index: int = Field(ge=1)
    """Counted from 1 within the conversation."""
    start_time: float
    end_time: float
    primary_speaker: str
    target: tuple[str, ...] = ()
    dialogue_cleaned: str
    utterance_type: str | None = None
    background_dialogue: tuple[BackgroundDialogue, ...] = ()
    tone_of_voice: str | None = None
    body_posture: tuple[Described, ...] = ()
    facial_expressions: tuple[Described, ...] = ()
    self_directed_behavior: tuple[Described, ...] = ()
    interaction_behavior: tuple[Interaction, ...] = ()
    internal_emotion: tuple[Emotion, ...] = ()
    viewpoints_attitudes: tuple[Viewpoint, ...] = ()
    support_strategy: tuple[SupportStrategy, ...] = ()
    relation_pattern: str | None = None
    """A label; empty text where annotators found no clear pattern; None where nothing was annotated."""
    relation_pattern_reason: str | None = None
    relation_pattern_evidence_rows: tuple[int, ...] | None = None
    relation_cycle_state: str | None = None
    """The older field of the same label."""
    relation_cycle_reason: str | None = None
    relation_cycle_evidence_rows: tuple[int, ...] | None = None

    @property
    def is_therapist(self) -> bool:
        """Whether the therapist speaks."""
        return self.primary_speaker == THERAPIST

    @property
    def relation_label(self) -> str | None:
        """The relation label that counts: on therapist rows the older field if it holds one, else the newer one.

        Labels on other rows are kept as they are and not counted; None where there is none.
        """
        if not self.is_therapist:
            return None
        return self.relation_cycle_state or self.relation_pattern or None


RECORDS = tuple(
    name
    for name, field in Row.model_fields.items()
    if any(isinstance(part, type) and issubclass(part, _Model) for part in get_args(field.annotation))
)
"""Fields of a row that hold a list of records."""


class Status(StrEnum):
    """How far an annotation has come."""

    DRAFT = "draft"
    """Proposed, by a person or a model; nobody has verified it."""
    REVIEWED = "reviewed"
    """Verified against the recording by its author."""
    ADJUDICATED = "adjudicated"
    """Made one out of several by the stated rule, with nothing left open."""


class Origin(_Model):
    """Who made an annotation, when, and how far it has come."""

    author: str = Field(min_length=1)
    time: datetime | None = None
    status: Status = Status.REVIEWED
    model: str | None = None
    """Name of the language model of a draft."""
    prompt_digest: str | None = None
    """SHA-256 of the prompts of a draft."""
    rows_digest: str | None = None
    """SHA-256 of the rows of a draft as they were written: what tells that a person has edited them since."""


class Annotation(_Model):
    """All rows of one conversation, in order."""

    conversation_id: str
    scenario: Scenario
    participants: tuple[str, ...]
    """Without the therapist; in the published release it can miss someone who speaks."""
    source_file: str | None = None
    """Where the release says it comes from; a name, never a path of a machine."""
    origin: Origin | None = None
    rows: tuple[Row, ...]
