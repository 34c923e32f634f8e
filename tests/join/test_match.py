"""Rows find their words: undisturbed, shifted, drifting, misheard, shuffled, missing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.annotation.model import Row
from pipeline.join.match import Alignment, HeardWord, align, tokens
from pipeline.join.speakers import map_speakers

RECORDINGS = ("dev00", "dev01", "trñ00", "trn08")


def row(index: int, start: float, end: float, speaker: str, text: str) -> Row:
    return Row(row_index=index, start_time=start, end_time=end, primary_speaker=speaker, dialogue_cleaned=text)


def from_reference(folder: Path, name: str) -> tuple[list[Row], list[HeardWord], list[list[int]]]:
    """Rows from the turns of a reference, words from its manual word times, and which word belongs to which row."""
    rows = []
    for line in (folder / f"{name}.stm").read_text("utf-8").splitlines():
        if line and not line.startswith(";"):
            _, _, speaker, start, end, text = (*line.split(maxsplit=5), "")[:6]
            rows.append((float(start), float(end), speaker, text))
    rows.sort()
    words = []
    for line in (folder / f"{name}.ctm").read_text("utf-8").splitlines():
        if line and not line.startswith(";"):
            _, channel, start, length, text, *_ = line.split()
            words.append((float(start), float(start) + float(length), channel, text))
    words.sort()
    made = [row(position, *values) for position, values in enumerate(rows, start=1)]
    heard = [HeardWord(position, text, start, end) for position, (start, end, _, text) in enumerate(words)]
    owner: list[list[int]] = [[] for _ in made]
    for position, (start, end, _, text) in enumerate(words):
        fitting = [
            index
            for index, one in enumerate(made)
            if one.start_time - 0.01 <= (start + end) / 2 <= one.end_time + 0.01
            and set(tokens(text)) <= set(tokens(one.dialogue_cleaned))
        ]
        if len(fitting) == 1:  # where two people say the same word at once, the reference does not tell
            owner[fitting[0]].append(position)
    return made, heard, owner


def right_share(alignment: Alignment, owner: Sequence[Sequence[int]]) -> float:
    """Of the words whose row is sure, how many were given to it."""
    total = sum(len(words) for words in owner)
    found = sum(
        len({word.word_index for word in alignment.words_of(match)} & set(words))
        for match, words in zip(alignment.rows, owner, strict=True)
    )
    return found / total


def shifted(rows: Sequence[Row], offset: float = 0.0, drift: float = 0.0) -> list[Row]:
    """Rows as an annotator would have them whose clock is off."""
    return [
        one.model_copy(
            update={
                "start_time": (one.start_time - offset) / (1 + drift),
                "end_time": (one.end_time - offset) / (1 + drift),
            }
        )
        for one in rows
    ]


def misheard(words: Sequence[HeardWord], share: float, seed: int) -> list[HeardWord]:
    randomness = random.Random(seed)
    return [
        HeardWord(word.word_index, "xylophone", word.start, word.end) if randomness.random() < share else word
        for word in words
    ]


@pytest.mark.parametrize("name", RECORDINGS)
def test_undisturbed(media: Path, name: str) -> None:
    rows, words, owner = from_reference(media / "audio" / "ami_debug", name)
    assert right_share(align(rows, words), owner) >= 0.95


@pytest.mark.parametrize("name", RECORDINGS)
def test_one_word_in_ten_is_wrong(media: Path, name: str) -> None:
    rows, words, owner = from_reference(media / "audio" / "ami_debug", name)
    for seed in range(3):
        wrong = {word.word_index for word in misheard(words, 0.1, seed) if word.text == "xylophone"}
        left = [[word for word in owned if word not in wrong] for owned in owner]
        assert right_share(align(rows, misheard(words, 0.1, seed)), left) >= 0.9


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize(("offset", "drift"), [(0.0, 0.0), (1.5, 0.0), (-1.5, 0.0), (0.0, 0.04), (1.5, -0.04)])
def test_a_clock_that_is_off_is_measured(media: Path, name: str, offset: float, drift: float) -> None:
    rows, words, _ = from_reference(media / "audio" / "ami_debug", name)
    found = align(shifted(rows, offset, drift), words).time_map
    assert found.trusted
    assert found.offset == pytest.approx(offset, abs=0.1)
    assert found.drift == pytest.approx(drift, abs=0.002)


@pytest.mark.parametrize("name", RECORDINGS)
def test_rows_that_are_missing_take_no_words_of_others(media: Path, name: str) -> None:
    rows, words, owner = from_reference(media / "audio" / "ami_debug", name)
    kept = [position for position in range(len(rows)) if position % 3]
    alignment = align([rows[position] for position in kept], words)
    assert right_share(alignment, [owner[position] for position in kept]) >= 0.9
    assert all(match.share <= 1 for match in alignment.rows)


def repeated(times: int) -> tuple[list[Row], list[HeardWord]]:
    """The same phrase again and again, 10 s apart, with other talk between."""
    rows, words = [], []
    for turn in range(times):
        for shift, text in ((0, "I do not know what you mean"), (5, f"then number {turn} comes next")):
            start = 10.0 * turn + shift
            rows.append(row(len(rows) + 1, start, start + 3, "A", text))
            for place, word in enumerate(text.split()):
                words.append(HeardWord(len(words), word, start + 0.4 * place, start + 0.4 * place + 0.3))
    return rows, words


def test_repeated_phrases_stay_where_they_are_also_when_one_was_not_heard() -> None:
    rows, words = repeated(8)
    lost = [word for word in words if not 30 <= word.start < 34]  # the phrase of the fourth round
    alignment = align(rows, lost)
    for one, match in zip(rows, alignment.rows, strict=True):
        heard = alignment.words_of(match)
        assert all(one.start_time - 0.1 <= word.start <= one.end_time for word in heard)
        assert match.share == (0 if one.start_time == 30 else 1)


def test_rows_out_of_order_and_overlapping_find_their_words() -> None:
    rows, words = repeated(8)
    background = row(17, 41.0, 42.0, "B", "yes exactly that")
    spoken = [
        HeardWord(100 + place, text, 41.05 + 0.3 * place, 41.3 + 0.3 * place)
        for place, text in enumerate(("yes", "exactly", "that"))
    ]
    alignment = align([*rows, background], sorted([*words, *spoken], key=lambda word: word.start))
    assert alignment.rows[-1].share == 1
    assert [word.word_index for word in alignment.words_of(alignment.rows[-1])] == [100, 101, 102]


def test_swapped_speakers_are_found(media: Path) -> None:
    rows, words, owner = from_reference(media / "audio" / "ami_debug", "dev00")
    people = sorted({one.primary_speaker for one in rows})
    label = {person: f"SPEAKER_{number:02d}" for number, person in enumerate(reversed(people))}
    said = {word: label[one.primary_speaker] for one, owned in zip(rows, owner, strict=True) for word in owned}
    heard = [
        HeardWord(word.word_index, word.text, word.start, word.end, None, said.get(word.word_index)) for word in words
    ]
    found = map_speakers(rows, align(rows, heard), "run")
    assert dict(found.participant) == {label: person for person, label in label.items()}
    assert all(margin > 0.9 for margin in found.margin.values())


def test_a_voice_that_diarization_split_is_one_person() -> None:
    rows, words = repeated(6)
    halves = [HeardWord(w.word_index, w.text, w.start, w.end, None, "S0" if w.start < 30 else "S1") for w in words]
    found = map_speakers(rows, align(rows, halves), None)
    assert dict(found.participant) == {"S0": "A", "S1": "A"}


@pytest.mark.parametrize("rows", [[], [row(1, 0, 1, "A", "[CHUCKLES]")], [row(1, 0, 1, "A", "hello there")]])
def test_nothing_said_or_nothing_heard(rows: list[Row]) -> None:
    for words in ([], [HeardWord(0, "...", 0, 1)]):
        alignment = align(rows, words)
        assert [match.share for match in alignment.rows] == [0.0] * len(rows)
        assert not alignment.time_map.trusted


VOCABULARY = st.sampled_from(["yes", "no", "well", "I", "you", "know", "think", "home", "late"])
TEXTS = st.lists(VOCABULARY, max_size=8).map(" ".join)


@given(st.lists(TEXTS, max_size=8), st.lists(VOCABULARY, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_laws(texts: list[str], heard: list[str], randomness: random.Random) -> None:
    """No word is used twice, words of a row are in order, shares are shares, whatever the input."""
    rows = [row(i, 2.0 * i + randomness.random(), 2.0 * i + 2, "A", text) for i, text in enumerate(texts, start=1)]
    words = [HeardWord(i, text, 0.4 * i, 0.4 * i + 0.3) for i, text in enumerate(heard)]
    alignment = align(rows, words)
    used = [position for match in alignment.rows for _, position in match.pairs]
    assert len(used) == len(set(used))
    for match in alignment.rows:
        assert list(match.pairs) == sorted(match.pairs)
        assert [pair[1] for pair in match.pairs] == sorted(pair[1] for pair in match.pairs)
        assert 0 <= match.share <= 1
