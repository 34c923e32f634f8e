"""Links that lead out of a conversation's folder: those that ``rescue add --link`` made, and all others.

A folder can come from somebody else, and a file in it can be replaced by a link to any file of this machine. So what
was linked on purpose is written down outside of that folder, in ``data/links.json``, and who shows files to others
asks here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from filelock import FileLock

from pipeline.errors import InputError
from pipeline.settings import Settings
from pipeline.station import Workspace
from pipeline.store import read_json, write_json

__all__ = ["check_link", "leads_out", "remember_links"]

_FILE = "links.json"


def remember_links(settings: Settings, folder: Path, names: Iterable[str]) -> None:
    """Write down that files of a conversation are links, and where they lead now.

    Args:
        settings: Say where the data and the conversations lie.
        folder: The conversation's folder.
        names: Files in it.

    Raises:
        InputError: If what was written down before cannot be read.
    """
    data = settings.data
    data.mkdir(parents=True, exist_ok=True)
    with FileLock(data / f".{_FILE}.lock"):
        known = _links(data)
        targets = {name: str((folder / name).resolve()) for name in names}
        write_json(data / _FILE, {**known, _place(settings, folder): targets})


def leads_out(workspace: Workspace, path: Path) -> bool:
    """Whether a file of a conversation lies outside of its folder without having been linked on purpose."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return True
    if real.is_relative_to(workspace.raw.resolve()):
        return False
    if any(real.is_relative_to(folder.resolve()) for folder in workspace.settings.review.linked_folders):
        return False
    linked = _links(workspace.settings.data).get(_place(workspace.settings, workspace.raw), {})
    return linked.get(path.name) != str(real)


def check_link(workspace: Workspace, *paths: Path) -> None:
    """Refuse a file that `leads_out`.

    Raises:
        InputError: If one does.
    """
    for path in (one for one in paths if leads_out(workspace, one)):
        msg = "it is a link out of the conversation's folder, and is not shown to anybody"
        hint = "copy the file there, add it anew with `rescue add --link`, or name its folder in review.linked_folders"
        raise InputError(msg, conversation=workspace.conversation.id, file=path, hint=hint)


def _links(data: Path) -> Mapping[str, Mapping[str, str]]:
    path = data / _FILE
    if not path.is_file():
        return {}
    try:
        found = read_json(path)
        return {place: {str(name): str(real) for name, real in links.items()} for place, links in found.items()}
    except (AttributeError, ValueError) as error:
        msg = f"what was linked cannot be read: {error}"
        raise InputError(msg, file=path, hint="delete it, and add linked conversations anew") from error


def _place(settings: Settings, folder: Path) -> str:
    return Path(os.path.relpath(folder, settings.raw)).as_posix()
