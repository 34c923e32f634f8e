"""How far people are with verifying rows, as a check of the annotations: it says which rows are not verified."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
import dagster as dg

from assets.resources import Project
from pipeline.errors import RescueError
from pipeline.extras import load

__all__ = ["rows_verified"]

_SHOWN = 20


@dg.asset_check(
    asset="annotations",
    description="Every row that people were given in `rescue review` is verified, by everybody who was given it. The "
    "table says how far each conversation is.",
)
def rows_verified(project: Project) -> dg.AssetCheckResult:
    """Look at what the review page holds now."""
    try:
        load("sqlalchemy", "review")
    except RescueError as error:  # nobody reviews here
        return _not_looked(error, passed=True)
    from pipeline.review.progress import review_progress  # noqa: PLC0415 - an extra

    try:
        found = review_progress(project.settings)
    except RescueError as error:
        return _not_looked(error, passed=False)
    open_work = [one for one in found if one.unverified]
    records = [
        dg.TableRecord(
            {
                "conversation": one.conversation_id,
                "who": one.author,
                "task": one.task,
                "state": "done" if one.done else "at work",
                "verified": f"{one.rows - len(one.unverified)} of {one.rows}",
                "rows that are not": _numbers(one.unverified),
            }
        )
        for one in found
    ]
    return dg.AssetCheckResult(
        passed=not open_work,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "conversations under review": len({one.conversation_id for one in found}),
            "rows that are not verified": sum(len(one.unverified) for one in found),
            **({"progress": dg.MetadataValue.table(records)} if records else {}),
        },
    )


def _not_looked(error: RescueError, *, passed: bool) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(passed=passed, severity=severity, metadata={"not looked at": str(error)})


def _numbers(rows: tuple[int, ...]) -> str:
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return ", ".join(str(number) for number in rows[:_SHOWN]) + more
