"""``croissant.json``: the tables described for machines (MLCommons Croissant 1.0)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import mlcroissant as mlc
import pyarrow as pa

from pipeline.dataset.card import TABLE_TITLES, TableFiles
from pipeline.store import Json

__all__ = ["croissant"]


def croissant(tables: Sequence[TableFiles], digests: Mapping[str, str], *, name: str, version: str) -> Json:
    """The Croissant description.

    Args:
        tables: What is published.
        digests: File, relative to the publication, to its SHA-256.
        name: Title of the data set.
        version: Version of the data.
    """
    files, record_sets = [], []
    for table in tables:
        for split in table.rows:
            path = f"{table.name}/{split}.parquet"
            identity = f"{table.name}-{split}"
            files.append(
                mlc.FileObject(
                    id=f"{identity}.parquet",
                    name=f"{identity}.parquet",
                    content_url=path,
                    encoding_formats=["application/x-parquet"],
                    sha256=digests[path],
                )
            )
            record_sets.append(
                mlc.RecordSet(
                    id=identity,
                    name=identity,
                    description=f"{TABLE_TITLES[table.name]}; split {split}",
                    fields=[_field(field, identity, f"{identity}.parquet") for field in table.schema],
                )
            )
    metadata = mlc.Metadata(
        name=name,
        description="Annotated conversations of couples and families with a therapist, and six tasks on them.",
        license=["LICENSE.md"],
        version=version,
        distribution=files,
        record_sets=record_sets,
    )
    return json.loads(json.dumps(metadata.to_json(), default=str))


_TYPES = {
    pa.string(): mlc.DataType.TEXT,
    pa.int32(): mlc.DataType.INTEGER,
    pa.float32(): mlc.DataType.FLOAT,
    pa.float64(): mlc.DataType.FLOAT,
    pa.bool_(): mlc.DataType.BOOL,
}


def _field(field: pa.Field, parent: str, file: str, column: str | None = None, path: str = "$") -> mlc.Field:
    """A field; nested ones read their column by a JSON path."""
    kind, repeated = field.type, False
    if pa.types.is_list(kind):
        kind, repeated = kind.value_type, True
    identity = f"{parent}/{field.name}"
    described: dict[str, Json] = {"id": identity, "name": identity, "description": field.name}
    if pa.types.is_struct(kind):
        inner = f"{path}[*]" if repeated else path
        parts = [_field(part, identity, file, column or field.name, f"{inner}.{part.name}") for part in kind]
        return mlc.Field(**described, repeated=repeated, sub_fields=parts)
    source = mlc.Source(
        file_object=file,
        extract=mlc.Extract(column=column or field.name),
        transforms=[mlc.Transform(json_path=path)] if column else [],
    )
    return mlc.Field(**described, repeated=repeated, data_types=[_TYPES[kind]], source=source)
