"""The commands of the service files, started as on a server: a real PostgreSQL behind them, and a run through them."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.pieces import write_pieces
from tests.conftest import REPOSITORY
from tests.postgres import private_postgres

UNITS = REPOSITORY / "deploy" / "systemd"
COMPOSE = REPOSITORY / "deploy" / "containers" / "compose.yaml"

LAUNCH = """
mutation($tags: [ExecutionTag!]!) { launchRun(executionParams: {
  selector: {repositoryName: "__repository__", repositoryLocationName: "assets.definitions", jobName: "__ASSET_JOB",
             assetSelection: [{path: ["source"]}, {path: ["audio"]}]},
  executionMetadata: {tags: $tags}, mode: "default", runConfigData: {}
}) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
HEALTH = "{ instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } } }"


def command(unit: str, entry: str) -> list[str]:
    """A command of a unit, for this checkout."""
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNITS / unit)
    return shlex.split(parser["Service"][entry].replace("/srv/rescue", str(REPOSITORY)))


def environment(text: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: value.replace("/srv/rescue", str(REPOSITORY)) for name, value in pairs}


@pytest.fixture
def server(tmp_path: Path, media: Path) -> Iterator[dict[str, str]]:
    """The environment of the services, with folders of the test and a database of its own."""
    pytest.importorskip("dagster_postgres")
    write_pieces(media, tmp_path / "raw_video", 1)
    (tmp_path / "data").mkdir()
    with private_postgres() as database:
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith(("RESCUE_", "DAGSTER_"))},
            **environment((UNITS / "environment.example").read_text("utf-8")),
            "RESCUE_DATA": str(tmp_path / "data"),
            "RESCUE_RAW": str(tmp_path / "raw_video"),
            "RESCUE_DAGSTER": str(tmp_path / "data" / "dagster"),
            **{f"RESCUE_POSTGRES_{name.upper()}": str(value) for name, value in vars(database).items()},
        }


@pytest.mark.slow
@pytest.mark.media
@pytest.mark.timeout(900)
def test_a_run_goes_through_the_services(server: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port = opened.getsockname()[1]
    web = [str(port) if part == "3000" else part for part in command("rescue-webserver.service", "ExecStart")]
    assert web[web.index("-h") + 1] == "127.0.0.1"
    log = (tmp_path / "log").open("w")
    where: dict[str, Any] = {"cwd": REPOSITORY, "env": server, "stdout": log, "stderr": log}
    subprocess.run(command("rescue-daemon.service", "ExecStartPre"), check=True, **where)
    services = [
        subprocess.Popen(line, start_new_session=True, **where)
        for line in (command("rescue-daemon.service", "ExecStart"), web)
    ]

    def ask(query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    try:
        daemons = until(lambda: [one for one in healthy(ask) if one["required"]], services, tmp_path / "log")
        assert "QUEUED_RUN_COORDINATOR" in {one["daemonType"] for one in daemons}
        launched = ask(LAUNCH, tags=[{"key": "dagster/partition", "value": "piece000"}])["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        run = launched["run"]["runId"]

        def ended() -> str | None:
            status: str = ask(STATUS, id=run)["runOrError"]["status"]
            return status if status in ("SUCCESS", "FAILURE", "CANCELED") else None

        assert until(ended, services, tmp_path / "log") == "SUCCESS"
        assert (tmp_path / "data" / "conversations" / "piece000" / "audio.flac").is_file()
        assert not list((tmp_path / "data" / "dagster").rglob("*.db")), "no SQLite beside it"
        assert server["RESCUE_POSTGRES_PASSWORD"] not in (tmp_path / "log").read_text("utf-8")
    finally:
        for service in services:
            service.send_signal(signal.SIGTERM)
        for service in services:
            try:
                service.wait(60)
            finally:
                if service.poll() is None:
                    os.killpg(service.pid, signal.SIGKILL)
        log.close()


def healthy(ask: Callable[..., Any]) -> list[dict[str, Any]]:
    """The daemons, once all that are needed are well."""
    found: list[dict[str, Any]] = ask(HEALTH)["instance"]["daemonHealth"]["allDaemonStatuses"]
    return found if all(one["healthy"] for one in found if one["required"]) else []


def until(what: Callable[[], Any], services: list[subprocess.Popen[bytes]], log: Path) -> Any:
    """The first answer that is something, while the services live."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        assert all(service.poll() is None for service in services), log.read_text("utf-8")
        try:
            found = what()
        except OSError:  # not open yet
            found = None
        if found:
            return found
        time.sleep(0.5)
    pytest.fail(log.read_text("utf-8"))


def test_every_setting_of_the_database_is_in_the_example_and_the_containers() -> None:
    storage = yaml.safe_load((REPOSITORY / "deploy" / "postgres" / "dagster.yaml").read_text("utf-8"))["storage"]
    wanted = {value["env"] for value in storage["postgres"]["postgres_db"].values() if isinstance(value, dict)}
    assert wanted <= set(environment((UNITS / "environment.example").read_text("utf-8")))
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    assert wanted <= set(services["daemon"]["environment"])
    assert "ports" not in services["database"]
    assert [port for service in services.values() for port in service.get("ports", [])] == ["127.0.0.1:3000:3000"]


def test_the_image_holds_no_recordings() -> None:
    kept = (REPOSITORY / "deploy" / "containers" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert kept[0] == "*"
    copied = [
        part
        for line in (REPOSITORY / "deploy" / "containers" / "Dockerfile").read_text("utf-8").splitlines()
        if line.startswith("COPY ")
        for part in line.split()[1:-1]
    ]
    assert {f"!{part}" for part in copied} <= set(kept)
    assert not [part for part in copied if part.startswith(("data", "raw_video", "."))]
    assert all((REPOSITORY / part).exists() for part in copied)
