"""Faces over time: found now and then, followed in between, and given up at a cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.media.frames import Picture
from pipeline.times import Seconds
from pipeline.vision.networks import FaceDetector, FaceMesh, FoundFace, Mesh, Points

__all__ = ["FaceTrack", "FaceTracker", "Sample"]

# Points of the face mesh, by their index in MediaPipe's canonical face model.
_INNER_LIPS = (13, 14)
_FACE_HEIGHT = (10, 152)
_OUTER_EYES = (33, 263)
_PRESENT = 0.5
"""Confidence of the mesh under which the face is lost."""
_SAME = 0.3
"""Share of the union from which two boxes are one face."""
_STILL = 0.2
"""Mean change of a face's pixels, 0 to 255, under which it is the same picture: a drawing, a frozen camera."""
_MISSED = 3
"""Searches in a row that do not find a face that is followed, after which it was none."""


@dataclass(frozen=True)
class Sample:
    """A face in one frame."""

    frame: int
    """Index of the sampled frame."""
    time: Seconds
    lip_gap: float
    """Distance of the inner lips over the height of the face."""
    size: float
    """Height of the face over the height of the picture."""
    x: float
    """Centre of the face, 0 left to 1 right."""
    y: float
    """Centre of the face, 0 top to 1 bottom."""


@dataclass
class FaceTrack:
    """One face within one shot. Whether faces of two shots are one person is not known."""

    index: int
    """From 1, in order of first sight."""
    shot: int
    samples: list[Sample] = field(default_factory=list)


@dataclass
class _Followed:
    track: FaceTrack
    mesh: Mesh
    missed: int = 0


class FaceTracker:
    """Follows faces through frames that are given in order.

    Args:
        detector: Finds faces.
        mesh: Fits the mesh.
        detect_every: A search for faces every so many frames.
    """

    def __init__(self, detector: FaceDetector, mesh: FaceMesh, detect_every: int) -> None:
        self.tracks: list[FaceTrack] = []
        self._detector = detector
        self._mesh = mesh
        self._every = detect_every
        self._followed: list[_Followed] = []
        self._searched = self._seen = -1
        self._shot = 0
        self._before: Picture | None = None

    def see(self, picture: Picture, frame: int, time: Seconds, shot: int) -> None:
        """Look at the next frame; frames between that nobody asks for may be left out."""
        if shot != self._shot:
            self._followed, self._shot, self._searched = [], shot, -1
        self._followed = list(self._follow(picture))
        if self._searched < 0 or frame - self._searched >= self._every or frame - self._seen > 1:
            self._searched = frame
            self._search(picture, shot)
        self._seen, self._before = frame, picture
        for one in self._followed:
            one.track.samples.append(_sample(one.mesh, picture, frame, time))

    def _follow(self, picture: Picture) -> Iterator[_Followed]:
        boxes: list[Points] = []
        for one in self._followed:
            mesh = one.mesh
            if self._before is None or not _is_still(self._before, picture, mesh):
                mesh = self._mesh.fit(picture, mesh.box, mesh.points[list(_OUTER_EYES)])
            # Two that slid onto one face: the one that was there first has it.
            if mesh.confidence >= _PRESENT and not any(_overlap(mesh.box, box) > 0.5 for box in boxes):
                boxes.append(mesh.box)
                one.mesh = mesh
                yield one

    def _search(self, picture: Picture, shot: int) -> None:
        found = self._detector.find(picture)
        for one in self._followed:
            hit = any(_overlap(one.mesh.box, face.box) > _SAME for face in found)
            one.missed = 0 if hit else one.missed + 1
        self._followed = [one for one in self._followed if one.missed < _MISSED]
        for face in _new(found, [one.mesh.box for one in self._followed]):
            mesh = self._mesh.fit(picture, face.box, face.eyes)
            if mesh.confidence >= _PRESENT:
                track = FaceTrack(len(self.tracks) + 1, shot)
                self.tracks.append(track)
                self._followed.append(_Followed(track, mesh))


def _is_still(before: Picture, picture: Picture, mesh: Mesh) -> bool:
    left, top, right, bottom = (max(0, int(side)) for side in mesh.box)
    one, other = before[top:bottom, left:right], picture[top:bottom, left:right]
    return bool(one.size) and float(np.abs(one.astype(np.int16) - other).mean()) < _STILL


def _new(found: Sequence[FoundFace], known: Sequence[Points]) -> list[FoundFace]:
    return [face for face in found if all(_overlap(face.box, box) <= _SAME for box in known)]


def _sample(mesh: Mesh, picture: Picture, frame: int, time: Seconds) -> Sample:
    height, width = picture.shape[:2]
    left, top, right, bottom = (float(side) for side in mesh.box)
    face_height = _distance(mesh, _FACE_HEIGHT)
    return Sample(
        frame=frame,
        time=time,
        lip_gap=_distance(mesh, _INNER_LIPS) / max(face_height, 1e-6),
        size=face_height / height,
        x=(left + right) / 2 / width,
        y=(top + bottom) / 2 / height,
    )


def _distance(mesh: Mesh, pair: tuple[int, int]) -> float:
    return float(np.linalg.norm(mesh.points[pair[0]] - mesh.points[pair[1]]))


def _overlap(one: Points, other: Points) -> float:
    """Intersection over union."""
    inner = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None)
    shared = float(inner.prod())
    union = float((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod()) - shared
    return shared / union if union > 0 else 0.0
