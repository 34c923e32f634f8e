"""``rescue doctor``."""

from __future__ import annotations

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json
from pipeline.doctor import Level, examine
from pipeline.settings import load_settings

__all__ = ["doctor"]

_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "bold red"}


def doctor(*, as_json: JsonOption = False) -> None:
    """Check this machine: what works, what does not, and what to do.

    Example: rescue doctor
    """
    results = examine(load_settings())
    if as_json:
        print_json({"checks": [result.to_json() for result in results]})
    else:
        for result in results:
            out.print(
                Text.assemble((f"{result.level.value:<8}", _COLOURS[result.level]), f"{result.name}: {result.found}")
            )
            if result.cure:
                out.print(Text(f"        try: {result.cure}"))
    if any(result.level is Level.ERROR for result in results):
        raise typer.Exit(1)
