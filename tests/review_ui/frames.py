"""A recording whose every frame carries its number, written as black and white fields that a test can read back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

__all__ = ["BITS", "READ_FRAME", "make_numbered"]

BITS = 12
_FIELD = 40
_HEIGHT = 120

READ_FRAME = f"""
window.readFrame = (video) => {{
  const canvas = document.createElement("canvas");
  canvas.width = {BITS * _FIELD};
  canvas.height = {_HEIGHT};
  const context = canvas.getContext("2d", {{willReadFrequently: true}});
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  let number = 0;
  for (let bit = 0; bit < {BITS}; bit += 1) {{
    const [level] = context.getImageData(bit * {_FIELD} + {_FIELD // 2}, {_HEIGHT // 2}, 1, 1).data;
    if (level > 127) number |= 1 << bit;
  }}
  return number;
}};
"""
"""Defines ``readFrame(video)`` in a page: the number of the frame that is shown."""


def make_numbered(path: Path, *, seconds: int, fps: int = 25) -> None:
    """Write an MP4 with a tone and numbered frames, key frames four seconds apart as cameras write them."""
    width = BITS * _FIELD
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{_HEIGHT}"]
    command += ["-r", str(fps), "-i", "-", "-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}"]
    command += ["-c:v", "libx264", "-preset", "ultrafast", "-g", str(4 * fps), "-bf", "2", "-pix_fmt", "yuv420p"]
    command += ["-c:a", "aac", "-shortest", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as ffmpeg:
        assert ffmpeg.stdin is not None
        for number in range(seconds * fps):
            bits = np.array([255 if number >> bit & 1 else 0 for bit in range(BITS)], np.uint8)
            row = np.repeat(bits, _FIELD)
            ffmpeg.stdin.write(np.tile(row, _HEIGHT).tobytes())
        ffmpeg.stdin.close()
        assert ffmpeg.wait() == 0
