"""How far the review of every conversation is, for whoever watches the whole: the command line, the workbench."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pipeline.review.adjudicating import layer_entries
from pipeline.review.assignments import Task, of_conversation
from pipeline.review.database import open_database
from pipeline.review.entries import VERIFIED, live
from pipeline.settings import Settings
from pipeline.store import Json

__all__ = ["Progress", "review_progress"]


@dataclass(frozen=True)
class Progress:
    """One person's work on one conversation."""

    conversation_id: str
    author: str
    task: str
    """``independent`` or ``adjudicate``."""
    done: bool
    rows: int
    unverified: tuple[int, ...]
    """Numbers of the rows that are not verified."""
    discarded: int

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**asdict(self), "unverified": list(self.unverified)}


def review_progress(settings: Settings) -> list[Progress]:
    """Everybody's progress, by conversation; empty where nothing was ever reviewed.

    Raises:
        PrerequisiteError: If the database cannot be reached.
    """
    if settings.review.database is None and not (settings.review_dir / "review.db").is_file():
        return []
    database = open_database(settings)
    try:
        with database.reading() as connection:
            found = []
            for one in of_conversation(connection):
                if one.task is Task.READ:
                    continue
                entries = layer_entries(connection, one)
                rows = live(entries)
                left = tuple(number for number, row in enumerate(rows, start=1) if row.status != VERIFIED)
                found.append(
                    Progress(
                        one.conversation_id, one.user, one.task.value, one.done, len(rows), left,
                        len(entries) - len(rows),
                    )
                )  # fmt: skip
            return found
    finally:
        database.close()
