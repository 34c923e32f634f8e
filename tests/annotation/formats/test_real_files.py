"""Every real file of the shared annotations: its outcome, as docs/reference/formats.md lists it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.formats import FormatMapping
from pipeline.annotation.formats.transfer import take
from pipeline.conversation import Conversation
from pipeline.errors import RescueError
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.media

MARY = Conversation.model_validate({"id": "m", "scenario": "couple", "participants": ["Mary", "John"]})
TWO = Conversation.model_validate({"id": "k", "scenario": "couple", "participants": ["KATIE", "STEVE"]})
_CODES = {"fields": {"dialogue_cleaned": ["newtier2@*"]}}
_WORDS = {"fields": {"dialogue_cleaned": "word"}, "speakers": {"word": "Mary"}}
_TEXT = {
    "fields": {"dialogue_cleaned": "text", "tone_of_voice": "words-symsub", "body_posture": "gest_included"},
    "speakers": {"text": "KATIE"},
    "ignore": ["words-timesub", "gestures", "words-pos"],
}
_KATIE = {"speaker": "KATIE"}

# file, mapping (None: without), rows, parts left out
IMPORTS: list[tuple[str, dict[str, Any] | None, int, int]] = [
    ("ES2016a_aalto.rttm", None, 326, 0),
    ("ES2016a_ref.rttm", None, 238, 0),
    ("bom-utf-16-le.srt", _KATIE, 7, 0),
    ("capability_tester_bom_crlf.srt", _KATIE, 35, 2),
    ("childproject_any_tier.eaf", _CODES, 145, 310),
    ("gb2312.srt", {"encoding": "gb2312", **_KATIE}, 3, 0),
    ("invalid_timeframe.vtt", _KATIE, 6, 1),
    ("labelstudio_audio_two_annotators.json", {"annotator": "1"}, 6, 2),
    ("mary_long_negative_zero.TextGrid", _WORDS, 4, 18),
    ("mary_short.TextGrid", _WORDS, 4, 18),
    ("pympi_sample_unvalued_slots.eaf", _TEXT, 399, 5187),
    ("teams_like_voices.vtt", None, 3, 0),
    ("utf_16_be.TextGrid", None, 1, 0),
    ("vtc_classes.rttm", {"recording": "namibie_aiku_20160714_1"}, 5, 10),
    ("wwa_captions_en_voices.vtt", _KATIE, 15, 0),
    ("youtube_dl_word_times.vtt", _KATIE, 4, 0),
]
REFUSED: list[tuple[str, str]] = [
    ("ES2016a_aalto_md-eval.txt", "no annotation format has files named '.txt'"),
    ("bom-utf-16-le.srt", "7 of 7 rows name no speaker"),
    ("capability_tester_bom_crlf.srt", "35 of 35 rows name no speaker"),
    ("childproject_any_tier.eaf", "no tier is known to hold what is said; the tiers are CHI (80)"),
    ("gb2312.srt", "the file is not UTF-8 text"),
    ("invalid_timeframe.vtt", "6 of 6 rows name no speaker"),
    ("labelstudio_audio_two_annotators.json", "the task was annotated by 1 (annotation 11), 2 (annotation 12)"),
    ("labelstudio_image_boxes.json", "no region has a time: the results are of type rectanglelabels"),
    ("mary_long_negative_zero.TextGrid", "the tiers are phone (14), word (4)"),
    ("mary_short.TextGrid", "the tiers are phone (14), word (4)"),
    ("meeteval_hyp.stm", "no annotation format has files named '.stm'"),
    ("meeteval_ref.stm", "no annotation format has files named '.stm'"),
    ("pympi_sample_unvalued_slots.eaf", "the tiers are text (399)"),
    ("sctk_overlap.ctm", "no annotation format has files named '.ctm'"),
    ("sctk_overlap.stm", "no annotation format has files named '.stm'"),
    ("vtc_classes.rttm", "the file holds 2 recordings"),
    ("whisper_timestamped_words.json", "the file holds no list of `rows`"),
    ("whisperx_word_without_times.json", "the file holds no list of `rows`"),
    ("wwa_captions_en_voices.vtt", "13 of 15 rows name no speaker"),
    ("youtube_dl_word_times.vtt", "4 of 4 rows name no speaker"),
]


def _whose(name: str) -> Conversation:
    return MARY if name.endswith(".TextGrid") else TWO


@pytest.mark.parametrize(("name", "mapping", "rows", "left_out"), IMPORTS, ids=[item[0] for item in IMPORTS])
def test_it_imports(media: Path, name: str, mapping: dict[str, Any] | None, rows: int, left_out: int) -> None:
    found = take(
        media / "annotations" / name, _whose(name), mapping=FormatMapping.model_validate(mapping) if mapping else None
    )
    assert len(found.loaded.annotation.rows) == rows
    assert sum(part.count for part in found.left_out) == left_out
    starts = [row.start_time for row in found.loaded.annotation.rows]
    assert starts == sorted(starts)


@pytest.mark.parametrize(("name", "says"), REFUSED, ids=[item[0] for item in REFUSED])
def test_it_is_refused_with_a_way_out(media: Path, name: str, says: str) -> None:
    with pytest.raises(RescueError) as refused:
        take(media / "annotations" / name, _whose(name))
    assert says in str(refused.value)
    assert refused.value.hint


def test_every_real_file_is_listed_here_and_in_the_docs(media: Path) -> None:
    files = {file.name for file in (media / "annotations").iterdir()}
    assert files == {item[0] for item in IMPORTS} | {item[0] for item in REFUSED}
    page = (REPOSITORY / "docs" / "reference" / "formats.md").read_text("utf-8")
    listed = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `") and "`" in line}
    for name, _, rows, left_out in IMPORTS:
        assert f"{rows} rows, {left_out} left out" in listed[name]
    for name, says in REFUSED:
        assert says.replace("|", "\\|") in listed[name]


@pytest.mark.parametrize(
    "name", ["wwa_captions_en_voices.vtt", "capability_tester_bom_crlf.srt", "invalid_timeframe.vtt"]
)
def test_every_cue_of_a_real_subtitle_is_accounted_for(media: Path, name: str) -> None:
    path = media / "annotations" / name
    found = take(path, TWO, mapping=FormatMapping(speaker="KATIE"))
    cues = path.read_text("utf-8-sig").count("-->")
    assert len(found.loaded.annotation.rows) + len(found.left_out) == cues


def test_slots_without_a_value_are_placed_in_order(media: Path) -> None:
    found = take(
        media / "annotations" / "pympi_sample_unvalued_slots.eaf", TWO, mapping=FormatMapping.model_validate(_TEXT)
    )
    assert len(found.loaded.changes) == 1572
    first = found.loaded.annotation.rows[0]
    assert (first.dialogue_cleaned, first.tone_of_voice) == ("The quick brown fox 001", "The quick brown fox 001")
    assert [part.description for part in first.body_posture] == ["hold", "hold", "stroke"]


def test_our_textgrid_reader_agrees_with_praatio(media: Path) -> None:
    from praatio import textgrid

    for name in ("mary_short.TextGrid", "mary_long_negative_zero.TextGrid"):
        theirs = textgrid.openTextgrid(str(media / "annotations" / name), includeEmptyIntervals=False)
        ours = take(media / "annotations" / name, MARY, mapping=FormatMapping.model_validate(_WORDS))
        expected = [(entry.start, entry.end, entry.label) for entry in theirs.getTier("word").entries]
        assert [(row.start_time, row.end_time, row.dialogue_cleaned) for row in ours.loaded.annotation.rows] == expected
