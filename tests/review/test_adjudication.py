"""Two annotators and an adjudicator: the stated rule, what it leaves open, and the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pipeline.annotation.formats.transfer import take
from pipeline.annotation.model import Status
from pipeline.review.exporting import export_conversation
from pipeline.review.rating import NewBatch
from pipeline.review.tables import audit
from tests.review.made import House, Person, complete, edit, write_draft


@pytest.fixture
def three(house: House) -> tuple[dict[str, Person], dict[str, str]]:
    """Ann and bob at work, cleo to adjudicate."""
    people, work = {}, {}
    for name, role, task in (
        ("ann", "annotator", "independent"), ("bob", "annotator", "independent"), ("cleo", "adjudicator", "adjudicate"),
    ):  # fmt: skip
        house.add(name, role)
        people[name], work[name] = house.browser(name), house.assign(name, task=task)
    return people, work


def _finish(person: Person, work: str, **fields: Any) -> list[dict[str, Any]]:
    rows = complete(person, work, **fields)
    person.post(f"/api/assignments/{work}/done", {"done": True})
    return rows


def test_nothing_is_shown_before_everybody_is_done(three: tuple[dict[str, Person], dict[str, str]]) -> None:
    people, work = three
    _finish(people["ann"], work["ann"])
    path = f"/api/assignments/{work['cleo']}"
    for address in (path, f"{path}/versions"):
        error = people["cleo"].get(address, 409)["error"]
        assert (error["code"], error["waiting"]) == ("not_ready", 1)
    (entry,) = people["cleo"].get("/api/assignments")["assignments"]
    assert entry["waiting"] == 1


def test_what_differs_is_decided_by_a_person_and_exported(
    house: House, three: tuple[dict[str, Person], dict[str, str]]
) -> None:
    people, work = three
    cleo, path = people["cleo"], f"/api/assignments/{work['cleo']}"
    _finish(people["ann"], work["ann"], utterance_type="disclosure")
    rows = complete(people["bob"], work["bob"], utterance_type="disclosure")
    people["bob"].save(work["bob"], edit(rows[1], "verified", target=["Daniel"], tone_of_voice="bitter"))
    people["bob"].post(f"/api/assignments/{work['bob']}/done", {"done": True})
    shown = cleo.get(path)
    assert [row["status"] for row in shown["rows"]] == ["verified", "draft", "verified", "verified"]
    row = shown["rows"][1]
    assert {one["field"]: one["given"] for one in row["open"]} == {
        "target": {"ann": ["Couple"], "bob": ["Daniel"]},
        "tone_of_voice": {"ann": None, "bob": "bitter"},
    }
    versions = cleo.get(f"{path}/versions")
    assert versions["authors"] == ["ann", "bob"]
    assert versions["versions_changed"] is False
    unit = versions["units"][1]
    assert unit["row_id"] == row["row_id"]
    assert unit["differing"] == ["target", "tone_of_voice"]
    assert [one["differing"] for one in versions["units"]].count([]) == 3
    (target,) = [one for one in versions["agreement"] if one["field"] == "target"]
    assert target["same"] == 0.75
    cleo.post(f"{path}/done", {"done": True}, 409)
    (decided,) = cleo.save(work["cleo"], edit(row, "verified", target=["Daniel"], tone_of_voice="bitter"))["rows"]
    assert decided["open"] == []
    cleo.post(f"{path}/done", {"done": True})
    house.add("boss", "administrator")
    told = house.browser("boss").post("/api/conversations/pair/export", {})
    assert told["files"] == ["annotations/ann.json", "annotations/bob.json", "annotations.json"]
    workspace = house.project.workspace("pair")
    annotation = take(workspace.raw / "annotations.json", workspace.conversation).loaded.annotation
    assert annotation.origin is not None
    assert (annotation.origin.author, annotation.origin.status) == ("adjudication", Status.ADJUDICATED)
    assert annotation.rows[1].target == ("Daniel",)


def test_a_version_that_changes_afterwards_is_told_and_touches_nothing(
    three: tuple[dict[str, Person], dict[str, str]],
) -> None:
    people, work = three
    cleo, path = people["cleo"], f"/api/assignments/{work['cleo']}"
    _finish(people["ann"], work["ann"])
    rows = _finish(people["bob"], work["bob"])
    before = cleo.get(path)["rows"]
    people["bob"].post(f"/api/assignments/{work['bob']}/done", {"done": False})
    people["bob"].save(work["bob"], edit(rows[0], "verified", tone_of_voice="calm"))
    people["bob"].post(f"/api/assignments/{work['bob']}/done", {"done": True})
    assert cleo.get(path)["rows"] == before
    assert cleo.get(f"{path}/versions")["versions_changed"] is True


def test_a_stretch_that_only_half_of_them_have_is_shown_without_a_row(
    three: tuple[dict[str, Person], dict[str, str]],
) -> None:
    people, work = three
    _finish(people["ann"], work["ann"])
    rows = complete(people["bob"], work["bob"])
    discard = {"op": "discard", "row_id": rows[2]["row_id"], "base_version": rows[2]["version"], "reason": "noise"}
    people["bob"].save(work["bob"], discard)
    people["bob"].post(f"/api/assignments/{work['bob']}/done", {"done": True})
    assert len(people["cleo"].get(f"/api/assignments/{work['cleo']}")["rows"]) == 3
    units = people["cleo"].get(f"/api/assignments/{work['cleo']}/versions")["units"]
    assert [one["row_id"] is None for one in units] == [False, False, True, False]
    assert [one["missing"] for one in units] == [0, 0, 1, 0]


def test_a_reader_sees_the_annotation_and_changes_nothing(house: House) -> None:
    house.project.add_conversation("told", annotated=True)
    house.add("rita", "reader")
    rita, work = house.browser("rita"), house.assign("rita", "told", "read")
    shown = rita.get(f"/api/assignments/{work}")
    assert [row["fields"]["primary_speaker"] for row in shown["rows"]] == ["Nora"] * 4
    assert (shown["writable"], shown["media"]) == (False, None)
    assert shown["rows"] == rita.get(f"/api/assignments/{work}")["rows"]
    assert rita.save(work, edit(shown["rows"][0], tone_of_voice="x"), status=409)["error"]["code"] == "read_only"


def test_a_batch_of_nothing_is_refused(house: House) -> None:
    house.add("boss", "administrator")
    body = NewBatch(title="x", runs=["nobody dialogue"], user_ids=[1]).model_dump()
    assert house.browser("boss").post("/api/batches", body, 422)["error"]["places"][0]["place"] == "runs"


def test_a_link_to_somebody_elses_annotation_is_shown_to_no_adjudicator(
    house: House, three: tuple[dict[str, Person], dict[str, str]], tmp_path: Path
) -> None:
    people, work = three
    private = tmp_path / "private.json"
    path = write_draft(house.project.workspace("pair"), said="a secret", author="xaver")
    path.write_text(path.read_text().replace('"draft"', '"reviewed"'))
    path.rename(private)
    path.symlink_to(private)
    for name in ("ann", "bob"):
        _finish(people[name], work[name])
    for address in (f"/api/assignments/{work['cleo']}", f"/api/assignments/{work['cleo']}/versions"):
        told = people["cleo"].ask("GET", address)
        assert told.status_code == 422
        assert "a secret" not in told.text


def test_what_was_exported_stands_in_the_log_though_one_file_cannot_be_written(
    house: House, three: tuple[dict[str, Person], dict[str, str]]
) -> None:
    people, work = three
    for name in ("ann", "bob"):
        _finish(people[name], work[name])
    workspace = house.project.workspace("pair")
    (workspace.raw / "annotations" / "bob.json" / "in the way").mkdir(parents=True)
    done = export_conversation(house.database, workspace, by="a test", replace=True)
    assert done.files == ["annotations/ann.json"]
    assert done.withheld
    assert any("bob.json was not written" in note for note in done.notes)
    with house.database.reading() as connection:
        logged = [one.detail for one in connection.execute(select(audit)).all() if one.action == "export"]
    assert logged == ["annotations/ann.json"]
