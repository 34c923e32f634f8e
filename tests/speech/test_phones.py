"""Forced alignment by PocketSphinx."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.pieces import write_pieces
from pipeline.errors import PrerequisiteError
from pipeline.settings import RecognitionSettings, Settings
from pipeline.speech import weights
from pipeline.speech.align import NOT_ALIGNED, align
from pipeline.speech.models import Models
from pipeline.speech.phones import PhoneAligner
from pipeline.speech.recognize import recognize
from pipeline.speech.words import RawWord, repair

pytest.importorskip("pocketsphinx")
audio = pytest.importorskip("faster_whisper.audio")

GRID = [("set", 0.49, 0.77), ("white", 0.77, 1.09), ("with", 1.09, 1.22), ("p", 1.22, 1.44), ("two", 1.44, 1.73)]
"""Words of `grid_id2_vcd_swwp2s` before the last, from the corpus: seconds."""
TEXT = ["Set", "white", "with", "P", "two", "soon."]


@pytest.fixture(scope="module")
def aligner():
    return PhoneAligner()


@pytest.fixture(scope="module")
def sentence(media):
    return audio.decode_audio(str(media / "video" / "grid_id2_vcd_swwp2s.mpg"))


def test_words_lie_where_the_corpus_says(aligner, sentence):
    found = aligner.place(TEXT, sentence)
    for place, (word, start, end) in zip(found, GRID, strict=False):
        assert place.start == pytest.approx(start, abs=0.08), word
        assert place.end == pytest.approx(end, abs=0.08), word
    assert all(one.end <= two.start + 1e-9 for one, two in pairwise(found))


def test_what_was_aligned_before_and_how_loud_it_is_change_nothing(aligner, sentence):
    first = aligner.place(TEXT, sentence)
    aligner.place(["Hello", "there"], sentence[::-1].copy())
    assert aligner.place(TEXT, sentence) == first
    quiet = aligner.place(TEXT, sentence * np.float32(0.001))
    for one, other in zip(quiet, first, strict=True):
        assert (one.start, one.end) == pytest.approx((other.start, other.end), abs=0.011)


@pytest.mark.slow
def test_words_do_not_depend_on_the_recordings_before(media, tmp_path):
    model = Models(Settings()).recognizer()
    names = write_pieces(media, tmp_path, 12)
    sounds = [audio.decode_audio(str(tmp_path / name / "piece.wav")) for name in names]

    def times(shared, order):
        heard = {
            at: recognize(model, sounds[at], RecognitionSettings(), language="en", aligner=lambda _: shared).words
            for at in order
        }
        return [[(word.start, word.end) for word in heard[at]] for at in range(len(sounds))]

    forwards = times(PhoneAligner(), range(12))
    assert times(PhoneAligner(), reversed(range(12))) == forwards


def test_a_word_that_is_not_in_the_dictionary_lies_between_its_neighbours(aligner, sentence):
    words = [RawWord(text, 0.5, 2.2, 0) for text in ["Set", "white", "with", "P", "22", "soon."]]
    found = repair(align(aligner, words, sentence), duration=len(sentence) / 16_000, max_word=2.0)
    assert [word.text for word in found] == [word.text for word in words]
    assert [word.time_source for word in found] == ["alignment"] * 4 + ["interpolated", "alignment"]
    assert found[3].end <= found[4].start <= found[4].end <= found[5].start


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("wake-up", True),
        ("I\u2019m", True),
        ("Okay...", True),
        ("dogs'", True),
        ("Mr.", True),
        ("E5", True),
        ("\u20ac2,500", False),
    ],
)
def test_punctuation_and_hyphens_do_not_hide_a_word(aligner, sentence, text, spelled):
    found = aligner.place([text, "soon"], sentence)
    assert (found[0] is not None) is spelled


@pytest.mark.parametrize("sound", [np.zeros(16_000, np.float32), np.zeros(0, np.float32), np.ones(300, np.float32)])
def test_in_silence_and_in_nothing_no_text_is_found(aligner, sound):
    assert aligner.place(["hello"], sound) is None


def test_a_text_that_is_too_long_for_its_sound_keeps_its_times(aligner, sentence):
    words = [RawWord("incomprehensibilities", 1.0, 1.1, 0), RawWord("notwithstanding", 1.1, 1.2, 0)]
    found = align(aligner, words, sentence)
    assert [(word.start, word.end, word.flags, word.time_source) for word in found] == [
        (1.0, 1.1, (NOT_ALIGNED,), "attention"),
        (1.1, 1.2, (NOT_ALIGNED,), "attention"),
    ]


def test_it_is_the_aligner_of_english_unless_told_otherwise():
    models = Models(Settings())
    assert isinstance(models.aligner("en"), PhoneAligner)
    assert models.aligner("en") is models.aligner("en")
    assert models.aligner("de") is None
    assert Models(Settings(recognition=RecognitionSettings(alignment=None))).aligner("en") is None


def test_its_weights_are_part_of_the_provenance():
    digests = weights.recognition_digests("embedded", "embedded")
    assert len(digests["alignment"]) == len(digests["voice_detection"])
    assert "alignment" not in weights.recognition_digests("embedded", None)


def test_a_missing_package_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(PrerequisiteError, match=r"pocketsphinx is not installed.*rescue-bench\[speech\]"):
        PhoneAligner()
