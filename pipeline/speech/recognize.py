"""Speech recognition: sound to words on the clip's own time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from pipeline.errors import PrerequisiteError
from pipeline.settings import RecognitionSettings
from pipeline.speech.align import Aligner, align
from pipeline.speech.memory import Batch
from pipeline.speech.sound import Sound, blocks
from pipeline.speech.suspects import mark_suspects
from pipeline.speech.voice import DETECTION, SAMPLE_RATE, detect_voice
from pipeline.speech.words import RawWord, Word, repair
from pipeline.times import Interval, Seconds

__all__ = ["ATTENTION_LAG", "AUTO", "Recognition", "guess_language", "recognize"]

AUTO = "auto"
"""The language is guessed from the speech of the recording."""
UNSURE_LANGUAGE = "unsure_language"
"""Flag of a recording whose guessed language is not sure."""
_SURE_LANGUAGE = 0.7

ATTENTION_LAG: Seconds = 0.09
"""Whisper's attention places words late by this: the median of starts and of ends over all recordings with word times
(``benchmarks.word_times``, tiny.en)."""


@dataclass(frozen=True)
class Recognition:
    """What was recognised in one recording."""

    words: tuple[Word, ...]
    """In order of time; suspected ones are flagged, none is left out."""
    language: str
    language_probability: float | None
    """None where the language was given."""
    speech: tuple[Interval, ...]
    """Where the detector found voice."""
    flags: tuple[str, ...] = ()


def recognize(
    model: Any,
    sound: Sound,
    settings: RecognitionSettings,
    *,
    language: str,
    aligner: Callable[[str], Aligner | None] | None = None,
    batch: Batch | None = None,
    lag: Seconds = ATTENTION_LAG,
) -> Recognition:
    """Recognise one recording, block by block. Nothing is translated; times are seconds from the start of ``sound``.

    Args:
        model: A ``faster_whisper.WhisperModel``.
        sound: Mono float32 at 16 kHz.
        settings: Beam, batch and the longest word.
        language: Two-letter code, or ``auto``.
        aligner: Gives the alignment model of a language; None if word times come from attention.
        batch: Windows at once, kept from one recording to the next; that of the settings if None.
        lag: Taken off the times from attention.

    Raises:
        PrerequisiteError: If the model knows English only and another language is asked for, or the device has not
            enough memory for one window.
    """
    from faster_whisper import BatchedInferencePipeline

    if not model.model.is_multilingual and language != "en":
        msg = f"the model knows English only, and the language is {language!r}"
        hint = "set recognition.model to a multilingual Whisper model (or `language: en` in conversation.yaml)"
        raise PrerequisiteError(msg, hint=hint)
    guess = None
    if language == AUTO:
        voiced = next((block for _, block in blocks(sound) if detect_voice(block)), None)
        if voiced is None:
            return Recognition((), language, None, ())
        guess = guess_language(model, voiced)
    spoken = guess[0] if guess else language
    batch = batch or Batch(settings.batch_size)

    def transcribe(block: NDArray[Any], size: int) -> tuple[list[Any], Any]:
        # A new pipeline each time: it remembers the end of the last speech it heard, which would leak into this one.
        segments, info = BatchedInferencePipeline(model).transcribe(
            block,
            language=spoken,
            task="transcribe",
            beam_size=settings.beam_size,
            batch_size=size,
            word_timestamps=True,
            without_timestamps=False,
            vad_filter=True,
            vad_parameters=dict(DETECTION),
        )
        return list(segments), info

    found: list[RawWord] = []
    speech: list[Interval] = []
    for first, block in blocks(sound):
        segments, info = batch.run(partial(transcribe, block))
        start = first / SAMPLE_RATE
        found.extend(_raw_words(segments, start, lag, found[-1].segment + 1 if found else 0))
        speech.extend(
            Interval(start + part["start"] / SAMPLE_RATE, start + part["end"] / SAMPLE_RATE)
            for part in info.transcription_options.clip_timestamps
        )
    model_of_language = aligner(spoken) if found and aligner is not None else None
    if model_of_language is not None:
        found = align(model_of_language, found, sound)
    words = repair(found, duration=len(sound) / SAMPLE_RATE, max_word=settings.max_word_seconds, speech=speech)
    return Recognition(
        words=tuple(mark_suspects(words, speech)),
        language=spoken,
        language_probability=guess[1] if guess else None,
        speech=tuple(speech),
        flags=(UNSURE_LANGUAGE,) if guess and guess[1] < _SURE_LANGUAGE else (),
    )


def guess_language(model: Any, audio: NDArray[Any]) -> tuple[str, float]:
    """The language of a recording and the probability of the guess.

    Looks at up to eight windows of 30 s in which there is voice, not at the first alone: a recording may begin with
    titles or music. The first sure window decides, else most windows.
    """
    from faster_whisper.vad import VadOptions

    language, probability, _ = model.detect_language(
        audio,
        vad_filter=True,
        vad_parameters=VadOptions(**DETECTION),
        language_detection_segments=8,
        language_detection_threshold=_SURE_LANGUAGE,
    )
    return str(language), float(probability)


def _raw_words(segments: Iterable[Any], start: Seconds, lag: Seconds, first_segment: int) -> Iterable[RawWord]:
    """The words of a block that begins at ``start``. All move by the same ``lag``, so order and lengths stay."""
    for number, segment in enumerate(segments, start=first_segment):
        for word in segment.words or ():
            text = word.word.strip()
            if text:
                begins, ends = (max(0.0, start + float(time) - lag) for time in (word.start, word.end))
                yield RawWord(text, begins, ends, number, float(word.probability))
