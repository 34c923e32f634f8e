"""What Dagster loads: a changed key, dependency, group or automation shows here."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.definitions import defs
from tests.conftest import REPOSITORY

BASELINES = {f"evaluation/baseline_{name}" for name in ("random", "majority", "repeat_last", "rules")}
GROUPS = {
    "recording": {"recording", "source", "audio"},
    "speech": {"words", "speakers", "turns", "quality"},
    "annotation": {"annotations", "rows"},
    "picture": {"clips", "cues"},
    "tables": {"benchmark/conversations", "benchmark/turns", "benchmark/rows", "benchmark/statistics"},
    "tasks": {f"benchmark/{task}" for task in ("itp", "rpp", "stp", "ssp", "er", "vp")},
    "publication": {"publication"},
    "evaluation": {*BASELINES, "leaderboard"},
}
DEPENDENCIES = {
    "recording": set(),
    "source": {"recording"},
    "audio": {"source"},
    "words": {"audio"},
    "speakers": {"audio"},
    "turns": {"words", "speakers"},
    "quality": {"turns"},
    "annotations": {"recording", "source"},
    "rows": {"annotations", "speakers", "turns"},
    "benchmark/conversations": {"source", "turns", "rows"},
    "benchmark/turns": {"turns"},
    "benchmark/rows": {"rows"},
    "benchmark/itp": {"benchmark/rows"},
    "evaluation/baseline_majority": {f"benchmark/{task}" for task in ("itp", "rpp", "stp", "ssp", "er", "vp")},
    "leaderboard": BASELINES,
}


@pytest.fixture(scope="module")
def specs() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_the_assets_are_these_in_these_groups(specs: dict[str, dg.AssetSpec]) -> None:
    found: dict[str, set[str]] = {}
    for name, spec in specs.items():
        found.setdefault(str(spec.group_name), set()).add(name)
    assert found == GROUPS


def test_each_asset_follows_from_what_it_is_made_of(specs: dict[str, dg.AssetSpec]) -> None:
    for name, expected in DEPENDENCIES.items():
        assert {dep.asset_key.to_user_string() for dep in specs[name].deps} == expected, name


def test_every_asset_is_explained_and_every_table_has_its_columns(specs: dict[str, dg.AssetSpec]) -> None:
    for name, spec in specs.items():
        assert len(spec.description or "") > 40, name
        if "parquet" in spec.kinds:
            schema = spec.metadata["dagster/column_schema"]
            assert isinstance(schema, dg.TableSchema)
            assert schema.columns, name


def test_only_what_is_harmless_runs_by_itself() -> None:
    repository = defs.get_repository_def()
    sensors = {sensor.name: sensor.default_status for sensor in repository.sensor_defs}
    schedules = {schedule.name: schedule.default_status for schedule in repository.schedule_defs}
    running, stopped = dg.DefaultSensorStatus.RUNNING, dg.DefaultScheduleStatus.STOPPED
    assert sensors == {"follow_raw_video": running, "refresh_tables": running}
    assert schedules == {"nightly_build": stopped}
    assert {job.name for job in repository.get_all_jobs()} == {
        "build_everything",
        "evaluate_models",
        "publish",
        "__ASSET_JOB",
    }


def test_the_settings_of_dagster_put_its_records_where_they_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESCUE_DAGSTER", str(tmp_path / "records"))
    monkeypatch.setenv("DAGSTER_HOME", str(REPOSITORY))
    before = {path.name for path in REPOSITORY.iterdir()}
    with dg.DagsterInstance.get() as instance:
        assert not instance.telemetry_enabled
        concurrency = instance.get_concurrency_config()
        assert concurrency.run_queue_config is not None
        assert concurrency.run_queue_config.max_concurrent_runs == 4
        assert concurrency.pool_config.default_pool_limit == 1
        instance.add_dynamic_partitions("conversation", ["a"])
    assert (tmp_path / "records" / "history" / "runs" / "index.db").is_file()
    assert {path.name for path in REPOSITORY.iterdir()} == before
