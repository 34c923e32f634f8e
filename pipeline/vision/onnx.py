"""YuNet and SFace, the face networks of OpenCV, from ONNX files of the user's own.

Sources:
    YuNet (Wu, Peng and Yu 2023, doi:10.1007/s11633-023-1423-y), read by ``cv2.FaceDetectorYN``.
    SFace (Zhong et al. 2021, arXiv:2205.12010), read by ``cv2.FaceRecognizerSF``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import PrerequisiteError
from pipeline.extras import load
from pipeline.media.frames import Picture
from pipeline.vision.faces import FaceTrack
from pipeline.vision.networks import FoundFace, Mesh, Points

__all__ = ["SFace", "YuNet", "same_people"]

_SAME_PERSON = 0.363
"""Cosine from which two faces are one person: OpenCV's value for SFace, of the pairs of LFW."""
_APART = 2.0
"""The largest cosine distance there is."""
_EYES = ((33, 133), (263, 362))
"""Corners of the right and of the left eye in the face mesh."""
_NOSE, _MOUTH = 1, (61, 291)


class YuNet:
    """Finds faces with a YuNet network.

    Args:
        file: The ONNX file.
        confidence: From which something counts as a face, 0 to 1.

    Raises:
        PrerequisiteError: If the file is missing or OpenCV cannot read it.
    """

    def __init__(self, file: Path, confidence: float) -> None:
        self._network = _opened("FaceDetectorYN", "cues.face_detector", file, (320, 320), confidence)

    def find(self, picture: Picture) -> list[FoundFace]:
        """The faces in a BGR picture, surest first."""
        height, width = picture.shape[:2]
        self._network.setInputSize((width, height))
        _, rows = self._network.detect(picture)
        # Left, top, width, height; right eye, left eye, nose, corners of the mouth; confidence.
        found = [] if rows is None else [np.asarray(row, dtype=np.float32) for row in rows]
        faces = [
            FoundFace(np.concatenate([row[:2], row[:2] + row[2:4]]), row[4:8].reshape(2, 2), float(row[14]))
            for row in found
        ]
        return sorted(faces, key=lambda face: -face.confidence)


class SFace:
    """Describes a face by 128 numbers that are alike for pictures of one person.

    Args:
        file: The ONNX file.

    Raises:
        PrerequisiteError: If the file is missing or OpenCV cannot read it.
    """

    def __init__(self, file: Path) -> None:
        self._network = _opened("FaceRecognizerSF", "cues.face_recognition", file)

    def describe(self, picture: Picture, mesh: Mesh) -> Points:
        """The description of a face of a BGR picture, (128,), of length one."""
        eyes = [mesh.points[list(corners)].mean(axis=0) for corners in _EYES]
        marks = np.stack([*eyes, mesh.points[_NOSE], *(mesh.points[corner] for corner in _MOUTH)])
        left, top, right, bottom = mesh.box
        row = np.concatenate([[left, top, right - left, bottom - top], marks.ravel(), [1.0]]).astype(np.float32)
        found = np.asarray(self._network.feature(self._network.alignCrop(picture, row)), dtype=np.float32).ravel()
        return np.asarray(found / max(float(np.linalg.norm(found)), 1e-6), dtype=np.float32)


def same_people(tracks: Sequence[FaceTrack]) -> dict[int, int]:
    """Track to person, from 1 in order of first sight, by the mean descriptions of the tracks that have any.

    Tracks are joined while the mean cosine between two groups is that of one person (average linkage); faces that are
    in view at the same time are two people.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    known = [track for track in tracks if track.descriptions]
    if len(known) < 2:
        return {track.index: 1 for track in known}
    means = [np.mean(track.descriptions, axis=0) for track in known]
    distances = [
        _APART if _together(known[one], known[other]) else 1 - _cosine(means[one], means[other])
        for one, other in combinations(range(len(known)), 2)
    ]
    groups = fcluster(linkage(distances, "average"), 1 - _SAME_PERSON, criterion="distance")
    numbers: dict[int, int] = {}
    return {
        track.index: numbers.setdefault(int(group), len(numbers) + 1)
        for track, group in zip(known, groups, strict=True)
    }


def _together(one: FaceTrack, other: FaceTrack) -> bool:
    return one.times[0] <= other.times[-1] and other.times[0] <= one.times[-1]


def _cosine(one: Points, other: Points) -> float:
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-6))


def _opened(kind: str, setting: str, file: Path, *options: Any) -> Any:
    cv2 = load("cv2", "vision")
    if not file.is_file():
        msg = f"the network {file.name} of {setting} is not there"
        raise PrerequisiteError(msg, hint=f"name the ONNX file in {setting}, or leave the setting out")
    try:
        return getattr(cv2, kind).create(str(file), "", *options)
    except cv2.error as error:
        msg = f"OpenCV cannot read the network {file.name} of {setting}: {error.err}"
        raise PrerequisiteError(msg, hint="take the ONNX file of the model zoo of OpenCV") from error
