"""Who is likely speaking: lips that move while words are said; and which voice a face belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pipeline.times import Interval
from pipeline.vision.faces import FaceTrack, Sample

__all__ = ["FaceCues", "SpokenUnit", "face_cues", "likely_speaking", "link_speakers"]

_LEAST = 4
"""Changes of the lip gap under which nothing is said of a face."""
_LONGEST = 2.5
"""Frames between two samples above which their difference is no motion."""
_SURE = 0.6
"""Share of a face's speaking that one voice must have to be its voice."""


@dataclass(frozen=True)
class SpokenUnit:
    """A turn or a row: what is looked at, and when words are said in it."""

    kind: str
    """``turn`` or ``row``."""
    index: int
    interval: Interval
    speaker: str | None
    """Diarization label."""
    words: tuple[Interval, ...]
    """Empty where no words were recognised: then the whole of it counts as speech."""

    @property
    def speech(self) -> tuple[Interval, ...]:
        """When words are said."""
        return self.words or (self.interval,)


@dataclass(frozen=True)
class FaceCues:
    """One face during one unit; units of measure as in the table ``cues``."""

    track: FaceTrack
    on_screen_share: float
    size: float
    x: float
    y: float
    lip_motion: float | None
    head_motion: float | None
    speaking_score: float | None


def face_cues(tracks: Iterable[FaceTrack], unit: SpokenUnit, frames: int, rate: float, half: float) -> list[FaceCues]:
    """What the faces do during a unit, in order of their track.

    The score is ``m / (m + half)`` with the lip motion m: the mean absolute change of the lip gap, in face heights a
    second, between frames that lie in words. It says how much lips move, not that a voice comes from them.

    Args:
        tracks: Faces of the conversation.
        unit: The turn or row.
        frames: Frames that were looked at in it.
        rate: Frames a second.
        half: Lip motion at which the score is one half.
    """
    found = []
    for track in tracks:
        inside = [sample for sample in track.samples if unit.interval.start <= sample.time < unit.interval.end]
        if not inside:
            continue
        lips, heads = _motions(inside, unit.speech, rate)
        motion = float(np.mean(lips)) if len(lips) >= _LEAST else None
        found.append(
            FaceCues(
                track=track,
                on_screen_share=len(inside) / max(frames, len(inside)),
                size=float(np.median([sample.size for sample in inside])),
                x=float(np.median([sample.x for sample in inside])),
                y=float(np.median([sample.y for sample in inside])),
                lip_motion=motion,
                head_motion=float(np.mean(heads)) if len(heads) >= _LEAST else None,
                speaking_score=None if motion is None else motion / (motion + half),
            )
        )
    return found


def likely_speaking(faces: Sequence[FaceCues]) -> FaceCues | None:
    """The face whose lips move most while it is in view, weighted by how long; None if none speaks as likely as not."""
    able = [face for face in faces if face.speaking_score is not None and face.speaking_score >= 0.5]
    return max(able, key=lambda face: (_weight(face), -face.track.index), default=None)


def link_speakers(spoken: Iterable[tuple[SpokenUnit, Sequence[FaceCues]]]) -> dict[int, str]:
    """Track to diarization label, for tracks that likely speak mostly in the turns of one voice.

    Within a shot no two faces are one person: faces and voices are assigned to each other so that as much speaking as
    possible fits (Hungarian algorithm), and a face is left without voice where less than 60 % of its speaking fits.
    """
    from scipy.optimize import linear_sum_assignment

    weights: dict[int, dict[tuple[int, str], float]] = defaultdict(lambda: defaultdict(float))
    for unit, faces in spoken:
        face = likely_speaking(faces)
        if face is not None and unit.speaker is not None:
            weights[face.track.shot][face.track.index, unit.speaker] += _weight(face) * unit.interval.duration
    linked = {}
    for of_shot in weights.values():
        tracks, voices = sorted({track for track, _ in of_shot}), sorted({voice for _, voice in of_shot})
        table = np.array([[of_shot.get((track, voice), 0.0) for voice in voices] for track in tracks])
        for row, column in zip(*linear_sum_assignment(table, maximize=True), strict=True):
            if table[row, column] >= _SURE * table[row].sum() > 0:
                linked[tracks[row]] = voices[column]
    return linked


def _weight(face: FaceCues) -> float:
    return (face.speaking_score or 0.0) * face.on_screen_share


def _motions(samples: Sequence[Sample], speech: Sequence[Interval], rate: float) -> tuple[list[float], list[float]]:
    """Change of the lip gap in speech, and of the place of the head, for each pair of samples that follow closely."""
    lips, heads = [], []
    for before, after in pairwise(samples):
        seconds = after.time - before.time
        if seconds <= 0 or seconds * rate > _LONGEST:
            continue
        middle = (before.time + after.time) / 2
        if any(part.start <= middle < part.end for part in speech):
            lips.append(abs(after.lip_gap - before.lip_gap) / seconds)
        # x is a share of the width, y of the height; faces are taller than wide, so both are near enough to one scale
        way = float(np.hypot(after.x - before.x, after.y - before.y))
        heads.append(way / max(before.size, 1e-6) / seconds)
    return lips, heads
