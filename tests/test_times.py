"""Times: rounding once, clock texts, interval algebra."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.times import Interval, format_clock, merge, parse_clock, round_time, to_ms

TIMES = st.floats(min_value=0, max_value=360_000, allow_nan=False)
INTERVALS = st.tuples(TIMES, TIMES).map(lambda pair: Interval(min(pair), max(pair)))


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [
        (2.9997, "00:00:03,000"),
        (59.9997, "00:01:00,000"),
        (3599.9998, "01:00:00,000"),
        (36000.5, "10:00:00,500"),
        (0.0, "00:00:00,000"),
        (0.0004, "00:00:00,000"),
        (360_000.0, "100:00:00,000"),
    ],
)
def test_the_carry_of_rounding_is_never_lost(seconds: float, clock: str) -> None:
    assert format_clock(seconds, mark=",") == clock
    assert to_ms(parse_clock(clock)) == to_ms(seconds)


@pytest.mark.parametrize("seconds", [-0.1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        format_clock(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"), [("01:02.500", 62.5), ("5", 5.0), ("1:00:00", 3600.0), (" 0:07,25 ", 7.25)]
)
def test_clock_texts(text: str, seconds: float) -> None:
    assert parse_clock(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "1:2:3:4", "00:75", "1h", "-3", "00:61:00", "0x10"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_clock(text)


@given(TIMES)
def test_format_then_parse_gives_the_same_millisecond(seconds: float) -> None:
    assert to_ms(parse_clock(format_clock(seconds))) == to_ms(seconds)


@given(TIMES)
def test_rounding_twice_is_rounding_once(seconds: float) -> None:
    assert round_time(round_time(seconds)) == round_time(seconds)


@given(INTERVALS, INTERVALS)
def test_overlap_is_symmetric_and_excludes_a_gap(a: Interval, b: Interval) -> None:
    assert a.overlap(b) == b.overlap(a) <= min(a.duration, b.duration)
    assert a.gap(b) == b.gap(a)
    assert a.overlap(b) == 0 or a.gap(b) == 0


@given(st.lists(INTERVALS, max_size=8))
def test_merged_intervals_are_apart_and_cover_the_same(intervals: list[Interval]) -> None:
    merged = merge(intervals)
    assert all(left.end < right.start for left, right in itertools.pairwise(merged))
    for interval in intervals:
        assert any(union.start <= interval.start and interval.end <= union.end for union in merged)
    edges = {interval.start for interval in intervals} | {interval.end for interval in intervals}
    assert {edge for union in merged for edge in (union.start, union.end)} <= edges


def test_a_small_gap_can_be_joined() -> None:
    assert merge([Interval(0, 1), Interval(1.2, 2)], join_gap=0.2 + 1e-9) == [Interval(0, 2)]
    assert len(merge([Interval(0, 1), Interval(1.2, 2)])) == 2
