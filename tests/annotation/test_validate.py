"""Every rule finds its fault, names row and field, and says what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.made_release import made_release
from pipeline.annotation.findings import Severity
from pipeline.annotation.io import annotation_of
from pipeline.annotation.validate import validate
from pipeline.conversation import Conversation
from tests.annotation.made import MOVE, ROW, THERAPIST_ROW, made
from tests.conftest import REPOSITORY

EMOTION = {"person": "Anna", "emotion_description": "hurt", "intensity": 5}
VIEW = {"source": "Anna", "target": "Ben", "viewpoint": "he forgets me", "attitude": "critical"}


def test_a_clean_annotation_has_no_finding() -> None:
    assert validate(made(ROW, THERAPIST_ROW), duration=6.0) == []


FAULTS: list[tuple[str, int, dict[str, Any], str]] = [
    ("time-negative", 0, {"start_time": -1.0}, "start_time"),
    ("time-order", 0, {"end_time": 1.0}, "end_time"),
    ("time-order", 0, {"end_time": 0.5}, "end_time"),
    ("time-short", 0, {"end_time": 1.01}, "end_time"),
    ("time-beyond-clip", 1, {"end_time": 60.2}, "end_time"),
    ("row-order", 1, {"start_time": 0.5}, "start_time"),
    ("no-speaker", 0, {"primary_speaker": " "}, "primary_speaker"),
    ("group-speaks", 0, {"primary_speaker": "Couple"}, "primary_speaker"),
    ("no-target", 0, {"target": []}, "target"),
    ("self-target", 0, {"target": ["Anna"]}, "target"),
    ("no-text", 0, {"dialogue_cleaned": ""}, "dialogue_cleaned"),
    ("unknown-name", 0, {"target": ["Bem"]}, "target"),
    ("unknown-name", 0, {"body_posture": [{"person": "Carl", "description": "x"}]}, "body_posture"),
    ("unknown-name", 0, {"internal_emotion": [{**EMOTION, "person": "Grandma"}]}, "internal_emotion"),
    ("self-target", 0, {"viewpoints_attitudes": [{**VIEW, "target": "Anna"}]}, "viewpoints_attitudes"),
    (
        "self-target",
        0,
        {"interaction_behavior": [{"initiator": "Anna", "target": ["Anna"], "description": "x"}]},
        "interaction_behavior",
    ),
    ("no-type", 0, {"utterance_type": None}, "utterance_type"),
    ("unknown-label", 0, {"utterance_type": "accusing"}, "utterance_type"),
    ("therapist-type", 1, {"utterance_type": "request"}, "utterance_type"),
    ("unknown-label", 1, {"relation_pattern": "pursue"}, "relation_pattern"),
    ("label-other-scenario", 1, {"relation_pattern": "escalation_conflict"}, "relation_pattern"),
    ("evidence-row", 1, {"relation_pattern_evidence_rows": [99]}, "relation_pattern_evidence_rows"),
    ("client-supports", 0, {"support_strategy": [MOVE]}, "support_strategy"),
    ("provider", 1, {"support_strategy": [{**MOVE, "provider": "Ben"}]}, "support_strategy"),
    ("label-other-scenario", 1, {"support_strategy": [{**MOVE, "strategy_type": "boundary"}]}, "support_strategy"),
    ("no-target", 1, {"support_strategy": [{**MOVE, "target": []}]}, "support_strategy"),
    ("group-not-alone", 1, {"support_strategy": [{**MOVE, "target": ["Couple", "Anna"]}]}, "support_strategy"),
    ("intensity-range", 0, {"internal_emotion": [{**EMOTION, "intensity": 11}]}, "internal_emotion"),
    ("no-intensity", 0, {"internal_emotion": [{**EMOTION, "intensity": None}]}, "internal_emotion"),
    ("no-emotion-text", 0, {"internal_emotion": [{**EMOTION, "emotion_description": " "}]}, "internal_emotion"),
]


@pytest.mark.parametrize(("rule", "position", "change", "field"), FAULTS)
def test_one_planted_fault_is_found_where_it_is(rule: str, position: int, change: dict[str, Any], field: str) -> None:
    rows = [dict(ROW), dict(THERAPIST_ROW)]
    rows[position] |= change
    findings = [finding for finding in validate(made(*rows), duration=60.0) if finding.rule == rule]
    assert [(finding.row, finding.field) for finding in findings] == [(position + 1, field)]
    assert findings[0].suggestion


def test_thirty_planted_faults_in_one_file_are_thirty_findings() -> None:
    rows = []
    for number, (rule, position, change, _) in enumerate(FAULTS):
        start = 10.0 * number
        times = {"start_time": start, "end_time": start + 5}
        if rule.startswith("time") or rule == "row-order":
            times |= {
                "time-negative": {"start_time": -1.0},
                "time-order": {"end_time": start - number},
                "time-short": {"end_time": start + 0.01},
                "time-beyond-clip": {"end_time": 9_999.0},
                "row-order": {"start_time": start - 15.0},
            }[rule]
        fault = {} if times != {"start_time": start, "end_time": start + 5} else change
        text = {"dialogue_cleaned": f"these are words {number}"}
        base = [ROW, THERAPIST_ROW][position]
        rows.append({**base, **times, **text, **fault, "row_index": number + 1})
    assert len(FAULTS) == 30
    findings = validate(made(*rows), duration=320.0)
    planted = {(number, rule) for number, (rule, *_) in enumerate(FAULTS, start=1)}
    found = {(finding.row, finding.rule) for finding in findings}
    assert planted <= found
    # What else is said follows from the faults: they change who speaks, and when.
    assert {rule for row, rule in found - planted} <= {"speaker-not-listed", "overlap-same-speaker"}
    assert all(finding.suggestion and finding.field for finding in findings)


@pytest.mark.parametrize(
    ("end", "duration", "says"),
    [(4000.0, 60.0, "milliseconds"), (230.0, 180.0, "2:30 is 150 s"), (75.0, 60.0, "belongs to this recording")],
)
def test_a_time_beyond_the_clip_suggests_the_likely_slip(end: float, duration: float, says: str) -> None:
    findings = validate(made({**ROW, "end_time": end}), duration=duration)
    assert [finding.severity for finding in findings] == [Severity.ERROR]
    assert says in str(findings[0].suggestion)


def test_the_conversation_as_a_whole() -> None:
    assert [finding.rule for finding in validate(made())] == ["no-rows"]
    assert [finding.rule for finding in validate(made({**ROW, "row_index": 4}))] == ["row-index"]
    rules = {finding.rule for finding in validate(made({**ROW, "primary_speaker": "Änna"}))}
    assert rules == {"speaker-not-listed", "name-spelling"}
    twice = [finding.rule for finding in validate(made(ROW, {**ROW, "row_index": 2}))]
    assert twice == ["duplicate-row"]


def test_the_quirks_of_the_published_release_are_no_errors() -> None:
    errors = []
    for sample in made_release(seed=3):
        conversation = Conversation.model_validate(
            {"id": sample["sample_id"], "scenario": sample["scenario"], "participants": sample["participants"]}
        )
        findings = validate(annotation_of(sample, conversation).annotation)
        errors += [finding for finding in findings if finding.severity is Severity.ERROR]
    assert errors == []


def test_every_rule_is_in_the_reference() -> None:
    code = "".join(
        (REPOSITORY / "pipeline" / "annotation" / name).read_text("utf-8")
        for name in ("validate.py", "coverage.py", "formats/transfer.py")
    )
    known = set(re.findall(r'Severity\.[A-Z]+,\s+"([a-z-]+)"', code)) | {"unknown-label", "label-other-scenario"}
    page = (REPOSITORY / "docs" / "reference" / "rules.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| ([a-z]+) \|", page, flags=re.MULTILINE))
    assert known == listed.keys()
    for severity, rule in re.findall(r'Severity\.([A-Z]+),\s+"([a-z-]+)"', code):
        assert listed[rule] == severity.lower(), rule
