"""The conversations that can be reviewed, found once and looked at again when their file changes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from pipeline.build import find_workspaces, select
from pipeline.conversation import CONVERSATION_FILE, load_conversation
from pipeline.errors import RescueError, UsageError
from pipeline.settings import Settings
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, read_json

__all__ = ["Library", "source_facts"]


class Library:
    """Conversation id to its workspace. Reading every folder takes long where there are hundreds."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[int, Workspace]] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Workspace]:
        """Every conversation, by id; the folders are read anew."""
        found = find_workspaces(self._settings).workspaces
        with self._lock:
            self._known = {one.conversation.id: (_stamp(one.raw), one) for one in found}
        return list(found)

    def find(self, conversation_id: str) -> Workspace | None:
        """The workspace of an id; None if its folder is gone or cannot be read."""
        with self._lock:
            known = self._known.get(conversation_id)
        if known is None:
            return {one.conversation.id: one for one in self.all()}.get(conversation_id)
        stamp, workspace = known
        if _stamp(workspace.raw) == stamp:
            return workspace
        try:
            conversation = load_conversation(workspace.raw)
        except RescueError:
            return None
        if conversation.id != conversation_id:
            return {one.conversation.id: one for one in self.all()}.get(conversation_id)
        renewed = Workspace.of(conversation, workspace.raw, self._settings)
        with self._lock:
            self._known[conversation_id] = (_stamp(workspace.raw), renewed)
        return renewed

    def named(self, name: str) -> Workspace | None:
        """The workspace of an id or key; None if there is none."""
        try:
            (workspace,) = select(self.all(), [name])
        except UsageError:
            return None
        return workspace


def _stamp(raw: Path) -> int:
    try:
        return (raw / CONVERSATION_FILE).stat().st_mtime_ns
    except OSError:
        return 0


def source_facts(workspace: Workspace) -> Mapping[str, Json] | None:
    """What the station of sources found; None where the recording was not looked at, or there is none."""
    if Record.read(workspace.record("source")).state is not State.DONE:
        return None
    found: Mapping[str, Json] = read_json(workspace.artifact("source.json"))
    return found
