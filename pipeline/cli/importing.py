"""``rescue import``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.findings import Finding, Severity, count_by_severity
from pipeline.annotation.formats import FORMATS, Format, FormatMapping, load_mapping
from pipeline.annotation.formats.keep import keep
from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.annotation.formats.transfer import Taken, take
from pipeline.annotation.release import ReleaseReport, import_release
from pipeline.annotation.stations import known_duration, refusal
from pipeline.annotation.validate import validate
from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, out, print_error, print_json, print_table
from pipeline.errors import PrerequisiteError
from pipeline.media.probe import probe
from pipeline.settings import load_settings
from pipeline.station import Workspace
from pipeline.times import Seconds, format_clock

__all__ = ["importer", "print_release"]

importer = typer.Typer(no_args_is_help=True, help="Bring annotations in.")


@importer.callback()
def _root() -> None:
    """Bring annotations in."""


@importer.command()
def release(
    files: Annotated[list[Path], typer.Argument(help="benchmark_191.jsonl, or a folder of .json samples.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Import the published release: one conversation a sample.

    Example: rescue import release benchmark_191.jsonl
    """
    settings = load_settings()
    settings.raw.mkdir(parents=True, exist_ok=True)
    report = import_release(files, settings.raw)
    if as_json:
        print_json(report.to_json())
    else:
        print_release(report)
        if report.added or report.changed:
            out.print(Text("next: rescue dataset"))
    if report.problems:
        raise typer.Exit(1)


def print_release(report: ReleaseReport) -> None:
    """What an import did, for people."""
    out.print(
        Text(
            f"{len(report.added)} conversations added, {len(report.changed)} changed, {report.unchanged} unchanged;"
            f" {report.rows:,} rows"
        )
    )
    for name, rows in report.changed.items():
        out.print(Text(f"  {name}: rows {', '.join(map(str, rows))}"))
    for problem in report.problems:
        print_error(problem)


def _command(each: Format) -> Callable[..., None]:
    def command(
        file: Annotated[Path, typer.Argument(help="The annotation file.")],
        *,
        into: Annotated[str, typer.Option("--into", metavar="ID", help="The conversation it belongs to.")],
        mapping: Annotated[
            Path | None,
            typer.Option(help="Which part of the file is which field. Default: FILE.mapping.yaml beside it."),
        ] = None,
        encoding: Annotated[str | None, typer.Option(help="Of a text file that does not show it.")] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would come in, and write nothing.")] = False,
        replace: Annotated[bool, typer.Option("--replace", help="Take the place of other annotations.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        _import_file(each, file, into, mapping, encoding, dry_run=dry_run, replace=replace, as_json=as_json)

    command.__doc__ = f"""Import annotations of one conversation: {each.title}.

    Example: rescue import {each.name} session{each.suffixes[0]} --into role_play --dry-run
    """
    return command


for _each in FORMATS.values():
    importer.command(_each.name)(_command(_each))


def _import_file(
    each: Format,
    file: Path,
    into: str,
    mapping_file: Path | None,
    encoding: str | None,
    *,
    dry_run: bool,
    replace: bool,
    as_json: bool,
) -> None:
    (workspace,) = select(find_workspaces(load_settings()).workspaces, [into])
    if mapping_file is None and mapping_beside(file).is_file():
        mapping_file = mapping_beside(file)
    mapping = load_mapping(mapping_file) if mapping_file else FormatMapping()
    taken = take(file, workspace.conversation, format_name=each.name, mapping=mapping, encoding=encoding)
    duration = _duration(workspace)
    findings = validate(taken.loaded.annotation, duration=duration)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors and not dry_run:
        raise refusal(errors, file, workspace.conversation, hint=errors[0].suggestion)
    state = "dry run" if dry_run else keep(taken, file, mapping, workspace, replace=replace).value
    if as_json:
        print_json({**taken.report(), "state": state, "findings": [finding.to_json() for finding in findings]})
    else:
        _print(taken, findings, state, duration, show_rows=dry_run)
    if errors:
        raise typer.Exit(1)


def _duration(workspace: Workspace) -> Seconds | None:
    """Length of the recording, from the build or from the file itself."""
    known = known_duration(workspace)
    media = workspace.source(workspace.conversation.media)
    if known is not None or media is None:
        return known
    try:
        return probe(media).duration or None
    except PrerequisiteError:
        return None


def _print(taken: Taken, findings: list[Finding], state: str, duration: Seconds | None, *, show_rows: bool) -> None:
    rows = taken.loaded.annotation.rows
    if show_rows:
        shown = [
            [
                str(row.row_index),
                f"{format_clock(max(0.0, row.start_time))} - {format_clock(max(0.0, row.end_time))}",
                row.primary_speaker,
                ", ".join(row.target),
                row.dialogue_cleaned,
            ]
            for row in rows[:20]
        ]
        print_table(["row", "time", "speaker", "target", "dialogue"], shown)
        if len(rows) > len(shown):
            out.print(Text(f"... and {len(rows) - len(shown)} more rows"))
        for finding in [finding for finding in findings if finding.severity is Severity.ERROR][:10]:
            out.print(
                Text(f"row {finding.row}, {finding.field}: {finding.message} ({finding.suggestion})", style="red")
            )
    left = sum(part.count for part in taken.left_out)
    out.print(Text(f"{state}: {len(rows)} rows, {left} parts left out, {len(taken.loaded.changes)} repairs"))
    for part in taken.left_out[:20]:
        said = f": {part.text}" if part.text else ""
        out.print(Text(f"  left out {part.place} ({part.count}): {part.reason}{said}"))
    if len(taken.left_out) > 20:
        out.print(Text(f"  ... and {len(taken.left_out) - 20} more (--json shows all)"))
    counts = ", ".join(f"{count} {severity}s" for severity, count in count_by_severity(findings).items())
    out.print(Text(f"findings: {counts}; `rescue validate` shows them"))
    if duration is None:
        out.print(Text("the length of the recording is not known: times are not checked against it", style="yellow"))
