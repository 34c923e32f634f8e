"""One person at work: what the screen shows, saves, conflicts, history."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from pipeline.annotation.formats.transfer import take
from pipeline.annotation.model import Status
from pipeline.review.entries import FIELDS
from pipeline.review.progress import review_progress
from pipeline.store import read_json
from tests.review.made import House, Person, complete, edit, turn, usual_turns, write_draft, write_turns


@pytest.fixture
def ann(either: House) -> Person:
    either.add("ann")
    return either.browser("ann")


@pytest.fixture
def work(either: House, ann: Person) -> str:
    return either.assign("ann")


def _open(person: Person, work: str) -> Any:
    return person.get(f"/api/assignments/{work}")


def test_a_conversation_opens_with_a_row_for_every_machine_turn(ann: Person, work: str) -> None:
    shown = _open(ann, work)
    assert [row["fields"]["dialogue_cleaned"] for row in shown["rows"]] == [one["text"] for one in usual_turns()]
    assert [row["row_index"] for row in shown["rows"]] == [1, 2, 3, 4]
    assert all(set(row["fields"]) == set(FIELDS) for row in shown["rows"])
    assert {row["status"] for row in shown["rows"]} == {"draft"}
    assert shown["conversation"]["entities"] == ["Nora", "Daniel", "Therapist", "Couple"]
    assert shown["media"]["kind"] == "video"
    assert shown["conversation"]["duration"] == pytest.approx(11, abs=0.2)
    first = shown["rows"][0]
    assert first["machine"]["speaker"] == "SPEAKER_00"
    assert {one["rule"] for one in shown["findings"][first["row_id"]]} >= {"no-speaker", "no-target"}
    (entry,) = ann.get("/api/assignments")["assignments"]
    assert entry["progress"] == {"rows": 4, "verified": 0, "draft": 4, "discarded": 0}


def test_opening_again_makes_no_new_rows(ann: Person, work: str) -> None:
    assert _open(ann, work)["rows"] == _open(ann, work)["rows"]


def test_a_save_changes_only_its_fields_and_is_in_the_history(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][1]
    saved = ann.save(work, edit(row, primary_speaker="Nora", target=["Daniel"]))
    (after,) = saved["rows"]
    assert after["version"] == 2
    assert after["fields"] == {**row["fields"], "primary_speaker": "Nora", "target": ["Daniel"]}
    assert not any(one["rule"] == "no-speaker" for one in saved["findings"][row["row_id"]])
    newest, first = ann.get(f"/api/assignments/{work}/rows/{row['row_id']}/history")["entries"]
    assert first["op"] == "seed"
    assert newest["by"] == "ann"
    assert newest["changes"] == [
        {"field": "primary_speaker", "from": "", "to": "Nora"},
        {"field": "target", "from": [], "to": ["Daniel"]},
    ]
    assert _open(ann, work)["rows"][1] == after


def test_the_same_change_is_applied_once(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    change = str(uuid4())
    first = ann.save(work, edit(row, tone_of_voice="calm"), change_id=change)
    again = ann.save(work, edit(row, tone_of_voice="calm"), change_id=change)
    assert (first["applied"], again["applied"]) == (True, False)
    assert again["rows"] == first["rows"]
    assert again["version"] == first["version"]
    refused = ann.save(work, edit(row, tone_of_voice="loud"), change_id=change, status=422)
    assert refused["error"]["code"] == "change_id_reused"


def test_saves_on_an_old_version_are_merged_field_by_field(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    ann.save(work, edit(row, tone_of_voice="calm"))
    saved = ann.save(work, edit(row, target=["Couple"]))
    assert saved["merged"] == {row["row_id"]: ["tone_of_voice"]}
    fields = saved["rows"][0]["fields"]
    assert (fields["tone_of_voice"], fields["target"]) == ("calm", ["Couple"])


def test_a_conflict_shows_both_sides_and_applies_nothing(ann: Person, work: str) -> None:
    row, other = _open(ann, work)["rows"][:2]
    ann.save(work, edit(row, tone_of_voice="calm"))
    both = [edit(row, tone_of_voice="loud", target=["Couple"]), edit(other, tone_of_voice="flat")]
    error = ann.save(work, *both, status=409)["error"]
    assert error["code"] == "conflict"
    (conflict,) = error["conflicts"]
    (field,) = conflict["fields"]
    assert (field["field"], field["base"], field["theirs"], field["yours"], field["by"]) == (
        "tone_of_voice", None, "calm", "loud", "ann",
    )  # fmt: skip
    assert conflict["merged"] == {"target": ["Couple"]}
    assert conflict["row"]["row_index"] == 1
    now = _open(ann, work)["rows"]
    assert now[0]["fields"]["target"] == []
    assert now[1]["fields"]["tone_of_voice"] is None
    solved = ann.save(work, edit(conflict["row"], tone_of_voice="loud", target=["Couple"]))
    assert solved["rows"][0]["fields"]["tone_of_voice"] == "loud"


def test_the_same_value_from_two_windows_is_no_conflict(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    ann.save(work, edit(row, tone_of_voice="calm"))
    assert ann.save(work, edit(row, tone_of_voice="calm"))["rows"] == []


def test_a_row_with_errors_is_saved_but_not_verified(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    error = ann.save(work, edit(row, "verified", end_time=500.0, primary_speaker="Nora"), status=409)["error"]
    assert error["code"] == "has_errors"
    assert "time-beyond-clip" in {one["rule"] for one in error["findings"]}
    (saved,) = ann.save(work, edit(row, end_time=500.0, primary_speaker="Nora"))["rows"]
    assert saved["status"] == "draft"


def test_an_edit_makes_a_verified_row_a_draft_again(ann: Person, work: str) -> None:
    row = complete(ann, work)[0]
    assert row["status"] == "verified"
    (edited,) = ann.save(work, edit(row, tone_of_voice="calm"))["rows"]
    assert edited["status"] == "draft"
    (kept,) = ann.save(work, edit(edited, "verified", tone_of_voice="flat"))["rows"]
    assert kept["status"] == "verified"


def test_verifying_what_one_has_not_seen_is_a_conflict(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    ann.save(work, edit(row, primary_speaker="Nora"))
    error = ann.save(work, edit(row, "verified"), status=409)["error"]
    assert [one["field"] for one in error["conflicts"][0]["fields"]] == ["primary_speaker"]


def test_discarding_keeps_the_row_and_its_reason(ann: Person, work: str) -> None:
    rows = _open(ann, work)["rows"]
    discard = {"op": "discard", "row_id": rows[0]["row_id"], "base_version": 1, "reason": "cannot be heard"}
    saved = ann.save(work, discard)
    assert saved["order"] == [row["row_id"] for row in rows[1:]]
    assert saved["rows"][0]["row_index"] is None
    shown = _open(ann, work)["rows"]
    assert shown[-1]["discard_reason"] == "cannot be heard"
    assert shown[0]["row_index"] == 1
    error = ann.save(work, edit(shown[-1], tone_of_voice="calm"), status=409)["error"]
    assert error["conflicts"][0]["fields"][0]["field"] == "discarded"
    (back,) = ann.save(work, {"op": "undiscard", "row_id": rows[0]["row_id"], "base_version": 2})["rows"]
    assert (back["row_index"], back["discarded"], back["discard_reason"]) == (1, False, None)


def test_discarding_a_row_that_somebody_edited_meanwhile_is_a_conflict(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    ann.save(work, edit(row, tone_of_voice="calm"))
    discard = {"op": "discard", "row_id": row["row_id"], "base_version": 1, "reason": "noise"}
    assert ann.save(work, discard, status=409)["error"]["code"] == "conflict"


def test_split_and_evidence_stay_with_their_rows(ann: Person, work: str) -> None:
    rows = _open(ann, work)["rows"]
    evidence = [rows[1]["row_id"], rows[2]["row_id"]]
    ann.save(work, edit(rows[3], primary_speaker="Therapist", relation_pattern_evidence_rows=evidence))
    new = str(uuid4())
    insert = {
        "op": "insert",
        "row_id": new,
        "fields": {"start_time": 1.0, "end_time": 2.0, "dialogue_cleaned": "begin today?"},
    }
    saved = ann.save(work, edit(rows[0], end_time=1.0, dialogue_cleaned="So where shall we"), insert)
    assert saved["order"].index(new) == 1
    shown = _open(ann, work)["rows"]
    assert [row["row_index"] for row in shown] == [1, 2, 3, 4, 5]
    assert shown[4]["fields"]["relation_pattern_evidence_rows"] == evidence
    gone = {"op": "discard", "row_id": rows[1]["row_id"], "base_version": 1, "reason": "noise"}
    ann.save(work, gone)
    findings = _open(ann, work)["findings"][rows[3]["row_id"]]
    assert "evidence-row" in {one["rule"] for one in findings}


def test_any_earlier_state_can_be_seen_and_restored(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    (second,) = ann.save(work, edit(row, tone_of_voice="calm"))["rows"]
    (third,) = ann.save(work, edit(second, tone_of_voice="loud", target=["Nora"]))["rows"]
    old = ann.get(f"/api/assignments/{work}/rows/{row['row_id']}/history/2")
    assert old["fields"] == second["fields"]
    restore = {"op": "restore", "row_id": row["row_id"], "base_version": third["version"], "to_version": 2}
    (restored,) = ann.save(work, restore)["rows"]
    assert (restored["version"], restored["fields"]) == (4, second["fields"])
    assert len(ann.get(f"/api/assignments/{work}/rows/{row['row_id']}/history")["entries"]) == 4
    ann.get(f"/api/assignments/{work}/rows/{row['row_id']}/history/9", 404)


def test_a_second_window_learns_what_changed(ann: Person, work: str) -> None:
    shown = _open(ann, work)
    path = f"/api/assignments/{work}/changes?since={shown['version']}"
    assert ann.get(path)["rows"] == []
    saved = ann.save(work, edit(shown["rows"][2], tone_of_voice="calm"))
    found = ann.get(path)
    assert found["rows"] == saved["rows"]
    assert found["version"] == saved["version"]


def test_rules_are_checked_while_typing_without_saving(ann: Person, work: str) -> None:
    row = _open(ann, work)["rows"][0]
    body = {"row_id": row["row_id"], "fields": {"end_time": -1}}
    found = ann.post(f"/api/assignments/{work}/check", body)["findings"]
    assert "time-order" in {one["rule"] for one in found}
    assert _open(ann, work)["rows"][0] == row


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"start_time": "soon"}, "edits.0.fields.start_time"),
        ({"start_time": None}, "edits.0.fields.start_time"),
        ({"row_index": 3}, "edits.0.fields.row_index"),
        ({"words": []}, "edits.0.fields.words"),
        ({"target": "Nora"}, "edits.0.fields.target"),
        ({"internal_emotion": [{"person": "Nora"}]}, "edits.0.fields.internal_emotion.0.emotion_description"),
        ({"relation_pattern_evidence_rows": [1]}, "edits.0.fields.relation_pattern_evidence_rows"),
        ({"tone_of_voice": "a\0b"}, "edits.0.fields.tone_of_voice"),
    ],
)
def test_values_of_the_wrong_shape_are_refused_with_their_place(
    house: House, fields: dict[str, Any], place: str
) -> None:
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann")
    row = _open(ann, work)["rows"][0]
    error = ann.save(work, edit(row, **fields), status=422)["error"]
    assert error["code"] == "invalid"
    assert error["places"][0]["place"] == place
    assert _open(ann, work)["rows"][0] == row


@pytest.mark.parametrize(
    "value",
    [
        r'"\ud83d"',
        "NaN",
        "1e999",
        "[" * 900 + "]" * 900,
        r'{"\ud83d": 1}',
        '{"a":' * 400 + "1" + "}" * 400,
        r'"\u0000"',
    ],
)
@pytest.mark.parametrize("path", ["changes", "check"])
def test_values_that_nothing_can_hold_are_refused(either: House, path: str, value: str) -> None:
    either.add("ann")
    ann, work = either.browser("ann"), either.assign("ann")
    row = _open(ann, work)["rows"][0]
    fields = f'"fields": {{"tone_of_voice": {value}}}'
    body = f'{{"row_id": "{row["row_id"]}", {fields}}}'
    if path == "changes":
        edit_ = f'{{"op": "edit", "row_id": "{row["row_id"]}", "base_version": 1, {fields}}}'
        body = f'{{"change_id": "{uuid4()}", "edits": [{edit_}]}}'
    answer = ann.client.post(
        f"/api/assignments/{work}/{path}", content=body.encode(),
        headers={"X-CSRF-Token": ann.csrf, "Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status_code in (400, 422), answer.text
    assert _open(ann, work)["rows"][0] == row


def test_work_is_done_when_every_row_is_verified_or_discarded(ann: Person, work: str) -> None:
    rows = _open(ann, work)["rows"]
    path = f"/api/assignments/{work}/done"
    error = ann.post(path, {"done": True}, 409)["error"]
    assert (error["code"], error["rows"]) == ("not_verified", [row["row_id"] for row in rows])
    complete(ann, work)
    assert ann.post(path, {"done": True})["done"] is True
    shown = _open(ann, work)
    assert shown["writable"] is False
    assert ann.save(work, edit(shown["rows"][0], tone_of_voice="calm"), status=409)["error"]["code"] == "read_only"
    assert ann.post(path, {"done": False})["done"] is False
    ann.save(work, edit(shown["rows"][0], tone_of_voice="calm"))


def test_a_changed_recognition_flags_rows_and_touches_none(house: House) -> None:
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann")
    before = _open(ann, work)["rows"]
    (mine,) = ann.save(work, edit(before[1], dialogue_cleaned="He never listens."))["rows"]
    turns = usual_turns()
    turns[1] = turn(2, "SPEAKER_07", 2.5, "He never ever listens to me.")
    write_turns(house.project.workspace("pair"), turns)
    rows = _open(ann, work)["rows"]
    assert [row["machine_now"] is not None for row in rows] == [False, True, False, False]
    assert rows[1]["fields"] == mine["fields"]
    assert rows[1]["machine_now"]["text"] == "He never ever listens to me."
    seen = {"op": "machine_seen", "row_id": mine["row_id"], "base_version": rows[1]["version"]}
    assert ann.save(work, seen)["rows"][0]["machine_now"] is None


def test_verified_rows_become_an_annotation_of_their_author(either: House, ann: Person, work: str) -> None:
    either.add("boss", "administrator")
    boss = either.browser("boss")
    _open(ann, work)
    draft = boss.post("/api/conversations/pair/export", {"replace": False})
    assert draft["files"] == ["annotations/ann.json"]
    workspace = either.project.workspace("pair")
    file = workspace.raw / "annotations" / "ann.json"
    assert take(file, workspace.conversation).loaded.annotation.origin.status is Status.DRAFT  # type: ignore[union-attr]
    complete(ann, work)
    ann.post(f"/api/assignments/{work}/done", {"done": True})
    done = boss.post("/api/conversations/pair/export", {"replace": False})
    assert done["files"] == ["annotations/ann.json", "annotations.json"]
    workspace = either.project.workspace("pair")
    assert workspace.conversation.annotations == "annotations.json"
    annotation = take(workspace.raw / "annotations.json", workspace.conversation).loaded.annotation
    assert annotation.origin is not None
    assert (annotation.origin.author, annotation.origin.status) == ("ann", Status.REVIEWED)
    assert [row.primary_speaker for row in annotation.rows] == ["Therapist", "Nora", "Daniel", "Therapist"]
    (layer,) = read_json(workspace.artifact("review.json"))["layers"]
    assert {row["verified"]["by"] for row in layer["rows"]} == {"ann"}
    assert {row["origin"]["from"] for row in layer["rows"]} == {"turns"}


def test_an_export_never_overwrites_what_somebody_edited(house: House) -> None:
    house.add("ann")
    house.add("boss", "administrator")
    ann, boss, work = house.browser("ann"), house.browser("boss"), house.assign("ann")
    complete(ann, work)
    boss.post("/api/conversations/pair/export", {})
    file = house.project.workspace("pair").raw / "annotations" / "ann.json"
    edited = file.read_text("utf-8").replace("begin", "start")
    file.write_text(edited, "utf-8")
    told = boss.post("/api/conversations/pair/export", {})
    assert told["files"] == []
    assert "edited since" in told["notes"][0]
    assert file.read_text("utf-8") == edited
    assert boss.post("/api/conversations/pair/export", {"replace": True})["files"] == ["annotations/ann.json"]
    assert "start today" not in file.read_text("utf-8")


def test_a_copy_of_a_discarded_row_does_not_leave(house: House) -> None:
    house.add("ann")
    house.add("boss", "administrator")
    ann, boss, work = house.browser("ann"), house.browser("boss"), house.assign("ann")
    row = _open(ann, work)["rows"][1]
    ann.save(work, {"op": "discard", "row_id": row["row_id"], "base_version": 1, "reason": "names somebody"})
    complete_rows = [one for one in _open(ann, work)["rows"] if not one["discarded"]]
    assert len(complete_rows) == 3
    boss.post("/api/conversations/pair/export", {})
    text = (house.project.workspace("pair").raw / "annotations" / "ann.json").read_text("utf-8")
    assert row["fields"]["dialogue_cleaned"] not in text


def test_progress_says_which_rows_are_not_verified(either: House, ann: Person, work: str) -> None:
    rows = complete(ann, work)
    ann.save(work, edit(rows[2], tone_of_voice="calm"))
    discard = {"op": "discard", "row_id": rows[0]["row_id"], "base_version": rows[0]["version"], "reason": "noise"}
    ann.save(work, discard)
    (found,) = review_progress(either.project.settings)
    assert (found.conversation_id, found.author, found.rows, found.discarded) == ("pair", "ann", 3, 1)
    assert found.unverified == (2,)


def test_a_draft_that_is_built_after_the_assignment_flows_in_and_later_ones_touch_nothing(either: House) -> None:
    workspace = either.project.workspace("pair")
    for name in ("ann", "bob", "cleo"):
        either.add(name)
    ann, hers = either.browser("ann"), either.assign("ann")
    assert _open(ann, hers)["rows"][0]["fields"]["dialogue_cleaned"] == usual_turns()[0]["text"]
    bob, his = either.browser("bob"), either.assign("bob")  # given while there are machine turns only
    write_draft(workspace, "a first draft")
    shown = _open(bob, his)["rows"]
    assert shown[0]["fields"]["dialogue_cleaned"].startswith("a first draft: ")
    assert shown[0]["fields"]["primary_speaker"] == "Nora"
    assert {row["status"] for row in shown} == {"draft"}
    (mine,) = bob.save(his, edit(shown[0], dialogue_cleaned="what I hear"))["rows"]
    write_draft(workspace, "a second draft")
    write_turns(workspace, [turn(1, "SPEAKER_00", 0.0, "all is other now")])
    again = _open(bob, his)["rows"]
    assert again[0]["fields"] == mine["fields"]
    assert [row["fields"] for row in again[1:]] == [row["fields"] for row in shown[1:]]
    assert [row["version"] for row in again] == [2, 1, 1, 1]
    assert all(row["machine_now"] is not None for row in again)
    # Who had begun with turns keeps them, and who begins now begins with the newest draft.
    assert _open(ann, hers)["rows"][0]["fields"]["dialogue_cleaned"] == usual_turns()[0]["text"]
    cleo, third = either.browser("cleo"), either.assign("cleo")
    assert _open(cleo, third)["rows"][0]["fields"]["dialogue_cleaned"].startswith("a second draft: ")
    either.add("boss", "administrator")
    either.browser("boss").post("/api/conversations/pair/export", {})
    layers = {one["author"]: one for one in read_json(workspace.artifact("review.json"))["layers"]}
    assert layers["ann"]["rows"][0]["origin"]["from"] == "turns"
    origin = {"from": "draft", "model": "a/model", "file": "a-model.json", "row_index": 1}
    assert layers["bob"]["rows"][0]["origin"] == origin
