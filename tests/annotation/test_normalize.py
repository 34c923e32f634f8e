"""Repairs that are certain are made and recorded; the rest is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.annotation.labels import fold, label_set
from pipeline.annotation.normalize import normalize_rows
from pipeline.conversation import Scenario
from tests.annotation.made import ROW


def normalized(**change: Any) -> tuple[dict[str, Any], list[Any]]:
    scenario = Scenario.COUPLE
    rows, changes = normalize_rows(
        [{**ROW, **change}], conversation_id="a", labels=label_set(scenario), scenario=scenario
    )
    return rows[0], changes


def test_a_clean_row_is_left_as_it_is() -> None:
    row, changes = normalized()
    assert changes == []
    assert row == ROW


@pytest.mark.parametrize(
    "written",
    ["repair_softening", "repair_softening ", "Repair_Softening", "repair_softening\u00a0", "repair-softening"],
)
def test_spellings_of_a_label_are_one_label(written: str) -> None:
    row, changes = normalized(relation_pattern=written)
    assert row["relation_pattern"] == "repair_softening"
    assert len(changes) == (written != "repair_softening")
    assert all((change.row, change.field, change.before) == (1, "relation_pattern", written) for change in changes)


@pytest.mark.parametrize("written", ["repair_softeningg", "track", "", "null"])
def test_what_is_no_spelling_of_a_label_is_left(written: str) -> None:
    row, changes = normalized(relation_pattern=written)
    assert row["relation_pattern"] == written
    assert changes == []


def test_text_where_a_list_belongs_is_wrapped_never_split_into_letters() -> None:
    row, changes = normalized(target="Anna")
    assert row["target"] == ["Anna"]
    assert changes[0].reason == "text where a list belongs"
    act = {"initiator": "Anna", "target": "Ben", "description": "nods"}
    row, _ = normalized(interaction_behavior=act)
    assert row["interaction_behavior"] == [{"initiator": "Anna", "target": ["Ben"], "description": "nods"}]
    view = {"source": "Anna", "target": "Ben", "viewpoint": "he is late", "attitude": "critical"}
    row, changes = normalized(viewpoints_attitudes=[view])
    assert row["viewpoints_attitudes"] == [view], "a viewpoint has one target"
    assert changes == []


@pytest.mark.parametrize("word", ["None", "NA", "null", "n/a", "nan", "Na"])
def test_words_that_look_like_nothing_are_names(word: str) -> None:
    row, changes = normalized(primary_speaker=word, target=[word])
    assert (row["primary_speaker"], row["target"]) == (word, [word])
    assert changes == []


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("start_time", "12.5 s", 12.5),
        ("end_time", "14,25", 14.25),
        ("start_time", "soon", "soon"),
        ("start_time", "1:02", "1:02"),
        ("primary_speaker", " anna  maria ", "anna maria"),
        ("primary_speaker", "therapist", "Therapist"),
        ("target", ["couple"], ["Couple"]),
        ("dialogue_cleaned", " I\u00e2\u20ac\u2122m here ", "I\u2019m here"),
        ("dialogue_cleaned", "\u201cOh\u201d [CHUCKLES] a\u2028b", "\u201cOh\u201d [CHUCKLES] a\u2028b"),
        ("utterance_type", "Disclosure", "disclosure"),
        ("body_posture", None, []),
        ("body_posture", [None, {"person": "Anna", "description": "x"}], [{"person": "Anna", "description": "x"}]),
    ],
)
def test_repairs(field: str, before: Any, after: Any) -> None:
    row, _ = normalized(**{field: before})
    assert row[field] == after


@pytest.mark.parametrize(("written", "number"), [("7/10", 7.0), ("6,5", 6.5), ("high", "high")])
def test_intensity_with_its_scale(written: str, number: Any) -> None:
    emotion = {"person": "Anna", "emotion_description": "hurt", "intensity": written}
    row, _ = normalized(internal_emotion=[emotion])
    assert row["internal_emotion"][0]["intensity"] == number


def test_folding_twice_is_folding_once() -> None:
    for label in label_set(Scenario.FAMILY).relation_patterns:
        assert fold(label.label) == label.label == fold(label.label.upper())
