"""The data set as assets: one call of the library makes all tables, so one step does."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
from collections.abc import Iterator, Mapping

import dagster as dg

from assets.checks import NOTHING_MISSING
from assets.metadata import column_schema, shown_path
from assets.resources import Project
from pipeline.dataset.build import TABLES, build_dataset
from pipeline.dataset.card import TABLE_TITLES
from pipeline.dataset.figures import keep_figures
from pipeline.errors import RescueError
from pipeline.schemas import TASKS
from pipeline.store import read_json

__all__ = ["DatasetOptions", "benchmark"]

_FOLDER = "benchmark"
_DEPS: Mapping[str, tuple[str, ...]] = {
    "conversations": ("source", "turns", "rows"),
    "turns": ("turns",),
    "rows": ("rows",),
}


class DatasetOptions(dg.Config):
    """What can be chosen when the tables are built."""

    allow_missing: bool = False
    """Build them even if conversations failed or were never built; these are left out and listed."""


def _spec(table: str) -> dg.AssetSpec:
    task = table in TASKS
    title = TABLE_TITLES[table][:1].upper() + TABLE_TITLES[table][1:]
    return dg.AssetSpec(
        dg.AssetKey([_FOLDER, table]),
        deps=[dg.AssetKey([_FOLDER, "rows"])] if task else _DEPS[table],
        description=f"{title}{'' if title.endswith('?') else '.'}\n\nFiles: `{_FOLDER}/{table}/<split>.parquet`.",
        group_name="tasks" if task else "tables",
        kinds={"parquet"},
        metadata={"dagster/column_schema": column_schema(TABLES[table])},
        # One table decides for all, as all are made together; this one waits for every conversation.
        automation_condition=dg.AutomationCondition.eager() if table == "conversations" else None,
    )


_STATISTICS = dg.AssetSpec(
    dg.AssetKey([_FOLDER, "statistics"]),
    deps=[dg.AssetKey([_FOLDER, table]) for table in TABLES],
    description=f"Counts of everything in the data set, by scenario and split.\n\nFiles: `{_FOLDER}/statistics.json`, "
    f"the same as a table in `{_FOLDER}/statistics.parquet`, and as pictures in `{_FOLDER}/figures`.",
    group_name="tables",
    kinds={"json"},
)


@dg.multi_asset(
    name="build_tables",
    specs=[*(_spec(table) for table in TABLES), _STATISTICS],
    check_specs=[NOTHING_MISSING],
    pool="tables",
)
def benchmark(
    context: dg.AssetExecutionContext, config: DatasetOptions, project: Project
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Build all tables, unless they are current."""
    settings = project.settings
    try:
        found = project.found()
        report = build_dataset(found.workspaces, settings, problems=found.problems, allow_missing=config.allow_missing)
    except RescueError as error:
        hint = "repair them, or launch this again with `allow_missing: true` in the launchpad"
        raise dg.Failure(error.message, metadata={"try": hint}, allow_retries=False) from error
    context.log.info("tables: %s", "built" if report.ran else "everything is current")
    for table in TABLES:
        folder = shown_path(settings.benchmark_dir / table, settings)
        yield dg.MaterializeResult(
            asset_key=[_FOLDER, table],
            metadata={"dagster/row_count": report.tables[table], "made now": report.ran, "folder": folder},
        )
    file = settings.benchmark_dir / "statistics.json"
    figures = keep_figures(settings.benchmark_dir) or []
    statistics = {"statistics": dg.MetadataValue.json(read_json(file))}
    yield dg.MaterializeResult(
        asset_key=_STATISTICS.key,
        metadata={"made now": report.ran, "file": shown_path(file, settings), "figures": len(figures), **statistics},
    )
    yield dg.AssetCheckResult(
        asset_key=NOTHING_MISSING.asset_key,
        check_name=NOTHING_MISSING.name,
        passed=not report.missing,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"left out": ", ".join(report.missing) or "none"},
    )
