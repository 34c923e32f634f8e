"""Export then import: everything comes back that the format can hold, and what it cannot is said."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings

from pipeline.annotation.formats import FORMATS
from pipeline.annotation.formats.transfer import export
from pipeline.annotation.model import Annotation, Row
from tests.annotation.formats.made import annotations
from tests.annotation.made import ROW, THERAPIST_ROW, made

COMPLETE = ("json", "eaf", "textgrid", "labelstudio", "csv", "xlsx")
ABOUT_TIME_ONLY = {"row_index", "start_time", "end_time", "primary_speaker"}
HOLDS = {
    "srt": ABOUT_TIME_ONLY | {"dialogue_cleaned"},
    "vtt": ABOUT_TIME_ONLY | {"dialogue_cleaned"},
    "rttm": ABOUT_TIME_ONLY,
}


@pytest.mark.parametrize("name", COMPLETE)
def test_any_valid_annotation_survives(name: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(annotations())
    def check(annotation: Annotation) -> None:
        assert export(annotation, name).lost == {}

    check()


@pytest.mark.parametrize("name", sorted(HOLDS))
def test_subtitles_and_rttm_say_what_they_lose(name: str) -> None:
    annotation = made(ROW, THERAPIST_ROW)
    done = export(annotation, name)
    filled = {field for row in annotation.rows for field, value in row.model_dump().items() if value}
    assert set(done.lost) == filled - HOLDS[name]


@pytest.mark.parametrize("name", ["srt", "vtt", "rttm"])
def test_nothing_is_lost_that_is_not_said(name: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(annotations())
    def check(annotation: Annotation) -> None:
        export(annotation, name)  # writes and reads back whatever is in the rows

    check()


def test_equal_annotations_are_equal_bytes_at_any_time() -> None:
    first = {name: export(made(ROW, THERAPIST_ROW), name).data for name in FORMATS}
    time.sleep(2.1)  # times inside packages count by two seconds
    again = {name: export(made(ROW, THERAPIST_ROW), name).data for name in FORMATS}
    assert [name for name in FORMATS if again[name] != first[name]] == []


def test_a_row_that_no_tier_can_hold_is_reported() -> None:
    annotation = made({**ROW, "start_time": 1.0, "end_time": 1.0001}, THERAPIST_ROW)
    assert export(annotation, "eaf").lost["rows"] == 1
    assert export(annotation, "json").lost == {}


def test_a_control_character_is_a_stated_loss_of_xml() -> None:
    annotation = made({**ROW, "dialogue_cleaned": "a\x07b"}, THERAPIST_ROW)
    assert export(annotation, "eaf").lost == {"dialogue_cleaned": 1}
    assert export(annotation, "csv").lost == {}


def test_times_finer_than_a_millisecond_are_a_stated_loss() -> None:
    annotation = made({**ROW, "start_time": 1.00049}, THERAPIST_ROW)
    assert export(annotation, "eaf").lost == {"start_time": 1}


def test_every_field_of_a_row_is_written_somewhere() -> None:
    text = export(made({**ROW, "relation_cycle_reason": "found-me"}, THERAPIST_ROW), "eaf").data.decode()
    assert "found-me" in text
    header = export(made(ROW), "csv").data.decode().split("\n", 1)[0].split(",")
    assert header == list(Row.model_fields)


def test_other_tools_read_what_is_written(tmp_path) -> None:
    """pympi, praatio and webvtt-py, not our own readers, find the rows."""
    import webvtt
    from praatio import textgrid
    from pympi import Eaf

    annotation = made(ROW, THERAPIST_ROW)
    for name in ("eaf", "textgrid", "srt", "vtt"):
        (tmp_path / f"a.{name}").write_bytes(export(annotation, name).data)
    eaf = Eaf(tmp_path / "a.eaf")
    assert eaf.get_annotation_data_for_tier("dialogue_cleaned@Anna") == [(1000, 3000, ROW["dialogue_cleaned"])]
    assert [part[2] for part in eaf.get_ref_annotation_data_for_tier("target@Anna")] == ["Ben"]
    grid = textgrid.openTextgrid(str(tmp_path / "a.textgrid"), includeEmptyIntervals=False)
    assert [tuple(entry) for entry in grid.getTier("dialogue_cleaned@Anna").entries] == [
        (1.0, 3.0, ROW["dialogue_cleaned"])
    ]
    assert webvtt.read(str(tmp_path / "a.vtt"))[0].voice == "Anna"
    assert webvtt.from_srt(str(tmp_path / "a.srt"))[0].text == f"Anna: {ROW['dialogue_cleaned']}"
