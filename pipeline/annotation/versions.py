"""Several people's annotations of one conversation, side by side.

Each lies in the folder ``annotations`` of the conversation, one file an author in any format that annotations may have,
and is never changed by the tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.annotation.formats.mapping import is_mapping
from pipeline.annotation.formats.transfer import take
from pipeline.annotation.io import Loaded
from pipeline.annotation.model import Annotation, Origin, Row
from pipeline.conversation import Conversation

__all__ = ["FOLDER", "Unit", "Version", "read_version", "read_versions", "unite", "version_files"]

FOLDER = "annotations"

_SHARED = 0.5
"""Two rows are of one stretch if they share more than this much of the time that they cover together."""


@dataclass(frozen=True)
class Version:
    """One person's annotation."""

    origin: Origin
    path: Path
    loaded: Loaded

    @property
    def annotation(self) -> Annotation:
        """The rows."""
        return self.loaded.annotation


Unit = dict[str, Row]
"""Author to the row that this author has for one stretch of the conversation."""


def version_files(raw: Path) -> list[Path]:
    """The files of all authors, by name. Hidden files and mapping files are none."""
    files = (path for path in (raw / FOLDER).glob("[!.]*") if path.is_file())
    return sorted(path for path in files if not is_mapping(path))


def read_versions(raw: Path, conversation: Conversation) -> list[Version]:
    """Read them, in the order of the file names.

    Raises:
        InputError: As `read_version`.
    """
    return [read_version(path, conversation) for path in version_files(raw)]


def read_version(path: Path, conversation: Conversation) -> Version:
    """Read the file of one author: who the file says, else the file's name.

    Raises:
        InputError: If it cannot be read as an annotation of this conversation.
    """
    loaded = take(path, conversation).loaded
    return Version(loaded.annotation.origin or Origin(author=path.stem), path, loaded)


def unite(annotations: Sequence[tuple[str, Annotation]]) -> list[Unit]:
    """Bring together the rows that annotate the same stretch, in order of time.

    A row joins the stretch it shares most of its time with, if that is more than half of what the two cover together
    and its author is not there yet; else it opens a stretch of its own.

    Args:
        annotations: Author and annotation; the first one's segmentation is what the others are laid on.
    """
    units: list[Unit] = []
    for author, annotation in annotations:
        free = [unit for unit in units if author not in unit]
        pairs = sorted(
            (
                (-share, position, row.row_index)
                for row in annotation.rows
                for position, unit in enumerate(free)
                if (share := _shared(row, next(iter(unit.values())))) > _SHARED
            ),
        )
        placed: set[int] = set()
        taken: set[int] = set()
        by_index = {row.row_index: row for row in annotation.rows}
        for _, position, index in pairs:
            if index not in placed and position not in taken:
                free[position][author] = by_index[index]
                placed.add(index)
                taken.add(position)
        units += [{author: row} for row in annotation.rows if row.row_index not in placed]
    return sorted(units, key=lambda unit: min((row.start_time, row.row_index) for row in unit.values()))


def _shared(one: Row, other: Row) -> float:
    together = min(one.end_time, other.end_time) - max(one.start_time, other.start_time)
    covered = max(one.end_time, other.end_time) - min(one.start_time, other.start_time)
    return together / covered if covered > 0 else 0.0
