"""Several annotators: their rows side by side, how far they agree, and one annotation out of them by rule."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from pipeline.annotation.adjudicate import adjudicate
from pipeline.annotation.agreement import agreement, values_of, window_diff
from pipeline.annotation.formats.transfer import export
from pipeline.annotation.io import Loaded
from pipeline.annotation.model import Annotation, Origin, Row, Status
from pipeline.annotation.versions import Version, read_versions, unite
from pipeline.build import build_conversation, find_workspaces
from pipeline.cli.app import app
from pipeline.conversation import Conversation, Scenario, load_conversation, save_conversation
from pipeline.dataset.build import build_dataset
from pipeline.errors import InputError
from pipeline.settings import Settings
from pipeline.store import read_json
from tests.dataset.made import LINE

EXAMPLE = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units."""


def row(index: int, start: float, end: float, speaker: str = "Anna", **values: Any) -> Row:
    known = {"dialogue_cleaned": f"line {index}", "target": ("Ben",), **values}
    return Row(row_index=index, start_time=start, end_time=end, primary_speaker=speaker, **known)


def annotation(*rows: Row) -> Annotation:
    return Annotation(conversation_id="c", scenario=Scenario.COUPLE, participants=("Anna", "Ben"), rows=rows)


def version(author: str, *rows: Row, status: Status = Status.REVIEWED) -> Version:
    made = annotation(*rows).model_copy(update={"origin": Origin(author=author, status=status)})
    return Version(made.origin or Origin(author=author), Path(f"{author}.json"), Loaded(made, ()))


def test_rows_of_one_stretch_meet_also_where_borders_and_numbers_differ() -> None:
    one = annotation(row(1, 0, 2), row(2, 2, 4), row(3, 4, 6))
    other = annotation(row(1, 0.2, 2.1), row(2, 4.1, 5.9), row(3, 8, 9))
    units = unite([("a", one), ("b", other)])
    assert [{author: found.row_index for author, found in unit.items()} for unit in units] == [
        {"a": 1, "b": 1},
        {"a": 2},
        {"a": 3, "b": 2},
        {"b": 3},
    ]


def test_a_row_split_in_two_meets_its_larger_part_once() -> None:
    units = unite([("a", annotation(row(1, 0, 10))), ("b", annotation(row(1, 0, 6), row(2, 6, 10)))])
    assert [{author: found.row_index for author, found in unit.items()} for unit in units] == [
        {"a": 1, "b": 1},
        {"b": 2},
    ]


def test_alpha_is_that_of_krippendorffs_example_and_kappa_that_of_scikit_learn() -> None:
    units = [
        {author: str(line[unit]) for author, line in zip("abcd", EXAMPLE, strict=True) if line[unit] is not None}
        for unit in range(12)
    ]
    found = {field.field: field for field in agreement({"primary_speaker": units})}["primary_speaker"]
    assert found.alpha == pytest.approx(0.743, abs=0.0005)
    both = [(unit["a"], unit["b"]) for unit in units if {"a", "b"} <= unit.keys()]
    assert found.kappa["a, b"] == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)), abs=1e-4)


def test_interval_alpha_on_the_same_example() -> None:
    units = [
        {
            author: None if line[unit] is None else float(line[unit])
            for author, line in zip("abcd", EXAMPLE, strict=True)
        }
        for unit in range(12)
    ]
    found = {field.field: field for field in agreement({"intensity": units})}["intensity"]
    assert found.alpha == pytest.approx(0.849, abs=0.0005)


def test_sets_get_part_credit_and_nothing_defined_is_none() -> None:
    def alpha(*units: dict[str, tuple[str, ...]]) -> float | None:
        return {field.field: field for field in agreement({"target": list(units)})}["target"].alpha

    near = alpha({"a": ("Ben", "Kid"), "b": ("Ben",)}, {"a": ("Anna",), "b": ("Anna",)})
    far = alpha({"a": ("Ben", "Kid"), "b": ("Mo",)}, {"a": ("Anna",), "b": ("Anna",)})
    assert near is not None
    assert far is not None
    assert 1 > near > far
    assert alpha({"a": ("Ben",), "b": ("Ben",)}) is None
    assert alpha() is None


def test_agreement_by_chance_is_about_zero() -> None:
    draw = random.Random(3)
    units = [{"a": draw.choice("xyz"), "b": draw.choice("xyz")} for _ in range(3000)]
    found = {field.field: field for field in agreement({"utterance_type": units})}["utterance_type"]
    assert abs(found.alpha or 0) < 0.05
    assert found.same == pytest.approx(1 / 3, abs=0.03)


def test_borders() -> None:
    one = annotation(*(row(index + 1, 2.0 * index, 2.0 * index + 2) for index in range(20)))
    shifted = annotation(*(row(index + 1, 2.0 * index + 1, 2.0 * index + 2) for index in range(20)))
    assert window_diff([one, one]) == 0
    found = window_diff([one, shifted])
    assert found is not None
    assert found > 0.3
    assert window_diff([one]) is None


