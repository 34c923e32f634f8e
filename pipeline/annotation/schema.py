"""The JSON Schema of an annotation file, generated from the models into ``annotation_schema``.

python -m pipeline.annotation.schema
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from pipeline.annotation.model import Annotation, Row
from pipeline.store import Json, write_text

__all__ = ["SCHEMAS", "schema_text"]

SCHEMAS: Mapping[str, type[BaseModel]] = {"row": Row, "conversation": Annotation}
"""Name of the file, without ``.schema.json``, to the model it describes."""


def schema_text(name: str) -> str:
    """The text of a schema file."""
    schema: Json = SCHEMAS[name].model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{name}.schema.json"}
    return json.dumps({**head, **schema}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent.parent.parent / "annotation_schema"
    for schema_name in SCHEMAS:
        write_text(folder / f"{schema_name}.schema.json", schema_text(schema_name))
