"""The data card: ``README.md`` with the front matter that ``datasets`` and the Hugging Face hub read.

Features come from the Arrow schemas, never by hand, so that the card cannot disagree with the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import yaml

from pipeline.dataset.policy import Policy
from pipeline.store import Json

__all__ = ["TABLE_TITLES", "TableFiles", "data_card", "features"]

TABLE_TITLES: Mapping[str, str] = {
    "conversations": "one row a conversation",
    "turns": "diarized, time-stamped turns from the recording",
    "rows": "annotation rows, with what the join adds",
    "itp": "intervention timing: should the therapist speak now?",
    "rpp": "relation pattern: which pattern of relating is at work?",
    "stp": "support target: whom should the therapist support?",
    "ssp": "support strategy: which supportive move fits?",
    "er": "emotion: what does the client feel, and how strongly?",
    "vp": "viewpoint: what does the client think of the other one?",
}

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True)
class TableFiles:
    """A published table: its schema and its files."""

    name: str
    schema: pa.Schema
    rows: Mapping[str, int]
    """Split to number of rows; the file is ``<name>/<split>.parquet``."""


def features(schema: pa.Schema) -> list[Json]:
    """The ``features`` of ``dataset_info`` for an Arrow schema, as ``datasets`` writes them."""
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: pa.DataType) -> dict[str, Json]:
    if pa.types.is_list(kind):
        item = _feature(kind.value_type)
        return {"list": item["dtype"] if set(item) == {"dtype"} else item.get("struct", item)}
    if pa.types.is_struct(kind):
        return {"struct": [{"name": field.name, **_feature(field.type)} for field in kind]}
    names = {pa.float64(): "float64", pa.float32(): "float32"}
    return {"dtype": names.get(kind, str(kind))}


def data_card(
    tables: Sequence[TableFiles],
    *,
    name: str,
    version: str,
    policy: Policy,
    pseudonymised: bool,
    licence: str,
    statistics: Mapping[str, Json],
) -> str:
    """The whole text of ``README.md``.

    Args:
        tables: What is published, in order.
        name: Title of the data set.
        version: Version of the data.
        policy: How much of the text is in it.
        pseudonymised: Whether names and ids were replaced.
        licence: Short name of the terms; ``LICENSE.md`` beside the card holds them.
        statistics: ``statistics.json`` of the build; its ``sizes`` are shown.
    """
    front = {
        "pretty_name": name,
        "license": "other",
        "license_name": licence,
        "license_link": "LICENSE.md",
        "language": ["en"],
        "annotations_creators": ["expert-generated"],
        "source_datasets": ["original"],
        "task_categories": ["text-classification", "text-generation"],
        "tags": ["conversation", "couple therapy", "family therapy", "multimodal", "diarization"],
        "size_categories": [_size_category(sum(sum(table.rows.values()) for table in tables))],
        "configs": [
            {
                "config_name": table.name,
                "data_files": [{"split": split, "path": f"{table.name}/{split}.parquet"} for split in table.rows],
                **({"default": True} if table.name == "rows" else {}),
            }
            for table in tables
        ],
        "dataset_info": [
            {
                "config_name": table.name,
                "features": features(table.schema),
                "splits": [{"name": split, "num_examples": count} for split, count in table.rows.items()],
            }
            for table in tables
        ],
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{head}---\n\n{_prose(tables, name, version, policy, statistics, pseudonymised=pseudonymised)}"


def _size_category(rows: int) -> str:
    return next((label for limit, label in _SIZES if rows < limit), "n>1M")


def _prose(
    tables: Sequence[TableFiles],
    name: str,
    version: str,
    policy: Policy,
    statistics: Mapping[str, Json],
    *,
    pseudonymised: bool,
) -> str:
    listing = "\n".join(
        f"| `{table.name}` | {TABLE_TITLES[table.name]} | "
        + ", ".join(f"{split} {count:,}" for split, count in table.rows.items())
        + " |"
        for table in tables
    )
    sizes = "\n".join(
        f"| {scenario} | {part['conversations']:,} | {part['rows']:,} | {part['minutes']:,.1f} |"
        for scenario, part in statistics.get("sizes", {}).items()
    )
    people = (
        "Names and ids are pseudonyms, the same in all conversations of a couple or family."
        if pseudonymised
        else "Names and ids are those of the annotation."
    )
    return f"""# {name}

Version {version} of the data. Conversations of couples and families with a therapist, annotated row by row: who speaks
to whom, what is felt and thought, which relation pattern is at work, and how the therapist supports. Six tasks ask a
language model to follow the relations and to decide as a therapist would.

## What is in it

| configuration | what | rows |
|---|---|---|
{listing}

| scenario | conversations | rows | minutes |
|---|---|---|---|
{sizes}

```python
from datasets import load_dataset

stp = load_dataset("path/to/this/folder", "stp")
```

Times are seconds from the start of a conversation's clip. A task instance points to its conversation and rows: join
`rows` on `conversation_id` and `row_index`. `context_rows` is the longest context an instance may be shown; a later row
would give its answer away. `statistics.json` (as a table: `statistics.parquet`; as pictures:
`figures/`) counts instances, and every row that is no instance by its reason.

## What is left out

Policy of this publication: `{policy.value}`. {people} There is no video and no sound in it.

## How it was made

Recordings are transcribed and diarized on the owner's machine. People annotate and verify every row against the video.
Annotated values are never changed by a machine; columns that begin with `machine_`, and `matched_share`,
`text_error_rate`, the offsets and `join_flags`, say how the annotation fits the recording.

## Before you use it

The conversations show people in distress. Do not try to find out who they are. Labels describe a moment of an
interaction as trained annotators read it; they are no diagnosis of anyone. A model that scores well here is not fit to
treat people.

## Licence and access

See `LICENSE.md`. `SHA256SUMS` lists every file; `CHANGES.md` says what changed between versions, row by row;
`croissant.json` describes the tables for machines.
"""
