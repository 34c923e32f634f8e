"""Fixtures of the review page."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `review` is not installed")

from tests.review.made import House, Project, make_recording


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven seconds of video with a tone."""
    path = tmp_path_factory.mktemp("recording") / "recording.mp4"
    make_recording(path)
    return path


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes an empty database on a PostgreSQL server of our own and gives its address."""
    folder = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
    found = shutil.which("initdb") or (folder and str(folder / "initdb"))
    if not found or not Path(found).is_file():
        pytest.skip("no PostgreSQL server is installed")
    bin_folder = Path(found).parent
    home = Path("/tmp") / f"rescue-postgresql-{os.getpid()}"  # short: the path of a socket has a limit
    home.mkdir(mode=0o700)
    as_user: list[str] = []
    if os.getuid() == 0:  # the server refuses to run as root
        if not shutil.which("setpriv") or not _has_user("nobody"):
            shutil.rmtree(home)
            pytest.skip("PostgreSQL does not run as root, and there is no other user to run it")
        as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        shutil.chown(home, "nobody", "nogroup")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = home / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": home, "text": True}
    made = subprocess.run(
        [*as_user, bin_folder / "initdb", "-D", data, "-A", "trust", "-U", "rescue", "-E", "UTF8"], check=False, **quiet
    )  # type: ignore[call-overload]
    if made.returncode:
        shutil.rmtree(home, ignore_errors=True)
        pytest.skip(
            f"PostgreSQL cannot be set up: {made.stderr.splitlines()[-1] if made.stderr else 'no reason given'}"
        )
    server = subprocess.Popen(
        [*as_user, bin_folder / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", str(home),
         "-c", "fsync=off"],  # faster; no test cuts the power
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home,
    )  # fmt: skip
    import psycopg

    address = f"postgresql://rescue@127.0.0.1:{port}"
    for _ in range(100):
        try:
            with psycopg.connect(f"{address}/postgres"):
                break
        except psycopg.OperationalError:
            import time

            time.sleep(0.1)
    numbers = count(1)

    def make() -> str:
        name = f"review{next(numbers)}"
        with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{address}/{name}"

    try:
        yield make
    finally:
        server.send_signal(signal.SIGINT)  # at once, whoever is connected
        server.wait(20)
        shutil.rmtree(home, ignore_errors=True)


def _has_user(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str | None:
    """Where the store is: both kinds, one after the other."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, recording: Path) -> Path:
    """A project with one conversation, to be copied."""
    folder = tmp_path_factory.mktemp("template") / "project"
    Project(folder).fill(recording)
    return folder


@pytest.fixture
def project(tmp_path: Path, template: Path) -> Project:
    """A project with one conversation."""
    return Project(shutil.copytree(template, tmp_path / "project"))


@pytest.fixture
def house(project: Project) -> Iterator[House]:
    """The application on SQLite."""
    made = House(project)
    yield made
    made.database.close()


@pytest.fixture
def either(project: Project, address: str | None) -> Iterator[House]:
    """The application on SQLite, then on PostgreSQL."""
    project.database_address = address
    made = House(project)
    yield made
    made.database.close()
