"""The application: registers the commands and turns expected errors into exit codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Annotated

import typer

from pipeline import __version__
from pipeline.cli.add import add
from pipeline.cli.adjudicate import adjudicate_command
from pipeline.cli.audit import audit, compare
from pipeline.cli.build import build, dataset, status
from pipeline.cli.console import print_error, print_json
from pipeline.cli.doctor import doctor
from pipeline.cli.draft import draft_command
from pipeline.cli.evaluate import evaluate
from pipeline.cli.exporting import export
from pipeline.cli.importing import importer
from pipeline.cli.locate import locate, rebuild
from pipeline.cli.publishing import publish
from pipeline.cli.report import agreement, report
from pipeline.cli.review import reviewer
from pipeline.cli.score import score
from pipeline.cli.ui import ui
from pipeline.cli.validate import validate
from pipeline.cli.voices import voices
from pipeline.errors import RescueError
from pipeline.privacy import go_private

__all__ = ["app", "main"]

app = typer.Typer(
    name="rescue",
    help="From recorded conversations to a verified, relation-aware benchmark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: Mapping[str, Callable[..., None]] = {
    "add": add,
    "build": build,
    "status": status,
    "validate": validate,
    "export": export,
    "adjudicate": adjudicate_command,
    "draft": draft_command,
    "dataset": dataset,
    "locate": locate,
    "rebuild": rebuild,
    "publish": publish,
    "audit": audit,
    "compare": compare,
    "eval": evaluate,
    "report": report,
    "agreement": agreement,
    "score": score,
    "voices": voices,
    "doctor": doctor,
    "ui": ui,
}
for _name, _command in _COMMANDS.items():
    app.command(name=_name)(_command)
app.add_typer(importer, name="import")
app.add_typer(reviewer, name="review")


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"rescue {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=lambda wanted: _version(wanted=wanted), is_eager=True)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what happens on standard error.")] = False,
) -> None:
    """From recorded conversations to a verified, relation-aware benchmark."""
    del version
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(levelname)s %(name)s: %(message)s")


def main() -> None:
    """Run the command line. Expected errors print without a traceback; the exit code says what happened."""
    go_private()
    try:
        app()
    except (RescueError, OSError) as raised:
        error = raised if isinstance(raised, RescueError) else _of_the_machine(raised)
        print_error(error)
        if "--json" in sys.argv:
            print_json({"error": error.message, "where": error.place, "file": error.file, "hint": error.hint})
        sys.exit(error.exit_code)


def _of_the_machine(error: OSError) -> RescueError:
    """What the operating system refused: a full disk, a folder that may not be written, a file that is none."""
    return RescueError(error.strerror or str(error), file=error.filename, hint="check rights, disk and `rescue doctor`")
