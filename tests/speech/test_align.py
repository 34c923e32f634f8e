"""Forced alignment."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.build import build_conversation
from pipeline.conversation import Conversation
from pipeline.errors import PrerequisiteError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.schemas import read_rows
from pipeline.settings import EMBEDDED, RecognitionSettings, Settings, load_settings
from pipeline.speech.align import NOT_ALIGNED, LetterAligner, align, letter_spans
from pipeline.speech.models import Models
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.speech.words import INTERPOLATED, RawWord, repair
from pipeline.station import State, Workspace

torch = pytest.importorskip("torch")

ALPHABET = {letter: column for column, letter in enumerate("abcdefghijklmnopqrstuvwxyz'", start=1)}


def heard(text: str, frames: int) -> torch.Tensor:
    """Log probabilities in which each letter of a text is heard for one frame, at its place; ``.`` is blank."""
    probabilities = torch.full((frames, len(ALPHABET) + 1), 0.001)
    for frame in range(frames):
        letter = text[frame] if frame < len(text) else "."
        probabilities[frame, ALPHABET.get(letter, 0)] = 1.0
    return probabilities.log()


def test_each_letter_is_found_where_it_is_heard():
    spans = letter_spans(heard("..h.i....ll", 12), [ALPHABET[letter] for letter in "hil"], blank=0)
    assert spans == [(2, 3), (4, 5), (9, 11)]


def test_more_letters_than_frames_do_not_fit():
    assert letter_spans(heard("abc", 3), [1, 2, 3, 4], blank=0) is None
    assert letter_spans(heard("aa", 2), [1, 1], blank=0) is None  # a repeated letter needs a blank between


def test_words_take_the_times_of_their_letters():
    # A segment from 9.8 to 12.2 s, 24 frames of 0.1 s.
    aligner = LetterAligner(lambda samples: heard("....hi.......yo.u.......", 24), ALPHABET, blank=0)
    words = [RawWord("Hi,", 10.0, 10.2, 0), RawWord("2019", 10.2, 11.0, 0), RawWord("you!", 11.0, 12.0, 0)]
    found = align(aligner, words, np.zeros(16_000 * 20, dtype=np.float32))
    assert [(word.start, word.end) for word in found] == [
        pytest.approx((10.2, 10.4)),
        (None, None),
        pytest.approx((11.1, 11.5)),
    ]
    repaired = repair(found, duration=20.0, max_word=2.0)
    assert [word.time_source for word in repaired] == ["alignment", "interpolated", "alignment"]
    assert repaired[1].flags == (INTERPOLATED,)
    assert (repaired[1].start, repaired[1].end) == pytest.approx((10.4, 11.1))


def test_text_that_does_not_fit_keeps_its_times_and_a_flag():
    aligner = LetterAligner(lambda samples: heard("", 3), ALPHABET, blank=0)
    (word,) = align(aligner, [RawWord("unbelievable", 1.0, 1.1, 0)], np.zeros(32_000, dtype=np.float32))
    assert (word.start, word.end, word.flags, word.time_source) == (1.0, 1.1, (NOT_ALIGNED,), "attention")


def test_a_segment_without_letters_keeps_its_times():
    aligner = LetterAligner(lambda samples: heard("", 30), ALPHABET, blank=0)
    (word,) = align(aligner, [RawWord("42", 1.0, 1.4, 0)], np.zeros(32_000, dtype=np.float32))
    assert (word.start, word.end, word.flags) == (1.0, 1.4, (NOT_ALIGNED,))


def save_wav2vec2(folder: Path) -> str:
    """A wav2vec2 model with few random weights, as the library writes it."""
    from transformers import (
        Wav2Vec2Config,
        Wav2Vec2CTCTokenizer,
        Wav2Vec2FeatureExtractor,
        Wav2Vec2ForCTC,
        Wav2Vec2Processor,
    )

    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    (folder / "vocab.json").write_text(json.dumps({letter: column for column, letter in enumerate(letters)}))
    tokenizer = Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        vocab_size=len(letters), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8, 8, 8, 8, 8, 8, 8), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    Wav2Vec2ForCTC(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.slow
def test_a_model_in_a_folder_is_loaded_and_used(tmp_path):
    models = Models(Settings(recognition=RecognitionSettings(alignment=save_wav2vec2(tmp_path))))
    aligner = models.aligner("en")
    assert aligner is models.aligner("en")
    audio = np.random.default_rng(0).normal(0, 0.1, 48_000).astype(np.float32)
    found = align(aligner, [RawWord("hello", 0.5, 1.0, 0), RawWord("there", 1.0, 2.5, 0)], audio)
    assert [word.time_source for word in found] == ["alignment", "alignment"]
    assert 0.3 <= found[0].start < found[0].end <= found[1].start < found[1].end <= 2.7


@pytest.mark.slow
def test_the_gpu_profile_runs_through_the_same_code_on_a_cpu(tmp_path, media):
    """Its device and its large models are replaced, nothing else: 32 windows at once and letters aligned."""
    pytest.importorskip("pyannote.audio")
    (tmp_path / "raw").mkdir()
    (tmp_path / "letters").mkdir()
    (tmp_path / "raw" / "talk.wav").symlink_to((media / "audio" / "katiesteve_mono.wav").absolute())
    settings = load_settings(
        profile="gpu",
        device="cpu",
        data=tmp_path / "data",
        raw=tmp_path / "raw",
        recognition={
            "model": EMBEDDED,
            "compute_type": "float32",
            "alignment": save_wav2vec2(tmp_path / "letters"),
        },
        diarization={"model": EMBEDDED},
    )
    workspace = Workspace.of(Conversation(id="a/b", media="talk.wav", speakers=2), tmp_path / "raw", settings)
    models = Models(settings)
    line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
    outcomes = build_conversation(workspace, line)
    assert [outcome.state for outcome in outcomes] == [State.DONE] * 5
    words, speakers = (outcome.record.summary for outcome in outcomes[2:4])
    assert (words["batch_size"], speakers["batch_size"], speakers["speakers"]) == (32, 32, 2)
    rows = read_rows(workspace.artifact("words.parquet"))
    assert sum(row["time_source"] == "alignment" for row in rows) > 30


@pytest.mark.slow
def test_a_missing_model_says_what_to_do(tmp_path):
    models = Models(Settings(recognition=RecognitionSettings(alignment="nobody/nothing")))
    with pytest.raises(PrerequisiteError, match=r"recognition\.alignment"):
        models.aligner("en")
    with pytest.raises(PrerequisiteError, match="language 'xx'"):
        Models(Settings(recognition=RecognitionSettings(alignment="auto"))).aligner("xx")
