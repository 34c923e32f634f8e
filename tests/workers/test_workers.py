"""A cluster of two real workers on real recordings: killed ones, a recording that ends workers, two builds at once."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.pieces import write_pieces
from pipeline.settings import Settings
from pipeline.workers.journal import ENDS, Entry, read_journal
from tests.conftest import REPOSITORY

pytest.importorskip("ray")
pytest.importorskip("pyannote.audio")

# Each starts a cluster and loads the models in two processes.
pytestmark = [pytest.mark.slow, pytest.mark.media, pytest.mark.timeout(1200)]

LONG = "piece003"
MADE = ("source", "audio", "words", "speakers", "turns")


@dataclass
class Build:
    """`rescue build --workers 2` in a process of its own."""

    folder: Path
    process: subprocess.Popen[str]

    def journal(self) -> list[Entry]:
        return [entry for run in (self.folder / "data" / "workers").glob("*") for entry in read_journal(run)]

    def watch(self, seen: Callable[[list[Entry]], None]) -> tuple[int, dict[str, Any]]:
        """Show the journal to a function until the build is over; exit code and report."""
        while self.process.poll() is None:
            seen(self.journal())
            time.sleep(0.01)
        told = self.process.stdout.read() if self.process.stdout else ""
        assert told, self.process.stderr and self.process.stderr.read()
        return self.process.returncode, json.loads(told)


@pytest.fixture
def project(tmp_path: Path, media: Path) -> Path:
    """Six small conversations; the recording of one is longer, so that a kill finds its worker at work on it."""
    write_pieces(media, tmp_path / "raw_video", 6)
    shutil.copy(media / "audio" / "katiesteve_mono.wav", tmp_path / "raw_video" / LONG / "piece.wav")
    return tmp_path


@pytest.fixture
def start() -> Iterator[Callable[[Path], Build]]:
    started = []

    def begin(folder: Path) -> Build:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RESCUE_", "RAY_"))}
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "build", "--workers", "2", "--json"],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return Build(folder, process)

    yield begin
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def ends(journal: list[Entry]) -> Counter[str]:
    return Counter(entry.conversation for entry in journal if entry.step == ENDS)


def states(report: dict[str, Any], station: str) -> dict[str, str]:
    return {name: found[station]["state"] for name, found in report["conversations"].items()}


def test_what_a_killed_worker_left_is_finished_by_others_and_nothing_twice(
    project: Path, start: Callable[[Path], Build], tmp_path: Path
) -> None:
    killed: list[Entry] = []
    outside: set[str] = set()
    build = start(project)

    def kill_one(journal: list[Entry]) -> None:
        at_work = [entry for entry in journal if entry.conversation == LONG and entry.step == "words"]
        if at_work and not killed:
            outside.update(addresses(build.process.pid))
            os.kill(at_work[0].pid, signal.SIGKILL)
            killed.append(at_work[0])

    code, report = build.watch(kill_one)
    journal = build.journal()
    assert code == 0, report
    assert set(states(report, "turns").values()) == {"done"}
    (lost,) = killed
    assert ends(journal) == dict.fromkeys(report["conversations"], 1), "every conversation once"
    finished = next(entry for entry in journal if entry.conversation == lost.conversation and entry.step == ENDS)
    assert finished.pid != lost.pid
    begun = Counter((entry.conversation, entry.step) for entry in journal if entry.step != ENDS)
    assert {name for (name, _), times in begun.items() if times > 1} == {lost.conversation}
    # What had been finished before the kill was found current.
    assert finished.made[0] == "words"
    assert outside == set(), "nothing but this machine's loopback was listened on or spoken to"
    # With the threads that each of two workers has, since sums of another order differ in the last digit.
    threads = str(max(1, Settings().threads // 2))
    alone = {
        **os.environ,
        "RESCUE_DATA": str(tmp_path / "alone"),
        "RESCUE_THREADS": threads,
        "OMP_NUM_THREADS": threads,
    }
    subprocess.run([sys.executable, "-m", "pipeline", "build"], cwd=project, env=alone, check=True, capture_output=True)
    for conversation in report["conversations"]:
        for name in ("audio.flac", "words.parquet", "speakers.rttm", "turns.parquet"):
            made, other = (project / data / "conversations" / conversation / name for data in ("data", "alone"))
            assert made.read_bytes() == other.read_bytes(), (conversation, name)


def test_a_recording_that_ends_every_worker_is_given_up_and_the_others_go_on(
    project: Path, start: Callable[[Path], Build]
) -> None:
    killed: set[int] = set()

    def kill_each(journal: list[Entry]) -> None:
        for entry in journal:
            if entry.conversation == LONG and entry.step == "words" and entry.pid not in killed:
                os.kill(entry.pid, signal.SIGKILL)
                killed.add(entry.pid)

    code, report = start(project).watch(kill_each)
    assert code == 1
    assert len(killed) == 2
    assert {name for name, state in states(report, "turns").items() if state != "done"} == {LONG}
    told = report["conversations"][LONG]
    assert told["words"]["state"] == "failed"
    assert "2 workers ended" in told["words"]["reason"]
    assert told["words"]["hint"]
    assert told["speakers"]["state"] == "done", "what does not need it is made"
    assert told["turns"]["reason"] == "waits for words, which failed"
    assert LONG in report["dataset_refused"]
    code, report = start(project).watch(lambda journal: None)
    assert code == 0, "it was no fault of the recording"
    assert [name for name, found in report["conversations"].items() if any(s["ran"] for s in found.values())] == [LONG]


def test_two_builds_at_once_make_nothing_twice(project: Path, start: Callable[[Path], Build]) -> None:
    first, second = start(project), start(project)
    ended = [build.watch(lambda journal: None) for build in (first, second)]
    assert [code for code, _ in ended] == [0, 0]
    made = Counter((entry.conversation, station) for entry in first.journal() for station in entry.made)
    assert {(name, station): times for (name, station), times in made.items() if station in MADE} == {
        (name, station): 1 for name in ended[0][1]["conversations"] for station in MADE
    }


def addresses(pid: int) -> set[str]:
    """Addresses other than loopback on which a process and all it started listen, or to which they are connected."""
    found = set()
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        connections = []
        with suppress(psutil.NoSuchProcess, FileNotFoundError):  # it ended meanwhile
            connections = process.net_connections("inet")
        for connection in connections:
            listens = connection.status == psutil.CONN_LISTEN
            address = connection.laddr if listens else connection.raddr
            found.update({address.ip} if address else set())
    return {ip for ip in found if not ip.removeprefix("::ffff:").startswith("127.") and ip != "::1"}


def test_a_cluster_that_is_there_is_used_and_left_running(project: Path, tmp_path: Path) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ray-") as short:
        environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        # `RAY_ENABLE...`: the test opens no port to the network.
        opened = {**environment, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        head = subprocess.Popen(
            ["sh", REPOSITORY / "deploy" / "ray" / "start.sh", "--head", "--port", str(port), "--num-cpus", "2",
             "--node-ip-address", "127.0.0.1", "--temp-dir", short, "--block"],
            env=opened, stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            until_open(port, head)
            done = subprocess.run(
                [sys.executable, "-m", "pipeline", "build", "--workers", f"127.0.0.1:{port}", "--json"],
                cwd=project, env={**opened, "RESCUE_THREADS": "1"}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert set(states(json.loads(done.stdout), "turns").values()) == {"done"}
            (run,) = (project / "data" / "workers").glob("*")
            journal = read_journal(run)
            assert {entry.worker for entry in journal} == {"worker01", "worker02"}
            assert ends(journal) == dict.fromkeys(json.loads(done.stdout)["conversations"], 1)
            assert head.poll() is None, "the cluster is not ours to end"
            refused = subprocess.run(
                [sys.executable, "-m", "pipeline", "build", "--force", "--workers", f"127.0.0.1:{port}", "--json"],
                cwd=project, env={**opened, "RESCUE_THREADS": "64"}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert refused.returncode == 2
            assert "64 processors" in refused.stdout
        finally:
            head.terminate()
            try:
                head.wait(60)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(head.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the cluster did not start")
