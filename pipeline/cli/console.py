"""What every command shares: settings, output for people or machines, errors without tracebacks, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pipeline.errors import RescueError
from pipeline.station import State
from pipeline.store import Json

__all__ = ["JsonOption", "Steps", "err", "out", "print_error", "print_json", "print_table", "progress", "state_text"]

out = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
"""Where output is no terminal there is no width to fit; 120 keeps the tables whole."""
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 120)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]

_COLOURS = {
    State.DONE: "green",
    State.SKIPPED: "dim",
    State.FAILED: "bold red",
    State.STALE: "yellow",
    State.MISSING: "yellow",
}


def print_json(value: Json) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, title: str | None = None) -> None:
    """A table for people. Cells are shown as they are: names from files are never read as markup."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    out.print(table)


def state_text(state: State, *, note: str = "") -> Text:
    """A state in its colour, with a note behind it."""
    return Text(f"{state.value}{note}", style=_COLOURS[state])


def print_error(error: RescueError, *, label: str = "error") -> None:
    """An expected error: where, what, and the way out on a line of its own."""
    where = ", ".join(part for part in (error.conversation, error.file, error.place) if part)
    text = Text.assemble((f"{label}: ", "bold red" if label == "error" else "yellow"))
    text.append(f"{where}: {error.message}" if where else error.message)
    err.print(text, soft_wrap=True)
    if error.hint:
        err.print(Text(f"  try: {error.hint}"), soft_wrap=True)


class Steps:
    """A progress bar over (conversation, station) steps."""

    def __init__(self, bar: Progress, total: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total)
        self._begun = 0

    def __call__(self, conversation_id: str, station: str) -> None:
        """A step begins: the one before it is over."""
        self._bar.update(self._task, completed=self._begun, description=f"{conversation_id}: {station}")
        self._begun += 1


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Steps]:
    """A bar on standard error while the block runs; nothing where that is no terminal or output is for machines."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        yield Steps(bar, total)
