"""``rescue review`` on the command line, and the store."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from pipeline.errors import UsageError
from pipeline.review.database import open_database
from pipeline.review.tables import metadata
from pipeline.review.trail import entries
from pipeline.settings import load_settings
from tests.review.made import Project


def _rescue(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RESCUE_RAW": str(project.raw), "RESCUE_DATA": str(project.folder / "data")}
    return subprocess.run(
        [sys.executable, "-m", "pipeline", "review", *arguments], env=environment, cwd=project.folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def _json(project: Project, *arguments: str) -> Any:
    done = _rescue(project, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_people_assignments_and_export(project: Project) -> None:
    made = _json(project, "user", "add", "ann", "--role", "annotator")
    assert len(made["password"]) == 19
    assert _json(project, "assign", "pair", "ann")["task"] == "independent"
    again = _rescue(project, "assign", "pair", "ann")
    assert again.returncode == 2
    assert "withdraw that assignment first" in again.stderr
    unknown = _rescue(project, "assign", "pair", "bob")
    assert "there are: ann" in unknown.stderr
    bad = _rescue(project, "user", "add", "../ann")
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr
    told = _json(project, "export", "pair")["pair"]
    assert told["files"] == []  # never opened: there are no rows
    _json(project, "user", "reset", "ann")
    database = project.open()
    with database.reading() as connection:
        found = entries(connection, limit=100, before=None)
    database.close()
    assert [(one["action"], one["detail"]) for one in reversed(found)] == [
        ("add_user", "ann, annotator"),
        ("assign", "independent to ann"),
        ("export", "nothing"),
        ("change_user", "ann: disabled, reset_password"),
    ]
    account = pwd.getpwuid(os.getuid()).pw_name
    assert {one["user"] for one in found} == {f"{account} (command line)"}


@pytest.mark.slow
def test_files_that_others_could_read_are_told_and_closed(project: Project) -> None:
    _json(project, "user", "add", "ann")
    store = project.settings.review_dir / "review.db"
    store.chmod(0o644)
    told = _rescue(project, "user", "list")
    assert "others on this machine could read 1 of the review page's files until now: review.db" in told.stderr
    assert oct(store.stat().st_mode)[-3:] == "600"
    assert _rescue(project, "user", "list").stderr == ""


@pytest.mark.slow
def test_the_first_start_makes_an_administrator_who_comes_in_once(project: Project) -> None:
    environment = {**os.environ, "RESCUE_RAW": str(project.raw), "RESCUE_DATA": str(project.folder / "data")}
    server = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "review"], env=environment, cwd=project.folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        said = "".join(server.stdout.readline() for _ in range(3))
        address = re.search(r"http://127\.0\.0\.1:\d+", said)
        password = re.search(r"password (\S+)", said)
        assert address
        assert password
        body = {"name": "admin", "password": password[1]}
        answer = httpx.post(f"{address[0]}/api/session", json=body, timeout=30)
        assert answer.json()["user"]["must_change_password"] is True
        assert password[1] not in (project.folder / "data" / "review" / "review.db").read_bytes().decode("latin-1")
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    assert server.returncode == 0
    assert errors == ""


def test_the_steps_make_the_tables_that_the_code_uses(project: Project, address: str | None) -> None:
    project.database_address = address
    database = project.open()
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()
    project.open().close()  # a second start finds everything in place


@pytest.mark.parametrize("address", ["mysql://host/name", "nonsense", "sqlite:///elsewhere.db"])
def test_another_database_is_refused_without_telling_its_address(tmp_path: Path, address: str) -> None:
    settings = load_settings(data=tmp_path, review={"database": address})
    with pytest.raises(UsageError) as raised:
        open_database(settings)
    assert address not in str(raised.value)
    assert address not in repr(settings)
