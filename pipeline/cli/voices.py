"""``rescue voices``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from pipeline.build import find_workspaces
from pipeline.cli.console import JsonOption, out, print_error, print_json, print_table
from pipeline.conversation import closest
from pipeline.errors import RescueError, UsageError
from pipeline.settings import load_settings
from pipeline.speech.people import Person, Voice, people_of, voices_of
from pipeline.station import Workspace

__all__ = ["voices"]


def voices(
    groups: Annotated[
        list[str] | None, typer.Argument(metavar="[GROUP]...", help="Couples or families; all if none is named.")
    ] = None,
    *,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=2, help="Mean cosine distance under which voices are one person. Default: settings."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the same person across the conversations of each couple or family, and propose the names given elsewhere.

    Nothing is written. Names come from the annotations of any conversation of the group; look at what is flagged.

    Example: rescue voices smith
    """
    settings = load_settings()
    by_group: dict[str, list[Workspace]] = {}
    for workspace in find_workspaces(settings).workspaces:
        by_group.setdefault(workspace.conversation.group_id, []).append(workspace)
    chosen = {name: by_group[name] for name in (_known(name, by_group) for name in groups or sorted(by_group))}
    limit = settings.diarization.same_person_threshold if threshold is None else threshold
    found: dict[str, list[Person]] = {}
    problems: list[RescueError] = []
    for name, workspaces in chosen.items():
        heard: list[Voice] = []
        for workspace in workspaces:
            if workspace.conversation.media is None:
                continue
            try:
                heard += voices_of(workspace)
            except RescueError as error:
                problems.append(error)
        found[name] = people_of(heard, limit)
    if as_json:
        people = {name: [person.to_json() for person in persons] for name, persons in found.items()}
        print_json({"groups": people, "threshold": limit, "problems": [str(problem) for problem in problems]})
    else:
        _print(found)
        for problem in problems:
            print_error(problem)
    if problems:
        raise typer.Exit(1)


def _known(name: str, groups: dict[str, list[Workspace]]) -> str:
    if name in groups:
        return name
    near = closest(name, groups)
    msg = f"there is no group {name!r}"
    raise UsageError(msg, hint=f"did you mean {near!r}?" if near else f"groups are {', '.join(sorted(groups)[:8])}")


def _print(found: dict[str, list[Person]]) -> None:
    rows = []
    for group, people in found.items():
        for number, person in enumerate(people, start=1):
            heard = ", ".join(f"{voice.conversation_id} {voice.label}" for voice in person.voices)
            close = "-" if person.distance is None else f"{person.distance:.2f}"
            margin = "-" if person.margin is None else f"{person.margin:+.2f}"
            rows.append([group, str(number), person.name or "-", heard, close, margin, ", ".join(person.flags)])
    if rows:
        print_table(["group", "person", "name", "voices", "distance", "margin", "look at"], rows)
    else:
        out.print(Text("no voices yet: rescue build"))
