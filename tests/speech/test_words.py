"""The rules that repair word times."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.schemas import WORDS, table_of
from pipeline.speech.words import (
    BACKWARDS,
    INTERPOLATED,
    INVALID_TIMES,
    TRIMMED,
    RawWord,
    Word,
    is_suspected,
    repair,
    word_of,
)
from pipeline.times import Interval


def raw(text: str, start: float | None, end: float | None, segment: int = 0) -> RawWord:
    return RawWord(text, start, end, segment)


def fixed(*words: RawWord, duration: float = 100.0, speech: list[Interval] | None = None) -> list[Word]:
    return repair(words, duration=duration, max_word=2.0, speech=speech)


def test_words_without_times_lie_between_their_neighbours():
    words = fixed(
        raw("paid", 3.10, 3.30),
        raw("€2,500", None, None),
        raw("in", 4.00, 4.10),
        raw("March", 4.12, 4.40),
        raw("2019", None, None),
        raw("then", 5.30, 5.50),
    )
    assert [word.text for word in words] == ["paid", "€2,500", "in", "March", "2019", "then"]
    assert (words[1].start, words[1].end) == pytest.approx((3.30, 4.00))
    assert (words[4].start, words[4].end) == pytest.approx((4.40, 5.30))
    assert [word.time_source for word in words] == ["attention", "interpolated"] + ["attention"] * 2 + [
        "interpolated",
        "attention",
    ]
    assert words[1].flags == words[4].flags == (INTERPOLATED,)
    assert words[0].flags == ()


def test_several_words_without_times_share_the_room_by_length():
    words = fixed(raw("a", 0.0, 1.0), raw("12", None, None), raw("345678", None, None), raw("b", 1.8, 2.0))
    assert [(word.start, word.end) for word in words[1:3]] == [pytest.approx((1.0, 1.2)), pytest.approx((1.2, 1.8))]


def test_no_word_of_a_text_has_times():
    words = fixed(raw("7", None, None), raw("8", None, None), duration=10.0)
    assert [(word.start, word.end) for word in words] == [pytest.approx((0.0, 0.3)), pytest.approx((0.3, 0.6))]


def test_a_first_and_a_last_word_without_times_stay_in_the_recording():
    words = fixed(raw("1", None, None), raw("and", 0.1, 0.3), raw("2", None, None), duration=0.4)
    assert words[0].start == 0.0
    assert words[0].end == pytest.approx(0.1)
    assert words[2].end <= 0.4


def test_a_word_without_times_before_a_pause_stays_with_its_sentence():
    words = fixed(raw("since", 1.0, 1.2, 0), raw("2019", None, None, 0), raw("Yes", 30.0, 30.2, 1))
    assert words[1].start == pytest.approx(1.2)
    assert words[1].end <= 1.2 + 2.0


def test_a_stretched_word_is_cut_to_the_speech_beside_its_neighbour():
    words = fixed(raw("Listen,", 40.0, 48.1), raw("please", 48.3, 48.6), speech=[Interval(47.6, 60.0)])
    assert (words[0].start, words[0].end) == pytest.approx((47.6, 48.1))
    assert words[0].flags == (TRIMMED,)
    assert words[1].flags == ()


def test_a_stretched_word_before_a_pause_keeps_its_start():
    words = fixed(
        raw("I", 9.8, 10.0),
        raw("agree.", 10.0, 17.0),
        raw("So", 20.0, 20.2, 1),
        speech=[Interval(9, 10.6), Interval(16.9, 25)],
    )
    assert (words[1].start, words[1].end) == pytest.approx((10.0, 10.6))


def test_a_stretched_word_without_known_speech_is_cut_to_the_longest_word():
    words = fixed(raw("Listen,", 40.0, 48.1), raw("please", 48.3, 48.6))
    assert (words[0].start, words[0].end) == pytest.approx((46.1, 48.1))


def test_a_slow_word_is_left_alone():
    assert fixed(raw("well", 1.0, 2.9), speech=[])[0] == Word("well", 1.0, 2.9)


def test_a_segment_that_ends_before_it_starts_is_repaired_and_flagged():
    words = fixed(raw("before", 45.0, 45.4, 0), raw("odd", 52.0, 45.5, 1), raw("after", 53.0, 53.2, 2))
    assert [word.text for word in words] == ["before", "odd", "after"]
    assert set(words[1].flags) == {INTERPOLATED, INVALID_TIMES}
    assert 45.4 <= words[1].start <= words[1].end <= 53.0


def test_a_negative_start_is_cut_to_the_start_of_the_clip():
    (word,) = fixed(raw("hi", -0.4, 1.2))
    assert (word.start, word.end, word.flags) == (0.0, 1.2, (INVALID_TIMES,))


def test_words_that_run_backwards_keep_the_order_of_the_text():
    words = fixed(raw("one", 60.9, 61.0), raw("two", 60.3, 60.5), raw("three", 59.8, 60.0), raw("four", 61.5, 61.7))
    assert [word.text for word in words] == ["one", "two", "three", "four"]
    assert [word.start for word in words] == sorted(word.start for word in words)
    assert sum(BACKWARDS in word.flags for word in words) == 2


def test_a_segment_that_comes_late_moves_to_its_time():
    words = fixed(raw("second", 5.0, 5.5, 0), raw("half", 5.5, 5.9, 0), raw("first", 1.0, 1.4, 1))
    assert [(word.text, word.segment) for word in words] == [("first", 0), ("second", 1), ("half", 1)]
    assert all(word.flags == () for word in words)


def test_a_word_past_the_end_of_the_recording_is_pulled_in():
    words = fixed(raw("so", 9.0, 9.2), raw("long", 11.0, 12.0), duration=10.0)
    assert words[1].end <= 10.0
    assert INVALID_TIMES in words[1].flags


def test_a_word_that_is_not_finite_is_repaired():
    words = fixed(raw("a", 1.0, 1.1), raw("b", math.nan, 2.0), raw("c", 3.0, 3.1))
    assert INVALID_TIMES in words[1].flags
    assert 1.1 <= words[1].start <= words[1].end <= 3.0


times = st.one_of(st.none(), st.just(math.nan), st.floats(-5, 65))
raw_words = st.lists(st.builds(RawWord, st.text("abc9", min_size=1, max_size=9), times, times, st.integers(0, 5)))
regions = st.one_of(
    st.none(), st.lists(st.tuples(st.floats(0, 60), st.floats(0, 5)).map(lambda p: Interval(p[0], sum(p))))
)


@given(raw_words, regions)
def test_any_input_gives_every_word_back_with_usable_times(words, speech):
    done = repair(words, duration=60.0, max_word=2.0, speech=speech)
    assert sorted(word.text for word in done) == sorted(word.text for word in words)
    assert all(0 <= word.start <= word.end <= 60.0 for word in done)
    assert all(word.end - word.start <= 2.0 + 1e-6 for word in done)
    assert [word.start for word in done] == sorted(word.start for word in done)
    assert repair(words, duration=60.0, max_word=2.0, speech=speech) == done


def test_a_word_survives_its_row():
    word = Word("née", 1.0, 1.5, 3, 0.25, "attention", (TRIMMED,))
    assert word_of(table_of([word.to_row(0)], WORDS).to_pylist()[0]) == word
    assert not is_suspected(word)
