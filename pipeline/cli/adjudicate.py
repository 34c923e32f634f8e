"""``rescue adjudicate``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.adjudicate import Adjudicated, adjudicate
from pipeline.annotation.agreement import FieldAgreement, agreement, values_of, window_diff
from pipeline.annotation.io import save_annotation
from pipeline.annotation.versions import Version, read_versions
from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, out, print_json, print_table
from pipeline.conversation import save_conversation
from pipeline.errors import InputError
from pipeline.settings import load_settings
from pipeline.station import Workspace
from pipeline.store import Json

__all__ = ["adjudicate_command"]

_FILE = "annotations.json"


def adjudicate_command(
    conversation: Annotated[str, typer.Argument(metavar="ID", help="Id or folder name of the conversation.")],
    *,
    write: Annotated[bool, typer.Option("--write", help=f"Write the result as {_FILE}.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help=f"Replace an {_FILE} that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the annotations of several people, and make one out of them by a fixed rule.

    Each person's file lies under annotations/ in the conversation's folder and is never changed. The first name
    decides where there is no majority; these places are listed. Nothing is written without --write.

    Example: rescue adjudicate smith/01 --write
    """
    (workspace,) = select(find_workspaces(load_settings()).workspaces, [conversation])
    versions = read_versions(workspace.raw, workspace.conversation)
    result = adjudicate(versions)
    fields = agreement(values_of(result.units))
    borders = window_diff([version.annotation for version in versions])
    if write:
        _write(workspace, result, replace=replace)
    if as_json:
        print_json(_json(versions, result, fields, borders))
        return
    _print(versions, result, fields, borders)
    if write:
        out.print(Text(f"written: {_FILE}, {len(result.annotation.rows)} rows"))
    else:
        out.print(Text("nothing was written; add --write to do so"))


def _write(workspace: Workspace, result: Adjudicated, *, replace: bool) -> None:
    target = workspace.raw / _FILE
    if target.exists() and not replace:
        msg = f"{_FILE} is there already"
        hint = "add --replace if it may be replaced; keep a copy of what was edited by hand"
        raise InputError(msg, conversation=workspace.conversation.id, hint=hint)
    save_annotation(target, result.annotation)
    if workspace.conversation.annotations != _FILE:
        save_conversation(workspace.raw, workspace.conversation.model_copy(update={"annotations": _FILE}))


def _json(
    versions: list[Version], result: Adjudicated, fields: list[FieldAgreement], borders: float | None
) -> dict[str, Json]:
    return {
        "conversation": result.annotation.conversation_id,
        "versions": [version.origin.model_dump(mode="json") for version in versions],
        "rows": len(result.annotation.rows),
        "agreement": [found.to_json() for found in fields],
        "window_diff": borders,
        "open": [vars(place) for place in result.open],
    }


def _print(versions: list[Version], result: Adjudicated, fields: list[FieldAgreement], borders: float | None) -> None:
    def number(value: float | None) -> str:
        return "none" if value is None else f"{value:.3f}"

    out.print(Text("annotations of " + ", ".join(f"{v.origin.author} ({v.origin.status})" for v in versions)))
    rows: list[list[str | Text]] = [
        [
            found.field,
            found.kind,
            str(found.units),
            number(found.alpha),
            number(found.same),
            "; ".join(f"{pair}: {number(value)}" for pair, value in found.kappa.items()),
        ]
        for found in fields
    ]
    print_table(["field", "kind", "stretches", "alpha", "all the same", "Cohen's kappa"], rows)
    out.print(Text(f"borders of rows, WindowDiff (0 is perfect): {number(borders)}"))
    if result.open:
        places: list[list[str | Text]] = [
            [
                "none" if place.row is None else str(place.row),
                f"{place.start_time:.2f}",
                place.field,
                "; ".join(f"{author}: {value}" for author, value in place.given.items()),
            ]
            for place in result.open[:50]
        ]
        print_table(["row", "at (s)", "left open", "given"], places)
    more = f" ({len(result.open) - 50} not shown; --json lists all)" if len(result.open) > 50 else ""
    out.print(Text(f"{len(result.open)} places are left open for a person to decide{more}"))
