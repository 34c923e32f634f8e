"""``rescue add``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.text import Text

from pipeline.cli.console import JsonOption, err, out, print_error, print_json
from pipeline.conversation import Conversation, Scenario
from pipeline.errors import RescueError, UsageError
from pipeline.intake import add_conversation
from pipeline.links import remember_links
from pipeline.media.stations import check_recording
from pipeline.settings import Settings, load_settings
from pipeline.subtitles import subtitle_cues

__all__ = ["add"]


def add(
    media: Annotated[Path, typer.Argument(help="The recording: video or sound.")],
    *,
    conversation_id: Annotated[str | None, typer.Option("--id", help="Its name. Default: the file's name.")] = None,
    scenario: Annotated[Scenario | None, typer.Option(help="Who talks with the therapist.")] = None,
    participants: Annotated[
        str | None, typer.Option(help='Names without the therapist, with commas between: "Anna,Ben".')
    ] = None,
    group: Annotated[str | None, typer.Option(help="The couple or family; its conversations stay together.")] = None,
    subtitles: Annotated[Path | None, typer.Option(help="A subtitle file of the recording.")] = None,
    annotations: Annotated[Path | None, typer.Option(help="An annotation file of the recording.")] = None,
    language: Annotated[str | None, typer.Option(help="Spoken language, two letters.")] = None,
    link: Annotated[bool, typer.Option("--link", help="Link the files instead of copying them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a recording as a new conversation and check it.

    Example: rescue add session.mp4 --id anna-ben/01 --scenario couple --participants "Anna,Ben"
    """
    settings = load_settings()
    names = tuple(name.strip() for name in (participants or "").split(",") if name.strip())
    try:
        asked = Conversation(
            id=media.stem if conversation_id is None else conversation_id,
            scenario=scenario,
            participants=names,
            group=group,
            language=language,
        )
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        raise UsageError(msg) from error
    files = {"media": media, "subtitles": subtitles, "annotations": annotations}
    given = {field: file for field, file in files.items() if file is not None}
    conversation, folder = add_conversation(asked, given, settings.raw, link=link)
    if link:
        remember_links(settings, folder, [name for field in given if (name := getattr(conversation, field))])
    problem = _check(conversation, folder, settings)
    if as_json:
        print_json(
            {
                "id": conversation.id,
                "folder": folder.name,
                "conversation": conversation.model_dump(mode="json", exclude_defaults=True),
                "problem": str(problem) if problem else None,
            }
        )
        _exit_if(problem)
        return
    out.print(Text(f"added {conversation.id} in {settings.raw / folder.name}"))
    if problem is None:
        out.print(Text("next: rescue build, or edit conversation.yaml in that folder"))
        return
    print_error(problem)
    again = f"put a whole file in its place, or delete {settings.raw / folder.name} to take it away again"
    err.print(Text(f"  it is there, but cannot be built: {again}"), soft_wrap=True)
    _exit_if(problem)


def _exit_if(problem: RescueError | None) -> None:
    if problem is not None:
        raise typer.Exit(1)


def _check(conversation: Conversation, folder: Path, settings: Settings) -> RescueError | None:
    try:
        check_recording(folder / str(conversation.media), settings.media.duration_tolerance)
        subtitle_cues(conversation, folder)
    except RescueError as error:
        return error
    return None
