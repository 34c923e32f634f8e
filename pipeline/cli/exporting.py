"""``rescue export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.annotation.formats import FORMATS
from pipeline.annotation.formats.transfer import export as export_annotation
from pipeline.annotation.stations import check_file
from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, out, print_json
from pipeline.errors import InputError
from pipeline.settings import load_settings
from pipeline.store import write_bytes

__all__ = ["export"]

_Name = StrEnum("_Name", {name: name for name in FORMATS})  # type: ignore[misc]  # the registry says which there are


def export(
    name: Annotated[_Name, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")],
    conversation: Annotated[str, typer.Argument(metavar="ID", help="The conversation.")],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: a name from the conversation.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the annotations of a conversation for another tool, and say what its format cannot hold.

    Example: rescue export eaf role_play -o role_play.eaf
    """
    (workspace,) = select(find_workspaces(load_settings()).workspaces, [conversation])
    path = workspace.source(workspace.conversation.annotations)
    if path is None:
        msg = "the conversation has no annotations yet"
        raise InputError(msg, conversation=workspace.conversation.id, hint="rescue import, or rescue add --annotations")
    loaded, _ = check_file(path, workspace.conversation, None)
    done = export_annotation(loaded.annotation, name.value, media=workspace.conversation.media)
    target = output or Path(f"{workspace.conversation.key}{FORMATS[name.value].suffixes[0]}")
    if target.exists() and not replace and target.read_bytes() != done.data:
        msg = "there is such a file already, with other content"
        raise InputError(msg, file=target, hint="name another with -o, or write over it with --replace")
    write_bytes(target, done.data)
    if as_json:
        print_json({"file": str(target), "rows": len(loaded.annotation.rows), "lost": done.lost})
        return
    out.print(Text(f"wrote {target}: {len(loaded.annotation.rows)} rows"))
    if done.lost:
        out.print(
            Text(
                f"{FORMATS[name.value].title} cannot hold, and an import will not bring back (field: rows):",
                style="yellow",
            )
        )
        for field, count in done.lost.items():
            what = "whole rows" if field == "rows" else field
            out.print(Text(f"  {what}: {count}"))
    else:
        out.print(Text("nothing is lost: an import brings every field back"))
