"""``rescue validate``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.findings import Finding, Severity, count_by_severity
from pipeline.annotation.stations import check_file, known_duration
from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, out, print_error, print_json, print_table
from pipeline.conversation import CONVERSATION_FILE, Conversation, Scenario, load_conversation
from pipeline.errors import InputError, RescueError
from pipeline.settings import load_settings
from pipeline.store import read_json
from pipeline.times import Seconds

__all__ = ["validate"]

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def validate(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[ID or FILE]...", help="All conversations if nothing is named.")
    ] = None,
    *,
    scenario: Annotated[Scenario | None, typer.Option(help="For a file that does not say it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check annotations against the rules, and show everything that is wrong or odd.

    Example: rescue validate role_play
    """
    findings: list[Finding] = []
    problems: list[RescueError] = []
    checked = 0
    for path, conversation, duration, raw in _annotations(targets or [], scenario, problems):
        checked += 1
        try:
            findings += check_file(path, conversation, duration, raw)[1]
        except RescueError as error:
            problems.append(error)
    counts = count_by_severity(findings)
    if as_json:
        print_json(
            {
                "checked": checked,
                "counts": counts,
                "findings": [finding.to_json() for finding in findings],
                "problems": [str(problem) for problem in problems],
            }
        )
    else:
        _print(findings)
        for problem in problems:
            print_error(problem)
        totals = ", ".join(f"{count} {severity}s" for severity, count in counts.items())
        out.print(Text(f"{checked} annotations checked: {totals}"))
    if problems or counts[Severity.ERROR.value]:
        raise typer.Exit(1)


def _annotations(
    targets: list[str], scenario: Scenario | None, problems: list[RescueError]
) -> Iterator[tuple[Path, Conversation, Seconds | None, Path | None]]:
    """The files to check, each with its conversation, the length of its clip, and its folder."""
    files = [target for target in targets if Path(target).is_file()]
    for file in files:
        inside = (Path(file).parent / CONVERSATION_FILE).is_file()
        yield Path(file), _conversation_of(Path(file), scenario), None, Path(file).parent if inside else None
    ids = [target for target in targets if target not in files]
    if ids or not targets:
        found = find_workspaces(load_settings())
        problems += found.problems
        for workspace in select(found.workspaces, ids):
            path = workspace.source(workspace.conversation.annotations)
            if path is not None:
                yield path, workspace.conversation, known_duration(workspace), workspace.raw
            elif ids:
                msg = "the conversation has no annotations yet"
                hint = "name the file as `annotations:` in conversation.yaml"
                raise InputError(msg, conversation=workspace.conversation.id, hint=hint)


def _conversation_of(file: Path, scenario: Scenario | None) -> Conversation:
    """The conversation in whose folder a file lies; else one that is named as the file says, or as the file is."""
    if (file.parent / CONVERSATION_FILE).is_file():
        known = load_conversation(file.parent)
        return known.model_copy(update={"scenario": scenario}) if scenario else known
    name = file.stem
    with contextlib.suppress(ValueError, RecursionError):  # what is no JSON is told when the file is checked
        value = read_json(file) if file.suffix == ".json" else None
        if isinstance(value, dict):
            name = value.get("conversation_id") or value.get("sample_id") or name
    return Conversation(id=str(name), scenario=scenario)


def _print(findings: list[Finding]) -> None:
    if not findings:
        return
    rows: list[list[str | Text]] = [
        [
            Text(finding.severity.value, style=_COLOURS[finding.severity]),
            finding.conversation_id,
            str(finding.row or ""),
            finding.field or "",
            finding.message,
            finding.suggestion or "",
        ]
        for finding in findings
    ]
    print_table(["severity", "conversation", "row", "field", "what", "suggestion"], rows)
