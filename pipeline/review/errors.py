"""What the server answers when it does not do what was asked. `docs/reference/review-api.md` lists the codes."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.store import Json

__all__ = ["Conflict", "Invalid", "NotFound", "Refused"]


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """An answer that is no success.

    Args:
        status: The HTTP status.
        code: For programs.
        message: A sentence for people.
        hint: The way out.
        more: Further members of the answer.
    """

    def __init__(self, status: int, code: str, message: str, *, hint: str | None = None, **more: Json) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.more = more

    def to_json(self) -> dict[str, Json]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint, **self.more}}


class NotFound(Refused):
    """There is no such thing, or it is not theirs: nobody can tell which."""

    def __init__(self) -> None:
        super().__init__(404, "not_found", "there is nothing here for you", hint="go back to your conversations")


class Invalid(Refused):
    """A value has the wrong shape."""

    def __init__(self, place: str, message: str, *, others: Sequence[tuple[str, str]] = ()) -> None:
        places = [{"place": where, "message": what} for where, what in [(place, message), *others]]
        super().__init__(422, "invalid", f"{place}: {message}", hint="correct it and save again", places=places)


class Conflict(Refused):
    """Another save changed the same fields meanwhile."""

    def __init__(self, conflicts: Sequence[Json]) -> None:
        super().__init__(
            409,
            "conflict",
            "the row was changed meanwhile",
            hint="look at both and save again what you want to keep",
            conflicts=list(conflicts),
        )
