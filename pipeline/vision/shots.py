"""Shots: where one picture is cut to another, and how much moves in between."""

from __future__ import annotations

import numpy as np

from pipeline.media.frames import Picture

__all__ = ["ShotWatcher"]

_WIDTH = 160
_SHORTEST = 0.3
"""Seconds; a change so soon after a cut belongs to it (a flash, a fade)."""


class ShotWatcher:
    """PySceneDetect's content detector, frame by frame: the mean change of hue, saturation and brightness.

    Args:
        rate: Frames a second that it is given.
        threshold: Change, 0 to 255, from which there is a cut.
    """

    def __init__(self, rate: float, threshold: float) -> None:
        from scenedetect import FrameTimecode
        from scenedetect.detector import FlashFilter
        from scenedetect.detectors import ContentDetector

        self.is_cut = False
        """Whether a new shot begins with the frame seen last."""
        self.motion = 0.0
        """Mean change of brightness from the frame before, 0..1; 0 at a cut."""
        self._time = FrameTimecode(0, fps=float(rate))
        self._before: Picture | None = None
        self._detector = ContentDetector(
            threshold,
            min_scene_len=max(1, round(_SHORTEST * rate)),
            filter_mode=FlashFilter.Mode.SUPPRESS,  # the other mode tells of a cut only when the next shot has lasted
        )

    def see(self, picture: Picture) -> None:
        """Look at the next frame, BGR."""
        import cv2

        height = max(2, round(picture.shape[0] * _WIDTH / picture.shape[1]))
        small = cv2.resize(picture, (_WIDTH, height), interpolation=cv2.INTER_LINEAR)
        self.is_cut = bool(self._detector.process_frame(self._time, small))
        self._time = self._time + 1
        grey = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        if self._before is None or self.is_cut:
            self.motion = 0.0
        else:
            self.motion = float(np.abs(grey.astype(np.int16) - self._before).mean()) / 255
        self._before = grey
