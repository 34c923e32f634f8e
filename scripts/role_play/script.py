"""The written script, and the annotation that comes of it once the times are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import Scenario
from pipeline.times import Interval, Seconds, round_time

__all__ = ["Line", "Script", "Stage", "Voice", "annotate", "read_script"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Voice(_Model):
    """A synthetic voice."""

    engine: Literal["hibari", "flite"]
    name: str
    shift: float = 1.0
    """Factor on pitch and formants together; below 1 is a larger, deeper speaker."""
    pace: float = 1.0
    """Factor on the speed of speech."""


class Stage(_Model):
    """How a row is performed; none of it is annotation."""

    pause: Seconds = 0.6
    """Silence before the row."""
    pace: float = 1.0
    """Factor on the speed of speech, on top of the voice's own."""
    interjects: tuple[Seconds, ...] = ()
    """When each background dialogue begins, counted from the start of the row."""
    direction: str | None = None
    """What is done, for the caption."""
    eyes_down: tuple[str, ...] = ()
    """Who looks down."""


@dataclass(frozen=True)
class Line:
    """A row and its performance."""

    row: Row
    """Its times are 0: they are known only after synthesis."""
    stage: Stage


class _Document(_Model):
    conversation_id: str
    scenario: Scenario
    participants: tuple[str, ...]
    voices: dict[str, Voice]
    rows: tuple[dict[str, object], ...] = Field(min_length=1)


@dataclass(frozen=True)
class Script:
    """The whole role play."""

    conversation_id: str
    scenario: Scenario
    participants: tuple[str, ...]
    voices: dict[str, Voice]
    lines: tuple[Line, ...]


def read_script(path: Path) -> Script:
    """Read ``script.yaml``.

    Raises:
        pydantic.ValidationError: If a field is unknown, missing or of the wrong kind.
        ValueError: If interjections and background dialogues do not pair up.
    """
    document = _Document.model_validate(yaml.safe_load(path.read_text()))
    lines = []
    for raw in document.rows:
        stage = Stage.model_validate(raw.get("stage", {}))
        written = {name: value for name, value in raw.items() if name != "stage"}
        row = Row.model_validate({**written, "start_time": 0.0, "end_time": 0.0})
        if len(stage.interjects) != len(row.background_dialogue):
            msg = f"row {row.row_index}: {len(row.background_dialogue)} background dialogues need as many interjects"
            raise ValueError(msg)
        lines.append(Line(row, stage))
    return Script(document.conversation_id, document.scenario, document.participants, document.voices, tuple(lines))


def annotate(script: Script, times: Sequence[Interval]) -> Annotation:
    """The annotation: the rows as written, with the times at which they are heard."""
    return Annotation(
        conversation_id=script.conversation_id,
        scenario=script.scenario,
        participants=script.participants,
        rows=tuple(
            line.row.model_copy(update={"start_time": round_time(time.start), "end_time": round_time(time.end)})
            for line, time in zip(script.lines, times, strict=True)
        ),
    )
