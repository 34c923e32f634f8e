"""Conversations with machine turns, and a model that drafts them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.annotation.io import read_annotation
from pipeline.conversation import Conversation, save_conversation
from pipeline.schemas import TURNS, table_of, write_table
from pipeline.settings import Settings
from pipeline.station import Workspace

REPOSITORY = Path(__file__).resolve().parent.parent.parent

VOICES = {"Therapist": "SPEAKER_00", "Nora": "SPEAKER_01", "Daniel": "SPEAKER_02"}
"""Voices of the demo's role play, as diarization named them."""


def workspace(root: Path, count: int = 12, **changes: Any) -> Workspace:
    """The first rows of the demo's role play as turns: what recognition and diarization would give at their best."""
    known = {"id": "role_play", "scenario": "couple", "participants": ["Nora", "Daniel"], "therapist": True} | changes
    settings = Settings(raw=root / "raw_video", data=root / "data")
    conversation = Conversation.model_validate(known)
    made = Workspace.of(conversation, settings.raw / conversation.key, settings)
    made.raw.mkdir(parents=True, exist_ok=True)
    save_conversation(made.raw, conversation)
    rows = read_annotation(REPOSITORY / "raw_video" / "role_play" / "annotations.json").rows[:count]
    turns = [
        {
            "conversation_id": conversation.id,
            "turn_index": number,
            "speaker": VOICES[row.primary_speaker],
            "start": row.start_time,
            "end": row.end_time,
            "text": row.dialogue_cleaned,
            "word_count": len(row.dialogue_cleaned.split()),
            "overlap": 0.0,
            "words": [],
            "flags": [],
        }
        for number, row in enumerate(rows, start=1)
    ]
    write_table(made.artifact("turns.parquet"), table_of(turns, TURNS), TURNS)
    return made


_TURN = re.compile(r"^\[(\d+)\] ([\d.]+)-([\d.]+) (SPEAKER_\d+)[^:]*: (.*)$", re.MULTILINE)

Change = Callable[[list[dict[str, Any]]], None]


def rows_for(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each turn that a request asks about, right in every field."""
    user = next(message for message in body["messages"] if message["role"] == "user")["content"]
    text = user if isinstance(user, str) else user[0]["text"]
    own = text.split("The turns to annotate", 1)[1].split("Turns after", 1)[0]
    first = int(re.search(r"first row has row_index (\d+)", text)[1])  # type: ignore[index]
    asked = re.search(r"all of these fields:\s+(\S.*)", text)[1].split(", ")  # type: ignore[index]
    names = {voice: name for name, voice in VOICES.items()}
    rows = []
    for number, (_, start, end, voice, said) in enumerate(_TURN.findall(own), start=first):
        speaker = names[voice]
        therapist = speaker == "Therapist"
        values: dict[str, Any] = {
            "row_index": number,
            "start_time": float(start),
            "end_time": float(end),
            "primary_speaker": speaker,
            "target": ["Couple"] if therapist else ["Therapist"],
            "dialogue_cleaned": said,
            "utterance_type": None if therapist else "other",
            "relation_pattern": "" if therapist else None,
            "relation_pattern_reason": None,
            "relation_pattern_evidence_rows": None,
        }
        rows.append({name: values.get(name, []) for name in asked})
    return rows


def answer(change: Change | None = None) -> Callable[[Mapping[str, Any]], str]:
    """The text of an answer, after a change of its rows."""

    def text(body: Mapping[str, Any]) -> str:
        rows = rows_for(body)
        if change:
            change(rows)
        return json.dumps({"rows": rows})

    return text
