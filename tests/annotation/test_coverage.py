"""Rows against subtitles: what is said and in no row, and what is in a row and was not said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.coverage import check_coverage
from pipeline.annotation.stations import check_file
from pipeline.subtitles import Cue, read_subtitles
from tests.annotation.made import CONVERSATION, ROW, THERAPIST_ROW, made

CUES = [
    Cue("cue 1", 1.1, 1.9, "You never call"),
    Cue("cue 2", 1.9, 3.2, "when you're late."),
    Cue("cue 3", 3.3, 5.8, "What happens in you when the phone stays silent?"),
]
SAID = {**ROW, "dialogue_cleaned": "You never call when you're late."}


def found(*rows: dict[str, Any], cues: list[Cue] = CUES) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.row) for finding in check_coverage(made(*rows), cues)]


def test_rows_that_say_what_the_cues_say_have_no_finding() -> None:
    assert found(SAID, THERAPIST_ROW) == []


def test_one_cue_may_give_two_rows() -> None:
    first = {**ROW, "start_time": 1.0, "end_time": 2.0, "dialogue_cleaned": "You never call"}
    second = {**ROW, "start_time": 2.0, "end_time": 3.2, "dialogue_cleaned": "when you're late", "row_index": 2}
    cues = [Cue("cue 1", 1.0, 3.2, "You never call when you're late.")]
    assert found(first, second, cues=cues) == []


def test_case_punctuation_and_left_out_hesitations_do_not_count() -> None:
    cues = [Cue("cue 1", 1.0, 3.0, "- uh, YOU never call... when you\u2019re LATE!"), CUES[2]]
    assert found(SAID, THERAPIST_ROW, cues=cues) == []


def test_a_spoken_cue_in_no_row_is_found_with_its_place_and_words() -> None:
    cues = [*CUES, Cue("cue 4", 7.0, 8.0, "It makes me small.")]
    (finding,) = check_coverage(made(SAID, THERAPIST_ROW), cues)
    assert (finding.rule, finding.row, finding.field) == ("cue-not-covered", None, "rows")
    assert finding.message == "'It makes me small.' (cue 4, 00:00:07.000 to 00:00:08.000) is in no row"


def test_a_cue_whose_row_leaves_its_words_out_names_the_row() -> None:
    cues = [*CUES, Cue("cue 4", 2.4, 3.0, "And then you shout at me.")]
    assert ("cue-not-covered", 1) in found(SAID, THERAPIST_ROW, cues=cues)


def test_speech_in_the_background_of_a_row_is_accounted_for() -> None:
    spoken = {"speaker": "Ben", "target": ["Anna"], "content": "And then you shout at me."}
    cues = [*CUES, Cue("cue 4", 2.4, 3.0, "And then you shout at me.")]
    assert found({**SAID, "background_dialogue": [spoken]}, THERAPIST_ROW, cues=cues) == []


@pytest.mark.parametrize("text", ["[music]", "(sighs)", "\u266a la la la \u266a", "..."])
def test_sounds_and_dots_are_silent(text: str) -> None:
    assert found(SAID, THERAPIST_ROW, cues=[*CUES, Cue("cue 4", 7.0, 8.0, text)]) == []


def test_a_paraphrase_is_found_with_its_words() -> None:
    row = {**SAID, "dialogue_cleaned": "You always forget to phone when you're late."}
    findings = [one for one in check_coverage(made(row, THERAPIST_ROW), CUES) if one.rule == "text-not-in-subtitles"]
    (finding,) = findings
    assert (finding.row, finding.field) == (1, "dialogue_cleaned")
    assert finding.message == "4 of 8 words are not in the subtitles: always forget to phone"


def test_words_in_silence_are_found() -> None:
    invented = {**ROW, "row_index": 3, "start_time": 9.0, "end_time": 11.0, "dialogue_cleaned": "I am sorry."}
    (finding,) = check_coverage(made(SAID, THERAPIST_ROW, invented), CUES)
    assert (finding.rule, finding.row) == ("text-not-in-subtitles", 3)
    assert finding.message == "the subtitles are silent here"


def test_repeated_words_must_be_repeated() -> None:
    cues = [Cue("cue 1", 1.0, 1.6, "No."), Cue("cue 2", 1.6, 3.0, "No, no, no, no.")]
    assert found({**ROW, "dialogue_cleaned": "No."}, cues=cues) == [("cue-not-covered", 1)]


def test_no_subtitles_no_finding() -> None:
    assert found(SAID, cues=[]) == []


def test_times_the_wrong_way_round_are_no_crash() -> None:
    assert found({**SAID, "start_time": 3.0, "end_time": 1.0}, THERAPIST_ROW) == []


def test_a_file_is_checked_against_the_subtitles_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "talk.srt").write_text(
        "1\n00:00:01,000 --> 00:00:03,000\nAnna: You never call when you are late.\n\n"
        "2\n00:00:07,000 --> 00:00:08,000\nBen: I was at work.\n",
        encoding="utf-8",
    )
    (tmp_path / "rows.csv").write_text(
        "start_time,end_time,primary_speaker,target,dialogue_cleaned,utterance_type\n"
        "1.0,3.0,Anna,Ben,You never call when you are late.,accusation\n",
        encoding="utf-8",
    )
    conversation = CONVERSATION.model_copy(update={"media": "talk.mp4", "annotations": "rows.csv"})
    assert [cue.speaker for cue in read_subtitles(tmp_path / "talk.srt", conversation).cues] == ["Anna", "Ben"]
    _, findings = check_file(tmp_path / "rows.csv", conversation, None, tmp_path)
    assert [finding.rule for finding in findings if "cue" in finding.rule] == ["cue-not-covered"]
    _, alone = check_file(tmp_path / "rows.csv", conversation, None)
    assert [finding.rule for finding in alone if "cue" in finding.rule] == []
