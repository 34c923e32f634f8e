"""Who is likely speaking: lips that move while words are said; and which voice a face belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.times import Interval
from pipeline.vision.faces import FaceTrack

__all__ = ["FaceCues", "SpokenUnit", "chosen_face", "face_cues", "likely_speaking", "link_speakers"]

_Values = npt.NDArray[np.float64]

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
        inside = track.within(unit.interval)
        seen = inside.stop - inside.start
        if seen <= 0:
            continue
        lips, heads = _motions(track, inside, unit.speech, rate)
        motion = float(np.mean(lips)) if len(lips) >= _LEAST else None
        found.append(
            FaceCues(
                track=track,
                on_screen_share=seen / max(frames, seen),
                size=float(np.median(track.sizes[inside])),
                x=float(np.median(track.xs[inside])),
                y=float(np.median(track.ys[inside])),
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


def chosen_face(unit: SpokenUnit, faces: Sequence[FaceCues], linked: Mapping[int, str]) -> FaceCues | None:
    """The face that likely speaks in a unit: of those whose lips move enough, rather one that has no other voice.

    Who listens may laugh, and move the lips more than who speaks. Where no other face is able, the voice does not
    matter: it may have been told wrong.

    Args:
        unit: The turn or row.
        faces: What the faces do in it.
        linked: Track to diarization label.
    """
    of_no_other = [face for face in faces if linked.get(face.track.index, unit.speaker) == unit.speaker]
    return (likely_speaking(of_no_other) if unit.speaker else None) or likely_speaking(faces)


def _weight(face: FaceCues) -> float:
    return (face.speaking_score or 0.0) * face.on_screen_share


def _motions(track: FaceTrack, inside: slice, speech: Sequence[Interval], rate: float) -> tuple[_Values, _Values]:
    """Change of the lip gap in speech, and of the place of the head, for each pair of samples that follow closely."""
    times, gaps, sizes, xs, ys = (
        np.asarray(values[inside], dtype=np.float64)
        for values in (track.times, track.lip_gaps, track.sizes, track.xs, track.ys)
    )
    seconds = np.diff(times)
    close = (seconds > 0) & (seconds * rate <= _LONGEST)
    middles = (times[:-1] + times[1:]) / 2
    said = np.zeros(len(middles), dtype=bool)
    for part in speech:
        said |= (part.start <= middles) & (middles < part.end)
    said &= close
    # x is a share of the width, y of the height; faces are taller than wide, so both are near enough to one scale
    ways = np.hypot(np.diff(xs), np.diff(ys))[close] / np.maximum(sizes[:-1][close], 1e-6)
    return np.abs(np.diff(gaps))[said] / seconds[said], ways / seconds[close]
