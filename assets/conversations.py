"""One asset a station, one partition a conversation; one run works through any number of conversations.

The chosen stations of all chosen conversations run in one process, so models are loaded once. Each conversation is
reported on its own as soon as it is through. What failed is told at the end, in one failure that lists every
conversation with reason and hint: Dagster then marks exactly those as failed. docs/decisions/0003-dagster.md says why.
"""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import dagster as dg

from assets.checks import CONVERSATION_CHECKS, evaluate
from assets.metadata import Problem, column_schema, data_version, outcome_metadata, picture_metadata, problem_table
from assets.partitions import CONVERSATIONS
from assets.resources import Project
from pipeline.pictures import Picture, pictures_of
from pipeline.schemas import CUES, ROWS, TURNS, WORDS
from pipeline.station import Outcome, State, Station, Workspace
from pipeline.workers.run import build_conversations as build_all

__all__ = ["RECORDING", "AssetEvent", "BuildOptions", "conversation_assets", "event_of"]

AssetEvent: TypeAlias = dg.AssetMaterialization | dg.AssetObservation

RECORDING = dg.AssetSpec(
    "recording",
    partitions_def=CONVERSATIONS,
    group_name="recording",
    kinds={"video", "yaml"},
    description=(
        "What you put under `raw_video/`: one folder a conversation, with the recording, `conversation.yaml`, and, if "
        "there are any, annotations. Add one with `rescue add`; it appears here by itself."
    ),
)


@dataclass(frozen=True)
class _Place:
    """Where a station stands in the picture."""

    group: str = "other"
    kinds: tuple[str, ...] = ()


_PLACES: Mapping[str, _Place] = {
    "source": _Place("recording", ("ffmpeg", "json")),
    "audio": _Place("recording", ("ffmpeg", "flac")),
    "words": _Place("speech", ("whisper", "parquet")),
    "speakers": _Place("speech", ("pyannote", "pytorch")),
    "turns": _Place("speech", ("parquet", "webvtt")),
    "quality": _Place("speech", ("json",)),
    "annotations": _Place("annotation", ("json",)),
    "rows": _Place("annotation", ("parquet",)),
    "cues": _Place("picture", ("opencv", "parquet")),
    "clips": _Place("picture", ("ffmpeg",)),
}
_TABLES = {"words": WORDS, "turns": TURNS, "rows": ROWS, "cues": CUES}


class BuildOptions(dg.Config):
    """What can be chosen when conversations are built."""

    force: bool = False
    """Make everything again, current or not."""


def conversation_assets(line: Sequence[Station]) -> dg.AssetsDefinition:
    """The assets of all stations, as one step that can be narrowed to any of them."""
    names = {station.name for station in line}
    checks = [check for check in CONVERSATION_CHECKS if check.asset_key.path[-1] in names]

    @dg.multi_asset(
        name="build_conversations",
        specs=[_spec(station) for station in line],
        check_specs=checks,
        partitions_def=CONVERSATIONS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool="models",
    )
    def build_conversations(
        context: dg.AssetExecutionContext, config: BuildOptions, project: Project
    ) -> Iterator[AssetEvent | dg.AssetCheckResult]:
        chosen = {key.path[-1] for key in context.selected_asset_keys}
        known = {workspace.conversation.key: workspace for workspace in project.found().workspaces}
        problems: list[Problem] = []
        keys = context.partition_keys
        problems += [_gone(key) for key in keys if key not in known]
        wanted = [known[key] for key in keys if key in known]
        building = build_all(wanted, project.line, project.settings, only=chosen, force=config.force)
        for number, built in enumerate(building, start=1):
            for outcome in built.outcomes:
                problem = _problem(outcome)
                problems += [problem] if problem else []
                yield event_of(outcome, built.workspace)
            context.log.info("%d of %d: %s", number, len(wanted), _in_words(built.outcomes))
        for check in checks:
            if check.key in context.selected_asset_check_keys:
                yield evaluate(check, list(known.values()))
        if problems:
            raise _failure(problems, len(keys))

    return build_conversations


def _spec(station: Station) -> dg.AssetSpec:
    place = _PLACES.get(station.name, _Place())
    files = ", ".join(f"`{name}`" for name in station.outputs)
    table = _TABLES.get(station.name)
    # What has no station that it needs reads the user's own files.
    deps = [dg.AssetKey(name) for name in (*station.needs, *station.uses)]
    deps += [] if station.needs else [RECORDING.key]
    return dg.AssetSpec(
        station.name,
        deps=deps,
        description=f"{station.summary_doc}\n\nFiles of each conversation: {files}.",
        group_name=place.group,
        kinds=set(place.kinds),
        code_version=str(station.version),
        metadata={"dagster/column_schema": column_schema(table)} if table is not None else None,
        skippable=True,
    )


def _problem(outcome: Outcome) -> Problem | None:
    if outcome.state is State.FAILED or outcome.waits:
        return Problem(outcome.conversation_id, outcome.station, outcome.record.reason or "", outcome.record.hint)
    return None


def _gone(key: str) -> Problem:
    return Problem(key, "source", "its folder is not in raw_video any more", "put it back, or build the tables again")


def event_of(outcome: Outcome, workspace: Workspace) -> AssetEvent:
    """How a station ended, for the conversation's page: made, or why not and what to do."""
    key = workspace.conversation.key
    problem = _problem(outcome)
    if problem:
        return dg.AssetObservation(outcome.station, description=str(problem), partition=key, metadata=problem.metadata)
    files = {name: workspace.artifact(name) for name in outcome.record.outputs or {}}
    return dg.AssetMaterialization(
        outcome.station,
        partition=key,
        metadata={
            **outcome_metadata(outcome, files, workspace.settings),
            **picture_metadata(_pictures(outcome, workspace)),
        },
        tags={"dagster/data_version": data_version(outcome.record)},
    )


def _pictures(outcome: Outcome, workspace: Workspace) -> list[Picture]:
    return pictures_of(outcome.station, workspace) if outcome.state is State.DONE else []


def _in_words(outcomes: Sequence[Outcome]) -> str:
    """A line for the log: names and times only, nothing of what is said or annotated."""
    made = [f"{item.station} {item.seconds:.1f} s" for item in outcomes if item.ran and item.state is State.DONE]
    failed = [f"{item.station} failed" for item in outcomes if item.state is State.FAILED]
    return f"{outcomes[0].conversation_id}: {', '.join([*made, *failed]) or 'everything is current'}"


def _failure(problems: Sequence[Problem], total: int) -> dg.Failure:
    # What only waits for another station follows from these; the table has everything.
    first = {problem.conversation: str(problem) for problem in reversed(problems)}
    told = "; ".join(list(reversed(first.values()))[:3])
    return dg.Failure(
        f"{len(first)} of {total} conversations could not be finished, the others are done. {told}",
        metadata={"problems": problem_table(problems)},
        allow_retries=False,
    )
