"""A private PostgreSQL server in a folder of its own, on loopback, with a password made for it."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Server", "private_postgres"]

_NAME = "rescue"


@dataclass(frozen=True)
class Server:
    """Where it is and who may enter."""

    port: int
    password: str
    host: str = "127.0.0.1"
    database: str = _NAME
    user: str = _NAME


def _programs() -> Path | None:
    """The folder of `initdb`: Debian keeps it off the PATH, one folder a version."""
    on_path = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return Path(on_path).resolve().parent if on_path else installed[-1].parent if installed else None


def _user() -> dict[str, Any]:
    """Options of a subprocess that is not root: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")


@contextmanager
def private_postgres() -> Iterator[Server]:
    """A server with one empty database; it ends with the block. Skips the test where there is no PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user = _user()
    # Not the test's own folder: another user must reach it, and the path of a socket is at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = Server(_free_port(), secrets.token_urlsafe(12))
    (folder / "password").write_text(server.password)
    for path in (folder, folder / "password"):
        if user:
            os.chown(path, user["user"], user["group"])

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [programs / program, *arguments],
            cwd=folder, env={**os.environ, "PGPASSWORD": server.password}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **user,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stdout}"

    data = str(folder / "data")
    try:
        call("initdb", "-D", data, "-U", server.user, "-A", "scram-sha-256", "--pwfile=password", "-E", "UTF8", "-N")
        options = f"-p {server.port} -c listen_addresses={server.host} -c unix_socket_directories={folder} -c fsync=off"
        call("pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            call("createdb", "-h", server.host, "-p", str(server.port), "-U", server.user, server.database)
            yield server
        finally:
            call("pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port
