"""``rescue locate`` and ``rescue rebuild``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.release import ReleaseReport, import_release
from pipeline.build import find_workspaces, select, stations
from pipeline.cli.build import any_failed, build_json, make_dataset, print_build
from pipeline.cli.console import JsonOption, out, print_error, print_json, print_table, progress
from pipeline.cli.importing import print_release
from pipeline.locate.align import Fit
from pipeline.locate.run import REPORT, LocateReport, Outcome, Result
from pipeline.locate.run import locate as locate_scenes
from pipeline.settings import Settings, load_settings
from pipeline.speech.models import Models
from pipeline.station import Outcome as StationOutcome
from pipeline.times import format_clock
from pipeline.workers.run import build_conversations

__all__ = ["locate", "rebuild"]

EpisodesOption = Annotated[
    Path, typer.Option("--episodes", metavar="DIR", help="Folder of whole episodes, with folders in it or without.")
]
ProfileOption = Annotated[str | None, typer.Option(help="offline or gpu.")]

_COLOURS = {Outcome.LOCATED: "green", Outcome.KEPT: "green", Outcome.REFUSED: "yellow", Outcome.FAILED: "bold red"}


def locate(
    release: Annotated[
        list[Path] | None,
        typer.Argument(help="Release files to import first; without, what was imported before is looked for."),
    ] = None,
    *,
    episodes: EpisodesOption,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="A conversation to look for; all if none is named.")
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the scene of each conversation in whole episodes by its words, cut it out, and put it in place.

    What is not surely found is refused with the reason. Episodes are recognised once.

    Example: rescue locate benchmark_191.jsonl --episodes ~/episodes
    """
    settings = load_settings(profile=profile)
    imported = _import(release or [], settings)
    report = _locate(settings, Models(settings), episodes, ids or [], quiet=as_json)
    if as_json:
        print_json({**report.to_json(), "import": imported.to_json() if imported else None})
    else:
        if imported:
            print_release(imported)
        _print_report(report, settings)
        if any(result.cut for result in report.results):
            out.print(Text("next: rescue build"))
    if not report.well or (imported and imported.problems):
        raise typer.Exit(1)


def rebuild(
    *,
    release: Annotated[
        list[Path], typer.Option("--release", metavar="FILE", help="benchmark_191.jsonl, or a folder of .json samples.")
    ],
    episodes: EpisodesOption,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """From a release file and whole episodes to the benchmark: import, locate, build, data set.

    Scenes that are not found are listed with the reason and stay annotations only; the benchmark is made all the same.
    A second run does only what changed.

    Example: rescue rebuild --release benchmark_191.jsonl --episodes ~/episodes
    """
    settings = load_settings(profile=profile)
    models = Models(settings)
    imported = _import(release, settings)
    assert imported is not None
    report = _locate(settings, models, episodes, [], quiet=as_json)
    if not as_json:
        print_release(imported)
        _print_report(report, settings)
    found = find_workspaces(settings)
    line = stations(models)
    outcomes: dict[str, list[StationOutcome]] = {workspace.conversation.id: [] for workspace in found.workspaces}
    with progress(len(found.workspaces) * len(line), quiet=as_json) as steps:
        for built in build_conversations(found.workspaces, line, settings, progress=steps):
            outcomes[built.workspace.conversation.id] = list(built.outcomes)
    dataset, refusal = make_dataset(found, settings, allow_missing=True)
    if as_json:
        build = build_json(outcomes, found.problems, dataset, refusal)
        print_json({"import": imported.to_json(), "locate": report.to_json(), "build": build})
    else:
        print_build(outcomes, found.problems, dataset, refusal)
    if imported.problems or not report.well or found.problems or refusal or any_failed(outcomes):
        raise typer.Exit(1)


def _import(files: Sequence[Path], settings: Settings) -> ReleaseReport | None:
    if not files:
        return None
    settings.raw.mkdir(parents=True, exist_ok=True)
    return import_release(files, settings.raw)


def _locate(settings: Settings, models: Models, episodes: Path, ids: Sequence[str], *, quiet: bool) -> LocateReport:
    found = find_workspaces(settings)
    chosen = select(found.workspaces, ids)
    # Digest and three stations an episode, two steps a scene; if the folder holds other files, the bar ends early.
    with progress(4 * sum(1 for path in episodes.rglob("*") if path.is_file()) + 2 * len(chosen), quiet=quiet) as steps:
        report = locate_scenes(chosen, episodes, settings, models, progress=steps)
    report.problems.extend(found.problems)
    return report


def _print_report(report: LocateReport, settings: Settings) -> None:
    columns = ["scene", "status", "episode", "offset", "speed", "confidence", "heard", "runner-up", "seconds"]
    shown = [result for result in report.results if result.outcome is not Outcome.OWN]
    if shown:
        print_table(columns, [_cells(result) for result in shown])
    for result in shown:
        for text in (result.reason, *result.notes):
            if text:
                out.print(Text(f"{result.conversation_id}: {text}"), soft_wrap=True)
        if result.hint and result.outcome is Outcome.FAILED:
            out.print(Text(f"  try: {result.hint}"), soft_wrap=True)
    for problem in report.problems:
        print_error(problem)
    if report.others:
        out.print(Text(f"not searched, no recordings or copies of others: {', '.join(report.others)}", style="dim"))
    counts = Counter(result.outcome.value for result in report.results)
    out.print(
        Text(
            f"{', '.join(f'{count} {name}' for name, count in sorted(counts.items())) or 'no scene to look for'};"
            f" {len(report.episodes)} episodes, {report.episode_seconds / 3600:.1f} h, recognised in"
            f" {report.recognition_seconds:.0f} s, searched in {report.search_seconds:.1f} s;"
            f" written to {settings.data.name}/{REPORT}"
        )
    )


def _cells(result: Result) -> list[str | Text]:
    best = result.best
    runner_up = result.verdict.runner_up if result.verdict else None
    status = Text(result.outcome.value, style=_COLOURS.get(result.outcome, ""))
    if best is None:
        return [result.conversation_id, status, *[""] * 6, f"{result.seconds:.2f}"]
    return [
        result.conversation_id,
        status,
        result.episodes[best.episode],
        _clock(best),
        f"{float(best.speed):.4f}".rstrip("0").rstrip("."),
        f"{result.verdict.confidence:.2f}" if result.verdict else "",
        f"{best.share:.0%}",
        f"{runner_up.share:.0%}" if runner_up else "none",
        f"{result.seconds:.2f}",
    ]


def _clock(found: Fit) -> str:
    return " + ".join(("-" if part.offset < 0 else "") + format_clock(abs(part.offset)) for part in found.parts)
