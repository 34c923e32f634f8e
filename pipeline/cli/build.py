"""``rescue build``, ``rescue status`` and ``rescue dataset``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from pipeline.build import (
    ANNOTATION_STATIONS,
    Found,
    build_conversation,
    find_workspaces,
    select,
    stations,
    worst_state,
)
from pipeline.cli.console import JsonOption, out, print_error, print_json, print_table, progress, state_text
from pipeline.cli.figures import print_figures
from pipeline.dataset.build import TABLES, DatasetReport, build_dataset
from pipeline.dataset.figures import keep_figures
from pipeline.errors import RescueError
from pipeline.settings import Settings, load_settings
from pipeline.speech.models import Models
from pipeline.station import Outcome, Record, State, status_of
from pipeline.store import Json
from pipeline.workers.run import build_conversations

__all__ = ["any_failed", "build", "build_json", "dataset", "make_dataset", "print_build", "status"]

IdsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="Conversations; all if none is named.")
]
AllowMissingOption = Annotated[
    bool, typer.Option("--allow-missing", help="Build the data set even if conversations failed or were never built.")
]


def build(
    ids: IdsArgument = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Run every station again, current or not.")] = False,
    allow_missing: AllowMissingOption = False,
    profile: Annotated[str | None, typer.Option(help="offline or gpu.")] = None,
    workers: Annotated[
        str | None, typer.Option(help="Conversations side by side: a number, or host:port of a Ray cluster.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run every station that is not current, then build the data set.

    Example: rescue build phone_call --allow-missing
    """
    settings = load_settings(profile=profile, workers=workers)
    found = find_workspaces(settings)
    chosen = select(found.workspaces, ids or [])
    line = stations(Models(settings))
    # In the order of the list, whoever is through first.
    outcomes: dict[str, list[Outcome]] = {workspace.conversation.id: [] for workspace in chosen}
    with progress(len(chosen) * len(line), quiet=as_json) as steps:
        for built in build_conversations(chosen, line, settings, force=force, progress=steps):
            outcomes[built.workspace.conversation.id] = list(built.outcomes)
    report, refusal = make_dataset(found, settings, allow_missing=allow_missing)
    if as_json:
        print_json(build_json(outcomes, found.problems, report, refusal))
    else:
        print_build(outcomes, found.problems, report, refusal)
    if found.problems or refusal or any_failed(outcomes):
        raise typer.Exit(1)


def dataset(*, allow_missing: AllowMissingOption = False, as_json: JsonOption = False) -> None:
    """Check annotations, join them with what was made of the media before, and build the data set.

    No media is opened and no model loaded: the way from an imported release to the benchmark.

    Example: rescue dataset --allow-missing
    """
    settings = load_settings()
    found = find_workspaces(settings)
    line = stations(Models(settings))
    outcomes: dict[str, list[Outcome]] = {}
    with progress(len(found.workspaces), quiet=as_json) as steps:
        for workspace in found.workspaces:
            steps(workspace.conversation.id, "annotations")
            outcomes[workspace.conversation.id] = build_conversation(workspace, line, only=ANNOTATION_STATIONS)
    report, refusal = make_dataset(found, settings, allow_missing=allow_missing)
    if as_json:
        print_json(build_json(outcomes, found.problems, report, refusal))
    else:
        _print_reasons(_records(outcomes), skipped=False)
        _print_problems(found.problems)
        _print_dataset(report, refusal)
    if found.problems or refusal or any_failed(outcomes):
        raise typer.Exit(1)


def status(ids: IdsArgument = None, *, as_json: JsonOption = False) -> None:
    """Show where every station of every conversation stands, and why.

    Example: rescue status role_play
    """
    settings = load_settings()
    found = find_workspaces(settings)
    line = stations(Models(settings))
    standing = {
        workspace.conversation.id: status_of(line, workspace) for workspace in select(found.workspaces, ids or [])
    }
    if as_json:
        print_json(
            {
                "conversations": {
                    conversation_id: {name: _brief(record) for name, record in records.items()}
                    for conversation_id, records in standing.items()
                },
                "problems": [str(problem) for problem in found.problems],
            }
        )
    else:
        names = [station.name for station in line]
        rows: list[list[str | Text]] = [
            [conversation_id, *(state_text(records[name].state) for name in names)]
            for conversation_id, records in standing.items()
        ]
        print_table(["conversation", *names], rows)
        print_figures(standing)
        _print_reasons(standing)
        _print_problems(found.problems)
    if found.problems or any(worst_state(records.values()) is State.FAILED for records in standing.values()):
        raise typer.Exit(1)


