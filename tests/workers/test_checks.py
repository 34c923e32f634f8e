"""What a worker checks before it works, what it writes down, and how workers are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Event

import pytest
from filelock import FileLock

from pipeline.errors import PrerequisiteError, UsageError
from pipeline.settings import Settings, load_settings
from pipeline.station import State, Workspace
from pipeline.store import Json
from pipeline.workers.journal import ENDS, Journal, read_journal
from pipeline.workers.run import build_conversations
from pipeline.workers.worker import LOCK, Run, Worker, versions
from tests.assets.small import LINE, Count, Letters, write


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "workers" / "now"
    folder.mkdir(parents=True)
    return Run(tmp_path, folder, Settings(data=tmp_path / "data", raw=tmp_path / "raw_video"))


def test_a_worker_that_sees_another_folder_refuses(run: Run) -> None:
    with pytest.raises(PrerequisiteError, match="another one"):
        Worker(run, "worker01").ready({})


def test_a_worker_without_the_folder_refuses(run: Run) -> None:
    away = Run(run.project / "missing", run.folder, run.settings)
    with pytest.raises(PrerequisiteError, match="cannot enter"):
        Worker(away, "worker01").ready({})


def test_a_worker_that_can_take_a_held_lock_refuses(run: Run) -> None:
    (run.folder / LOCK).touch()
    with pytest.raises(PrerequisiteError, match="locks on the data folder do not reach"):
        Worker(run, "worker01").ready({})


def test_a_worker_with_other_packages_refuses_and_names_them(run: Run) -> None:
    with FileLock(run.folder / LOCK):
        Worker(run, "worker01").ready({})
        with pytest.raises(PrerequisiteError, match=r"rescue-bench .* instead of 99"):
            Worker(run, "worker01").ready({"rescue-bench": "99"})


def test_the_journal_leaves_out_a_line_cut_off_by_a_kill(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker01", "node", 7)
    journal.write("anna", "words")
    journal.write("anna", ENDS, ("words",))
    with (tmp_path / "worker01.jsonl").open("a") as opened:
        opened.write('{"time": "2026')
    assert [(entry.step, entry.made, entry.pid) for entry in read_journal(tmp_path)] == [
        ("words", (), 7),
        (ENDS, ("words",), 7),
    ]


def test_one_bad_conversation_stops_only_itself_here_too(tmp_path: Path) -> None:
    write(tmp_path, anna="a", ben="bad", cleo="ccc")
    settings = Settings(data=tmp_path / "data", raw=tmp_path / "raw_video")
    told: list[tuple[str, str]] = []
    built = list(build_conversations(found(settings), LINE, settings, progress=lambda *step: told.append(step)))
    states = {one.workspace.conversation.id: [outcome.state.value for outcome in one.outcomes] for one in built}
    assert states == {"anna": ["done", "done"], "ben": ["failed", "skipped"], "cleo": ["done", "done"]}
    assert told == [(name, station.name) for name in states for station in LINE]


def test_the_next_recording_is_decoded_while_models_work_on_this_one(tmp_path: Path) -> None:
    write(tmp_path, anna="a", ben="b")
    settings = Settings(data=tmp_path / "data", raw=tmp_path / "raw_video")
    decoded = Event()

    class Decode(Letters):
        name = "audio"

        def run(self, workspace: Workspace) -> Mapping[str, Json]:
            summary = super().run(workspace)
            if workspace.conversation.id == "ben":
                decoded.set()
            return summary

    class Recognise(Count):
        name = "words"
        needs = ("audio",)

        def run(self, workspace: Workspace) -> Mapping[str, Json]:
            assert decoded.wait(10), "ben was not decoded while anna was worked on"
            return super().run(workspace)

    built = list(build_conversations(found(settings), (Decode(), Recognise()), settings))
    assert [[outcome.station for outcome in one.outcomes] for one in built] == [["audio", "words"]] * 2
    assert all(outcome.state is State.DONE for one in built for outcome in one.outcomes)


def test_no_worker_is_started_where_everything_is_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, anna="a")
    settings = Settings(data=tmp_path / "data", raw=tmp_path / "raw_video")
    list(build_conversations(found(settings), LINE, settings))
    many = settings.model_copy(update={"workers": 2})
    monkeypatch.setattr("pipeline.workers.run.open_pool", None)
    (built,) = build_conversations(found(settings), LINE, many)
    assert not any(outcome.ran for outcome in built.outcomes)
    assert not (settings.data / "workers").exists()


@pytest.mark.parametrize(("value", "expected"), [("2", 2), (3, 3), ("head.lab:6379", "head.lab:6379")])
def test_workers_are_a_number_or_an_address(value: object, expected: object) -> None:
    assert load_settings(workers=value).workers == expected


@pytest.mark.parametrize("value", ["0", "two", "ray://head:10001", "head"])
def test_other_workers_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="workers"):
        load_settings(workers=value)


def test_versions_hold_what_changes_results() -> None:
    assert set(versions(LINE)) == {"rescue-bench"}


def found(settings: Settings):  # type: ignore[no-untyped-def]
    from pipeline.build import find_workspaces

    return find_workspaces(settings).workspaces
