"""Errors that a user can act on.

Every expected error names the conversation, the file and the place it concerns, and a way out. The command line prints
it without a traceback; a station turns it into a failed outcome.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["InputError", "PrerequisiteError", "RescueError", "SkipStation", "UsageError"]


class RescueError(Exception):
    """An expected error.

    Args:
        message: What is wrong, in one sentence.
        conversation: The conversation it concerns.
        file: The file it concerns. Only its name is printed: messages end up in published reports.
        place: The place in the file, for example ``row 12, field target`` or ``cue 3``.
        hint: What to do about it.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        conversation: str | None = None,
        file: str | Path | None = None,
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.conversation = conversation
        self.file = Path(file).name if file is not None else None
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.conversation, self.file, self.place) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class InputError(RescueError):
    """A file of the user cannot be used as it is."""


class PrerequisiteError(RescueError):
    """Something that must be installed or configured is missing; the hint holds the command that cures it."""


class UsageError(RescueError):
    """The call itself is wrong."""

    exit_code = 2


class SkipStation(RescueError):  # noqa: N818 - not an error: the way a station says that it has nothing to do
    """Raised by a station that has nothing to do for this conversation; the message is the reason."""
