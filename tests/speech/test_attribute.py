"""Words to speakers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.settings import TurnSettings
from pipeline.speech.attribute import BORDER, NEAREST, NO_SPEAKER, OVERLAPPED, UNKNOWN, attribute
from pipeline.speech.nist import SpeakerTurn
from pipeline.speech.words import Word

SETTINGS = TurnSettings()


def words(*timed: tuple[str, float, float], segment: int = 0) -> list[Word]:
    return [Word(text, start, end, segment) for text, start, end in timed]


def speakers(said: list[Word], *stretches: tuple[float, float, str]) -> list[str]:
    return [word.speaker for word in attribute(said, [SpeakerTurn(*turn) for turn in stretches], SETTINGS)]


QUESTION = (("Are", 9.0, 9.2), ("you", 9.2, 9.4), ("all", 9.4, 9.6), ("right", 9.6, 9.85), ("now?", 9.85, 10.15))
ANSWER = (("I", 10.4, 10.5), ("am", 10.5, 10.8), ("fine.", 10.8, 11.2))


def test_the_last_word_of_a_question_follows_its_sentence():
    said = words(*QUESTION, *ANSWER)
    found = attribute(said, [SpeakerTurn(8.0, 9.95, "A"), SpeakerTurn(9.95, 12.0, "B")], SETTINGS)
    assert [word.speaker for word in found] == ["A"] * 5 + ["B"] * 3
    assert [word.flags for word in found] == [()] * 4 + [(BORDER,)] + [()] * 3


def test_the_first_word_of_an_answer_follows_its_sentence():
    said = words(*QUESTION[:4], ("today?", 9.85, 10.2), ("I", 10.2, 10.3), ("am", 10.3, 10.6), ("fine.", 10.6, 11.0))
    assert speakers(said, (8.0, 10.27, "A"), (10.27, 12.0, "B")) == ["A"] * 5 + ["B"] * 3


def test_a_reply_of_one_word_with_clear_overlap_stays_separate():
    said = words(*QUESTION, ("Yes.", 10.2, 10.5), ("Good.", 10.6, 10.9))
    assert speakers(said, (8.0, 10.15, "A"), (10.18, 10.55, "B"), (10.58, 12.0, "A")) == ["A"] * 5 + ["B", "A"]


def test_a_reply_without_a_mark_but_with_a_pause_stays_separate():
    said = words(("were", 9.0, 9.3), ("you", 9.3, 9.5), ("there", 9.5, 9.8), ("yes", 10.1, 10.4))
    assert speakers(said, (8.0, 9.85, "A"), (10.05, 12.0, "B")) == ["A"] * 3 + ["B"]


def test_more_than_a_word_or_so_is_not_moved():
    said = words(
        ("so", 9.0, 9.2),
        ("we", 9.2, 9.4),
        ("thought", 9.4, 9.6),
        ("that", 9.6, 9.8),
        ("and", 9.8, 9.9),
        ("then", 9.9, 10.0),
        ("it", 10.0, 10.1),
    )
    assert speakers(said, (8.0, 9.8, "A"), (9.8, 12.0, "B")) == ["A"] * 4 + ["B"] * 3


def test_a_word_far_from_the_border_is_not_moved():
    said = words(("we", 5.0, 5.4), ("both", 5.4, 5.9), ("went", 5.9, 6.3), ("yesterday", 6.3, 7.9))
    assert speakers(said, (4.0, 6.3, "A"), (6.3, 9.0, "B")) == ["A"] * 3 + ["B"]


@pytest.mark.parametrize(("pause", "first"), [(1.0, "B"), (1.6, "A")])
def test_a_pause_inside_a_sentence_does_not_part_it_until_it_ends_a_turn(pause, first):
    """Both talk through the first half; who says the second half says the first too, unless it is a sentence alone."""
    half = (("is", 9.0, 9.2), ("there", 9.2, 9.5), ("more", 9.5, 10.0))
    said = words(*half, ("than", 10.0 + pause, 10.5 + pause), ("that", 10.5 + pause, 11.2 + pause))
    stretches = ((8.0, 10.0, "A"), (9.1, 14.0, "B"))
    assert speakers(said, *stretches) == [first] * 3 + ["B"] * 2


def test_words_that_no_stretch_covers_go_to_the_nearest_or_to_unknown():
    said = words(("it", 1.0, 1.2), ("was", 1.2, 1.4), ("so", 2.0, 2.2), ("odd", 4.0, 4.3))
    found = attribute(said, [SpeakerTurn(0.9, 1.4, "A")], SETTINGS)
    assert [word.speaker for word in found] == ["A", "A", "A", UNKNOWN]
    assert [word.flags for word in found] == [(), (), (NEAREST,), (NO_SPEAKER,)]
    assert [word.word.text for word in found] == ["it", "was", "so", "odd"]


def test_the_nearer_of_two_stretches_wins():
    said = words(("well", 5.0, 5.2))
    assert speakers(said, (1.0, 4.5, "A"), (5.5, 7.0, "B")) == ["B"]
    assert speakers(said, (1.0, 4.8, "A"), (5.5, 7.0, "B")) == ["A"]


def test_a_long_stretch_behind_short_ones_is_found():
    said = words(("well", 30.0, 30.2))
    assert speakers(said, (0.0, 29.5, "A"), (1.0, 2.0, "B"), (3.0, 4.0, "B"), (5.0, 6.0, "B")) == ["A"]


def test_a_stretched_word_that_was_trimmed_belongs_to_who_speaks_then():
    said = words(("Listen,", 47.6, 48.1), ("please", 48.3, 48.6))
    assert speakers(said, (30.0, 41.5, "B"), (47.6, 55.0, "A")) == ["A", "A"]


def test_in_overlapped_speech_a_word_stays_with_its_sentence():
    said = words(("I", 1.0, 1.2), ("never", 1.2, 1.6), ("said", 1.6, 1.9), ("that", 1.9, 2.2))
    found = attribute(said, [SpeakerTurn(1.55, 2.5, "A"), SpeakerTurn(0.8, 2.4, "B")], SETTINGS)
    assert [word.speaker for word in found] == ["B"] * 4
    assert [word.flags for word in found] == [(), (), (OVERLAPPED,), (OVERLAPPED,)]


def test_nobody_was_found():
    assert speakers(words(("hello", 0.0, 0.4))) == [UNKNOWN]
    assert attribute([], [SpeakerTurn(0, 1, "A")], SETTINGS) == []


def test_a_word_without_length_has_a_speaker():
    assert speakers(words(("2", 1.0, 1.0)), (0.5, 1.5, "A")) == ["A"]


stretch = st.tuples(st.floats(0, 50), st.floats(0.01, 5), st.sampled_from("ABC")).map(
    lambda part: SpeakerTurn(part[0], part[0] + part[1], part[2])
)
spoken = st.lists(
    st.tuples(st.sampled_from(["so", "yes.", "what?"]), st.floats(0, 55), st.floats(0, 2)), max_size=30
).map(lambda parts: [Word(text, start, start + length, 0) for text, start, length in sorted(parts, key=lambda p: p[1])])


@given(spoken, st.lists(stretch, max_size=12))
def test_every_word_has_one_speaker_and_keeps_its_place(said, stretches):
    found = attribute(said, stretches, SETTINGS)
    assert [word.word for word in found] == said
    assert [word.index for word in found] == list(range(len(said)))
    assert {word.speaker for word in found} <= {turn.speaker for turn in stretches} | {UNKNOWN}
    for word in found:
        assert (word.speaker == UNKNOWN) <= (NO_SPEAKER in word.flags or BORDER in word.flags)
        reach = [
            turn for turn in stretches if turn.speaker == word.speaker and turn.interval.gap(word.word.interval) <= 5
        ]
        assert word.speaker == UNKNOWN or reach


@pytest.mark.parametrize("count", [3000])
def test_time_grows_with_the_number_of_words_not_its_square(count):
    said = [Word("so", number * 0.4, number * 0.4 + 0.3, number // 8) for number in range(count)]
    turns = [SpeakerTurn(number * 2.0, number * 2.0 + 2.1, "AB"[number % 2]) for number in range(count // 5)]
    assert len(attribute(said, turns, SETTINGS)) == count
