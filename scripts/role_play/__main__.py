"""Makes ``role_play.mp4`` and ``annotations.json`` from ``script.yaml``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import soundfile

from pipeline.store import atomic_path, write_json
from scripts.role_play.perform import Performance, perform
from scripts.role_play.picture import FRAME_RATE, SIZE, frames
from scripts.role_play.script import Script, annotate, read_script
from scripts.role_play.voices import RATE

FOLDER = Path(__file__).resolve().parents[2] / "raw_video" / "role_play"


def main() -> None:
    """Make both files."""
    script = read_script(FOLDER / "script.yaml")
    performance = perform(script)
    with atomic_path(FOLDER / "role_play.mp4") as target:
        encode(script, performance, target)
    write_json(FOLDER / "annotations.json", annotate(script, performance.times).model_dump(mode="json"))
    sys.stdout.write(f"{len(script.lines)} rows, {performance.duration:.1f} s\n")


def encode(script: Script, performance: Performance, target: Path) -> None:
    """Write sound and picture as MP4; the same tools give the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "mix.wav"
        soundfile.write(sound, performance.mix, RATE, subtype="PCM_16")
        picture = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{SIZE[0]}x{SIZE[1]}", "-r", str(FRAME_RATE)]
        video = ["-c:v", "libx264", "-preset", "veryslow", "-tune", "animation", "-crf", "32", "-threads", "1"]
        # A key frame every five seconds lets a player jump to a row.
        video += ["-pix_fmt", "yuv420p", "-g", str(5 * FRAME_RATE)]
        audio = ["-c:a", "aac", "-b:a", "48k", "-metadata:s:a:0", "language=eng"]
        exact = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact"]
        command = ["ffmpeg", "-v", "error", "-y", *picture, "-i", "pipe:0", "-i", str(sound)]
        command += ["-map", "0:v", "-map", "1:a", *video, *audio, *exact, "-movflags", "+faststart", str(target)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as running:
            assert running.stdin is not None
            for frame in frames(script, performance):
                running.stdin.write(frame.tobytes())
            running.stdin.close()
        if running.returncode:
            raise subprocess.CalledProcessError(running.returncode, command[:1])


if __name__ == "__main__":
    main()
