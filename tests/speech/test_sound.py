"""Long recordings are read in blocks that end in pauses; what is found lies on the recording's own time axis."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pipeline.conversation import SpeakerBounds
from pipeline.media.audio import read_audio
from pipeline.settings import RecognitionSettings, Settings
from pipeline.speech import sound as sounds
from pipeline.speech.diarize import diarize
from pipeline.speech.models import Models
from pipeline.speech.recognize import recognize
from pipeline.speech.sound import StoredSound, blocks, find_voice

faster_whisper = pytest.importorskip("faster_whisper")
soundfile = pytest.importorskip("soundfile")

RATE = 16_000


def fold(text: str) -> str:
    return text.strip(".,?! ").casefold()


@pytest.fixture(scope="module")
def stored(media: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of talk with pauses, as the station ``audio`` leaves it."""
    talk = faster_whisper.decode_audio(str(media / "audio" / "commercial_mono.wav"))
    pause = np.zeros(3 * RATE, dtype=np.float32)
    path = tmp_path_factory.mktemp("sound") / "audio.flac"
    soundfile.write(path, np.concatenate([talk[: 20 * RATE], pause, talk[20 * RATE :]]), RATE, format="FLAC")
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sounds, "_BLOCK", 25 * RATE)
    monkeypatch.setattr(sounds, "_SEARCH", 10 * RATE)


def test_a_stored_sound_reads_like_an_array(stored: Path) -> None:
    whole, lazy = read_audio(stored), StoredSound(stored)
    assert len(lazy) == len(whole)
    for piece in (
        slice(None),
        slice(5, 9),
        slice(100_000, 100_001),
        slice(len(whole) - 3, len(whole) + 99),
        slice(7, 3),
    ):
        np.testing.assert_array_equal(lazy[piece], whole[piece])


def test_blocks_are_the_whole_sound_and_end_in_its_longest_pause(stored: Path, small_blocks: None) -> None:
    whole = read_audio(stored)
    parts = list(blocks(StoredSound(stored)))
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate([block for _, block in parts]), whole)
    assert [first for first, _ in parts] == [0, *np.cumsum([len(block) for _, block in parts])[:-1]]
    assert 20 * RATE < len(parts[0][1]) < 23 * RATE


def test_a_short_sound_is_one_block(stored: Path) -> None:
    assert len(list(blocks(StoredSound(stored)))) == 1
    assert list(blocks(np.zeros(0, dtype=np.float32))) == []


def test_voice_without_a_pause_is_cut_all_the_same(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sounds, "detect_voice", lambda samples: (sounds.Interval(0.0, len(samples) / RATE),))
    sound = np.zeros(70 * RATE, dtype=np.float32)
    assert [len(block) // RATE for _, block in blocks(sound)] == [25, 25, 20]


def test_voice_is_on_the_time_axis_of_the_recording(stored: Path, small_blocks: None) -> None:
    found = find_voice(StoredSound(stored))
    assert all(part.end <= other.start for part, other in pairwise(found))
    assert found[-1].end > 40


@pytest.mark.slow
def test_words_of_later_blocks_have_the_recordings_times(
    stored: Path, monkeypatch: pytest.MonkeyPatch, small_blocks: None
) -> None:
    model = Models(Settings()).recognizer()
    apart = recognize(model, StoredSound(stored), RecognitionSettings(), language="en")
    monkeypatch.undo()
    whole = recognize(model, StoredSound(stored), RecognitionSettings(), language="en")
    assert [fold(word.text) for word in apart.words][-5:] == [fold(word.text) for word in whole.words][-5:]
    moved = [abs(mine.start - other.start) for mine, other in zip(apart.words[-5:], whole.words[-5:], strict=True)]
    assert np.median(moved) < 0.3
    segments = [word.segment for word in apart.words]
    assert segments == sorted(segments)
    assert len({word.segment for word in apart.words}) >= len(list(blocks(StoredSound(stored))))


@pytest.mark.slow
def test_speakers_are_the_same_from_file_and_from_memory_and_with_few_voices_compared(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Models(Settings()).diarizer()
    two = SpeakerBounds(min=2, max=2)
    from_file = diarize(pipeline, StoredSound(stored), two)
    assert from_file == diarize(pipeline, read_audio(stored), two)
    monkeypatch.setattr("pipeline.speech.diarizer._CLUSTERED", 30)
    fewer = diarize(pipeline, StoredSound(stored), two)
    assert fewer.speakers == from_file.speakers
    changed = sum(turn.end - turn.start for turn in set(fewer.turns) ^ set(from_file.turns))
    assert changed < 5
