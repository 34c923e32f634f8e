"""``rescue ui``: starts the Dagster UI. It only starts the process; the assets are Dagster's business."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.cli.console import out
from pipeline.errors import PrerequisiteError, UsageError
from pipeline.settings import load_settings

__all__ = ["ui"]

_HOST = "127.0.0.1"
_FIRST_PORT = 3000


def ui(
    *,
    port: Annotated[int | None, typer.Option(help="Default: the first free one from 3000.")] = None,
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
    settings = load_settings()
    storage = settings.data.absolute() / "dagster"
    storage.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "RESCUE_DAGSTER": str(storage),
        "RESCUE_DATA": str(settings.data.absolute()),
        "RESCUE_RAW": str(settings.raw.absolute()),
    }
    # So that the conversations are there when the page opens.
    subprocess.run([sys.executable, "-m", "assets.register"], env=environment, check=True)
    chosen = port or _free_port()
    out.print(Text(f"the workbench is at http://{_HOST}:{chosen}/asset-groups  (stop it with Ctrl-C)"))
    command = [sys.executable, "-m", "dagster", "dev", "-m", "assets.definitions"]
    command += ["-h", _HOST, "-p", str(chosen), "--log-level", "warning"]
    raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)


def _free_port() -> int:
    for port in range(_FIRST_PORT, _FIRST_PORT + 100):
        with socket.socket() as tried:
            if tried.connect_ex((_HOST, port)) != 0:
                return port
    msg = f"no port from {_FIRST_PORT} to {_FIRST_PORT + 99} is free"
    raise PrerequisiteError(msg, hint="name one with --port")
