"""The main job, end to end: the command line on real recordings, with no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.demo import fetch_demo
from tests.conftest import REPOSITORY

# The whole demo through real models: minutes on a busy machine with two cores.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

DEMO = ("phone_call", "public_address", "role_play")
TASKS = ("itp", "rpp", "stp", "ssp", "er", "vp")
Rescue = Callable[..., tuple[int, dict[str, Any], str]]


def without_network(command: list[str]) -> list[str]:
    """The command in a network namespace without any interface, where the machine allows one."""
    isolated = ["unshare", "--map-root-user", "--net"]
    allowed = shutil.which("unshare") and subprocess.run([*isolated, "true"], check=False, capture_output=True)
    return [*isolated, *command] if allowed and allowed.returncode == 0 else command


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with the demo's recordings and nothing made yet."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(REPOSITORY / "raw_video", folder / "raw_video")
    fetch_demo(folder / "raw_video")
    return folder


@pytest.fixture(scope="module")
def rescue(project: Path) -> Rescue:
    """Runs the command in the project folder; gives exit code, the JSON document, and standard error."""

    def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RESCUE_")}
        command = without_network([sys.executable, "-m", "pipeline", *arguments, "--json"])
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout), done.stderr

    return run


@pytest.fixture(scope="module")
def built(rescue: Rescue) -> dict[str, Any]:
    code, report, log = rescue("build")
    assert code == 0, (report, log)
    return report


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def made(report: dict[str, Any], conversation: str) -> list[str]:
    return [name for name, outcome in report["conversations"][conversation].items() if outcome["ran"]]


def test_the_demo_is_whole(project: Path, built: dict[str, Any]) -> None:
    assert sorted(built["conversations"]) == sorted(DEMO)
    for conversation in DEMO:
        folder = project / "data" / "conversations" / conversation
        for name in ("source.json", "audio.flac", "words.parquet", "speakers.rttm", "turns.parquet", "turns.vtt"):
            assert (folder / name).stat().st_size > 0, (conversation, name)
    for task in TASKS:
        assert pq.read_metadata(project / "data" / "benchmark" / task / "test.parquet").num_rows > 0, task


def test_nothing_made_holds_a_path_of_the_machine(project: Path, built: dict[str, Any]) -> None:
    for name, (content, _) in contents(project / "data").items():
        assert str(project).encode() not in content, name
        assert str(REPOSITORY).encode() not in content, name


def test_the_second_build_changes_no_byte_and_touches_no_file(
    project: Path, rescue: Rescue, built: dict[str, Any]
) -> None:
    before = contents(project / "data")
    code, report, log = rescue("build")
    assert code == 0, (report, log)
    assert {conversation: made(report, conversation) for conversation in DEMO} == {
        conversation: [] for conversation in DEMO
    }
    assert contents(project / "data") == before


@pytest.mark.parametrize(
    ("deleted", "station"), [("words.parquet", "words"), ("turns.vtt", "turns"), ("rows.parquet", "rows")]
)
def test_a_deleted_artifact_is_made_again_the_same_and_alone(
    project: Path, rescue: Rescue, built: dict[str, Any], deleted: str, station: str
) -> None:
    before = {name: content for name, (content, _) in contents(project / "data").items()}
    (project / "data" / "conversations" / "role_play" / deleted).unlink()
    code, report, log = rescue("build")
    assert code == 0, (report, log)
    # The same bytes come out, so what depends on them is still right.
    assert made(report, "role_play") == [station]
    assert made(report, "phone_call") == []
    after = {name: content for name, (content, _) in contents(project / "data").items()}
    assert {name for name in before if not name.endswith(".digests.json") and before[name] != after.get(name)} == set()


def test_a_bad_recording_is_named_and_the_good_one_goes_on(
    project: Path, rescue: Rescue, built: dict[str, Any], tmp_path: Path
) -> None:
    good = project / "raw_video" / "phone_call" / "sample.wav"
    broken = tmp_path / "broken.mp4"
    broken.write_bytes((project / "raw_video" / "role_play" / "role_play.mp4").read_bytes()[:40_000])
    assert rescue("add", str(good), "--id", "kim/only sound")[0] == 0
    assert rescue("add", str(broken), "--id", "kim/broken")[0] == 1, "it is there, but not all went well"
    try:
        code, report, log = rescue("build")
        assert code == 1
        ended = report["conversations"]
        assert {outcome["state"] for outcome in ended["kim/only sound"].values()} <= {"done", "skipped"}
        assert ended["kim/only sound"]["turns"]["state"] == "done"
        assert ended["kim/broken"]["source"]["state"] == "failed"
        assert "broken.mp4" in ended["kim/broken"]["source"]["reason"]
        assert ended["kim/broken"]["source"]["hint"]
        assert "kim/broken" in report["dataset_refused"]
        code, report, log = rescue("build", "--allow-missing")
        assert code == 1
        assert report["dataset"]["missing"] == ["kim/broken"]
        listed = pq.read_table(project / "data" / "benchmark" / "conversations" / "test.parquet")
        assert sorted(listed["conversation_id"].to_pylist()) == sorted([*DEMO, "kim/only sound"])
        code, standing, _ = rescue("status", "kim/broken")
        assert code == 1
        assert standing["conversations"]["kim/broken"]["source"]["state"] == "failed"
    finally:
        shutil.rmtree(project / "raw_video" / "kim~2fonly~20sound")
        shutil.rmtree(project / "raw_video" / "kim~2fbroken")
    code, report, log = rescue("dataset")
    assert code == 0, (report, log)
    listed = pq.read_table(project / "data" / "benchmark" / "conversations" / "test.parquet")
    assert sorted(listed["conversation_id"].to_pylist()) == sorted(DEMO), "a removed conversation leaves the data set"


@pytest.mark.parametrize(
    "arguments",
    [["build", "role_pley"], ["add", "missing.mp4", "--participants", "A,A"], ["build", "--profile", "fast"]],
)
def test_wrong_usage_ends_with_two(rescue: Rescue, arguments: list[str]) -> None:
    code, report, log = rescue(*arguments)
    assert code == 2, log
    assert report["error"]
