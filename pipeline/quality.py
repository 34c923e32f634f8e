"""How good the turns of a conversation are against a reference: a station, and the same for ``rescue score``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.errors import InputError, PrerequisiteError, SkipStation
from pipeline.offsets import TimeOffsets, speech_starts, turn_starts, word_starts
from pipeline.reference import Reference, find_references, read_reference_files
from pipeline.scoring import DiarizationErrors, Transcript, WordErrors, inside, read_hypothesis, score
from pipeline.speech.nist import SpeakerTurn, read_uem
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, write_json
from pipeline.times import Interval, Seconds

__all__ = ["Quality", "QualityStation", "measure", "score_conversation"]

_NO_SPEAKERS = "the reference does not say who speaks"
_NO_WORDS = "the reference has no words"
_NO_WORD_TIMES = "the reference has no times of single words"
_NONE_FOUND = "no start of the reference was found"


@dataclass(frozen=True)
class Quality:
    """Error rates and offsets of one conversation. What its reference cannot tell is None, and ``absent`` says why."""

    der: DiarizationErrors | None
    der_single: DiarizationErrors | None
    """Without the parts in which the reference has overlapped speech."""
    wer: WordErrors | None
    cpwer: WordErrors | None
    turn_starts: TimeOffsets | None
    word_starts: TimeOffsets | None
    absent: Mapping[str, str]
    """Figure to the reason why it is not there."""
    files: tuple[str, ...] = ()
    """The files of the reference."""
    collar: Seconds = 0.0

    def to_json(self) -> dict[str, Json]:
        """Rates with their counts, offsets in seconds, and what is absent."""
        rates = {"der": self.der, "der_single": self.der_single, "wer": self.wer, "cpwer": self.cpwer}
        offsets = {"turn_starts": self.turn_starts, "word_starts": self.word_starts}
        return {
            **{name: {"rate": part.rate, **vars(part)} for name, part in rates.items() if part is not None},
            **{name: found.to_json() for name, found in offsets.items() if found is not None},
            "absent": dict(self.absent),
            "reference": list(self.files),
            "collar": self.collar,
        }

    def figures(self) -> dict[str, Json]:
        """The rates and the medians of the offsets, flat, as a station's summary holds them."""
        rates = {"der": self.der, "der_single": self.der_single, "wer": self.wer, "cpwer": self.cpwer}
        found: dict[str, Json] = {
            name: round(part.rate, 4) for name, part in rates.items() if part is not None and part.rate is not None
        }
        for name, part in (("turn_start", self.turn_starts), ("word_start", self.word_starts)):
            if part is not None:
                found |= {f"{name}_median": part.median, f"{name}_bias": part.bias, f"{name}_p90": part.p90}
        return {
            **found,
            "reference": list(self.files),
            "absent": [f"{name}: {reason}" for name, reason in self.absent.items()],
        }


def measure(
    hypothesis: Transcript,
    reference: Reference,
    *,
    collar: Seconds = 0.0,
    evaluated: Sequence[Interval] | None = None,
) -> Quality:
    """Compare a transcript with a reference; the result says what the reference cannot tell.

    Args:
        hypothesis: The machine's.
        reference: The truth, as far as it is known.
        collar: Seconds around each border of the reference speech that do not count for DER.
        evaluated: The parts that count; those of the reference if None.

    Raises:
        PrerequisiteError: If pyannote.metrics or meeteval is missing.
    """
    uem = evaluated if evaluated is not None else reference.evaluated
    speech, text = reference.speech, reference.text
    found = score(hypothesis, Transcript(speech or (), text or ()), uem=uem, collar=collar)
    heard = inside(hypothesis.text, uem)
    turns = turn_starts(inside(text, uem), heard) if text else None
    if turns is None and speech and not text:
        turns = speech_starts(_evaluated(speech, uem), _evaluated(hypothesis.speech, uem))
    words = word_starts(inside(reference.words, uem), heard) if reference.words else None
    absent = {
        "der": None if speech is not None else _NO_SPEAKERS,
        "wer": None if text is not None else _NO_WORDS,
        "cpwer": _NO_WORDS if text is None else None if reference.named else _NO_SPEAKERS,
        "turn_starts": None if turns is not None else _NONE_FOUND,
        "word_starts": None if words is not None else _NONE_FOUND if reference.words else _NO_WORD_TIMES,
    }
    return Quality(
        der=None if absent["der"] else found.der,
        der_single=None if absent["der"] else found.der_single,
        wer=None if absent["wer"] else found.wer,
        cpwer=None if absent["cpwer"] else found.cpwer,
        turn_starts=turns,
        word_starts=words,
        absent={name: reason for name, reason in absent.items() if reason},
        files=reference.files,
        collar=collar,
    )


def score_conversation(
    workspace: Workspace,
    references: Sequence[Path] = (),
    *,
    uem: Path | None = None,
    collar: Seconds = 0.0,
    recording: str | None = None,
) -> Quality:
    """The quality of what was built of a conversation.

    Args:
        workspace: The conversation.
        references: Files of the reference; those of its folder if none is named.
        uem: File of the parts that count, in place of one among the references.
        collar: Seconds around each border of the reference speech that do not count for DER.
        recording: Which recording of a file that holds several.

    Raises:
        InputError: If there is no reference, one cannot be read, or the conversation was not built.
        PrerequisiteError: If pyannote.metrics or meeteval is missing.
    """
    conversation = workspace.conversation
    paths = tuple(references) or find_references(conversation, workspace.raw)
    if not paths:
        msg = "there is no reference in its folder"
        hint = "name one with --reference, or as `reference:` in conversation.yaml"
        raise InputError(msg, conversation=conversation.id, hint=hint)
    if Record.read(workspace.record("turns")).state is not State.DONE:
        msg = "it has no turns yet"
        raise InputError(msg, conversation=conversation.id, hint=f"rescue build {conversation.key}")
    reference = read_reference_files(paths, conversation, recording=recording)
    evaluated = read_uem(uem, file_id=recording) if uem else None
    return measure(read_hypothesis(workspace.data), reference, collar=collar, evaluated=evaluated)


class QualityStation(Station):
    """Compare the turns with a reference, where there is one."""

    name = "quality"
    version = 1
    needs = ("turns",)
    outputs = ("quality.json",)
    packages = ("meeteval", "pyannote.metrics", "rapidfuzz", "scipy")
    summary_doc = "Counts the errors of words, voices and times where a reference says how it truly was."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """Turns and speaker stretches, and the files of the reference."""
        references = find_references(workspace.conversation, workspace.raw)
        files = {f"reference/{path.name}": path for path in (*references, *map(mapping_beside, references))}
        return {"turns": workspace.artifact("turns.parquet"), "speakers": workspace.artifact("speakers.rttm"), **files}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``quality.json``.

        Raises:
            SkipStation: If there is no reference, or scoring is not installed.
            InputError: If a reference cannot be read.
        """
        if not find_references(workspace.conversation, workspace.raw):
            msg = "no reference"
            raise SkipStation(msg)
        try:
            found = score_conversation(workspace)
        except PrerequisiteError as error:
            raise SkipStation(error.message, hint=error.hint) from error
        write_json(workspace.artifact("quality.json"), found.to_json())
        return found.figures()


def _evaluated(speech: Sequence[SpeakerTurn], uem: Sequence[Interval] | None) -> list[SpeakerTurn]:
    if uem is None:
        return list(speech)
    return [turn for turn in speech if any(part.start <= turn.interval.middle < part.end for part in uem)]
