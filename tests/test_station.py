"""The runner: current is skipped, failure is a value, nothing half made looks finished."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from pipeline.conversation import Conversation
from pipeline.errors import InputError, SkipStation
from pipeline.settings import Settings
from pipeline.station import Record, State, Station, Workspace, status_of
from pipeline.store import Json


class Letters(Station):
    """Copies the recording's text."""

    name = "letters"
    version = 1
    outputs = ("letters.txt",)
    runs: ClassVar[list[str]] = []

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        return {"media": workspace.raw / "media.txt"}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        self.runs.append(self.name)
        text = (workspace.raw / "media.txt").read_text()
        workspace.artifact("letters.txt").write_text(text)
        if text == "bad":
            msg = "the recording is bad"
            raise InputError(msg, file=workspace.raw / "media.txt", hint="replace it")
        if text == "none":
            msg = "nothing said"
            raise SkipStation(msg)
        if text == "bug":
            raise ZeroDivisionError
        return {"count": len(text)}


class Count(Station):
    """Counts the letters."""

    name = "count"
    version = 1
    needs = ("letters",)
    outputs = ("count.txt",)
    runs: ClassVar[list[str]] = []

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        return {"letters": workspace.artifact("letters.txt")}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        self.runs.append(self.name)
        text = workspace.artifact("letters.txt").read_text()
        workspace.artifact("count.txt").write_text(str(len(text.strip())))
        return {}


LINE = (Letters(), Count())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "media.txt").write_text("abc")
    settings = Settings(data=tmp_path / "data", raw=tmp_path)
    return Workspace.of(Conversation(id="a/b"), raw, settings)


def run(workspace: Workspace, *, force: bool = False) -> dict[str, tuple[State, bool]]:
    Letters.runs.clear()
    Count.runs.clear()
    with workspace.locked() as digests:
        outcomes = [station.process(workspace, digests, force=force) for station in LINE]
    return {outcome.station: (outcome.state, outcome.ran) for outcome in outcomes}


def test_what_is_current_is_not_made_again_and_not_touched(workspace: Workspace) -> None:
    assert run(workspace) == {"letters": (State.DONE, True), "count": (State.DONE, True)}
    before = {path: path.stat().st_mtime_ns for path in workspace.data.rglob("*") if path.name != ".lock"}
    assert run(workspace) == {"letters": (State.DONE, False), "count": (State.DONE, False)}
    assert {path: path.stat().st_mtime_ns for path in workspace.data.rglob("*") if path.name != ".lock"} == before
    assert Letters.runs == []
    assert run(workspace, force=True)["letters"] == (State.DONE, True)


def test_a_deleted_or_edited_artifact_is_made_again_alone(workspace: Workspace) -> None:
    run(workspace)
    workspace.artifact("count.txt").unlink()
    assert run(workspace) == {"letters": (State.DONE, False), "count": (State.DONE, True)}
    workspace.artifact("count.txt").write_text("99")
    assert run(workspace) == {"letters": (State.DONE, False), "count": (State.DONE, True)}
    assert workspace.artifact("count.txt").read_text() == "3"


def test_a_change_travels_only_as_far_as_it_changes_something(workspace: Workspace) -> None:
    run(workspace)
    (workspace.raw / "media.txt").write_text("xyz ")
    assert run(workspace) == {"letters": (State.DONE, True), "count": (State.DONE, True)}
    workspace.artifact("letters.txt").unlink()
    # Made again with the same bytes: what depends on it is still right.
    assert run(workspace) == {"letters": (State.DONE, True), "count": (State.DONE, False)}


@pytest.mark.parametrize("text", ["bad", "bug"])
def test_failure_is_a_value_and_leaves_nothing_that_looks_finished(workspace: Workspace, text: str) -> None:
    run(workspace)
    (workspace.raw / "media.txt").write_text(text)
    assert run(workspace) == {"letters": (State.FAILED, True), "count": (State.SKIPPED, True)}
    assert not workspace.artifact("letters.txt").exists()
    assert not workspace.artifact("count.txt").exists()
    record = Record.read(workspace.record("letters"))
    assert record.reason
    assert record.hint
    assert str(workspace.raw) not in str(record.to_json())
    assert Record.read(workspace.record("count")).reason == "waits for letters, which failed"
    assert run(workspace)["letters"] == (State.FAILED, True), "what failed is tried again"


def test_nothing_to_do_has_a_reason_that_is_handed_on(workspace: Workspace) -> None:
    (workspace.raw / "media.txt").write_text("none")
    assert run(workspace)["count"] == (State.SKIPPED, True)
    assert Record.read(workspace.record("count")).reason == "nothing said"
    assert run(workspace) == {"letters": (State.SKIPPED, False), "count": (State.SKIPPED, False)}


def test_a_torn_record_means_not_made(workspace: Workspace) -> None:
    run(workspace)
    workspace.record("letters").write_text('{"state": "do')
    assert status_of(LINE, workspace)["letters"].state is State.MISSING
    assert run(workspace)["letters"] == (State.DONE, True)


def test_status_says_what_is_stale_and_what_waits_for_it(workspace: Workspace) -> None:
    assert {record.state for record in status_of(LINE, workspace).values()} == {State.MISSING}
    run(workspace)
    assert {record.state for record in status_of(LINE, workspace).values()} == {State.DONE}
    (workspace.raw / "media.txt").write_text("new")
    standing = status_of(LINE, workspace)
    assert standing["letters"].state is standing["count"].state is State.STALE
    assert standing["count"].reason == "letters is stale"


def test_a_station_without_a_version_is_refused_when_it_is_defined() -> None:
    with pytest.raises(TypeError, match="version"):

        class Wrong(Station):
            name = "wrong"
            outputs = ()
