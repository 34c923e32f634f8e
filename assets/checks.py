"""Asset checks: what the library found, as passed, warning or error, over the whole set."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
from collections.abc import Sequence

import dagster as dg

from assets.metadata import Problem, problem_table
from assets.resources import Project
from pipeline.dataset.checks import groups_across_splits
from pipeline.dataset.published import compare_with_published
from pipeline.health import LOOKS, Complaint, look_at
from pipeline.schemas import TASKS
from pipeline.station import Record, State, Workspace
from pipeline.store import read_json
from pipeline.tasks.audit import audit_built

__all__ = ["CONVERSATION_CHECKS", "DATASET_CHECKS", "NOTHING_MISSING", "evaluate"]

_AUDITED = 50

_WHOLE = dg.AssetCheckSpec(
    "recordings_whole", asset="source", description="Every recording can be read and is as long as it says."
)
_FINDINGS = dg.AssetCheckSpec(
    "annotation_rules",
    asset="annotations",
    description="Every annotation keeps the rules. An error stops its conversation; warnings and remarks do not.",
)
_LOOKS = {look.name: look for look in LOOKS}
CONVERSATION_CHECKS: Sequence[dg.AssetCheckSpec] = (
    _WHOLE,
    _FINDINGS,
    *(dg.AssetCheckSpec(look.name, asset=look.station, description=look.description) for look in LOOKS),
)
"""Told by the step that builds conversations, each time over all conversations, built now or before."""

NOTHING_MISSING = dg.AssetCheckSpec(
    "nothing_missing", asset=["benchmark", "conversations"], description="Every conversation is in the tables."
)
"""Told by the step that builds the tables."""


def evaluate(check: dg.AssetCheckSpec, workspaces: Sequence[Workspace]) -> dg.AssetCheckResult:
    """Whether all conversations pass, by the records of the station that is looked at."""
    station = check.asset_key.path[-1]
    if check.name in _LOOKS:
        return _looked(check, look_at(_LOOKS[check.name], workspaces))
    records = {workspace.conversation.id: Record.read(workspace.record(station)) for workspace in workspaces}
    failed = [
        Problem(name, station, record.reason or "", record.hint)
        for name, record in records.items()
        if record.state is State.FAILED
    ]
    counts: dict[str, int] = {}
    for record in records.values():
        for severity, count in (record.summary or {}).get("findings", {}).items():
            counts[severity] = counts.get(severity, 0) + count
    return dg.AssetCheckResult(
        asset_key=check.asset_key,
        check_name=check.name,
        passed=not failed and not counts.get("warning"),
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        metadata={**counts, **({"problems": problem_table(failed)} if failed else {})},
    )


def _looked(check: dg.AssetCheckSpec, complaints: Sequence[Complaint]) -> dg.AssetCheckResult:
    station = check.asset_key.path[-1]
    found = [Problem(one.conversation_id, station, one.text, one.hint) for one in complaints]
    return dg.AssetCheckResult(
        asset_key=check.asset_key,
        check_name=check.name,
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "conversations to look at": len({one.conversation for one in found}),
            **({"look at": problem_table(found)} if found else {}),
        },
    )


@dg.asset_check(
    asset=["benchmark", "conversations"],
    description="All conversations of a couple or family are on one side of the split.",
)
def no_group_across_splits(project: Project) -> dg.AssetCheckResult:
    """Look at the tables as they were written."""
    crossing = groups_across_splits(project.settings.benchmark_dir)
    return dg.AssetCheckResult(
        passed=not crossing,
        metadata={"groups on both sides": dg.MetadataValue.json(crossing)} if crossing else {},
    )


@dg.asset_check(
    asset=["benchmark", "statistics"],
    additional_deps=[["benchmark", task] for task in TASKS],
    description="No prompt shows its answer or a later row, and no id tells the class: looked at in every mode, for "
    f"up to {_AUDITED} instances of a task. `rescue audit` looks at all.",
)
def no_leaks(project: Project) -> dg.AssetCheckResult:
    """Run the audit on a part of the instances."""
    leaks, checked = audit_built(project.settings.benchmark_dir, limit=_AUDITED)
    found = [Problem(leak.instance_id, leak.task, f"{leak.kind}: {leak.detail}", None) for leak in leaks[:20]]
    return dg.AssetCheckResult(
        passed=not leaks,
        metadata={"instances": checked, "leaks": len(leaks), **({"first": problem_table(found)} if found else {})},
    )


@dg.asset_check(
    asset=["benchmark", "statistics"],
    description="Where the published conversations are all in, their figures are those of the published tables.",
)
def as_published(project: Project) -> dg.AssetCheckResult:
    """Compare with the published tables, cell by cell."""
    cells = compare_with_published(read_json(project.settings.benchmark_dir / "statistics.json"))
    whole = all(cell.equal for cell in cells if cell.figure == "conversations")
    other = [f"{cell.figure}, {cell.scenario}: {cell.built} for {cell.published}" for cell in cells if not cell.equal]
    if not whole:
        return dg.AssetCheckResult(passed=True, metadata={"compared": "no: these are not the published conversations"})
    return dg.AssetCheckResult(
        passed=not other,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"equal": len(cells) - len(other), "other": dg.MetadataValue.json(other)},
    )


DATASET_CHECKS: Sequence[dg.AssetChecksDefinition] = (no_group_across_splits, no_leaks, as_published)
