"""Links that lead out of a conversation's folder: those that ``rescue add --link`` made, and all others.

A folder can come from somebody else, and a file in it can be replaced by a link to any file of this machine. So what
was linked on purpose is written down outside of that folder, in ``data/links.json``, and who shows files to others
asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from filelock import FileLock

from pipeline.errors import InputError
from pipeline.station import Workspace
from pipeline.store import read_json, write_json

__all__ = ["check_link", "leads_out", "remember_links"]

_FILE = "links.json"


def remember_links(data: Path, folder: Path, names: Iterable[str]) -> None:
    """Write down that files of a conversation are links, and where they lead now.

    Args:
        data: The data folder.
        folder: The conversation's folder.
        names: Files in it.
    """
    data.mkdir(parents=True, exist_ok=True)
    with FileLock(data / f".{_FILE}.lock"):
        known = _links(data)
        targets = {name: str((folder / name).resolve()) for name in names}
        write_json(data / _FILE, {**known, folder.name: targets})


def leads_out(workspace: Workspace, path: Path) -> bool:
    """Whether a file of a conversation lies outside of its folder without having been linked on purpose."""
    real = path.resolve()
    if real.is_relative_to(workspace.raw.resolve()):
        return False
    if any(real.is_relative_to(folder.resolve()) for folder in workspace.settings.review.linked_folders):
        return False
    return _links(workspace.settings.data).get(workspace.raw.name, {}).get(path.name) != str(real)


def check_link(workspace: Workspace, path: Path) -> None:
    """Refuse a file that `leads_out`.

    Raises:
        InputError: If it does.
    """
    if leads_out(workspace, path):
        msg = "it is a link out of the conversation's folder, and is not shown to anybody"
        hint = "copy the file there, add it anew with `rescue add --link`, or name its folder in review.linked_folders"
        raise InputError(msg, conversation=workspace.conversation.id, file=path, hint=hint)


def _links(data: Path) -> Mapping[str, Mapping[str, str]]:
    path = data / _FILE
    if not path.is_file():
        return {}
    found: Mapping[str, Mapping[str, str]] = read_json(path)
    return found
