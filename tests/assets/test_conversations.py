"""Many conversations in one run: each succeeds or fails on its own, and what is current is not made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import AssetRecordsFilter

from assets.partitions import CONVERSATIONS, register
from pipeline.build import build_conversation, find_workspaces
from pipeline.settings import Settings
from tests.assets.small import LINE, SmallProject, build, write

KEYS = ["anna", "ben", "cleo"]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home), overrides={"telemetry": {"enabled": False}}) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, instance: dg.DagsterInstance) -> Path:
    """Three conversations, the second one bad."""
    write(tmp_path, anna="a", ben="bad", cleo="ccc")
    register(instance, SmallProject(folder=str(tmp_path)).found())
    return tmp_path


def states(folder: Path, instance: dg.DagsterInstance, asset: str) -> dict[str, str]:
    found = instance.get_status_by_partition(dg.AssetKey(asset), KEYS, CONVERSATIONS) or {}
    return {key: status.value for key, status in found.items() if status}


def materialized(instance: dg.DagsterInstance, asset: str, key: str) -> list[dg.AssetMaterialization]:
    wanted = AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[key])
    records = instance.fetch_materializations(wanted, limit=10).records
    return [record.asset_materialization for record in records if record.asset_materialization]


def test_one_bad_conversation_stops_only_itself(folder: Path, instance: dg.DagsterInstance) -> None:
    result = build(folder, instance, KEYS)
    assert not result.success
    for asset in ("letters", "count"):
        expected = {"anna": "MATERIALIZED", "ben": "FAILED", "cleo": "MATERIALIZED"}
        assert states(folder, instance, asset) == expected, asset
    assert (folder / "data/conversations/cleo/count.json").read_text() == "3"
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    told = failure.step_failure_data.user_failure_data
    assert told is not None
    assert "1 of 3 conversations" in (told.description or "")
    table = told.metadata["problems"]
    assert isinstance(table, dg.TableMetadataValue)
    assert [record.data for record in table.records] == [
        {"conversation": "ben", "station": "letters", "reason": "text.txt: the text is bad", "try": "write another"},
        {"conversation": "ben", "station": "count", "reason": "waits for letters, which failed", "try": ""},
    ]


def test_reason_and_hint_are_on_the_page_of_the_conversation(folder: Path, instance: dg.DagsterInstance) -> None:
    build(folder, instance, KEYS)
    wanted = AssetRecordsFilter(asset_key=dg.AssetKey("letters"), asset_partitions=["ben"])
    (record,) = instance.fetch_observations(wanted, limit=10).records
    observation = record.event_log_entry.asset_observation
    assert observation is not None
    assert {name: value.value for name, value in observation.metadata.items()} == {
        "reason": "text.txt: the text is bad",
        "try": "write another",
    }


def test_each_conversation_keeps_its_own_figures_and_shows_no_path_of_the_machine(
    folder: Path, instance: dg.DagsterInstance
) -> None:
    build(folder, instance, KEYS)
    shown = {}
    for key in ("anna", "cleo"):
        (event,) = materialized(instance, "letters", key)
        shown[key] = {name: value.value for name, value in event.metadata.items() if name != "took (s)"}
        assert str(folder) not in str(event)
    assert shown["anna"] == {
        "made now": True,
        "letters": 1,
        "duration (s)": 1.5,
        "flags": "short; plain",
        "letters.txt": "data/conversations/anna/letters.txt",
    }
    assert shown["cleo"]["letters"] == 3


def test_what_was_repaired_is_made_and_the_rest_is_left_alone(folder: Path, instance: dg.DagsterInstance) -> None:
    build(folder, instance, KEYS)
    before = contents(folder / "data")
    write(folder, ben="bb")
    assert build(folder, instance, KEYS).success
    assert states(folder, instance, "count") == dict.fromkeys(KEYS, "MATERIALIZED")
    after = contents(folder / "data")
    assert {name.parts[1] for name in after if after[name] != before.get(name)} == {"ben"}
    latest = materialized(instance, "letters", "anna")[0]
    assert latest.metadata["made now"].value is False


def test_a_run_with_nothing_to_do_touches_nothing(folder: Path, instance: dg.DagsterInstance) -> None:
    write(folder, ben="bb")
    build(folder, instance, KEYS)
    before = contents(folder / "data")
    assert build(folder, instance, KEYS).success
    assert contents(folder / "data") == before
    versions = {(event.tags or {}).get("dagster/data_version") for event in materialized(instance, "letters", "anna")}
    assert len(versions) == 1, "the same content has the same data version"
    assert build(folder, instance, KEYS, force=True).success
    assert materialized(instance, "letters", "anna")[0].metadata["made now"].value is True


def test_the_files_are_those_of_the_library(folder: Path, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    build(folder, instance, KEYS)
    beside = Settings(data=tmp_path / "beside", raw=folder / "raw_video")
    for workspace in find_workspaces(beside).workspaces:
        build_conversation(workspace, LINE)
    made = {name: content for name, (content, _) in contents(folder / "data").items() if name.name != ".digests.json"}
    assert made == {
        name: content for name, (content, _) in contents(beside.data).items() if name.name != ".digests.json"
    }
    assert any(name.name == "status.json" for name in made)


def test_one_station_alone_keeps_the_others_in_the_summary(folder: Path, instance: dg.DagsterInstance) -> None:
    build(folder, instance, ["anna"], "letters")
    whole = (folder / "data/conversations/anna/status.json").read_text()
    assert '"count": {\n      "state": "missing"' in whole
    assert "anna" not in states(folder, instance, "count")
    result = build(folder, instance, ["cleo"], "count")
    assert not result.success, "a station that waits for another has made nothing"
    assert states(folder, instance, "count")["cleo"] == "FAILED"


def test_a_conversation_whose_folder_is_gone_is_named(folder: Path, instance: dg.DagsterInstance) -> None:
    (folder / "raw_video/anna/conversation.yaml").unlink()
    result = build(folder, instance, ["anna"])
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert failure.step_failure_data.user_failure_data is not None
    assert "anna" in (failure.step_failure_data.user_failure_data.description or "")


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file with its bytes and its time of modification."""
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
