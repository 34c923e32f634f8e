"""Models on the benchmark as assets: one a model that the settings list, and the leaderboard over all runs."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.metadata import column_schema, shown_path
from assets.resources import Project
from pipeline.errors import RescueError
from pipeline.evaluation.configured import run_configured
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.evaluation.report import write_report
from pipeline.evaluation.run import RunReport
from pipeline.evaluation.scores import leaderboard
from pipeline.schemas import TASKS
from pipeline.settings import EvaluatedModel
from pipeline.store import Json

__all__ = ["GROUP", "evaluation_assets", "leaderboard_asset"]

GROUP = "evaluation"
_ANSWERED = "all_answered"


class EvaluationOptions(dg.Config):
    """What can be chosen when a model is evaluated."""

    fresh: bool = False
    """Ask everything again, also what is answered. With a paid model this costs money again."""


def evaluation_assets(models: Sequence[EvaluatedModel]) -> list[dg.AssetsDefinition]:
    """One asset a model, so that each is run, fails and is asked again on its own."""
    taken: set[str] = set()
    assets = []
    for model in models:
        name = plain = re.sub(r"[^A-Za-z0-9_]", "_", model.model)
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name)
        assets.append(_evaluation(name, model))
    return assets


def _evaluation(name: str, model: EvaluatedModel) -> dg.AssetsDefinition:
    receiver = (
        "Nothing leaves this machine."
        if model.model.startswith("baseline/")
        else f"The dialogue is sent to {model.base_url or model.model.partition('/')[0]}."
    )

    @dg.asset(
        key=[GROUP, name],
        deps=[["benchmark", task] for task in TASKS],
        group_name=GROUP,
        kinds={"parquet"},
        metadata={"dagster/column_schema": column_schema(OUTCOMES)},
        pool=GROUP,
        check_specs=[
            dg.AssetCheckSpec(_ANSWERED, asset=[GROUP, name], description="No instance was left without an answer.")
        ],
        description=f"The answers of {model.model} to the six tasks. What is answered is not asked again."
        f"\n\n{receiver}",
    )
    def evaluated(
        context: dg.AssetExecutionContext, config: EvaluationOptions, project: Project
    ) -> Iterator[dg.MaterializeResult[None]]:
        try:
            reports = run_configured(model, project.settings, fresh=config.fresh)
        except RescueError as error:
            metadata = {"try": error.hint} if error.hint else None
            raise dg.Failure(error.message, metadata=metadata, allow_retries=False) from error
        for report in reports:
            if report.stopped:
                context.log.warning("%s: stopped, %s; the rest was not asked", report.mode, report.stopped)
        yield dg.MaterializeResult(metadata=_metadata(reports), check_results=[_answered(name, reports)])

    return evaluated


def _answered(name: str, reports: Sequence[RunReport]) -> dg.AssetCheckResult:
    """Whether every instance has an answer: a score with failures is incomplete."""
    failed = sum(counts["failed"] for report in reports for counts in report.counts.values())
    reasons = "; ".join(f"{reason} {count}" for report in reports for reason, count in report.reasons.items())
    return dg.AssetCheckResult(
        asset_key=[GROUP, name],
        check_name=_ANSWERED,
        passed=all(report.complete for report in reports),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"failed": failed, "invalid or failed, and why": reasons or "none"},
    )


def _metadata(reports: Sequence[RunReport]) -> dict[str, dg.MetadataValue[Any]]:
    costs = [report.cost for report in reports if report.cost is not None]
    known: dict[str, dg.MetadataValue[Any]] = {
        "answers": dg.MetadataValue.table(
            [
                dg.TableRecord({"mode": report.mode, "task": task, **counts})
                for report in reports
                for task, counts in report.counts.items()
            ]
        ),
        "tokens read now": dg.MetadataValue.int(sum(report.input_tokens for report in reports)),
        "tokens written now": dg.MetadataValue.int(sum(report.output_tokens for report in reports)),
    }
    return {**known, "cost now": dg.MetadataValue.float(sum(costs))} if costs else known


def leaderboard_asset(evaluated: Sequence[dg.AssetsDefinition]) -> dg.AssetsDefinition:
    """The report over all runs, also those of `rescue eval`."""

    @dg.asset(
        name="leaderboard",
        deps=[asset.key for asset in evaluated],
        group_name=GROUP,
        kinds={"html"},
        description="All runs side by side, with intervals, beside the published results; also runs that `rescue eval` "
        "made.\n\nFiles: `evaluation/report.html` and `report.md`.",
    )
    def leaderboard_report(project: Project) -> dg.MaterializeResult[None]:
        settings = project.settings
        try:
            files = write_report(settings.evaluation_dir, settings.evaluation_dir)
            lines = leaderboard(settings.evaluation_dir)
        except RescueError as error:
            metadata = {"try": error.hint} if error.hint else None
            raise dg.Failure(error.message, metadata=metadata, allow_retries=False) from error
        return dg.MaterializeResult(
            metadata={
                "runs": len(lines),
                "headline figures": dg.MetadataValue.table([dg.TableRecord(_rounded(line)) for line in lines]),
                **{kind: shown_path(file, settings) for kind, file in files.items()},
            }
        )

    return leaderboard_report


def _rounded(line: Mapping[str, Json]) -> dict[str, str | int | float | bool | None]:
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in line.items()}
