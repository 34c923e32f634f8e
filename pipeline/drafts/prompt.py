"""What a model is shown of a window, and the form of its answer.

The form follows from the model of a row: the same fields and types, with the names and labels that this conversation
may use. Fields that cannot be known from what is shown are not asked for.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from pipeline.annotation.labels import Label, label_set
from pipeline.annotation.model import Row
from pipeline.annotation.normalize import NAMED
from pipeline.conversation import THERAPIST
from pipeline.drafts.window import Material, Turn, Window
from pipeline.store import Json
from pipeline.tasks.render import flat, template, tidy

__all__ = ["DraftPrompt", "asked_fields", "prompt_digest", "render_window", "repair_text", "rows_schema"]

_SAID = (
    "row_index",
    "start_time",
    "end_time",
    "primary_speaker",
    "target",
    "dialogue_cleaned",
    "utterance_type",
    "background_dialogue",
)
_SEEN = ("body_posture", "facial_expressions", "self_directed_behavior", "interaction_behavior")
_MEANT = ("internal_emotion", "viewpoints_attitudes")
_THERAPY = (
    "support_strategy",
    "relation_pattern",
    "relation_pattern_reason",
    "relation_pattern_evidence_rows",
)
_SHOWN_ROWS = 12
"""Rows of the draft so far that a later window sees."""


@dataclass(frozen=True)
class DraftPrompt:
    """What is sent for one window."""

    system: str
    user: str
    schema: Json
    """JSON Schema of the answer."""
    picture_times: tuple[tuple[int, float], ...] = ()
    """Turn and second of each picture that goes with the text."""


def asked_fields(material: Material) -> tuple[str, ...]:
    """The fields of a row that can be known from what is shown: no tone of voice, without pictures nothing visible."""
    seen = _SEEN if material.recording else ()
    therapy = _THERAPY if material.conversation.has_therapist else ()
    return (*_SAID, *seen, *_MEANT, *therapy)


def render_window(material: Material, window: Window, rows: Sequence[Row], *, pictures: int = 0) -> DraftPrompt:
    """The prompt of a window.

    Args:
        material: The conversation.
        window: The turns to annotate.
        rows: The rows of the windows before, in order.
        pictures: Pictures of each turn, evenly spread.
    """
    conversation = material.conversation
    times = _picture_times(window, pictures) if material.recording else ()
    values = {
        "names": ", ".join(name for name in conversation.entities if name != material.scenario.group_label),
        "group": material.scenario.group_label,
        "voices": _voices(material, rows),
        "rows_before": "\n".join(map(_row_line, rows[-_SHOWN_ROWS:])) or "(none, this is the beginning)",
        "turns_before": "\n".join(map(_turn_line, window.before)) or "(none)",
        "turns": "\n".join(map(_turn_line, window.turns)),
        "turns_after": "\n".join(map(_turn_line, window.after)) or "(none, this is the end)",
        "first_turn": window.turns[0].index,
        "last_turn": window.turns[-1].index,
        "cues": _cues(window),
        "pictures": "Pictures of the turns follow, each under the number of its turn." if times else "",
        "first_row": len(rows) + 1,
        "fields": ", ".join(asked_fields(material)),
    }
    user = tidy(Template(template("draft_window")).substitute(values))
    return DraftPrompt(_system(material), user, rows_schema(material), times)


def repair_text(findings: Sequence[str]) -> str:
    """The further question after an answer with findings."""
    return tidy(
        Template(template("draft_repair")).substitute(findings="\n".join(f"- {flat(finding)}" for finding in findings))
    )


def prompt_digest(material: Material) -> str:
    """SHA-256 over the wording: templates, labels and the form of the answer, without anything that was said."""
    parts = (_system(material), template("draft_window"), template("draft_repair"), ",".join(asked_fields(material)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _system(material: Material) -> str:
    labels, group = label_set(material.scenario), material.scenario.group_label
    known = {
        "group": group,
        "utterance_types": _described(labels.utterance_types),
        "support_strategies": _described(labels.support_strategies),
        "relation_patterns": _described(labels.relation_patterns),
    }
    parts = [name for name, there in _parts(material) if there]
    more = "\n".join(Template(template(name)).substitute(known).strip() for name in parts)
    scheme = Template(template("draft_scheme")).substitute(known | {"more": more})
    return f"{template(f'draft.{material.scenario.value}').strip()}\n\n{tidy(scheme)}"


def _parts(material: Material) -> tuple[tuple[str, bool], ...]:
    """Templates on fields that not every conversation has."""
    return ("draft_visible", material.recording is not None), ("draft_therapist", material.conversation.has_therapist)


def _described(labels: Sequence[Label]) -> str:
    return "\n".join(f"- {label.label}: {label.definition} In doubt: {label.boundary}" for label in labels)


# --- lines ----------------------------------------------------------------------------------------------------------


def _turn_line(turn: Turn) -> str:
    unsure = " (unsure: " + ", ".join(turn.flags) + ")" if turn.flags else ""
    return f"[{turn.index}] {turn.interval.start:.2f}-{turn.interval.end:.2f} {turn.speaker}{unsure}: {flat(turn.text)}"


def _row_line(row: Row) -> str:
    to = ", ".join(row.target) or "nobody"
    return (
        f"row {row.row_index}, {row.start_time:.2f}-{row.end_time:.2f}, {flat(row.primary_speaker)} to {flat(to)}: "
        f"{flat(row.dialogue_cleaned)}"
    )


def _cues(window: Window) -> str:
    if not window.cues:
        return ""
    lines = [
        f"{cue.interval.start:.2f}-{cue.interval.end:.2f} {flat(': '.join(filter(None, (cue.speaker, cue.text))))}"
        for cue in window.cues
    ]
    return "Subtitles of this stretch; trust their words more than those of the turns:\n" + "\n".join(lines)


def _voices(material: Material, rows: Sequence[Row]) -> str:
    """Which name each voice had so far, by shared time: keeps windows from giving one voice two names."""
    shared: dict[str, Counter[str]] = {}
    at = 0
    for row in rows:
        # Both are in order of time, so turns that ended before this row are not looked at again.
        while at < len(material.turns) and material.turns[at].interval.end <= row.start_time:
            at += 1
        for turn in material.turns[at:]:
            if turn.interval.start >= row.end_time:
                break
            both = min(turn.interval.end, row.end_time) - max(turn.interval.start, row.start_time)
            if both > 0:
                shared.setdefault(turn.speaker, Counter())[row.primary_speaker] += round(both * 1000)
    told = [f"{voice} was mostly {flat(names.most_common(1)[0][0])}" for voice, names in sorted(shared.items())]
    return f"In the rows so far {', '.join(told)}." if told else ""


def _picture_times(window: Window, pictures: int) -> tuple[tuple[int, float], ...]:
    return tuple(
        (turn.index, round(turn.interval.start + turn.interval.duration * (part + 0.5) / pictures, 3))
        for turn in window.turns
        for part in range(pictures)
    )


# --- the form of the answer -----------------------------------------------------------------------------------------


def rows_schema(material: Material) -> Json:
    """JSON Schema of the answer: ``{"rows": [...]}`` with the asked fields of `Row`, closed names and closed labels.

    Every property is required and no other is allowed, which is what servers with strict schemas ask for.
    """
    whole = Row.model_json_schema()
    closed = _Closed(material, whole.get("$defs", {}))
    properties = {name: closed.schema(name, whole["properties"][name]) for name in asked_fields(material)}
    return _object({"rows": {"type": "array", "items": _object(properties)}})


class _Closed:
    """Schemas of pydantic, without references, with the sets of names and labels filled in."""

    def __init__(self, material: Material, definitions: Mapping[str, Json]) -> None:
        labels, entities = label_set(material.scenario), list(material.conversation.entities)
        people = [name for name in entities if name != material.scenario.group_label]
        self._definitions = definitions
        names: dict[str, list[str]] = dict.fromkeys(NAMED, people)
        self._sets = names | {
            "provider": [THERAPIST],
            "target": entities,
            "utterance_type": [label.label for label in labels.utterance_types],
            "strategy_type": [label.label for label in labels.support_strategies],
            "relation_pattern": ["", *(label.label for label in labels.relation_patterns)],
        }

    def schema(self, name: str, part: Mapping[str, Any]) -> Json:
        """The schema of a field, by its name."""
        if name == "intensity":
            return {"type": "number", "minimum": 0, "maximum": 10}
        if "$ref" in part:
            part = self._definitions[part["$ref"].rpartition("/")[2]]
        if "anyOf" in part:
            return {"anyOf": [self.schema(name, one) for one in part["anyOf"]]}
        if part["type"] == "object":
            return _object({key: self.schema(key, one) for key, one in part["properties"].items()})
        if part["type"] == "array":
            return {"type": "array", "items": self.schema(name, part["items"])}
        closed = {"enum": self._sets[name]} if part["type"] == "string" and name in self._sets else {}
        return {"type": part["type"], **closed}


def _object(properties: Mapping[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
