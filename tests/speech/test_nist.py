"""NIST's files."""

from __future__ import annotations

import pytest

from pipeline.errors import InputError
from pipeline.speech.nist import SpeakerTurn, read_rttm, read_stm, read_uem, rttm_of
from pipeline.times import Interval


def test_stretches_survive_their_file(tmp_path):
    turns = [SpeakerTurn(0.5, 2.0, "SPEAKER_00"), SpeakerTurn(1.25, 3.5, "SPEAKER_01")]
    file = tmp_path / "a.rttm"
    file.write_text(rttm_of(turns, "a"))
    assert read_rttm(file) == turns


def test_real_files_read_as_they_are(media):
    assert len(read_rttm(media / "annotations" / "ES2016a_ref.rttm")) > 100
    assert {turn.speaker for turn in read_rttm(media / "audio" / "katiesteve_mono.rttm")} == {"KATIE", "STEVE"}
    labelled = read_stm(media / "annotations" / "sctk_overlap.stm")
    assert not any(part.text.startswith("<") for part in labelled)
    assert read_uem(media / "audio" / "commercial_mono.uem") == [Interval(0.0, 36.0)]


def test_a_file_of_several_recordings_wants_a_name(media):
    file = media / "annotations" / "meeteval_ref.stm"
    with pytest.raises(InputError, match="recordingA"):
        read_stm(file)
    assert {part.speaker for part in read_stm(file, file_id="recordingB")} == {"Alice"}
    with pytest.raises(InputError, match="nothing of 'other'"):
        read_stm(file, file_id="other")


@pytest.mark.parametrize(
    "line",
    [
        "SPEAKER a 1 0.5",
        "SPEAKER a 1 x 1 <NA> <NA> S <NA>",
        "SPEAKER a 1 -1 2 <NA> <NA> S <NA>",
        "SPEAKER a 1 0 nan n n S",
    ],
)
def test_a_broken_line_is_named(tmp_path, line):
    file = tmp_path / "broken.rttm"
    file.write_text(f";; comment\n{line}\n")
    with pytest.raises(InputError, match=r"broken\.rttm, line 2"):
        read_rttm(file)


def test_an_end_before_its_start_is_refused(tmp_path):
    file = tmp_path / "a.stm"
    file.write_text("a 1 S 5.0 4.0 hello\n")
    with pytest.raises(InputError, match="line 1"):
        read_stm(file)


def test_a_missing_or_undecodable_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.uem"):
        read_uem(tmp_path / "gone.uem")
    (tmp_path / "latin.stm").write_bytes("a 1 S 0 1 né".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_stm(tmp_path / "latin.stm")
