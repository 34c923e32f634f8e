"""Every prompt as it is sent, for reading: a file for each scenario and task, with all modes.

After a wanted change: ``RESCUE_UPDATE_SNAPSHOTS=1 python -m pytest tests/evaluation/test_prompts.py``, then read the
changed files.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.labels import label_set
from pipeline.conversation import Scenario
from pipeline.tasks.render import Mode, RenderOptions, render

SNAPSHOTS = Path(__file__).parent / "prompts"

EMPTY: dict[str, Any] = {
    "background_dialogue": [],
    "tone_of_voice": None,
    "body_posture": [],
    "facial_expressions": [],
    "self_directed_behavior": [],
    "interaction_behavior": [],
}


def row(index: int, speaker: str, target: list[str], text: str, **more: Any) -> dict[str, Any]:
    return EMPTY | {"row_index": index, "primary_speaker": speaker, "target": target, "dialogue_cleaned": text} | more


ROWS = {
    Scenario.COUPLE: [
        row(1, "Mara", ["Jon"], "You said you would be home by six.", tone_of_voice="tight, quick"),
        row(
            2,
            "Jon",
            ["Mara"],
            "I texted you. I always text you.",
            body_posture=[{"person": "Jon", "description": "leans back, arms crossed"}],
            background_dialogue=[{"speaker": "Mara", "target": ["Jon"], "content": "At nine."}],
        ),
        row(
            3,
            "Mara",
            ["Jon", "Therapist"],
            "And I sat there and thought: he would not even notice if I left.",
            tone_of_voice="quiet, breaking",
            facial_expressions=[{"person": "Mara", "description": "eyes fill"}],
            interaction_behavior=[{"initiator": "Jon", "target": ["Mara"], "description": "turns to look at her"}],
        ),
        row(4, "Therapist", ["Mara"], "Stay with that. Waiting there, what was it like?", tone_of_voice="slow, soft"),
    ],
    Scenario.FAMILY: [
        row(1, "Ruth", ["Leo"], "You are not going out until this is settled.", tone_of_voice="firm"),
        row(
            2,
            "Sam",
            ["Ruth"],
            "Let him go. He is sixteen.",
            interaction_behavior=[
                {"initiator": "Sam", "target": ["Leo"], "description": "puts a hand on his shoulder"}
            ],
        ),
        row(
            3,
            "Leo",
            ["Ruth"],
            "Dad gets it. You never do.",
            tone_of_voice="loud",
            self_directed_behavior=[{"person": "Leo", "description": "pulls at his sleeve"}],
            background_dialogue=[{"speaker": "Sam", "target": ["Leo"], "content": "Easy."}],
        ),
        row(4, "Therapist", ["Family"], "Let me stop you. Who makes this rule at home?", tone_of_voice="calm"),
    ],
}


def instance(scenario: Scenario, task: str) -> dict[str, Any]:
    labels = label_set(scenario)
    people = ["Mara", "Jon", "Couple"] if scenario is Scenario.COUPLE else ["Ruth", "Sam", "Leo", "Family"]
    about_client = task in ("itp", "er", "vp")
    candidates = {
        "rpp": [one.label for one in labels.relation_patterns],
        "ssp": [one.label for one in labels.support_strategies],
        "stp": people,
    }
    found: dict[str, Any] = {
        "instance_id": f"{task}-0",
        "task": task,
        "conversation_id": "made",
        "scenario": scenario.value,
        "row_index": 3 if about_client else 4,
        "context_rows": {"first": 1, "last": 2 if task in ("er", "vp") else 3},
    }
    if task in candidates:
        found["candidates"] = candidates[task]
    if task == "ssp":
        found |= {"support_target": people[0], "recent_emotion": "lonely and unseen"}
    return found


def shown(scenario: Scenario, task: str) -> str:
    parts = []
    for mode in Mode:
        options = RenderOptions(mode=mode, include_current=task == "rpp" and mode is Mode.AUDIO)
        prompt = render(instance(scenario, task), ROWS[scenario], options)
        title = f"{mode.value}{', with the row in question' if options.include_current else ''}"
        clips = f"\n\nclips of rows {', '.join(map(str, prompt.clip_rows))}" if prompt.clip_rows else ""
        parts.append(f"## {title}\n\n{prompt.user}{clips}")
    schema = json.dumps(prompt.answer_schema, indent=2)
    return (
        f"# {task}, {scenario.value}\n\n## system\n\n{prompt.system}\n\n"
        + "\n\n".join(parts)
        + f"\n\n## schema\n\n{schema}\n"
    )


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("task", ["itp", "rpp", "stp", "ssp", "er", "vp"])
def test_prompts_are_as_reviewed(scenario: Scenario, task: str) -> None:
    snapshot = SNAPSHOTS / f"{scenario.value}_{task}.md"
    if os.environ.get("RESCUE_UPDATE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        snapshot.write_text(shown(scenario, task), encoding="utf-8")
    assert snapshot.read_text("utf-8") == shown(scenario, task)
