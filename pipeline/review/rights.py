"""Whose eyes the files of the review page are for: their owner's alone, whatever the umask of who runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import PrerequisiteError

__all__ = ["make_private", "open_private", "private_tree"]

_OTHERS = 0o077


def make_private(path: Path) -> None:
    """Take every right on a file or folder from others than its owner."""
    path.chmod(0o700 if path.is_dir() else 0o600)


def open_private(path: Path) -> None:
    """Make an empty file that only its owner can read, if there is none: there is no moment when others can."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def private_tree(folder: Path) -> list[str]:
    """Make a folder with all that lies in it private; the folder is made.

    Returns:
        Names of what others could read or change until now, relative to the folder.

    Raises:
        PrerequisiteError: If something in it belongs to another account.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = []
    for path in [folder, *_below(folder)]:
        try:
            if path.stat().st_mode & _OTHERS:
                make_private(path)
                found.append(path.relative_to(folder).as_posix())
        except FileNotFoundError:  # a file of the store that another process has just ended with
            continue
        except PermissionError:
            name = path.relative_to(folder).as_posix()
            msg = f"{name} in the folder of the review page can be read by others, and belongs to another account"
            hint = "run it as the owner of the files, or give them to this account (chown)"
            raise PrerequisiteError(msg, file=path, hint=hint) from None
    return found


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_symlink())
