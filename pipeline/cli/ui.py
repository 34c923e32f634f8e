"""``rescue ui``: starts the Dagster UI. It only starts and ends the process; the assets are Dagster's business."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout
from rich.text import Text

from pipeline.cli.console import err, out
from pipeline.errors import PrerequisiteError, RescueError, UsageError
from pipeline.settings import load_settings

__all__ = ["ui"]

_HOST = "127.0.0.1"
_FIRST_PORT = 3000
_START_SECONDS = 300
_STOP_SECONDS = 60


def ui(
    *,
    port: Annotated[int | None, typer.Option(help="Default: the first free one from 3000.")] = None,
    profile: Annotated[str | None, typer.Option(help="offline or gpu.")] = None,
) -> None:
    """Open the workbench: every step of every conversation, in the browser. Only this machine can reach it.

    Example: rescue ui
    """
    if find_spec("dagster") is None or find_spec("dagster_webserver") is None:
        msg = "the Dagster UI is not installed"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[ui]', or make setup")
    home = Path.cwd()
    if not (home / "dagster.yaml").is_file():
        msg = "there is no dagster.yaml here"
        raise UsageError(msg, hint="run the command in the project folder")
    settings = load_settings(profile=profile)
    storage = settings.data.absolute() / "dagster"
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "RESCUE_DAGSTER": str(storage),
        "RESCUE_DATA": str(settings.data.absolute()),
        "RESCUE_RAW": str(settings.raw.absolute()),
        "RESCUE_PROFILE": settings.profile,
        # Advice for whoever starts Dagster by hand.
        "PYTHONWARNINGS": ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), "ignore:Function `dev_command`"])),
    }
    with _alone(storage):
        err.print(Text("starting the workbench, this takes some seconds ..."))
        if subprocess.run([sys.executable, "-m", "assets.prepare"], env=environment, check=False).returncode:
            msg = "Dagster's records could not be opened"
            raise PrerequisiteError(msg, file=storage, hint="the lines above say why; the folder holds no results")
        raise typer.Exit(_serve(port or _free_port(), environment))


@contextmanager
def _alone(storage: Path) -> Iterator[None]:
    """Hold Dagster's records: two UIs on one folder would take each other's runs for lost."""
    storage.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(storage / ".lock", timeout=0):
            yield
    except Timeout as error:
        msg = "the workbench is open already"
        raise UsageError(msg, hint="look for it in your browser, or end it with Ctrl-C where it was started") from error


def _serve(port: int, environment: dict[str, str]) -> int:
    """Run Dagster until it ends or the user ends it; exit code 0 if the user did."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", "assets.definitions"]
    command += ["-h", _HOST, "-p", str(port), "--log-level", "warning"]
    # Before the start: the background job of a script ignores Ctrl-C, and what it starts would inherit that.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    # A group of its own, so that Ctrl-C reaches it once, from here, and nothing of it stays behind.
    server = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        _wait_until_open(server, port)
        out.print(Text(f"the workbench is at http://{_HOST}:{port}/asset-groups  (stop it with Ctrl-C)"))
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _end(server)


def _wait_until_open(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(_HOST, port, timeout=2)
            connection.request("GET", "/server_info")
            if connection.getresponse().status == http.client.OK:
                return
        time.sleep(0.2)
    msg = "the workbench did not start"
    raise RescueError(msg, hint="the lines above say why")


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ask it to end, wait, and end what is left of its group."""
    with suppress(ProcessLookupError):
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(_STOP_SECONDS)
        os.killpg(server.pid, signal.SIGKILL)


def _free_port() -> int:
    for port in range(_FIRST_PORT, _FIRST_PORT + 100):
        with socket.socket() as tried:
            if tried.connect_ex((_HOST, port)) != 0:
                return port
    msg = f"no port from {_FIRST_PORT} to {_FIRST_PORT + 99} is free"
    raise PrerequisiteError(msg, hint="name one with --port")
