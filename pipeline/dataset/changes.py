"""What changed between two versions of the data, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.schemas import read_rows
from pipeline.store import digest_json

__all__ = ["Changes", "compare", "describe"]

RowKey = tuple[str, int]


@dataclass(frozen=True)
class Changes:
    """Rows by conversation and row index."""

    added_conversations: tuple[str, ...] = ()
    removed_conversations: tuple[str, ...] = ()
    added: tuple[RowKey, ...] = ()
    """Rows that are new in a conversation that was there before."""
    removed: tuple[RowKey, ...] = ()
    changed: tuple[tuple[RowKey, tuple[str, ...]], ...] = ()
    """With the columns whose value changed."""

    def __bool__(self) -> bool:
        return any(vars(self).values())


def compare(before: Path, after: Path) -> Changes:
    """Compare the ``rows`` and ``conversations`` tables of two publications; a missing one counts as empty."""
    old_names, new_names = _conversations(before), _conversations(after)
    old, new = _rows(before), _rows(after)
    kept = old_names & new_names
    return Changes(
        added_conversations=tuple(sorted(new_names - old_names)),
        removed_conversations=tuple(sorted(old_names - new_names)),
        added=tuple(sorted(key for key in new.keys() - old.keys() if key[0] in kept)),
        removed=tuple(sorted(key for key in old.keys() - new.keys() if key[0] in kept)),
        changed=tuple(
            (key, columns) for key in sorted(old.keys() & new.keys()) if (columns := _differing(old[key], new[key]))
        ),
    )


def describe(changes: Changes, version: str) -> str:
    """The section of ``CHANGES.md`` for a version."""
    lines = ["# Changes of the data", "", f"## Version {version}", ""]
    for title, names in (("Added", changes.added_conversations), ("Removed", changes.removed_conversations)):
        lines += [f"- {title} conversation `{name}`" for name in names]
    lines += [f"- Added row {row} of `{name}`" for name, row in changes.added]
    lines += [f"- Removed row {row} of `{name}`" for name, row in changes.removed]
    lines += [f"- Changed row {row} of `{name}`: {', '.join(columns)}" for (name, row), columns in changes.changed]
    if not changes:
        lines.append("- No row changed.")
    return "\n".join(lines) + "\n"


def _conversations(folder: Path) -> set[str]:
    files = sorted((folder / "conversations").glob("*.parquet"))
    return {row["conversation_id"] for file in files for row in read_rows(file)}


def _rows(folder: Path) -> dict[RowKey, Mapping[str, Any]]:
    return {
        (row["conversation_id"], row["row_index"]): row
        for file in sorted((folder / "rows").glob("*.parquet"))
        for row in read_rows(file)
    }


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    columns = sorted(old.keys() | new.keys())
    return tuple(name for name in columns if digest_json(old.get(name)) != digest_json(new.get(name)))
