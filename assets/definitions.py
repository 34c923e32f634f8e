"""Everything that Dagster loads. Nothing is defined here."""

from __future__ import annotations

import dagster as dg

from assets.automation import BUILD_EVERYTHING, EVALUATE_MODELS, REFRESH_TABLES, follow_raw_video, nightly_build
from assets.checks import DATASET_CHECKS
from assets.conversations import RECORDING, conversation_assets
from assets.dataset import benchmark
from assets.evaluation import evaluation_assets, leaderboard_asset
from assets.publication import PUBLICATION, publish, schemas_fit
from assets.resources import Project
from assets.review import rows_verified

__all__ = ["defs"]

_project = Project()
_evaluated = evaluation_assets(_project.settings.evaluation.models)

defs = dg.Definitions(
    assets=[
        RECORDING,
        conversation_assets(_project.line),
        benchmark,
        PUBLICATION,
        *_evaluated,
        leaderboard_asset(_evaluated),
    ],
    asset_checks=[*DATASET_CHECKS, schemas_fit, rows_verified],
    jobs=[BUILD_EVERYTHING, EVALUATE_MODELS, publish],
    schedules=[nightly_build],
    sensors=[follow_raw_video, REFRESH_TABLES],
    resources={"project": _project},
    # One process a run: models are loaded once, and a step that starts a process would load them again.
    executor=dg.in_process_executor,
)
