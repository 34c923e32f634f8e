"""``rescue audit`` and ``rescue compare``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json, print_table
from pipeline.dataset.build import check_whole
from pipeline.dataset.published import compare_with_published, comparison_page
from pipeline.errors import InputError
from pipeline.settings import Settings, load_settings
from pipeline.store import read_json, write_text
from pipeline.tasks.audit import Leak, audit_built, audit_prompts

__all__ = ["audit", "compare"]

_PROMPT_FIELDS = ("task", "instance_id", "prompt", "last_visible")


def audit(
    *,
    prompts: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Prompts rendered elsewhere, one JSON a line.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Instances of each task at most.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Look for leaks: no prompt may show its answer or a later row, and no id may tell the class.

    Example: rescue audit --limit 200
    """
    if prompts:
        listed = list(_prompts(prompts))
        leaks, checked = audit_prompts(listed), len(listed)
    else:
        leaks, checked = audit_built(_built(load_settings()).benchmark_dir, limit=limit)
    if as_json:
        print_json({"checked": checked, "leaks": [vars(leak) for leak in leaks]})
    else:
        _print(leaks)
        out.print(Text(f"{checked:,} {'prompts' if prompts else 'instances'} checked: {len(leaks)} leaks"))
    if leaks:
        raise typer.Exit(1)


def compare(
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a page of Markdown as well.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Put the figures of the built data set beside those of the published benchmark, cell by cell.

    Example: rescue compare -o comparison.md
    """
    cells = compare_with_published(read_json(_built(load_settings()).benchmark_dir / "statistics.json"))
    if output:
        write_text(output, comparison_page(cells))
    if as_json:
        print_json({"cells": [vars(cell) for cell in cells]})
    else:
        rows: list[list[str | Text]] = [
            [
                cell.figure,
                cell.scenario,
                f"{cell.published:g}",
                "none" if cell.built is None else f"{cell.built:g}",
                Text("equal", style="green") if cell.equal else Text("differs", style="yellow"),
            ]
            for cell in cells
        ]
        print_table(["figure", "scenario", "published", "built", ""], rows)
    if not all(cell.equal for cell in cells):
        raise typer.Exit(1)


def _built(settings: Settings) -> Settings:
    check_whole(settings.benchmark_dir)
    return settings


def _prompts(file: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            msg = f"it is not JSON: {error}"
            raise InputError(msg, file=file, place=f"line {number}", hint="one JSON object a line") from error
        missing = [name for name in _PROMPT_FIELDS if not isinstance(value, dict) or name not in value]
        if missing:
            msg = f"{missing[0]!r} is missing"
            hint = f"each line needs {', '.join(_PROMPT_FIELDS)}"
            raise InputError(msg, file=file, place=f"line {number}", hint=hint)
        yield value


def _print(leaks: list[Leak]) -> None:
    if leaks:
        rows: list[list[str | Text]] = [[leak.task, leak.instance_id, leak.kind, leak.detail] for leak in leaks[:50]]
        print_table(["task", "instance", "kind", "what"], rows)
    if len(leaks) > 50:
        out.print(Text(f"and {len(leaks) - 50:,} more; --json lists all"))
