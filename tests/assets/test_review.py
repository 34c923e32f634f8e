"""The check of the annotations says how far people are, and which rows are not verified."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest

pytest.importorskip("fastapi", reason="the extra `review` is not installed")

from assets.conversations import conversation_assets
from assets.resources import Project as Resource
from assets.review import rows_verified
from tests.review.made import House, Project, complete, edit, make_recording


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    recording = tmp_path / "recording.mp4"
    make_recording(recording)
    project = Project(tmp_path / "project")
    project.fill(recording)
    monkeypatch.setenv("RESCUE_RAW", str(project.raw))
    monkeypatch.setenv("RESCUE_DATA", str(project.settings.data))
    return House(project)


def _check() -> dg.AssetCheckEvaluation:
    resource = Resource()
    definitions = dg.Definitions(
        assets=[conversation_assets(resource.line)], asset_checks=[rows_verified], resources={"project": resource}
    )
    job = definitions.resolve_implicit_global_asset_job_def()
    keys = {dg.AssetCheckKey(dg.AssetKey("annotations"), "rows_verified")}
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.get_subset(asset_selection=set(), asset_check_selection=keys).execute_in_process(instance=instance)
    (found,) = result.get_asset_check_evaluations()
    return found


def test_rows_that_are_not_verified_are_named(house: House) -> None:
    for name in ("ann", "bob"):
        house.add(name)
    ann, hers, his = house.browser("ann"), house.assign("ann"), house.assign("bob")
    rows = complete(ann, hers)
    ann.save(hers, edit(rows[2], tone_of_voice="calm"))
    house.browser("bob").get(f"/api/assignments/{his}")
    found = _check()
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.metadata["rows that are not verified"].value == 5
    table = found.metadata["progress"]
    assert isinstance(table, dg.TableMetadataValue)
    shown = {str(one.data["who"]): (one.data["verified"], one.data["rows that are not"]) for one in table.records}
    assert shown == {"ann": ("3 of 4", "3"), "bob": ("0 of 4", "1, 2, 3, 4")}
    complete(ann, hers)
    complete(house.browser("bob"), his)
    assert _check().passed
    house.database.close()


def test_a_project_that_nobody_reviews_passes(house: House) -> None:
    house.database.close()
    shutil.rmtree(house.project.settings.review_dir)
    found = _check()
    assert found.passed
    assert found.metadata["conversations under review"].value == 0
    assert not house.project.settings.review_dir.exists()
