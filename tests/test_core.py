"""The core, without any extra: reads, checks, builds and publishes annotations, and says what else needs."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.made_release import made_release

EXTRAS = """
aiohttp ai_edge_litert cv2 dagster faster_whisper ffmpeg huggingface_hub inspect_ai jinja2 json_repair krippendorff
librosa matplotlib meeteval mlcroissant nltk openai openpyxl pandas praatio pyannote pympi resemblyzer safetensors
scenedetect sklearn soundfile tokenizers torch torchaudio transformers webvtt whisperx
"""

WITHOUT = f"""
from importlib.machinery import PathFinder
hidden, real = set({EXTRAS!r}.split()), PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else real(name, path, target)
PathFinder.find_spec = find_spec
from pipeline.cli import main
main()
"""


def rescue(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"RESCUE_RAW": str(folder / "raw"), "RESCUE_DATA": str(folder / "data"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_annotations_become_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    samples = list(islice(made_release(seed=4), 3))
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    for arguments in (
        ("import", "release", "r.jsonl"),
        ("dataset",),
        ("status",),
        ("validate",),
        ("audit", "--limit", "2"),
        ("export", "json", samples[0]["sample_id"], "-o", "out.json"),
    ):
        done = rescue(tmp_path, *arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert (tmp_path / "data" / "benchmark" / "rpp" / "test.parquet").is_file()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("publish", "--to", "out"), "publish"),
        (("eval", "--model", "baseline/random"), "evaluate"),
        (("ui",), "ui"),
        (("export", "eaf", "ID", "-o", "out.eaf"), "formats"),
    ],
)
def test_what_needs_an_extra_names_it(tmp_path: Path, arguments: tuple[str, ...], extra: str) -> None:
    (tmp_path / "raw").mkdir()
    sample = next(iter(made_release(seed=4)))
    (tmp_path / "r.jsonl").write_text(json.dumps(sample) + "\n")
    assert rescue(tmp_path, "import", "release", "r.jsonl").returncode == 0
    assert rescue(tmp_path, "dataset").returncode == 0
    done = rescue(tmp_path, *(sample["sample_id"] if part == "ID" else part for part in arguments))
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert f"rescue-bench[{extra}]" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_recording_without_the_speech_extra_fails_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "a"
    folder.mkdir(parents=True)
    (folder / "conversation.yaml").write_text("id: a\nmedia: a.wav\n")
    (folder / "a.wav").write_bytes(b"RIFF")
    done = rescue(tmp_path, "build")
    assert done.returncode == 1
    assert "rescue-bench[speech]" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
