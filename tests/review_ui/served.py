"""A project with a real review server in a process of its own, as people run it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.build import build_conversation, find_workspaces, select, stations
from pipeline.conversation import Conversation, save_conversation
from pipeline.review.accounts import Role, add_user
from pipeline.review.assignments import Source, Task
from pipeline.review.database import open_database
from pipeline.review.office import give
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.station import State, Workspace

__all__ = ["PASSWORD", "Served", "make_conversation"]

PASSWORD = "a long password for tests"
_SOUND_ONLY = ("source", "audio")


class Served:
    """A project folder and its server."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = Settings(raw=root / "raw", data=root / "data")
        self.settings.raw.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"

    # --- content

    def build(self, conversation: str, only: tuple[str, ...] = _SOUND_ONLY) -> None:
        """Run stations of a conversation for real."""
        for outcome in build_conversation(self.workspace(conversation), stations(Models(self.settings)), only=only):
            assert outcome.state is State.DONE, outcome

    def workspace(self, conversation: str) -> Workspace:
        """The workspace of a conversation."""
        (found,) = select(find_workspaces(self.settings).workspaces, [conversation])
        return found

    def people(self, **roles: str) -> None:
        """Make accounts that need not change their password."""
        database = open_database(self.settings)
        with database.writing() as connection:
            for name, role in roles.items():
                add_user(connection, name, Role(role), PASSWORD)
        database.close()

    def give(self, conversation: str, name: str, task: str = "independent", source: str = "auto") -> str:
        """Assign a conversation; returns the assignment's id."""
        from pipeline.review.accounts import user_named

        database = open_database(self.settings)
        with database.reading() as connection:
            user = user_named(connection, name)
        made = give(database, self.workspace(conversation), user.id, Task(task), Source(source), "a test")
        database.close()
        return made.id

    # --- the process

    def start(self) -> None:
        """Start the server and wait until it answers."""
        environment = {
            **os.environ,
            "RESCUE_RAW": str(self.settings.raw),
            "RESCUE_DATA": str(self.settings.data),
        }
        command = [sys.executable, "-m", "pipeline", "review", "--port", str(self.port)]
        log = (self.root / "server.log").open("ab")
        self.process = subprocess.Popen(command, cwd=self.root, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{self.address}/api/session", timeout=2):
                return
            time.sleep(0.1)
        raise AssertionError((self.root / "server.log").read_text())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def make_conversation(raw: Path, name: str, media: Path, annotation: dict[str, Any], **more: Any) -> Path:
    """Write a couple's conversation with a recording and an annotation; returns its folder."""
    import json
    import shutil

    folder = raw / name
    folder.mkdir(parents=True)
    shutil.copy(media, folder / media.name)
    (folder / "annotations.json").write_text(json.dumps(annotation))
    known = {"id": name, "scenario": "couple", "participants": ("Anna", "Ben"), **more}
    conversation = Conversation(**known, media=media.name, annotations="annotations.json")
    save_conversation(folder, conversation)
    return folder
