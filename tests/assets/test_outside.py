"""What ``rescue build`` made shows in Dagster: once, with its reason where it failed, and nothing that Dagster made."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.automation import follow_raw_video
from assets.outside import news
from assets.partitions import CONVERSATIONS, register
from pipeline.build import build_conversation
from tests.assets.small import LINE, SmallProject, build, write


@pytest.fixture
def instance() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()


def by_hand(project: SmallProject, *names: str) -> None:
    for workspace in project.found().workspaces:
        if workspace.conversation.id in names:
            build_conversation(workspace, LINE)


def told(result: object) -> list[tuple[str, str, str]]:
    assert isinstance(result, dg.SensorResult)
    return sorted(
        (type(one).__name__, str(one.partition), one.asset_key.path[-1])
        for one in result.asset_events
        if isinstance(one, dg.AssetMaterialization | dg.AssetObservation)
    )


def look(project: SmallProject, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
    """A look of the sensor; its events are kept as the daemon would."""
    context = dg.build_sensor_context(instance=instance, resources={"project": project}, cursor=cursor)
    result = follow_raw_video(context)
    assert isinstance(result, dg.SensorResult)
    for event in result.asset_events:
        instance.report_runless_asset_event(event)
    return result


def test_what_the_command_line_built_is_shown_once(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a", ben="bad")
    by_hand(project, "anna", "ben")
    assert told(look(project, instance)) == []  # first they become partitions
    register(instance, project.found())
    first = look(project, instance)
    assert told(first) == [
        ("AssetMaterialization", "anna", "count"),
        ("AssetMaterialization", "anna", "letters"),
        ("AssetObservation", "ben", "count"),
        ("AssetObservation", "ben", "letters"),
    ]
    failed = next(one for one in first.asset_events if one.asset_key.path[-1] == "letters" and one.partition == "ben")
    assert failed.description == "ben: letters: text.txt: the text is bad (write another)"
    states = instance.get_status_by_partition(dg.AssetKey("letters"), ["anna", "ben"], CONVERSATIONS) or {}
    assert [state and state.value for state in (states.get("anna"), states.get("ben"))] == ["MATERIALIZED", None]
    assert told(look(project, instance, first.cursor)) == []
    assert told(look(project, instance)) == []  # nor to a sensor that was reset


def test_what_was_made_again_is_shown_again(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a")
    register(instance, project.found())
    by_hand(project, "anna")
    first = look(project, instance)
    write(tmp_path, anna="other")
    by_hand(project, "anna")
    assert ("AssetMaterialization", "anna", "letters") in told(look(project, instance, first.cursor))


def test_what_dagster_made_is_no_news(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a", ben="bad")
    register(instance, project.found())
    build(tmp_path, instance, ["anna", "ben"])
    assert news(project, instance, 0).events == ()


def test_many_come_in_parts(tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.outside._MOST", 3)
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a", ben="b", cleo="c")
    register(instance, project.found())
    by_hand(project, "anna", "ben", "cleo")
    seen, cursor = [], None
    for _ in range(3):
        result = look(project, instance, cursor)
        seen += told(result)
        cursor = result.cursor
    assert len(seen) == len(set(seen)) == 6
