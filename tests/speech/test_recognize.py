"""Recognition with the embedded model, and the guess of the language."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.errors import PrerequisiteError
from pipeline.settings import RecognitionSettings, Settings
from pipeline.speech.models import Models
from pipeline.speech.recognize import ATTENTION_LAG, guess_language, recognize
from pipeline.speech.words import is_suspected

faster_whisper = pytest.importorskip("faster_whisper")

pytestmark = pytest.mark.slow

SETTINGS = RecognitionSettings()


@pytest.fixture(scope="module")
def model():
    return Models(Settings()).recognizer()


@pytest.fixture(scope="module")
def speech(media):
    from faster_whisper.audio import decode_audio

    return decode_audio(str(media / "audio" / "katiesteve_mono.wav"))


def noise(seconds: float, *, tones: bool = False) -> np.ndarray:
    """Silence with a little noise, or chords that change every half second like music."""
    generator = np.random.default_rng(0)
    time = np.arange(int(16_000 * seconds)) / 16_000
    sound = generator.normal(0, 0.001, len(time))
    if tones:
        roots = 220.0 * 2 ** (generator.integers(0, 12, int(seconds * 2) + 1) / 12)
        root = roots[(time * 2).astype(int)]
        sound = sound + sum(0.1 * np.sin(2 * np.pi * root * ratio * time) for ratio in (1, 1.25, 1.5, 2))
    return sound.astype(np.float32)


def test_every_word_has_times_and_confidence(model, speech):
    found = recognize(model, speech, SETTINGS, language="en")
    assert len(found.words) > 35
    assert all(0 <= word.start <= word.end <= len(speech) / 16_000 for word in found.words)
    assert all(word.confidence is not None and 0 <= word.confidence <= 1 for word in found.words)
    assert len({word.segment for word in found.words}) > 2
    assert (found.language, found.language_probability, found.flags) == ("en", None, ())


def test_the_same_sound_gives_the_same_words_whatever_came_before(model, speech):
    first = recognize(model, speech, SETTINGS, language="en")
    recognize(model, np.concatenate([noise(40), speech]), SETTINGS, language="en")
    assert recognize(model, speech, SETTINGS, language="en") == first


def test_times_refer_to_the_recording_and_not_to_what_is_left_of_it(model, speech):
    plain = recognize(model, speech, SETTINGS, language="en")
    late = recognize(model, np.concatenate([noise(12), speech]), SETTINGS, language="en")
    assert late.words[0].start >= 12
    assert [word.text for word in late.words[:5]] == [word.text for word in plain.words[:5]]
    assert late.words[0].start - 12 == pytest.approx(plain.words[0].start, abs=0.3)
    assert late.words[-1].end - 12 == pytest.approx(plain.words[-1].end, abs=0.3)


def test_attention_times_are_earlier_by_its_measured_lag(model, speech):
    """All words move alike, so no length and no order changes; nothing begins before the recording."""
    plain = recognize(model, speech, SETTINGS, language="en", lag=0.0).words
    found = recognize(model, speech, SETTINGS, language="en").words
    assert [word.text for word in found] == [word.text for word in plain]
    for one, other in zip(found, plain, strict=True):
        assert one.start == pytest.approx(max(0.0, other.start - ATTENTION_LAG), abs=1e-6)
        assert one.end == pytest.approx(max(0.0, other.end - ATTENTION_LAG), abs=1e-6)
    cut = recognize(model, speech[int(plain[0].start * 16_000) :], SETTINGS, language="en", lag=0.5).words
    assert all(0 <= word.start <= word.end for word in cut)


def test_a_pause_inside_is_kept(model, speech):
    half = len(speech) // 2
    whole = recognize(model, np.concatenate([speech[:half], noise(15), speech[half:]]), SETTINGS, language="en")
    assert whole.words[-1].end > 15 + half / 16_000
    assert not any(half / 16_000 + 1 < word.start < half / 16_000 + 14 for word in whole.words)


@pytest.mark.parametrize("sound", [np.zeros(160_000, dtype=np.float32), noise(10), noise(10, tones=True)])
def test_nothing_is_said(model, sound):
    found = recognize(model, sound, SETTINGS, language="en")
    assert [word for word in found.words if not is_suspected(word)] == []


def test_nobody_talks_in_a_real_recording(model, media):
    from faster_whisper.audio import decode_audio

    sound = decode_audio(str(media / "video" / "face_silent_webcam.mp4"))
    assert recognize(model, sound, SETTINGS, language="en").words == ()


@pytest.mark.parametrize("samples", [0, 1, 200, 1600])
def test_a_recording_of_almost_no_length(model, samples):
    assert recognize(model, np.zeros(samples, dtype=np.float32), SETTINGS, language="en").words == ()


@pytest.mark.parametrize("language", ["de", "auto"])
def test_an_english_model_refuses_another_language(model, speech, language):
    with pytest.raises(PrerequisiteError, match=r"English only.*recognition\.model"):
        recognize(model, speech, SETTINGS, language=language)


def test_the_language_is_guessed_from_all_of_the_speech(model, speech):
    """A detector that is unsure of the first window and sure of a later one decides by the later one."""
    answers = iter([[("<|cy|>", 0.3), ("<|en|>", 0.2)], [("<|en|>", 0.4), ("<|cy|>", 0.3)], [("<|en|>", 0.9)]])
    detector = faster_whisper.WhisperModel.__new__(faster_whisper.WhisperModel)
    detector.feature_extractor = model.feature_extractor
    detector.logger = model.logger
    detector.model = SimpleNamespace(is_multilingual=True, n_mels=80, detect_language=lambda encoded: [next(answers)])
    detector.encode = lambda features: features
    long = np.concatenate([speech] * 5)
    assert guess_language(detector, long) == ("en", 0.9)


def test_a_guess_that_is_never_sure_is_the_most_frequent_one(model, speech):
    detector = faster_whisper.WhisperModel.__new__(faster_whisper.WhisperModel)
    detector.feature_extractor = model.feature_extractor
    detector.logger = model.logger
    answers = iter(["cy", "en", "en", "en"])
    detector.model = SimpleNamespace(
        is_multilingual=True, n_mels=80, detect_language=lambda encoded: [[(f"<|{next(answers)}|>", 0.3)]]
    )
    detector.encode = lambda features: features
    assert guess_language(detector, np.concatenate([speech] * 5)) == ("en", 0.3)
