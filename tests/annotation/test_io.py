"""Our JSON: what is refused names row and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.formats.transfer import take
from pipeline.annotation.io import read_annotation, save_annotation
from pipeline.annotation.labels import label_set
from pipeline.conversation import Conversation, Scenario
from pipeline.errors import InputError
from tests.annotation.made import CONVERSATION, ROW, THERAPIST_ROW, made


def test_written_and_read_back_is_the_same(tmp_path: Path) -> None:
    annotation = made(ROW, THERAPIST_ROW)
    save_annotation(tmp_path / "a.json", annotation)
    assert read_annotation(tmp_path / "a.json") == annotation
    assert take(tmp_path / "a.json", CONVERSATION).loaded.annotation == annotation
    assert take(tmp_path / "a.json", CONVERSATION).loaded.changes == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"start_time": "soon"}, "row 2, field start_time"),
        ({"target": 5}, "row 2, field target"),
        ({"emotion": "x"}, "row 2, field emotion"),
        ({"internal_emotion": [{"person": "Anna"}]}, "row 2, field internal_emotion.0.emotion_description"),
        ({"primary_speaker": None}, "row 2, field primary_speaker"),
    ],
)
def test_a_row_of_the_wrong_shape_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"rows": [ROW, {**THERAPIST_ROW, **change}]}))
    with pytest.raises(InputError) as refused:
        take(tmp_path / "a.json", CONVERSATION)
    assert says in str(refused.value)
    assert str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"nonsense", "not JSON"),
        (b'{"rows": [', "line 1"),
        (b"3", "no object"),
        (b"[" * 100_000, "beyond reason"),
        (b"{}", "no list of `rows`"),
        (b'{"rows": [1]}', "no list of `rows`"),
        (json.dumps({"conversation_id": "other", "rows": [ROW]}).encode(), "belongs to conversation 'other'"),
        ("ä".encode("latin-1"), "not UTF-8"),
    ],
)
def test_a_file_that_is_no_annotation_says_why(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError) as refused:
        take(tmp_path / "a.json", CONVERSATION)
    assert says in str(refused.value)


def test_the_scenario_must_be_known(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"rows": [ROW]}))
    with pytest.raises(InputError, match="couple or a family"):
        take(tmp_path / "a.json", Conversation(id="a"))


def test_the_label_sets_are_those_of_the_benchmark() -> None:
    couple, family = label_set(Scenario.COUPLE), label_set(Scenario.FAMILY)
    assert [len(part) for part in (couple.relation_patterns, couple.support_strategies)] == [6, 10]
    assert [len(part) for part in (family.relation_patterns, family.support_strategies)] == [8, 8]
    assert len(couple.utterance_types) == len(family.utterance_types) == 10


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_time_that_is_no_number_is_refused_where_it_stands(tmp_path: Path, value: str) -> None:
    file = tmp_path / "annotations.json"
    row = f'{{"row_index": 1, "start_time": 0, "end_time": {value}, "primary_speaker": "A", "dialogue_cleaned": "x"}}'
    file.write_text(f'{{"rows": [{row}]}}')
    conversation = Conversation(id="c", scenario=Scenario.COUPLE, participants=("A",))
    with pytest.raises(InputError, match="finite") as caught:
        take(file, conversation)
    assert caught.value.place == "row 1, field end_time"
