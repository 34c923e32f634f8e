"""Faces over time: found now and then, followed in between, and given up at a cut."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pipeline.media.frames import Picture
from pipeline.times import Interval, Seconds
from pipeline.vision.networks import FaceMesh, FoundFace, Mesh, Points

__all__ = ["Describer", "Detector", "FaceTrack", "FaceTracker"]

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
_DESCRIBED = 10
"""Descriptions of one track that are enough."""


class Detector(Protocol):
    """Finds faces."""

    def find(self, picture: Picture) -> list[FoundFace]:
        """The faces in a BGR picture, surest first."""
        ...


class Describer(Protocol):
    """Describes faces, to know them again."""

    def describe(self, picture: Picture, mesh: Mesh) -> Points:
        """Numbers that are alike for pictures of one person, of length one."""
        ...


@dataclass
class FaceTrack:
    """One face within one shot. Whether faces of two shots are one person is not known.

    Each array but the last holds one number for each frame in which the face is seen, in order: 28 bytes a frame.
    """

    index: int
    """From 1, in order of first sight."""
    shot: int
    frames: array[int] = field(default_factory=lambda: array("I"))
    """Index of the sampled frame."""
    times: array[float] = field(default_factory=lambda: array("d"))
    """Seconds."""
    lip_gaps: array[float] = field(default_factory=lambda: array("f"))
    """Distance of the inner lips over the height of the face."""
    sizes: array[float] = field(default_factory=lambda: array("f"))
    """Height of the face over the height of the picture."""
    xs: array[float] = field(default_factory=lambda: array("f"))
    """Centre of the face, 0 left to 1 right."""
    ys: array[float] = field(default_factory=lambda: array("f"))
    """Centre of the face, 0 top to 1 bottom."""
    descriptions: list[Points] = field(default_factory=list)
    """A few, of the first pictures of the face; none where faces are not recognised."""

    def within(self, interval: Interval) -> slice:
        """Where in the arrays the frames of an interval are."""
        return slice(bisect_left(self.times, interval.start), bisect_left(self.times, interval.end))


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
        detect_every: A search for faces every so many frames; half as often while a search finds only known faces.
        describer: Describes faces; None to leave them unknown.
    """

    def __init__(
        self, detector: Detector, mesh: FaceMesh, detect_every: int, describer: Describer | None = None
    ) -> None:
        self.tracks: list[FaceTrack] = []
        self._detector = detector
        self._mesh = mesh
        self._describer = describer
        self._every = self._next = detect_every
        self._followed: list[_Followed] = []
        self._searched = self._seen = -1
        self._shot = 0
        self._before: Picture | None = None

    def see(self, picture: Picture, frame: int, time: Seconds, shot: int) -> None:
        """Look at the next frame; frames between that nobody asks for may be left out."""
        if shot != self._shot:
            self._followed, self._shot, self._searched = [], shot, -1
        self._followed = list(self._follow(picture))
        if self._searched < 0 or frame - self._searched >= self._next or frame - self._seen > 1:
            self._searched = frame
            self._search(picture, shot)
        self._seen, self._before = frame, picture
        for one in self._followed:
            _note(one.track, one.mesh, picture, frame, time)

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
        known = len(self._followed)
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
        settled = 0 < len(found) == len(self._followed) == known and not any(one.missed for one in self._followed)
        self._next = self._every * (2 if settled else 1)
        for one in self._followed:
            if self._describer and len(one.track.descriptions) < _DESCRIBED:
                one.track.descriptions.append(self._describer.describe(picture, one.mesh))


def _is_still(before: Picture, picture: Picture, mesh: Mesh) -> bool:
    left, top, right, bottom = (max(0, int(side)) for side in mesh.box)
    one, other = before[top:bottom, left:right], picture[top:bottom, left:right]
    return bool(one.size) and float(np.abs(one.astype(np.int16) - other).mean()) < _STILL


def _new(found: Sequence[FoundFace], known: Sequence[Points]) -> list[FoundFace]:
    return [face for face in found if all(_overlap(face.box, box) <= _SAME for box in known)]


def _note(track: FaceTrack, mesh: Mesh, picture: Picture, frame: int, time: Seconds) -> None:
    height, width = picture.shape[:2]
    left, top, right, bottom = (float(side) for side in mesh.box)
    face_height = _distance(mesh, _FACE_HEIGHT)
    track.frames.append(frame)
    track.times.append(time)
    track.lip_gaps.append(_distance(mesh, _INNER_LIPS) / max(face_height, 1e-6))
    track.sizes.append(face_height / height)
    track.xs.append((left + right) / 2 / width)
    track.ys.append((top + bottom) / 2 / height)


def _distance(mesh: Mesh, pair: tuple[int, int]) -> float:
    return float(np.linalg.norm(mesh.points[pair[0]] - mesh.points[pair[1]]))


def _overlap(one: Points, other: Points) -> float:
    """Intersection over union."""
    inner = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None)
    shared = float(inner.prod())
    union = float((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod()) - shared
    return shared / union if union > 0 else 0.0
