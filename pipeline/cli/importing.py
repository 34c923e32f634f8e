"""``rescue import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.release import import_release
from pipeline.cli.console import JsonOption, out, print_error, print_json
from pipeline.settings import load_settings

__all__ = ["importer"]

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
        if report.added or report.changed:
            out.print(Text("next: rescue dataset"))
    if report.problems:
        raise typer.Exit(1)
