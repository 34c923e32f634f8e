"""A clean row and a clean conversation, for tests that change one thing."""

from __future__ import annotations

from typing import Any

from pipeline.annotation.io import annotation_of
from pipeline.annotation.model import Annotation
from pipeline.conversation import Conversation

ROW: dict[str, Any] = {
    "row_index": 1,
    "start_time": 1.0,
    "end_time": 3.0,
    "primary_speaker": "Anna",
    "target": ["Ben"],
    "dialogue_cleaned": "You never call when you are late.",
    "utterance_type": "accusation",
    "background_dialogue": [],
    "tone_of_voice": "sharp",
    "body_posture": [],
    "facial_expressions": [],
    "self_directed_behavior": [],
    "interaction_behavior": [],
    "internal_emotion": [],
    "viewpoints_attitudes": [],
    "support_strategy": [],
    "relation_pattern": None,
}
MOVE = {"provider": "Therapist", "target": ["Anna"], "strategy_type": "evoke", "strategy_content": "asks on"}
THERAPIST_ROW: dict[str, Any] = {
    **ROW,
    "row_index": 2,
    "start_time": 3.0,
    "end_time": 6.0,
    "primary_speaker": "Therapist",
    "target": ["Anna"],
    "dialogue_cleaned": "What happens in you when the phone stays silent?",
    "utterance_type": None,
    "support_strategy": [MOVE],
    "relation_pattern": "pursue_withdraw",
    "relation_pattern_evidence_rows": [1],
}
CONVERSATION = Conversation.model_validate({"id": "a", "scenario": "couple", "participants": ["Anna", "Ben"]})


def made(*rows: dict[str, Any]) -> Annotation:
    """An annotation of the given rows, as a file would hold them."""
    return annotation_of({"rows": list(rows)}, CONVERSATION).annotation
