"""Keys reach only their own server, and a run that is stopped asks nothing more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.errors import UsageError
from pipeline.evaluation import asking
from pipeline.evaluation.plan import Call, full_name
from tests.evaluation.loopback import Behaviour, loopback


def rescue(command: str, data: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, [command, "--data", str(data), *arguments])


def test_each_server_gets_its_own_key(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_API_KEY", "for-the-model")
    monkeypatch.setenv("RESCUE_GRADER_API_KEY", "for-the-grader")
    with loopback() as server, loopback() as grading:
        arguments = ("-m", "small", "--base-url", server.url, "-t", "er", "--limit", "2")
        rescue("eval", data, *arguments, "--grader", "judge", "--grader-url", grading.url)
        assert server.keys == {"Bearer for-the-model"}
        assert grading.keys == {"Bearer for-the-grader"}


def test_a_provider_of_its_own_reads_its_usual_key(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_API_KEY", "for-another")
    monkeypatch.setenv("LAB_API_KEY", "of-the-lab")
    with loopback() as server:
        monkeypatch.setenv("LAB_BASE_URL", server.url)
        done = rescue("eval", data, "-m", "openai-api/lab/small", "-t", "itp", "--limit", "1")
        assert done.exit_code == 0, done.output
        assert server.keys == {"Bearer of-the-lab"}


@pytest.mark.parametrize("address", ["not a url", "ftp://host/v1", "http://", "http://me:secret@127.0.0.1/v1"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="address of the server") as told:
        full_name("small", Call(base_url=address))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("name", ["", " ", "x/", "a/" + "b" * 300])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a model"):
        full_name(name, Call(base_url="http://127.0.0.1/v1"))


def test_ctrl_c_stops_the_models_after_it_too(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(delay=0.5)) as server:
        running = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "eval", "--data", str(data), "-m", "one", "-m", "two", "--base-url",
             server.url, "-t", "itp", "--limit", "20", "--max-connections", "1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until = time.monotonic() + 60
        while server.calls < 2 and time.monotonic() < until:
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, log = running.communicate(timeout=60)
        assert running.returncode == 130, log
        assert {body["model"] for body in server.bodies} == {"one"}
        assert server.calls < 10
    assert (data / "evaluation" / "openai-api~2fserver~2fone" / "dialogue" / "outcomes.parquet").is_file()
    assert not list(data.glob("evaluation/*two*"))


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    child = (
        "import os, sys, time\n"
        "from threading import Thread\n"
        f"from {asking.__name__} import _end_with\n"
        "Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', sys.argv[1]])\ntime.sleep(60)\n"
    with subprocess.Popen([sys.executable, "-c", parent, child], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        worker = int(running.stdout.readline())
        running.kill()
    until = time.monotonic() + 10
    while _runs(worker) and time.monotonic() < until:
        time.sleep(0.2)
    assert not _runs(worker)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_ratings_of_one_run_are_not_compared_with_another(data: Path, tmp_path: Path) -> None:
    with loopback() as server:
        for name in ("good", "bad"):
            arguments = ("-m", name, "--base-url", server.url, "-t", "er", "--limit", "2")
            rescue("eval", data, *arguments, "--grader", "judge", "--grader-url", server.url)
    from pipeline.evaluation.scores import read_runs

    rated = [row["instance_id"] for row in read_runs(data / "evaluation")[0].rows]
    file = tmp_path / "ratings.csv"
    file.write_text("instance_id,rater,score\n" + "".join(f"{name},ann,5\n" for name in rated), encoding="utf-8")
    both = rescue("agreement", data, str(file))
    assert "2 runs have judged answers" in str(both.exception)
    one = rescue("agreement", data, str(file), "--model", "openai-api/server/good", "--json")
    assert one.exit_code == 0, one.output
    assert "good" in one.output
    assert "bad" not in one.output