def test_the_majority_decides_and_what_has_none_is_left_open() -> None:
    result = adjudicate(
        [
            version("ann", row(1, 0.0, 2.0, utterance_type="emotion_disclosure"), row(2, 2, 4), row(3, 5, 6)),
            version("bob", row(1, 0.1, 2.0, utterance_type="support_seeking"), row(2, 2, 4, "Ben", target=("Anna",))),
            version("cat", row(1, 0.0, 3.5, utterance_type="support_seeking"), row(2, 2, 4, "Ben", target=("Kid",))),
        ]
    )
    first, second = result.annotation.rows
    assert first.utterance_type == "support_seeking"
    assert (first.start_time, first.end_time) == (0.0, 2.0)
    assert second.primary_speaker == "Ben"
    assert second.target == ("Ben",), "no majority: the first author's"
    assert [(place.row, place.field) for place in result.open] == [(2, "target")]
    assert result.annotation.origin == Origin(author="adjudication", status=Status.REVIEWED)


def test_all_agreed_is_adjudicated_and_drafts_do_not_count() -> None:
    same = (row(1, 0, 2), row(2, 2, 4))
    draft = version("model", row(1, 0, 9, "Ben"), status=Status.DRAFT)
    result = adjudicate([draft, version("ann", *same), version("bob", *same)])
    assert result.open == ()
    assert result.annotation.rows == same
    assert result.annotation.origin == Origin(author="adjudication", status=Status.ADJUDICATED)
    with pytest.raises(InputError, match="1 reviewed version"):
        adjudicate([draft, version("ann", *same)])
    with pytest.raises(InputError, match="two versions are by 'ann'"):
        adjudicate([version("ann", *same), version("ann", *same)])


def test_evidence_follows_the_new_numbers() -> None:
    """Two rows before it are only in one annotation, so the row it points to gets another number."""

    def evidence(index: int) -> dict[str, Any]:
        return {"relation_pattern": "blame_attack", "relation_pattern_evidence_rows": (index,)}

    result = adjudicate(
        [
            version("ann", row(1, 0, 1), row(2, 2, 4), row(3, 4, 6, "Therapist", **evidence(2))),
            version("bob", row(1, 2, 4), row(2, 4, 6, "Therapist", **evidence(1))),
        ]
    )
    assert result.annotation.rows[-1].relation_pattern_evidence_rows == (1,)
    assert [place.field for place in result.open if place.row] == ["dialogue_cleaned", "dialogue_cleaned"]
    assert [place.start_time for place in result.open if place.row is None] == [0.0]


def test_from_files_to_the_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / "raw" / "c"
    (raw / "annotations").mkdir(parents=True)
    save_conversation(raw, Conversation(id="c", scenario=Scenario.COUPLE, participants=("Anna", "Ben")))
    types = {
        "ann": ["emotion_disclosure", "support_seeking", "emotion_disclosure"],
        "bob": ["emotion_disclosure", "support_seeking", "support_seeking"],
    }
    for author, given in types.items():
        rows = [row(number + 1, number, number + 1, utterance_type=kind) for number, kind in enumerate(given)]
        content = {"origin": {"author": author, "time": "2026-01-02T03:04:05Z"}, "rows": [r.model_dump() for r in rows]}
        (raw / "annotations" / f"{author}.json").write_text(json.dumps(content))
    monkeypatch.setenv("RESCUE_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("RESCUE_DATA", str(tmp_path / "data"))
    shown = CliRunner().invoke(app, ["adjudicate", "c", "--write", "--json"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert [place["field"] for place in told["open"]] == ["utterance_type"]
    assert load_conversation(raw).annotations == "annotations.json"
    before = (raw / "annotations.json").read_bytes()
    again = CliRunner().invoke(app, ["adjudicate", "c", "--write"])
    assert isinstance(again.exception, InputError), "what may have been edited by hand is not replaced"
    assert (raw / "annotations.json").read_bytes() == before

    settings = Settings(raw=tmp_path / "raw", data=tmp_path / "data")
    (workspace,) = find_workspaces(settings).workspaces
    build_conversation(workspace, LINE)
    build_dataset([workspace], settings)
    figures = read_json(settings.benchmark_dir / "statistics.json")["agreement"]
    assert figures["conversations"] == 1
    expected = agreement(
        values_of(unite([(v.origin.author, v.annotation) for v in read_versions(raw, workspace.conversation)]))
    )
    assert figures["fields"]["utterance_type"]["alpha"] == next(
        f.alpha for f in expected if f.field == "utterance_type"
    )
    assert np.isclose(figures["fields"]["utterance_type"]["same"], 2 / 3, atol=1e-4)
    assert "ann" not in json.dumps(figures)


def test_each_author_may_use_another_tool(tmp_path: Path) -> None:
    raw = tmp_path / "c"
    (raw / "annotations").mkdir(parents=True)
    conversation = Conversation(id="c", scenario=Scenario.COUPLE, participants=("Anna", "Ben"))
    rows = (row(1, 0, 2), row(2, 2, 4, "Ben", target=("Anna",)))
    for suffix, author in (("eaf", "ann"), ("csv", "bob"), ("json", "cat")):
        (raw / "annotations" / f"{author}.{suffix}").write_bytes(export(annotation(*rows), suffix).data)
    (raw / "annotations" / "bob.csv.mapping.yaml").write_text("{}\n")
    (raw / "annotations" / ".hidden").write_text("x")
    versions = read_versions(raw, conversation)
    assert [version.origin.author for version in versions] == ["ann", "bob", "cat"]
    assert adjudicate(versions).annotation.rows == rows
    (raw / "annotations" / "notes.docx").write_text("x")
    with pytest.raises(InputError, match=r"notes\.docx.*no annotation format"):
        read_versions(raw, conversation)
