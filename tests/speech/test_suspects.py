"""Text that the recogniser may have invented."""

from __future__ import annotations

from pipeline.speech.suspects import OVER_SILENCE, REPEATED, STOCK_PHRASE, mark_suspects, plain
from pipeline.speech.words import Word, is_suspected
from pipeline.times import Interval


def said(text: str, start: float, segment: int, length: float = 0.3) -> list[Word]:
    return [
        Word(word, start + number * length, start + (number + 1) * length, segment)
        for number, word in enumerate(text.split())
    ]


LOOP = "I will tell you what we should do."


def loop_between_normal_text() -> list[Word]:
    words = said("We can begin now.", 1.0, 0)
    for window in range(12):
        words += said(LOOP, 30.0 * (window + 1), window + 1)
    return words + said("Thank you for saying that.", 400.0, 13)


def test_a_sentence_over_twelve_silent_windows_is_flagged_and_the_rest_is_not():
    speech = [Interval(0.5, 3.0), Interval(399.0, 402.0)]
    marked = mark_suspects(loop_between_normal_text(), speech)
    assert [is_suspected(word) for word in marked] == [False] * 4 + [True] * 96 + [False] * 5
    assert marked[4].flags == (REPEATED, OVER_SILENCE)


def test_the_loop_is_found_without_knowing_where_speech_is():
    marked = mark_suspects(loop_between_normal_text(), None)
    assert [word.flags for word in marked] == [()] * 4 + [(REPEATED,)] * 96 + [()] * 5


def test_a_loop_of_one_word_is_flagged():
    words = said("we go", 0.0, 0) + said(" ".join(["no"] * 40), 1.0, 1) + said("home", 20.0, 2)
    assert [bool(word.flags) for word in mark_suspects(words, None)] == [False] * 2 + [True] * 40 + [False]


def test_the_end_of_a_loop_may_be_cut_off():
    words = said("I see it. " * 6 + "I see", 0.0, 0)
    assert all(is_suspected(word) for word in mark_suspects(words, None))


def test_people_repeat_themselves():
    for text in ("No, no, no, no.", "I don't know. I don't know. I don't know.", "Come on. Come on. Come on, Ben."):
        assert all(word.flags == () for word in mark_suspects(said(text, 0.0, 0), [Interval(0, 10)]))


def test_a_stock_phrase_over_music_is_flagged_and_over_speech_is_not():
    words = said("Thank you for watching!", 10.0, 0)
    assert {word.flags for word in mark_suspects(words, [Interval(10.0, 10.3)])} == {(STOCK_PHRASE,)}
    assert {word.flags for word in mark_suspects(words, [Interval(9.0, 12.0)])} == {()}


def test_text_beside_speech_is_not_over_silence():
    words = said("just a little late", 10.0, 0)
    assert {word.flags for word in mark_suspects(words, [Interval(8.0, 10.2)])} == {()}


def test_no_words():
    assert mark_suspects([], []) == []
    assert plain("It's  TWO, (really)!") == "it's two really"
