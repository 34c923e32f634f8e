"""What must hold of the tables as they are written, looked at without trusting how they were made."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from pipeline.dataset.splits import group_key
from pipeline.schemas import read_table

__all__ = ["groups_across_splits"]


def groups_across_splits(benchmark: Path) -> dict[str, list[str]]:
    """Couples or families whose conversations lie in more than one split, with those splits.

    Args:
        benchmark: The folder of the tables.

    Raises:
        InputError: If a table cannot be read.
    """
    sides: dict[str, set[str]] = defaultdict(set)
    for file in sorted((benchmark / "conversations").glob("*.parquet")):
        for group in read_table(file)["group_id"].to_pylist():
            sides[group_key(group)].add(file.stem)
    return {group: sorted(splits) for group, splits in sorted(sides.items()) if len(splits) > 1}
