"""Models in the workbench: the runs are those of `rescue eval`, one model's failure stays its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.evaluation import evaluation_assets, leaderboard_asset
from assets.resources import Project
from pipeline.dataset.build import build_dataset
from pipeline.evaluation.scores import read_runs
from pipeline.settings import EvaluatedModel
from tests.dataset.made import project, run
from tests.evaluation.loopback import Behaviour, loopback


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the tables of eight made conversations."""
    settings = project(tmp_path_factory.mktemp("project"))
    build_dataset(run(settings), settings)
    return settings.data


@pytest.fixture
def data(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "benchmark").symlink_to(built / "benchmark")
    monkeypatch.setenv("RESCUE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def launch(*models: EvaluatedModel, **config: Any) -> dg.ExecuteInProcessResult:
    assets = evaluation_assets(models)
    definitions = dg.Definitions(
        assets=[*assets, leaderboard_asset(assets)],
        resources={"project": Project()},
        executor=dg.in_process_executor,
    )
    options = {asset.node_def.name: {"config": config} for asset in assets} if config else {}
    job = definitions.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(raise_on_error=False, run_config={"ops": options})


def metadata(result: dg.ExecuteInProcessResult, *key: str) -> dict[str, Any]:
    (found,) = result.asset_materializations_for_node("__".join(key))
    return {name: getattr(value, "records", None) or value.value for name, value in found.metadata.items()}


def test_listed_models_are_evaluated_and_stand_on_the_leaderboard(data: Path) -> None:
    first = EvaluatedModel(model="baseline/majority", tasks=("itp", "rpp"))
    second = EvaluatedModel(model="baseline/repeat-last", tasks=("itp",), limit=4)
    done = launch(first, second)
    assert done.success
    assert [run.model for run in read_runs(data / "evaluation")] == ["baseline/majority", "baseline/repeat-last"]
    answers = metadata(done, "evaluation", "baseline_majority")["answers"]
    assert [record.data["task"] for record in answers] == ["itp", "rpp"]
    assert all(record.data["failed"] == 0 < record.data["scored"] for record in answers)
    board = metadata(done, "leaderboard")
    assert board["runs"] == 2
    assert board["html"] == "data/evaluation/report.html"
    lines = [record.data for record in board["headline figures"]]
    assert lines[0]["model"] == "baseline/majority"
    assert 0 <= lines[0]["rpp_accuracy"] <= 1
    assert lines[1]["rpp_accuracy"] is None
    assert "baseline/majority" in (data / "evaluation" / "report.html").read_text("utf-8")


def test_what_is_answered_is_asked_again_only_on_request(data: Path) -> None:
    with loopback() as server:
        model = EvaluatedModel(model="small", base_url=server.url, tasks=("itp",), limit=3)
        assert launch(model).success
        assert launch(model).success
        assert server.calls == 3
        assert launch(model, fresh=True).success
        assert server.calls == 6


def test_a_model_that_fails_leaves_the_others_and_is_marked(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(status=400)) as server:
        bad = EvaluatedModel(model="small", base_url=server.url, tasks=("itp",), limit=2)
        done = launch(bad, EvaluatedModel(model="baseline/random", tasks=("itp",)))
    assert done.success
    checks = {check.asset_key.to_user_string(): check for check in done.get_asset_check_evaluations()}
    assert not checks["evaluation/small"].passed
    assert checks["evaluation/small"].metadata["failed"].value == 2
    assert "http_400 2" in checks["evaluation/small"].metadata["invalid or failed, and why"].value
    assert checks["evaluation/baseline_random"].passed


def test_a_wrong_name_is_a_failure_with_a_way_out(data: Path) -> None:
    done = launch(EvaluatedModel(model="baseline/none"), EvaluatedModel(model="baseline/random", tasks=("itp",)))
    assert not done.success
    (failure,) = [
        event for event in done.all_events if event.is_step_failure and "baseline_none" in str(event.step_key)
    ]
    assert "there is no baseline 'none'" in str(failure)
    assert metadata(done, "evaluation", "baseline_random")["answers"]


def test_two_of_one_name_are_told_apart() -> None:
    assets = evaluation_assets([EvaluatedModel(model="a/b"), EvaluatedModel(model="a-b", base_url="http://one")])
    assert [asset.key.to_user_string() for asset in assets] == ["evaluation/a_b", "evaluation/a_b_2"]
