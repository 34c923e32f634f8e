"""Tables: one explicit schema, no guessing, same rows same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.schemas import CONVERSATIONS, ROWS, TASKS, TURNS, WORDS, read_rows, read_table, table_of, write_table

TURN: dict[str, Any] = {
    "conversation_id": "a",
    "turn_index": 1,
    "speaker": "SPEAKER_00",
    "start": 0.0,
    "end": 1.0,
    "text": "one\u2028two\u0085three",
    "word_count": 0,
    "overlap": 0.0,
    "words": [],
    "flags": [],
}


@pytest.mark.parametrize("schema", [WORDS, TURNS, ROWS, CONVERSATIONS, *TASKS.values()])
def test_an_empty_table_keeps_every_type(tmp_path: Path, schema: Any) -> None:
    write_table(tmp_path / "t.parquet", table_of([], schema), schema)
    assert read_table(tmp_path / "t.parquet").schema.equals(schema, check_metadata=True)


def test_the_same_rows_give_the_same_bytes_and_come_back(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / f"{name}.parquet", table_of([TURN], TURNS), TURNS)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert read_rows(tmp_path / "a.parquet") == [{**TURN, "confidence": None}]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"flags": "late"}, "column flags: text where a list belongs"),
        ({"speaker": None}, "column speaker: a value is missing"),
        ({"start": "soon"}, "column start"),
        ({"turn_index": 2**40}, "column turn_index"),
        ({"spaeker": "A"}, "unknown column 'spaeker'"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        table_of([TURN, {**TURN, **change}], TURNS)
    assert says in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 torn"])
def test_a_torn_file_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_table(tmp_path / "t.parquet")
    assert "rescue build" in str(refused.value.hint)
