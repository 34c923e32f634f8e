"""What happens by itself: new recordings appear, tables refresh, and, if switched on, a nightly build."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
from collections.abc import Sequence

import dagster as dg

from assets.evaluation import GROUP as EVALUATION
from assets.outside import news
from assets.partitions import CONVERSATIONS, changes
from assets.resources import Project
from pipeline.build import worst_state
from pipeline.station import State, status_of

__all__ = ["BUILD_EVERYTHING", "EVALUATE_MODELS", "REFRESH_TABLES", "follow_raw_video", "nightly_build"]

_RANGE_START = "dagster/asset_partition_range_start"
_RANGE_END = "dagster/asset_partition_range_end"
_EVALUATION = dg.AssetSelection.groups(EVALUATION)
_TABLES = dg.AssetSelection.key_prefixes("benchmark")

BUILD_EVERYTHING = dg.define_asset_job(
    "build_everything",
    selection=dg.AssetSelection.all() - _EVALUATION,
    description="Every station of every conversation that is not current, then the tables.",
)

EVALUATE_MODELS = dg.define_asset_job(
    "evaluate_models",
    selection=_EVALUATION,
    description="The models that `rescue.yaml` lists, as far as they have not answered yet, then the leaderboard.",
)

REFRESH_TABLES = dg.AutomationConditionSensorDefinition(
    "refresh_tables",
    target=_TABLES,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Builds the tables again when a conversation changed and none is missing or being built.",
)


@dg.sensor(
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Keeps the list of conversations as `raw_video/` has it: new ones appear, removed ones go away. Shows "
    "what was built outside, with `rescue build` for example.",
)
def follow_raw_video(context: dg.SensorEvaluationContext, project: Project) -> dg.SensorResult:
    """Add and remove partitions, and tell what was built outside; start nothing."""
    found = project.found()
    needed = changes(CONVERSATIONS.get_partition_keys(dynamic_partitions_store=context.instance), found)
    requests: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
    if needed.added:
        requests.append(CONVERSATIONS.build_add_request(list(needed.added)))
    if needed.gone:
        requests.append(CONVERSATIONS.build_delete_request(list(needed.gone)))
    unreadable = "; ".join(str(problem) for problem in found.problems)
    if unreadable:
        context.log.warning(unreadable)
    reason = f"cannot be read: {unreadable}" if unreadable else "nothing new"
    if requests:  # events of a conversation come once it is a partition
        return dg.SensorResult(dynamic_partitions_requests=requests)
    seen = news(project, context.instance, int(context.cursor or 0))
    skip = None if seen.events else reason
    return dg.SensorResult(skip_reason=skip, asset_events=list(seen.events), cursor=str(seen.until))


@dg.schedule(
    job=BUILD_EVERYTHING,
    cron_schedule="0 2 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Builds what is not current, at two in the morning. Off until you switch it on.",
)
def nightly_build(context: dg.ScheduleEvaluationContext, project: Project) -> dg.RunRequest | dg.SkipReason:
    """One run over the conversations from the first to the last that is not current, or none."""
    known = CONVERSATIONS.get_partition_keys(dynamic_partitions_store=context.instance)
    waiting = _not_current(project, known)
    if not waiting:
        return dg.SkipReason("everything is current")
    return dg.RunRequest(
        asset_selection=[dg.AssetKey(station.name) for station in project.line],
        tags={_RANGE_START: waiting[0], _RANGE_END: waiting[-1]},
    )


def _not_current(project: Project, known: Sequence[str]) -> list[str]:
    """Keys of the conversations that have something to make, in the order of the partitions."""
    found = {workspace.conversation.key: workspace for workspace in project.found().workspaces}
    return [
        key
        for key in known
        if key in found and worst_state(status_of(project.line, found[key]).values()) is not State.DONE
    ]
