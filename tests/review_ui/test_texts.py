"""What the page says in its own words is what stands elsewhere in the project."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from pipeline.annotation.model import RECORDS, Row

_STATIC = files("pipeline.review") / "static"
_SCRIPTS = {
    path.name: path.read_text("utf-8")
    for folder in ("js", "js/review", "js/views")
    for path in (_STATIC / folder).iterdir()
    if path.name.endswith(".js")
}


@pytest.mark.parametrize("task", ["er", "vp"])
def test_people_rate_by_the_words_that_the_judge_gets(task: str) -> None:
    prompt = (files("annotation_schema") / "prompts" / f"judge_{task}.md").read_text("utf-8")
    steps = re.findall(r"^([0-9]): (.+)$", prompt, re.MULTILINE)
    assert len(steps) == {"er": 5, "vp": 8}[task]
    for step, words in steps:
        assert f"{step}: {json.dumps(words)}" in _SCRIPTS["rate.js"]


def test_the_form_has_every_field_of_a_row() -> None:
    script = _SCRIPTS["fields.js"]
    blank = re.search(r"BLANK = Object\.freeze\(\{(.*?)\}\);", script, re.DOTALL)
    assert blank is not None
    assert set(re.findall(r"^  (\w+):", blank[1], re.MULTILINE)) == set(Row.model_fields) - {"row_index"}
    sections = re.search(r"const SECTIONS = \[(.*?)\n\];", _SCRIPTS["editor.js"], re.DOTALL)
    assert sections is not None
    shown = set(re.findall(r'"(\w+)"', "".join(re.findall(r"fields: \[(.*?)\]", sections[1]))))
    assert shown == set(Row.model_fields) - {"row_index"}


@pytest.mark.parametrize("field", RECORDS)
def test_a_record_has_every_part(field: str) -> None:
    blank = re.search(rf"^    {field}: \{{(.*?)\}},$", _SCRIPTS["fields.js"], re.MULTILINE)
    assert blank is not None
    made = set(re.findall(r"(\w+):", blank[1]))
    annotation = Row.model_fields[field].annotation
    record = annotation.__args__[0]  # type: ignore[union-attr]
    assert made == set(record.model_fields)


def test_nothing_is_fetched_from_elsewhere_and_no_text_becomes_markup() -> None:
    for name, script in _SCRIPTS.items():
        assert not re.search(r"https?://", script), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script), (
            name
        )
