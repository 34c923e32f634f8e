"""The data set: nothing stale, nothing silent, the same bytes again, readable by everyone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from pipeline.build import build_conversation, find_workspaces
from pipeline.conversation import save_conversation
from pipeline.dataset.build import TABLES, build_dataset
from pipeline.errors import InputError
from pipeline.schemas import TASKS
from pipeline.settings import Settings
from tests.dataset.made import LINE, project, run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = project(tmp_path_factory.mktemp("project"))
    build_dataset(find_workspaces(settings).workspaces, settings)
    return settings


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def column(settings: Settings, table: str, name: str) -> list[Any]:
    values: list[Any] = pq.read_table(settings.benchmark_dir / table / "test.parquet")[name].to_pylist()
    return values


def test_all_tables_are_there_with_their_schema(made: Settings) -> None:
    for table, schema in TABLES.items():
        stored = pq.read_schema(made.benchmark_dir / table / "test.parquet")
        assert stored.equals(schema, check_metadata=True), table
        assert pq.read_metadata(made.benchmark_dir / table / "test.parquet").num_rows >= (table != "turns")


def test_a_second_build_does_nothing_and_a_fresh_one_gives_the_same_bytes(made: Settings, tmp_path: Path) -> None:
    before = contents(made.benchmark_dir)
    report = build_dataset(find_workspaces(made).workspaces, made)
    assert not report.ran
    assert contents(made.benchmark_dir) == before
    again = project(tmp_path)
    build_dataset(reversed(find_workspaces(again).workspaces), again)  # type: ignore[arg-type]  # any order
    assert contents(again.benchmark_dir) == before


def test_instances_point_to_rows_that_are_there(made: Settings) -> None:
    rows = set(zip(column(made, "rows", "conversation_id"), column(made, "rows", "row_index"), strict=True))
    ids: list[str] = []
    for task in TASKS:
        table = pq.read_table(made.benchmark_dir / task / "test.parquet").to_pylist()
        ids += [instance["instance_id"] for instance in table]
        for instance in table:
            assert (instance["conversation_id"], instance["row_index"]) in rows
            context = instance["context_rows"]
            if context:
                last = instance["row_index"] - (task != "itp")
                assert 1 <= context["first"] <= context["last"] == last
            for gold in ("label", "target", "strategy"):
                if gold in instance:
                    assert instance[gold] in instance["candidates"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_what_was_removed_or_changed_leaves_nothing_stale(tmp_path: Path, change: str) -> None:
    settings = project(tmp_path, samples=4)
    build_dataset(find_workspaces(settings).workspaces, settings)
    victim = find_workspaces(settings).workspaces[0]
    before = column(settings, "rows", "conversation_id").count(victim.conversation.id)
    if change == "removed":
        shutil.rmtree(victim.raw)
        expected = 0
    else:
        path = victim.raw / "annotations.json"
        text = path.read_text("utf-8")
        path.write_text(text.replace('"dialogue_cleaned": "', '"dialogue_cleaned": "Changed. ', 1), encoding="utf-8")
        expected = before
    run(settings)
    report = build_dataset(find_workspaces(settings).workspaces, settings)
    assert report.ran
    assert column(settings, "rows", "conversation_id").count(victim.conversation.id) == expected
    for table in TABLES:
        assert (victim.conversation.id in column(settings, table, "conversation_id")) <= (expected > 0)
    dialogue = " ".join(column(settings, "rows", "dialogue_cleaned"))
    assert ("Changed." in dialogue) == (change == "changed")


def test_missing_conversations_are_named_and_stop_the_build(tmp_path: Path) -> None:
    settings = project(tmp_path, samples=5)
    never, failed, gone, *_ = find_workspaces(settings).workspaces
    shutil.rmtree(never.data)
    (failed.raw / "annotations.json").write_text("{torn")
    shutil.rmtree(gone.raw)
    build_conversation(failed, LINE)
    workspaces = find_workspaces(settings).workspaces
    with pytest.raises(InputError) as refused:
        build_dataset(workspaces, settings)
    assert never.conversation.id in str(refused.value)
    assert failed.conversation.id in str(refused.value)
    assert "--allow-missing" in str(refused.value)
    assert not settings.benchmark_dir.exists()
    report = build_dataset(workspaces, settings, allow_missing=True)
    assert sorted(report.missing) == sorted([never.conversation.id, failed.conversation.id])
    left = set(column(settings, "rows", "conversation_id"))
    assert left == {workspace.conversation.id for workspace in workspaces} - set(report.missing)


def test_a_deleted_or_edited_table_is_made_again(tmp_path: Path) -> None:
    settings = project(tmp_path, samples=3)
    workspaces = find_workspaces(settings).workspaces
    build_dataset(workspaces, settings)
    before = contents(settings.benchmark_dir)
    for damage in (Path.unlink, lambda path: path.write_bytes(b"torn")):
        damage(settings.benchmark_dir / "rpp" / "test.parquet")
        assert build_dataset(workspaces, settings).ran
        assert contents(settings.benchmark_dir) == before


def test_every_reader_sees_the_same(made: Settings) -> None:
    path = made.benchmark_dir / "rows" / "test.parquet"
    rows = pq.read_table(path).to_pylist()
    assert pl.read_parquet(path).to_dicts() == rows
    assert len(pd.read_parquet(path, dtype_backend="pyarrow")) == len(rows)
    counted = duckdb.sql(f"select count(*), sum(len(internal_emotion)) from '{path}'").fetchall()[0]
    assert counted == (len(rows), sum(len(row["internal_emotion"]) for row in rows))
    strategy = duckdb.sql(f"select support_strategy[1].strategy_type from '{path}' where len(support_strategy) > 0")
    assert {value for (value,) in strategy.fetchall()} == {
        row["support_strategy"][0]["strategy_type"] for row in rows if row["support_strategy"]
    }


def test_a_folder_that_cannot_be_read_is_missing_too(tmp_path: Path) -> None:
    settings = project(tmp_path, samples=3)
    folder = find_workspaces(settings).workspaces[0].raw
    (folder / "conversation.yaml").write_text("title: 2026-02-30\n")
    found = find_workspaces(settings)
    assert len(found.problems) == 1
    with pytest.raises(InputError, match="1 conversations are missing"):
        build_dataset(found.workspaces, settings, problems=found.problems)
    report = build_dataset(found.workspaces, settings, problems=found.problems, allow_missing=True)
    assert report.missing == (folder.name,)


def test_participants_of_the_annotation_alone_count(tmp_path: Path) -> None:
    settings = project(tmp_path, samples=3)
    build_dataset(find_workspaces(settings).workspaces, settings)
    told = {table: pq.read_table(settings.benchmark_dir / table / "test.parquet") for table in ("stp", "conversations")}
    for workspace in find_workspaces(settings).workspaces:
        without = workspace.conversation.model_copy(update={"participants": ()})
        save_conversation(workspace.raw, without)
    run(settings)
    build_dataset(find_workspaces(settings).workspaces, settings)
    for table, before in told.items():
        after = pq.read_table(settings.benchmark_dir / table / "test.parquet")
        for column in ("candidates", "participants"):
            if column in before.column_names:
                assert after[column] == before[column]
