"""Subtitles in and out (faults S-1 to S-4), voices and names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.annotation.formats.transfer import export
from pipeline.errors import InputError
from tests.annotation.formats.made import rows, taken
from tests.annotation.made import ROW, made

CUES = [
    ("00:00:01,000", "00:00:02,000", "one"),
    ("00:00:03,000", "00:00:04,000", "two"),
    ("00:00:05,000", "00:00:06,500", "3"),
]


def srt(first: int = 1) -> str:
    return "".join(f"{first + n}\n{a} --> {b}\nAnna: {text}\n\n" for n, (a, b, text) in enumerate(CUES))


EXPECTED = [(1.0, 2.0, "Anna", "one"), (3.0, 4.0, "Anna", "two"), (5.0, 6.5, "Anna", "3")]


@pytest.mark.parametrize(
    "content",
    [
        srt().encode(),
        srt().encode("utf-8-sig"),
        srt().replace("\n", "\r\n").encode(),
        ("\n\n" + srt()).encode(),
        srt(first=0).rstrip("\n").encode(),
        srt().encode("utf-16"),
        srt().encode("utf-16-be"),
        srt().replace("\n", "\r").encode(),
    ],
    ids=["plain", "mark", "crlf", "blank lines", "from 0", "utf-16", "utf-16 without mark", "cr"],
)
def test_the_same_cues_however_they_are_saved(tmp_path: Path, content: bytes) -> None:
    """S-1."""
    assert rows(taken(tmp_path / "a.srt", content)) == EXPECTED


def test_bad_cues_are_left_out_with_number_and_text_and_the_others_are_sorted(tmp_path: Path) -> None:
    """S-2."""
    cues = [
        ("00:00:05,000 --> 00:00:04,000", "Anna: inverted"),
        ("00:00:01,000 --> 00:00:02,000", "Ben: first"),
        ("00:00:03,000 --> 00:00:03,000", "Ben: none"),
        ("-00:00:00,500 --> 00:00:01,000", "Ben: before"),
        ("00:00:06,000 --> 00:00:08,000", "Anna: over"),
        ("00:00:05,500 --> 00:00:07,000", "Ben: lap"),
    ]
    content = "".join(f"{n}\n{time}\n{text}\n\n" for n, (time, text) in enumerate(cues, start=1))
    found = taken(tmp_path / "a.srt", content)
    assert rows(found) == [(1.0, 2.0, "Ben", "first"), (5.5, 7.0, "Ben", "lap"), (6.0, 8.0, "Anna", "over")]
    left = {part.text: (part.place, part.reason) for part in found.left_out}
    assert left["Anna: inverted"] == ("cue 1", "it ends at 00:00:04.000, not after its start 00:00:05.000")
    assert left["Ben: none"][0] == "cue 3"
    assert left["Ben: before"] == ("line 14", "its times cannot be read")
    assert len(left) == 3


def test_webvtt_as_its_rules_allow_it(tmp_path: Path) -> None:
    """S-3."""
    content = (
        "WEBVTT - title\n\nNOTE 00:00:00.000 --> 00:00:01.000\nnothing\n\nSTYLE\n::cue { color: red }\n\n"
        "intro\n01:02.500 --> 01:04.000 line:0 align:start\n<v.loud Ben Miller><i>Good</i> &amp; fine</v>\n"
    )
    found = taken(tmp_path / "a.vtt", content)
    assert rows(found) == [(62.5, 64.0, "Ben Miller", "Good & fine")]
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [
        (2.9997, "00:00:03,000"),
        (59.9997, "00:01:00,000"),
        (3599.9998, "01:00:00,000"),
        (36000.5, "10:00:00,500"),
    ],
)
def test_no_carry_is_lost(tmp_path: Path, seconds: float, clock: str) -> None:
    """S-4."""
    annotation = made({**ROW, "start_time": 1.0, "end_time": seconds})
    written = export(annotation, "srt").data
    assert re.findall(r"--> (\S+)", written.decode()) == [clock]
    assert rows(taken(tmp_path / "a.srt", written))[0][1] == round(seconds, 3)


def test_who_speaks_is_taken_only_where_it_is_sure(tmp_path: Path) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\n- ben: hi\n- CARLO: hello\nLook: it rains\n"
    found = taken(tmp_path / "a.srt", content)
    assert rows(found) == [(1.0, 2.0, "Ben", "hi"), (1.0, 2.0, "CARLO", "hello Look: it rains")]


def test_two_voices_in_a_cue_are_two_rows(tmp_path: Path) -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Anna>No.</v> <v Ben>Yes.</v>\n"
    assert rows(taken(tmp_path / "a.vtt", content)) == [(1.0, 2.0, "Anna", "No."), (1.0, 2.0, "Ben", "Yes.")]


def test_cues_without_a_speaker_need_one_named(tmp_path: Path) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nLook: it rains\n"
    with pytest.raises(InputError, match=r"1 of 1 rows name no speaker, first cue 1"):
        taken(tmp_path / "a.srt", content)
    assert rows(taken(tmp_path / "a.srt", content, speaker="Anna")) == [(1.0, 2.0, "Anna", "Look: it rains")]


def test_a_last_line_that_is_a_number_is_kept(tmp_path: Path) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nAnna: How old?\n42\n"
    assert rows(taken(tmp_path / "a.srt", content))[0][3] == "How old? 42"


def test_short_fractions_and_a_missing_number(tmp_path: Path) -> None:
    """The parser reads the one and steps over the other: each is accounted for."""
    content = "1\n00:00:01,5 --> 00:00:02,500\nAnna: a\n\n00:00:03,000 --> 00:00:04,000\nAnna: b\n\n"
    found = taken(tmp_path / "a.srt", content)
    assert len(found.loaded.annotation.rows) + len(found.left_out) == 2
