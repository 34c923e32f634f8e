"""The tables through Dagster are those of the library, byte for byte; a missing conversation is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest

from assets.checks import as_published, no_leaks
from assets.conversations import RECORDING, conversation_assets
from assets.dataset import benchmark
from assets.partitions import register
from assets.publication import PUBLICATION, publish, schemas_fit
from assets.resources import Project
from pipeline.build import build_conversation, find_workspaces, stations
from pipeline.conversation import load_conversation, save_conversation
from pipeline.dataset.build import build_dataset
from pipeline.dataset.figures import keep_figures
from pipeline.schemas import TASKS, read_rows, table_of, write_table
from pipeline.settings import Settings
from pipeline.speech.models import Models
from tests.assets.small import write
from tests.conftest import REPOSITORY


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The role play without its recording: real annotations, no model needed."""
    source, raw = REPOSITORY / "raw_video" / "role_play", tmp_path / "raw_video" / "role_play"
    raw.mkdir(parents=True)
    shutil.copy(source / "annotations.json", raw)
    save_conversation(raw, load_conversation(source).model_copy(update={"media": None}))
    monkeypatch.setenv("RESCUE_RAW", str(tmp_path / "raw_video"))
    monkeypatch.setenv("RESCUE_DATA", str(tmp_path / "data"))
    return Project()


def run(project: Project, instance: dg.DagsterInstance, asset: dg.AssetsDefinition, **options: bool) -> dg.RunRecord:
    """One run of one step, as the UI starts it; the stations over all partitions."""
    register(instance, project.found())
    keys = instance.get_dynamic_partitions("conversation")
    tags = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
    definitions = dg.Definitions(
        assets=[RECORDING, conversation_assets(project.line), benchmark],
        resources={"project": Project()},
        executor=dg.in_process_executor,
    )
    job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(asset.keys))
    result = job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        tags=tags if asset.partitions_def else {},
        run_config={"ops": {asset.node_def.name: {"config": options}}} if options else None,
    )
    return instance.get_run_records(dg.RunsFilter(run_ids=[result.run_id]))[0]


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", ".digests.json")
    }


def test_everything_in_the_ui_makes_the_files_of_the_command_line(project: Project, tmp_path: Path) -> None:
    instance = dg.DagsterInstance.ephemeral()
    for asset in (conversation_assets(project.line), benchmark):
        assert run(project, instance, asset).dagster_run.is_success
    beside = Settings(raw=tmp_path / "raw_video", data=tmp_path / "beside")
    found = find_workspaces(beside)
    for workspace in found.workspaces:
        build_conversation(workspace, stations(Models(beside)))
    build_dataset(found.workspaces, beside)
    keep_figures(beside.benchmark_dir)
    made = files(tmp_path / "data")
    assert made == files(beside.data)
    assert {"benchmark/rpp/test.parquet", "benchmark/figures/labels_couple.svg"} <= made.keys()
    event = instance.get_latest_materialization_event(dg.AssetKey(["benchmark", "rows"]))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["dagster/row_count"].value == 51


def test_a_missing_conversation_is_named_and_left_out_only_on_request(project: Project) -> None:
    instance = dg.DagsterInstance.ephemeral()
    assert run(project, instance, conversation_assets(project.line)).dagster_run.is_success
    write(project.settings.raw.parent, anna="never built")
    save_conversation(
        project.settings.raw / "anna",
        load_conversation(project.settings.raw / "anna").model_copy(update={"media": "anna.mp4"}),
    )
    refused = run(project, instance, benchmark)
    assert refused.dagster_run.is_failure
    log = instance.all_logs(refused.dagster_run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    assert "anna" in str(log[0].dagster_event)
    assert run(project, instance, benchmark, allow_missing=True).dagster_run.is_success
    (check,) = [
        entry.dagster_event.asset_check_evaluation_data
        for record in instance.get_run_records(limit=1)
        for entry in instance.all_logs(record.dagster_run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
        if entry.dagster_event
    ]
    assert not check.passed
    assert check.metadata["left out"].value == "anna"


def test_the_checks_look_at_the_tables_as_they_were_written(project: Project) -> None:
    instance = dg.DagsterInstance.ephemeral()
    for asset in (conversation_assets(project.line), benchmark):
        assert run(project, instance, asset).dagster_run.is_success
    leaks = no_leaks(project=project)
    assert leaks.passed
    assert leaks.metadata["instances"].value == 78
    assert as_published(project=project).metadata["compared"].value.startswith("no")
    rows = project.settings.benchmark_dir / "rpp" / "test.parquet"
    told = [{**row, "instance_id": f"positive-{row['row_index']}"} for row in read_rows(rows)]
    write_table(rows, table_of(told, TASKS["rpp"]), TASKS["rpp"])
    leaking = no_leaks(project=project)
    assert not leaking.passed
    assert leaking.metadata["leaks"].value == len(told)


def test_publication_is_asked_for_and_goes_where_the_settings_say(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    for asset in (conversation_assets(project.line), benchmark):
        assert run(project, instance, asset).dagster_run.is_success

    def launch() -> dg.ExecuteInProcessResult:
        job = dg.Definitions(jobs=[publish], resources={"project": Project()}).get_job_def("publish")
        return job.execute_in_process(instance=instance, raise_on_error=False)

    assert not launch().success
    assert schemas_fit(project=Project()).metadata["compared"].value == "no: nothing is published yet"
    monkeypatch.setenv("RESCUE_PUBLICATION__TO", str(tmp_path / "share"))
    (event,) = launch().asset_materializations_for_node("publish_data_set")
    assert event.asset_key == PUBLICATION.key
    assert event.metadata["policy"].value == "annotations-only"
    assert event.metadata["pseudonyms"].value is True
    assert (tmp_path / "share" / "croissant.json").is_file()
    assert "Nora" not in (tmp_path / "share" / "README.md").read_text("utf-8")
    assert schemas_fit(project=Project()).passed
