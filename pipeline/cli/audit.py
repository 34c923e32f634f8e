"""``rescue audit`` and ``rescue compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json, print_table
from pipeline.dataset.published import compare_with_published
from pipeline.errors import InputError
from pipeline.settings import Settings, load_settings
from pipeline.store import read_json
from pipeline.tasks.audit import Leak, audit_built, audit_prompts

__all__ = ["audit", "compare"]


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
        listed = [json.loads(line) for line in prompts.read_bytes().splitlines() if line.strip()]
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


def compare(*, as_json: JsonOption = False) -> None:
    """Put the figures of the built data set beside those of the published benchmark, cell by cell.

    Example: rescue compare
    """
    cells = compare_with_published(read_json(_built(load_settings()).benchmark_dir / "statistics.json"))
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
    if not (settings.benchmark_dir / "statistics.json").exists():
        msg = "there is no built data set"
        raise InputError(msg, hint="run `rescue build` first")
    return settings


def _print(leaks: list[Leak]) -> None:
    if leaks:
        rows: list[list[str | Text]] = [[leak.task, leak.instance_id, leak.kind, leak.detail] for leak in leaks[:50]]
        print_table(["task", "instance", "kind", "what"], rows)
    if len(leaks) > 50:
        out.print(Text(f"and {len(leaks) - 50:,} more; --json lists all"))
