"""Turns and their captions."""

from __future__ import annotations

import io

import pytest
import webvtt

from pipeline.schemas import TURNS, table_of
from pipeline.settings import TurnSettings
from pipeline.speech.attribute import NEAREST, UNKNOWN, SpokenWord
from pipeline.speech.nist import SpeakerTurn
from pipeline.speech.turns import make_turns, vtt_of
from pipeline.speech.words import TRIMMED, Word

SETTINGS = TurnSettings()


def spoken(*parts: tuple[str, float, float, str]) -> list[SpokenWord]:
    return [
        SpokenWord(Word(text, start, end, confidence=0.5), index, speaker)
        for index, (text, start, end, speaker) in enumerate(parts)
    ]


def test_a_turn_ends_at_a_change_of_speaker_and_at_a_pause():
    words = spoken(("a", 0, 1, "A"), ("b", 1, 2, "A"), ("c", 2, 3, "B"), ("d", 3, 4, "A"), ("e", 5.5, 6, "A"))
    turns = make_turns(words, [], SETTINGS)
    assert [(turn.speaker, turn.text) for turn in turns] == [("A", "a b"), ("B", "c"), ("A", "d"), ("A", "e")]
    assert (turns[0].interval.start, turns[0].interval.end) == (0, 2)


def test_a_pause_just_below_the_limit_joins():
    assert len(make_turns(spoken(("d", 3, 4, "A"), ("e", 5.49, 6, "A")), [], SETTINGS)) == 1


def test_overlap_counts_the_time_of_others_once():
    words = spoken(("long", 0.0, 4.0, "A"))
    stretches = [SpeakerTurn(0, 4, "A"), SpeakerTurn(1, 2, "B"), SpeakerTurn(1.5, 3, "C"), SpeakerTurn(3.5, 9, "B")]
    assert make_turns(words, stretches, SETTINGS)[0].overlap == pytest.approx(2.5)


def test_rows_hold_every_flag_and_fit_the_schema():
    words = [
        SpokenWord(Word("so", 1.0, 1.5, flags=(TRIMMED,)), 0, UNKNOWN, (NEAREST,)),
        SpokenWord(Word("2", 1.5, 1.5, confidence=0.25), 1, UNKNOWN),
    ]
    (turn,) = make_turns(words, [], SETTINGS)
    (row,) = table_of([turn.to_row("a/b", 1)], TURNS).to_pylist()
    assert row["flags"] == [NEAREST, TRIMMED]
    assert (row["text"], row["word_count"], row["confidence"], row["overlap"]) == ("so 2", 2, 0.25, 0.0)
    assert [word["word_index"] for word in row["words"]] == [0, 1]


def test_captions_carry_voices_and_escape_markup():
    words = spoken(("R&B", 1.0, 1.5, "SPEAKER_00"), ("<laughs>", 1.5, 2, "SPEAKER_00"), ("-->", 2, 2, "SPEAKER_01"))
    text = vtt_of(make_turns(words, [], SETTINGS))
    captions = webvtt.from_buffer(io.StringIO(text))
    assert [(caption.start, caption.end, caption.voice) for caption in captions] == [
        ("00:00:01.000", "00:00:02.000", "SPEAKER_00"),
        ("00:00:02.000", "00:00:02.001", "SPEAKER_01"),
    ]
    assert "<v SPEAKER_00>R&amp;B &lt;laughs&gt;\n" in text
    assert text.count("-->") == 2


def test_nothing_was_said():
    assert make_turns([], [SpeakerTurn(0, 1, "A")], SETTINGS) == []
    assert vtt_of([]) == "WEBVTT\n"
