"""Who speaks when: pyannote's diarization pipeline, with the embedded networks or any other pyannote pipeline."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.conversation import SpeakerBounds
from pipeline.speech.memory import Batch
from pipeline.speech.nist import SpeakerTurn
from pipeline.speech.sound import Sound, find_voice
from pipeline.speech.voice import SAMPLE_RATE
from pipeline.store import Json, digest_json
from pipeline.times import round_time

__all__ = [
    "SOUND",
    "VOICE",
    "Diarization",
    "bound_arguments",
    "diarize",
]

OUTSIDE_BOUNDS = "speakers_outside_bounds"
"""Diarization found another number of speakers than it was told to."""
UNLIKE_PARTICIPANTS = "speakers_unlike_participants"
"""The number of speakers differs from the participant list; a participant may be silent, or two voices were joined."""


SOUND = "sound"
"""Key under which a pipeline that says ``reads_sound`` gets the recording."""
VOICE = "voice"
"""Key under which the pipeline is told where there is voice; pipelines that do not know it pass it over."""


@dataclass(frozen=True)
class Diarization:
    """Who speaks when in one recording."""

    turns: tuple[SpeakerTurn, ...]
    """Ordered by start. Labels are ``SPEAKER_00`` and so on, by first appearance."""
    embeddings: dict[str, list[float]]
    """Voice of each speaker; empty where the pipeline gives none."""
    arguments: dict[str, int]
    """Bounds as they were passed to the pipeline; empty if none were."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Labels by first appearance."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))

    @property
    def run_id(self) -> str:
        """Names this result: labels are arbitrary, so a map from labels to people belongs to one run only."""
        return digest_json([[turn.start, turn.end, turn.speaker] for turn in self.turns])[:16]

    def flags(self, bounds: SpeakerBounds | None, expected: int | None) -> list[str]:
        """What to look at: a count outside the bounds, or unlike the ``expected`` number of people."""
        count = len(self.speakers)
        found = []
        if count and bounds is not None and not bounds.min <= count <= bounds.max:
            found.append(OUTSIDE_BOUNDS)
        if count and expected is not None and count != expected:
            found.append(UNLIKE_PARTICIPANTS)
        return found

    def to_json(self, bounds: SpeakerBounds | None, expected: int | None) -> Json:
        """The content of ``speakers.json``."""
        return {
            "run_id": self.run_id,
            "bounds": self.arguments,
            "flags": self.flags(bounds, expected),
            "speakers": [
                {
                    "label": label,
                    "seconds": round_time(sum(turn.end - turn.start for turn in self.turns if turn.speaker == label)),
                    "turns": sum(turn.speaker == label for turn in self.turns),
                    "embedding": self.embeddings.get(label),
                }
                for label in self.speakers
            ],
        }


def bound_arguments(bounds: SpeakerBounds | None) -> dict[str, int]:
    """The bounds under the names of pyannote's arguments. None are invented.

    Example:
        >>> bound_arguments(SpeakerBounds(min=2, max=4))
        {'min_speakers': 2, 'max_speakers': 4}
    """
    if bounds is None:
        return {}
    if bounds.min == bounds.max:
        return {"num_speakers": bounds.min}
    return {"min_speakers": bounds.min, "max_speakers": bounds.max}


def diarize(pipeline: Any, sound: Sound, bounds: SpeakerBounds | None, *, batch: Batch | None = None) -> Diarization:
    """Diarize one recording. A recording without speech has no speakers.

    Args:
        pipeline: A pyannote diarization pipeline.
        sound: The recording. Only the embedded pipeline reads it piece by piece; others need it whole in memory.
        bounds: How many people may speak, if known.
        batch: Windows at once, kept from one recording to the next; as the pipeline has it if None.

    Raises:
        PrerequisiteError: If the device has not enough memory for one window.
    """
    import torch

    arguments = bound_arguments(bounds)
    if not len(sound):
        return Diarization((), {}, arguments)
    file: dict[str, Any] = {"uri": "audio", "sample_rate": SAMPLE_RATE}
    if getattr(pipeline, "reads_sound", False):
        file[SOUND] = sound
    else:
        file["waveform"] = torch.from_numpy(sound[:])[None]
    file[VOICE] = find_voice(sound)

    def attempt(size: int | None) -> Any:
        torch.manual_seed(0)
        if size is not None:
            pipeline.segmentation_batch_size = pipeline.embedding_batch_size = size
        return pipeline(dict(file), **arguments)

    with warnings.catch_warnings():
        # pyannote warns of a speaker count outside the bounds; here that becomes a flag in the result.
        warnings.simplefilter("ignore", UserWarning)
        output = batch.run(attempt) if batch is not None else attempt(None)
    annotation = getattr(output, "speaker_diarization", output)
    found = sorted(
        SpeakerTurn(round_time(max(0.0, part.start)), round_time(min(part.end, len(sound) / SAMPLE_RATE)), str(label))
        for part, _, label in annotation.itertracks(yield_label=True)
    )
    turns = [turn for turn in found if turn.end > turn.start]
    names = {
        label: f"SPEAKER_{number:02d}" for number, label in enumerate(dict.fromkeys(turn.speaker for turn in turns))
    }
    vectors = getattr(output, "speaker_embeddings", None)
    return Diarization(
        turns=tuple(SpeakerTurn(turn.start, turn.end, names[turn.speaker]) for turn in turns),
        embeddings=_embeddings(annotation.labels(), vectors, names),
        arguments=arguments,
    )


def _embeddings(labels: Sequence[Any], vectors: Any, names: dict[str, str]) -> dict[str, list[float]]:
    if vectors is None:
        return {}
    return {
        names[str(label)]: [round(float(value), 5) for value in vector]
        for label, vector in zip(labels, vectors, strict=False)
        if str(label) in names and all(math.isfinite(value) for value in vector)
    }
