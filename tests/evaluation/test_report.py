"""The report: every figure where it belongs, nothing private, nothing from outside, the same bytes again."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.errors import InputError
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.evaluation.published import COLUMNS, TABLE
from pipeline.evaluation.report import write_report
from pipeline.evaluation.scores import compare, read_runs, score
from pipeline.schemas import read_rows, table_of, write_table
from pipeline.store import digest_file, write_json
from tests.evaluation.made import outcomes, table

TASKS = ("itp", "rpp", "stp", "ssp", "er", "vp")
HOSTILE = 'x/<script>alert(1)</script>|`$a$"'


def a_run(evaluation: Path, model: str, rows: list[dict[str, Any]], *, context: int | None = 3) -> Path:
    folder = evaluation / f"m{len(list(evaluation.glob('*')))}" / "dialogue"
    write_table(folder / "outcomes.parquet", table(rows), OUTCOMES)
    options = {"context_size": context, "mode": "dialogue"}
    parameters = {"benchmark": "ab" * 32, "options": options, "call": {"temperature": 0.0}, "frames": None}
    record = {
        "model": model,
        "mode": "dialogue",
        "tasks": {task: {"parameters": parameters} for task in TASKS},
        "packages": {"inspect_ai": "0.3"},
        "outcomes_sha256": digest_file(folder / "outcomes.parquet"),
    }
    write_json(folder / "run.json", record)
    return folder


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "evaluation"
    better = outcomes(1, skill=0.9, model="made/better")
    for row in better[:4]:
        row |= {"status": "failed", "reason": "timeout", "answer_ranking": None}
    a_run(folder, "made/better", better)
    a_run(folder, HOSTILE, outcomes(2, skill=0.2, model=HOSTILE))
    return folder


class Page(HTMLParser):
    """Tags, what they point to, and the rows of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href"):
                self.links.append(value or "")
            elif name == "id":
                self.ids.append(value or "")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data.strip()


def test_the_page_stands_alone_and_is_safe(evaluation: Path, tmp_path: Path) -> None:
    files = write_report(evaluation, tmp_path / "out")
    html, markdown = (files[kind].read_text("utf-8") for kind in ("html", "md"))
    page = Page(html)
    assert "script" not in page.tags
    assert not [link for link in page.links if not link.startswith("#")]
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "<script" not in markdown
    for private in ("group0", "group3", "itp-00", "anna", "hurt and lonely", str(tmp_path)):
        assert private not in html
        assert private not in markdown


def test_figures_and_published_rows_stand_in_the_same_columns(evaluation: Path, tmp_path: Path) -> None:
    page = Page(write_report(evaluation, tmp_path / "out")["html"].read_text("utf-8"))
    found = score(read_runs(evaluation)[1])["tasks"]
    ours = next(row for row in page.rows if row and row[0] == HOSTILE)
    theirs = next(row for row in page.rows if row and row[0] == "GPT-4o")
    assert len(ours) == len(theirs)
    published = dict(zip(COLUMNS, TABLE["GPT-4o"], strict=True))
    for place, (task, name) in enumerate(
        (("itp", "precision"), ("itp", "recall"), ("itp", "f1"), ("rpp", "accuracy")), 1
    ):
        assert ours[place].startswith(f"{100 * found[task]['metrics'][name]['value']:.1f}")
        assert theirs[place] == f"{published[task, name]:.2f}"
    assert theirs[-1] == "0.8674"
    assert any(row[0] == "published" and "not comparable" in row[1] for row in page.rows if len(row) > 1)


def test_incomplete_scores_are_marked_and_sums_match(evaluation: Path, tmp_path: Path) -> None:
    page = Page(write_report(evaluation, tmp_path / "out")["html"].read_text("utf-8"))
    better = next(row for row in page.rows if row and row[0] == "made/better")
    assert "*" in better[1]
    assert "*" not in better[4]
    for run in read_runs(evaluation):
        for task in score(run)["tasks"].values():
            counts = task["coverage"]
            assert counts["expected"] == counts["scored"] + counts["invalid"] + counts["failed"] == 60
            assert sum(task["reasons"].values()) == counts["invalid"] + counts["failed"]


def test_scores_are_kept_and_bytes_are_the_same(evaluation: Path, tmp_path: Path) -> None:
    first = {kind: file.read_bytes() for kind, file in write_report(evaluation, tmp_path / "one").items()}
    kept = [file.stat().st_mtime_ns for file in sorted(evaluation.glob("*/*/scores.json"))]
    again = {kind: file.read_bytes() for kind, file in write_report(evaluation, tmp_path / "two").items()}
    assert first == again
    assert kept == [file.stat().st_mtime_ns for file in sorted(evaluation.glob("*/*/scores.json"))]
    stored = json.loads(next(evaluation.glob("*/*/scores.json")).read_text())
    assert stored["tasks"]["itp"]["setting"]["benchmark"] == "ab" * 32
    assert {"packages", "rubrics", "bootstrap", "run"} <= stored.keys()