def make_dataset(
    found: Found, settings: Settings, *, allow_missing: bool
) -> tuple[DatasetReport | None, RescueError | None]:
    """Build the data set with its figures; what was built, or why it was not."""
    try:
        report = build_dataset(found.workspaces, settings, problems=found.problems, allow_missing=allow_missing)
    except RescueError as error:
        return None, error
    keep_figures(settings.benchmark_dir)
    return report, None


def any_failed(outcomes: dict[str, list[Outcome]]) -> bool:
    """Whether a station of any conversation failed."""
    return any(outcome.state is State.FAILED for ended in outcomes.values() for outcome in ended)


def _records(outcomes: dict[str, list[Outcome]]) -> dict[str, dict[str, Record]]:
    return {name: {outcome.station: outcome.record for outcome in ended} for name, ended in outcomes.items()}


def _brief(record: Record) -> dict[str, Json]:
    kept = ("state", "reason", "hint", "error", "summary")
    return {name: value for name, value in record.to_json().items() if name in kept}


def build_json(
    outcomes: dict[str, list[Outcome]],
    problems: Sequence[RescueError],
    report: DatasetReport | None,
    refusal: RescueError | None,
) -> dict[str, Json]:
    """What a build did, for machines."""
    return {
        "conversations": {
            conversation_id: {
                outcome.station: {**_brief(outcome.record), "ran": outcome.ran, "seconds": round(outcome.seconds, 3)}
                for outcome in ended
            }
            for conversation_id, ended in outcomes.items()
        },
        "problems": [str(problem) for problem in problems],
        "dataset": report.to_json() if report else None,
        "dataset_refused": str(refusal) if refusal else None,
    }


def print_build(
    outcomes: dict[str, list[Outcome]],
    problems: Sequence[RescueError],
    report: DatasetReport | None,
    refusal: RescueError | None,
) -> None:
    """What a build did, for people."""
    rows: list[list[str | Text]] = []
    for conversation_id, ended in outcomes.items():
        made = [outcome.station for outcome in ended if outcome.ran and outcome.state is State.DONE]
        seconds = sum(outcome.seconds for outcome in ended if outcome.ran)
        current = not any(outcome.ran for outcome in ended)
        work = "everything is current" if current else f"{', '.join(made) or 'nothing'} ({seconds:.1f} s)"
        rows.append([conversation_id, state_text(worst_state(outcome.record for outcome in ended)), work])
    print_table(["conversation", "state", "made now"], rows)
    _print_reasons(_records(outcomes))
    _print_problems(problems)
    _print_dataset(report, refusal)


def _print_reasons(standing: dict[str, dict[str, Record]], *, skipped: bool = True) -> None:
    """Every failure with its reason and hint, then what was skipped, one line a reason."""
    for conversation_id, records in standing.items():
        for name, record in records.items():
            if record.state is State.FAILED:
                failed = Text.assemble((f"{conversation_id}: {name} failed: ", "bold red"), record.reason or "")
                out.print(failed, soft_wrap=True)
                if record.hint:
                    out.print(Text(f"  try: {record.hint}"), soft_wrap=True)
        reasons: dict[str, list[str]] = {}
        for name, record in records.items():
            if skipped and record.state is State.SKIPPED:
                reasons.setdefault(record.reason or "", []).append(name)
        for reason, names in reasons.items():
            skips = Text(f"{conversation_id}: skipped {', '.join(names)}: {reason}", style="dim")
            out.print(skips, soft_wrap=True)


def _print_problems(problems: Sequence[RescueError]) -> None:
    for problem in problems:
        print_error(problem)


def _print_dataset(report: DatasetReport | None, refusal: RescueError | None) -> None:
    if refusal:
        print_error(refusal)
    elif report:
        print_table(["table", "rows"], [[name, f"{report.tables[name]:,}"] for name in TABLES])
        out.print(Text(f"data set: {'built' if report.ran else 'everything is current'}"))
        if report.missing:
            out.print(Text(f"left out: {', '.join(report.missing)}", style="yellow"))
