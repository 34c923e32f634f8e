"""``kill -9`` in the middle of a model's work: nothing torn is left, and only what was not finished is made again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.conversation import Conversation, save_conversation
from pipeline.schemas import read_table
from pipeline.station import Record, State

pytestmark = pytest.mark.slow

# The real command, which only says when it has come to a certain place.
_CHILD = """
import sys, {module}
marker, *arguments = sys.argv[1:]
inner = {module}.{method}

def outer(*given, **named):
    open(marker, "w").close()
    return inner(*given, **named)

{module}.{method} = outer
sys.argv = ["rescue", *arguments]
from pipeline.cli import main
main()
"""


@pytest.mark.parametrize(
    ("module", "method", "done", "unfinished"),
    [
        ("faster_whisper.transcribe", "BatchedInferencePipeline.forward", ("source", "audio"), "words"),
        ("pipeline.speech.diarizer", "VoiceDiarization.get_embeddings", ("source", "audio", "words"), "speakers"),
    ],
)
def test_a_killed_build_goes_on_where_it_was(
    tmp_path: Path, module: str, method: str, done: tuple[str, ...], unfinished: str
) -> None:
    raw = tmp_path / "raw_video" / "talk"
    raw.mkdir(parents=True)
    spec = find_spec("pyannote.audio")
    assert spec
    assert spec.origin
    (raw / "sample.wav").symlink_to(Path(spec.origin).parent / "sample" / "sample.wav")
    save_conversation(raw, Conversation(id="talk", media="sample.wav"))
    marker = tmp_path / "marker"
    build(tmp_path, [sys.executable, "-c", _CHILD.format(module=module, method=method), str(marker)], kill_at=marker)
    made = tmp_path / "data" / "conversations" / "talk"
    records = {name: Record.read(made / "stations" / f"{name}.json").state for name in (*done, unfinished)}
    assert records == {**dict.fromkeys(done, State.DONE), unfinished: State.MISSING}
    before = {path: path.stat().st_mtime_ns for name in done for path in (made / "stations").glob(f"{name}.json")}
    outcomes = build(tmp_path, [sys.executable, "-c", "from pipeline.cli import main; main()"])
    assert {name: station["ran"] for name, station in outcomes.items() if name in records} == {
        **dict.fromkeys(done, False),
        unfinished: True,
    }
    assert all(path.stat().st_mtime_ns == time_made for path, time_made in before.items())
    assert read_table(made / "words.parquet").num_rows > 50
    assert read_table(made / "turns.parquet").num_rows > 5
    assert not list(made.rglob("*.tmp*"))


def build(root: Path, command: list[str], *, kill_at: Path | None = None) -> dict[str, dict[str, object]]:
    """Run ``rescue build``; with ``kill_at``, until that file appears and a little longer."""
    environment = {**os.environ, "RESCUE_RAW": str(root / "raw_video"), "RESCUE_DATA": str(root / "data")}
    with subprocess.Popen(
        [*command, "build", "--json"], cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    ) as child:
        if kill_at is None:
            told, _ = child.communicate(timeout=300)
            assert child.returncode == 0, told
            found: dict[str, dict[str, object]] = json.loads(told)["conversations"]["talk"]
            return found
        until = time.monotonic() + 120
        while not kill_at.exists():
            assert child.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    return {}
