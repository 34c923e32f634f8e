"""The JSON Schema is current, and accepts what the models accept."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pipeline.annotation.schema import SCHEMAS, schema_text
from tests.annotation.made import ROW, THERAPIST_ROW, made
from tests.conftest import REPOSITORY


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_the_stored_schema_is_current(name: str) -> None:
    stored = (REPOSITORY / "annotation_schema" / f"{name}.schema.json").read_text("utf-8")
    assert stored == schema_text(name), "run python -m pipeline.annotation.schema"


def test_it_accepts_an_annotation_and_refuses_a_wrong_one() -> None:
    schema = json.loads(schema_text("conversation"))
    value = made(ROW, THERAPIST_ROW).model_dump(mode="json")
    jsonschema.validate(value, schema)
    jsonschema.validate(json.loads((REPOSITORY / "raw_video/role_play/annotations.json").read_text()), schema)
    value["rows"][0]["target"] = "Ben"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)
