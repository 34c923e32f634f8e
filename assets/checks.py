"""Asset checks: what the library found, as passed, warning or error."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
from collections.abc import Sequence

import dagster as dg

from assets.partitions import CONVERSATIONS
from assets.resources import Project
from pipeline.dataset.checks import groups_across_splits
from pipeline.station import Record, State

__all__ = ["CONVERSATION_CHECKS", "DATASET_CHECKS", "NOTHING_MISSING", "evaluate"]

_WHOLE = dg.AssetCheckSpec(
    "whole",
    asset="source",
    partitions_def=CONVERSATIONS,
    description="The recording can be read, and has the length that it says.",
)
_FINDINGS = dg.AssetCheckSpec(
    "findings",
    asset="annotations",
    partitions_def=CONVERSATIONS,
    description="The annotation keeps the rules. Errors stop the conversation; warnings and remarks are counted.",
)
NOTHING_MISSING = dg.AssetCheckSpec(
    "nothing_missing",
    asset=["benchmark", "conversations"],
    description="Every conversation is in the tables.",
)
CONVERSATION_CHECKS: Sequence[dg.AssetCheckSpec] = (_WHOLE, _FINDINGS)
"""Told for each conversation by the step that builds it."""


def evaluate(check: dg.AssetCheckSpec, record: Record, partition: str) -> dg.AssetCheckEvaluation:
    """Whether a conversation passes, by the record of the station that was looked at."""
    counts = dict((record.summary or {}).get("findings", {}))
    warned = record.state is State.DONE and counts.get("warning", 0) > 0
    failed = record.state is State.FAILED
    return dg.AssetCheckEvaluation(
        asset_key=check.asset_key,
        check_name=check.name,
        partition=partition,
        passed=not (failed or warned),
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        description=record.reason,
        metadata=counts,
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


DATASET_CHECKS: Sequence[dg.AssetChecksDefinition] = (no_group_across_splits,)
