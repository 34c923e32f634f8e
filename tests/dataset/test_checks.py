"""The check of the written tables finds what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.dataset.checks import groups_across_splits
from pipeline.errors import InputError
from pipeline.schemas import CONVERSATIONS, table_of, write_table


def write(folder: Path, split: str, *groups: str) -> None:
    rows = [
        {"conversation_id": f"{group}/{split}", "group_id": group, "participants": [], "row_count": 0}
        for group in groups
    ]
    write_table(folder / "conversations" / f"{split}.parquet", table_of(rows, CONVERSATIONS), CONVERSATIONS)


def test_a_group_on_one_side_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "train", "smith", "jones")
    write(tmp_path, "test", "garcia")
    assert groups_across_splits(tmp_path) == {}


def test_a_group_on_two_sides_is_found_under_any_spelling(tmp_path: Path) -> None:
    write(tmp_path, "train", "Smith-Jones", "garcia")
    write(tmp_path, "test", "smith jones")
    assert groups_across_splits(tmp_path) == {"smithjones": ["test", "train"]}


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    write(tmp_path, "test", "smith")
    (tmp_path / "conversations" / "test.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"test\.parquet"):
        groups_across_splits(tmp_path)