def test_runs_of_other_settings_stand_in_another_table(evaluation: Path, tmp_path: Path) -> None:
    a_run(evaluation, "made/all-rows", outcomes(3, model="made/all-rows"), context=None)
    markdown = write_report(evaluation, tmp_path / "out")["md"].read_text("utf-8")
    assert len(re.findall("^## Mode", markdown, re.MULTILINE)) == 2
    tests = compare(read_runs(evaluation))
    assert {(test["first"], test["second"]) for test in tests} == {("made/better", HOSTILE)}
    assert all(test["p"] <= test["p_holm"] for test in tests)


def test_every_line_of_a_markdown_table_has_as_many_cells(evaluation: Path, tmp_path: Path) -> None:
    lines = write_report(evaluation, tmp_path / "out", examples=2)["md"].read_text("utf-8").splitlines()
    tables = 0
    for above, line in itertools.pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert above.count("|") == line.count("|"), line
        tables += line.startswith("|---")
    assert tables >= 5


def test_what_models_write_loads_nothing_in_a_viewer_of_markdown(tmp_path: Path) -> None:
    rows = outcomes(1, skill=0.0, model="made/liar")
    for row in rows:
        if row["answer_emotion"]:
            row["answer_emotion"] = "![x](http://127.0.0.1/a.png) <img src=x> [go](http://127.0.0.1) \\"
    a_run(tmp_path / "evaluation", "made/liar", rows)
    write_report(tmp_path / "evaluation", tmp_path / "out", examples=50)
    text = (tmp_path / "out" / "report.md").read_text()
    assert "a.png" in text
    assert not re.search(r"(?<!\\)\[[^\]]*(?<!\\)\]\(http", text)
    assert "<img" not in text


def test_examples_only_on_request(evaluation: Path, tmp_path: Path) -> None:
    assert "Examples" not in write_report(evaluation, tmp_path / "out")["html"].read_text("utf-8")
    html = write_report(evaluation, tmp_path / "out", examples=2)["html"].read_text("utf-8")
    assert "hurt and lonely" in html
    verdicts = [row[1] for row in Page(html).rows if len(row) == 4 and row[0] == "SSP"]
    assert verdicts == ["right", "right", "wrong", "wrong"] * 2


def test_broken_runs_are_refused_and_so_is_a_report_on_none(evaluation: Path, tmp_path: Path) -> None:
    record = next(evaluation.glob("*/*/run.json"))
    record.write_text(record.read_text("utf-8").replace('"outcomes_sha256": "', '"outcomes_sha256": "0'), "utf-8")
    with pytest.raises(InputError, match="other outcomes"):
        write_report(evaluation, tmp_path)
    with pytest.raises(InputError, match="no run"):
        write_report(tmp_path / "nothing", tmp_path)


def test_the_commands(evaluation: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", "--data", str(evaluation.parent), "--json"])
    assert done.exit_code == 0, done.output
    assert (evaluation / "report.html").is_file()
    rated = read_runs(evaluation)[1]
    row = next(row for row in rated.rows if row["judgements"])
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(f"instance_id,rater,score\n{row['instance_id']},p,3\n")
    arguments = ["agreement", str(ratings), "--data", str(evaluation.parent), "--model", rated.model, "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["agreement"]
    assert {one["judge"] for one in found} == {"judge/a"}
    assert found[-1]["instances"] == 1


def test_a_run_without_a_record_is_left_out_and_said(evaluation: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evaluation"
    shutil.copytree(evaluation, folder)
    gone = next(folder.glob("*/*/run.json"))
    gone.unlink()
    runs = len(read_runs(evaluation))
    files = write_report(folder, folder)
    assert len(read_runs(folder)) == runs - 1
    for file in files.values():
        assert "Left out, since they have no record" in file.read_text("utf-8")


def test_models_with_other_instances_are_not_ranked(evaluation: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evaluation"
    shutil.copytree(evaluation, folder)
    first = read_runs(folder)[0]
    kept = [row for row in read_rows(first.folder / "outcomes.parquet") if row["task"] != "rpp" or row["row_index"] % 2]
    write_table(first.folder / "outcomes.parquet", table_of(kept, OUTCOMES), OUTCOMES)
    record = {**first.record, "outcomes_sha256": digest_file(first.folder / "outcomes.parquet")}
    write_json(first.folder / "run.json", record)
    page = write_report(folder, folder)["html"].read_text("utf-8")
    warning = re.search(r"not asked the same instances, or not judged by the same judges, in ([A-Z, ]+):", page)
    assert warning is not None
    assert "RPP" in warning[1]
