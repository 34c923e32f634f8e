"""Error rates of a machine's transcript against a reference: DER, WER, cpWER.

- DER, diarization error rate: (missed speech + false alarm + speaker confusion) / reference speech, by
  pyannote.metrics. Speaker labels are matched one to one so that the error is least. Without overlap: parts in which
  the reference has several speakers are left out.
- WER, word error rate: (substitutions + deletions + insertions) / reference words, over all words in order of time,
  whoever says them.
- cpWER, concatenated minimum-permutation word error rate (Watanabe et al., CHiME-6, 2020), by meeteval: words per
  speaker, speakers matched one to one. A word given to the wrong person counts twice: missing there, extra here.

Both texts are normalised by `plain_words`. Results carry their counts and add: a corpus figure is a rate of summed
counts, never a mean of rates.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import PrerequisiteError
from pipeline.schemas import read_rows
from pipeline.speech.nist import SpeakerTurn, Utterance, read_rttm, read_stm
from pipeline.times import Interval, Seconds

__all__ = [
    "DiarizationErrors",
    "Score",
    "Transcript",
    "WordErrors",
    "inside",
    "plain_words",
    "read_hypothesis",
    "read_reference",
    "score",
]

_ASIDE = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>")
_WORD = re.compile(r"\w+(?:'\w+)*")
_FILLERS = frozenset({"ah", "eh", "er", "erm", "hm", "hmm", "huh", "mhm", "mm", "mmm", "uh", "uhm", "um"})


@dataclass(frozen=True)
class Transcript:
    """Who spoke when, and what."""

    speech: tuple[SpeakerTurn, ...]
    text: tuple[Utterance, ...] = ()


@dataclass(frozen=True)
class DiarizationErrors:
    """Seconds of reference speech and of each error."""

    total: Seconds = 0.0
    missed: Seconds = 0.0
    false_alarm: Seconds = 0.0
    confusion: Seconds = 0.0

    @property
    def rate(self) -> float | None:
        """All errors over the reference speech; None where there is no reference speech."""
        return (self.missed + self.false_alarm + self.confusion) / self.total if self.total else None

    def __add__(self, other: DiarizationErrors) -> DiarizationErrors:
        return DiarizationErrors(
            self.total + other.total,
            self.missed + other.missed,
            self.false_alarm + other.false_alarm,
            self.confusion + other.confusion,
        )


@dataclass(frozen=True)
class WordErrors:
    """Reference words and the errors by kind."""

    length: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def errors(self) -> int:
        """All errors."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """Errors over the reference words; None where there are none."""
        return self.errors / self.length if self.length else None

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(
            self.length + other.length,
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
        )


@dataclass(frozen=True)
class Score:
    """The errors of one recording, or of several added up."""

    der: DiarizationErrors = field(default_factory=DiarizationErrors)
    der_single: DiarizationErrors = field(default_factory=DiarizationErrors)
    """Without the parts in which the reference has overlapped speech."""
    wer: WordErrors = field(default_factory=WordErrors)
    cpwer: WordErrors = field(default_factory=WordErrors)

    def __add__(self, other: Score) -> Score:
        return Score(
            self.der + other.der,
            self.der_single + other.der_single,
            self.wer + other.wer,
            self.cpwer + other.cpwer,
        )

    def to_json(self) -> dict[str, dict[str, float | int | None]]:
        """Rates and their counts by name."""
        parts: dict[str, DiarizationErrors | WordErrors] = {
            "der": self.der,
            "der_single": self.der_single,
            "wer": self.wer,
            "cpwer": self.cpwer,
        }
        return {name: {"rate": part.rate, **vars(part)} for name, part in parts.items()}


def score(
    hypothesis: Transcript,
    reference: Transcript,
    *,
    uem: Sequence[Interval] | None = None,
    collar: Seconds = 0.0,
) -> Score:
    """Error rates of a transcript.

    Args:
        hypothesis: The machine's.
        reference: The truth.
        uem: The parts that count; a piece of text counts if its middle lies in one. Default: everything.
        collar: Seconds before and after each border of the reference speech that do not count for DER, as the ``-c`` of
            NIST's md-eval.

    Raises:
        PrerequisiteError: If pyannote.metrics or meeteval is missing.
    """
    whole = [Interval(0.0, max((turn.end for turn in (*hypothesis.speech, *reference.speech)), default=0.0))]
    counted = list(uem) if uem is not None else whole
    try:
        der = _diarization_errors(hypothesis.speech, reference.speech, counted, collar, skip_overlap=False)
        single = _diarization_errors(hypothesis.speech, reference.speech, counted, collar, skip_overlap=True)
        wer, cpwer = _word_errors(inside(hypothesis.text, uem), inside(reference.text, uem))
    except ImportError as error:
        msg = f"scoring is not installed: {error}"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[score]'") from error
    return Score(der, single, wer, cpwer)


def plain_words(text: str) -> list[str]:
    """The words that are compared.

    Lower case, compatibility forms unified, punctuation off (apostrophes inside words stay), remarks in brackets and
    hesitations (``um``, ``mm``) left out. Numbers and spelling stay as they are written.

    Example:
        >>> plain_words("Um, I DON'T know [laughs].")
        ['i', "don't", 'know']
    """
    text = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    return [word for word in _WORD.findall(_ASIDE.sub(" ", text)) if word not in _FILLERS]


def read_reference(rttm: Path | None, stm: Path | None, *, file_id: str | None = None) -> Transcript:
    """A reference; without an RTTM file the speech is where the STM file has text."""
    text = tuple(read_stm(stm, file_id=file_id)) if stm else ()
    if rttm:
        return Transcript(tuple(read_rttm(rttm, file_id=file_id)), text)
    return Transcript(tuple(SpeakerTurn(part.start, part.end, part.speaker) for part in text if part.text), text)


def read_hypothesis(data: Path) -> Transcript:
    """What the pipeline made of a conversation: ``speakers.rttm`` and ``turns.parquet`` of its data folder."""
    text = [
        Utterance(word["start"], word["end"], turn["speaker"], word["text"])
        for turn in read_rows(data / "turns.parquet")
        for word in turn["words"]
    ]
    return Transcript(tuple(read_rttm(data / "speakers.rttm")), tuple(sorted(text)))


def _diarization_errors(
    hypothesis: Iterable[SpeakerTurn],
    reference: Iterable[SpeakerTurn],
    counted: Iterable[Interval],
    collar: Seconds,
    *,
    skip_overlap: bool,
) -> DiarizationErrors:
    from pyannote.core import Annotation, Segment, Timeline  # noqa: PLC0415 - an extra
    from pyannote.metrics.diarization import DiarizationErrorRate  # noqa: PLC0415 - an extra, takes seconds to load

    def annotation(turns: Iterable[SpeakerTurn]) -> Any:
        made = Annotation()
        for number, turn in enumerate(turns):
            made[Segment(turn.start, turn.end), number] = turn.speaker
        return made

    # pyannote's collar is the whole width around a border.
    metric = DiarizationErrorRate(collar=2 * collar, skip_overlap=skip_overlap)
    uem = Timeline([Segment(part.start, part.end) for part in counted if part.duration > 0])
    parts = metric.compute_components(annotation(reference), annotation(hypothesis), uem=uem)
    return DiarizationErrors(
        parts["total"],
        parts["missed detection"],
        parts["false alarm"],
        parts["confusion"],
    )


def _word_errors(hypothesis: Sequence[Utterance], reference: Sequence[Utterance]) -> tuple[WordErrors, WordErrors]:
    from meeteval.wer import cp_word_error_rate, siso_word_error_rate  # noqa: PLC0415 - an extra

    wer = siso_word_error_rate(" ".join(_joined(reference)), " ".join(_joined(hypothesis)))
    cpwer = cp_word_error_rate(
        _by_speaker(reference), _by_speaker(hypothesis), reference_sort=False, hypothesis_sort=False
    )
    return _counts(wer), _counts(cpwer)


def _counts(found: Any) -> WordErrors:
    return WordErrors(int(found.length), int(found.substitutions), int(found.deletions), int(found.insertions))


def _joined(text: Iterable[Utterance]) -> list[str]:
    return [word for part in sorted(text) for word in plain_words(part.text)]


def _by_speaker(text: Iterable[Utterance]) -> dict[str, str]:
    speakers: dict[str, list[Utterance]] = {}
    for part in text:
        speakers.setdefault(part.speaker, []).append(part)
    return {speaker: " ".join(_joined(parts)) for speaker, parts in speakers.items()}


def inside(text: Iterable[Utterance], uem: Sequence[Interval] | None) -> list[Utterance]:
    """The pieces of text whose middle lies in an evaluated part; all where none is named."""
    if uem is None:
        return list(text)
    return [part for part in text if any(place.start <= (part.start + part.end) / 2 < place.end for place in uem)]
