"""Dagster's records under load: eight runs at once, with SQLite and with a real PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from assets.partitions import register
from tests.assets.small import SmallProject, build, write
from tests.conftest import REPOSITORY
from tests.postgres import private_postgres

RUNS = 8
KEYS = [f"c{number}" for number in range(10)]
HOMES = {"sqlite": REPOSITORY, "postgres": REPOSITORY / "deploy" / "postgres"}


@pytest.fixture(params=list(HOMES))
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the instance file that is used in earnest, with empty storage behind it."""
    monkeypatch.setenv("DAGSTER_HOME", str(HOMES[request.param]))
    monkeypatch.setenv("RESCUE_DAGSTER", str(tmp_path / "dagster"))
    if request.param == "sqlite":
        yield HOMES["sqlite"]
        return
    pytest.importorskip("dagster_postgres")
    with private_postgres() as server:
        for name, value in vars(server).items():
            monkeypatch.setenv(f"RESCUE_POSTGRES_{name.upper()}", str(value))
        yield HOMES["postgres"]


@pytest.mark.slow
def test_eight_runs_at_once_end_well(home: Path, tmp_path: Path) -> None:
    write(tmp_path, **{key: key for key in KEYS})
    with dg.DagsterInstance.get() as instance:
        register(instance, SmallProject(folder=str(tmp_path)).found())
        assert ("postgres" in type(instance.event_log_storage).__name__.lower()) is (home.name == "postgres")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.deploy.test_storage", str(tmp_path)],
            cwd=REPOSITORY, env=dict(os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        for _ in range(RUNS)
    ]  # fmt: skip
    for process in running:  # all have loaded Dagster before the first one starts its run
        assert process.stdout
        while (line := process.stdout.readline()) != "ready\n":
            assert line, f"a run ended before it began, with {process.wait()}"
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * RUNS, "\n".join(told)
    assert not [line for text in told for line in text.splitlines() if "locked" in line or "deadlock" in line]
    with dg.DagsterInstance.get() as instance:
        runs = instance.get_runs()
        assert [run.status for run in runs] == [dg.DagsterRunStatus.SUCCESS] * RUNS
        spans = [(record.start_time or 0.0, record.end_time or 0.0) for record in instance.get_run_records()]
        at_once = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
        assert at_once > RUNS / 2, "they did run at once"
        for asset in ("letters", "count"):
            assert instance.get_materialized_partitions(dg.AssetKey(asset)) == set(KEYS)


def test_the_two_instance_files_differ_in_storage_alone() -> None:
    small, server = (yaml.safe_load((home / "dagster.yaml").read_text("utf-8")) for home in HOMES.values())
    assert (list(small.pop("storage")), list(server.pop("storage"))) == (["sqlite"], ["postgres"])
    assert server == small


if __name__ == "__main__":
    with dg.DagsterInstance.get() as opened:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        # Every run over all conversations, so that they write about the same partitions at the same time.
        sys.exit(not build(Path(sys.argv[1]), opened, KEYS, force=True).success)
