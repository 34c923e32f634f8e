"""Faces made hard to recognise in clips that are to be shared."""

from __future__ import annotations

from typing import Literal

import numpy as np

from pipeline.media.frames import Picture
from pipeline.vision.networks import FaceDetector

__all__ = ["FaceHider"]

_CONFIDENCE = 0.4
"""Lower than for cues: a face too many hidden is better than one too few."""
_WIDER = 0.25
"""Share of a face's box by which it is made wider on each side: hair and ears tell much."""
_BLOCKS = 6
"""Blocks across a pixelated face."""
_KEPT = 12
"""Pictures for which a face stays hidden after it was found last: detectors blink."""


class FaceHider:
    """Pixelates or blurs every face that is found, in yuv420p pictures given in order."""

    def __init__(self, way: Literal["pixelated", "blurred"]) -> None:
        self._way = way
        self._detector = FaceDetector(_CONFIDENCE)
        self._seen: list[tuple[int, tuple[int, int, int, int]]] = []
        self._picture = 0

    def __call__(self, picture: Picture) -> Picture:
        """The picture, (height * 3 / 2, width), with its faces hidden."""
        import cv2  # noqa: PLC0415 - an extra

        bgr = np.asarray(cv2.cvtColor(picture, cv2.COLOR_YUV2BGR_I420), dtype=np.uint8)
        height, width = bgr.shape[:2]
        self._picture += 1
        self._seen = [(when, box) for when, box in self._seen if self._picture - when <= _KEPT]
        self._seen += [
            (self._picture, box)
            for face in self._detector.find(bgr)
            if (box := _widened(face.box, width, height)) is not None
        ]
        if not self._seen:
            return picture
        for left, top, right, bottom in dict.fromkeys(box for _, box in self._seen):
            part = bgr[top:bottom, left:right]
            size = (right - left, bottom - top)
            if self._way == "pixelated":
                small = cv2.resize(part, (_BLOCKS, _BLOCKS), interpolation=cv2.INTER_AREA)
                bgr[top:bottom, left:right] = cv2.resize(small, size, interpolation=cv2.INTER_NEAREST)
            else:
                bgr[top:bottom, left:right] = cv2.GaussianBlur(part, (0, 0), sigmaX=max(size) / 6)
        return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420), dtype=np.uint8)


def _widened(box: np.ndarray, width: int, height: int) -> tuple[int, int, int, int] | None:
    left, top, right, bottom = (float(value) for value in box)
    across, down = _WIDER * (right - left), _WIDER * (bottom - top)
    edges = (max(0, left - across), max(0, top - down), min(width, right + across), min(height, bottom + down))
    first, upper, last, lower = (round(edge) for edge in edges)
    return (first, upper, last, lower) if last - first > 1 and lower - upper > 1 else None
