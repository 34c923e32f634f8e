"""The partitions are the conversations in the raw folder."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.automation import follow_raw_video
from assets.partitions import CONVERSATIONS, register
from assets.prepare import end_lost_runs
from tests.assets.small import SmallProject, definitions, write


@pytest.fixture
def instance() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()


def test_new_ones_come_and_removed_ones_go(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a", ben="b")
    assert register(instance, project.found()).added == ("anna", "ben")
    assert register(instance, project.found()).added == ()
    (tmp_path / "raw_video/anna/conversation.yaml").unlink()
    write(tmp_path, cleo="c")
    changed = register(instance, project.found())
    assert (changed.added, changed.gone) == (("cleo",), ("anna",))
    assert CONVERSATIONS.get_partition_keys(dynamic_partitions_store=instance) == ["ben", "cleo"]


def test_nothing_goes_while_a_description_is_under_repair(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a")
    register(instance, project.found())
    (tmp_path / "raw_video/anna/conversation.yaml").write_text("id: [")
    assert register(instance, project.found()).gone == ()


def test_the_sensor_asks_for_the_same(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = SmallProject(folder=str(tmp_path))
    write(tmp_path, anna="a")
    instance.add_dynamic_partitions("conversation", ["gone"])
    context = dg.build_sensor_context(instance=instance, resources={"project": project})
    result = follow_raw_video(context)
    assert isinstance(result, dg.SensorResult)
    asked = {type(item).__name__: list(item.partition_keys) for item in result.dynamic_partitions_requests or []}
    assert asked == {"AddDynamicPartitionsRequest": ["anna"], "DeleteDynamicPartitionsRequest": ["gone"]}
    register(instance, project.found())
    again = follow_raw_video(dg.build_sensor_context(instance=instance, resources={"project": project}))
    assert isinstance(again, dg.SensorResult)
    assert not again.dynamic_partitions_requests


def test_a_run_that_was_cut_off_does_not_hold_its_pool(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    job = definitions(tmp_path).resolve_implicit_global_asset_job_def()
    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert end_lost_runs(instance) == 1
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.status is dg.DagsterRunStatus.FAILURE
    assert end_lost_runs(instance) == 0
