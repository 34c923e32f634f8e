"""``rescue review``: serves the review page, and its accounts, assignments and exports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, err, out, print_json, print_table
from pipeline.errors import UsageError
from pipeline.extras import load
from pipeline.settings import Settings, load_settings

if TYPE_CHECKING:
    from pipeline.review.database import Database

__all__ = ["reviewer"]

reviewer = typer.Typer(invoke_without_command=True, add_completion=False)
accounts = typer.Typer(help="The people who review.", no_args_is_help=True)
reviewer.add_typer(accounts, name="user")

_Role = Literal["annotator", "adjudicator", "reader", "administrator"]
_Task = Literal["independent", "adjudicate", "read"]
_Source = Literal["auto", "turns", "annotation", "draft", "empty"]


def _open() -> tuple[Settings, Database]:
    for module in ("sqlalchemy", "alembic", "argon2", "fastapi", "itsdangerous", "uvicorn"):
        load(module, "review")
    from pipeline.review.database import open_database  # noqa: PLC0415 - an extra
    from pipeline.review.rights import private_tree  # noqa: PLC0415

    settings = load_settings()
    opened = private_tree(settings.review_dir)
    if opened:
        text = f"warning: others on this machine could read {len(opened)} of the review page's files until now"
        err.print(Text(f"{text}: {', '.join(opened[:5])}. Only this account can read them now.", style="bold yellow"))
    return settings, open_database(settings)


def _life(settings: Settings) -> timedelta:
    return timedelta(days=settings.review.one_time_password_days)


def _told_once(password: str, settings: Settings) -> str:
    return f"{password} (to be used within {settings.review.one_time_password_days:g} days)"


@contextmanager
def _refusals() -> Iterator[None]:
    """What the page would answer, as an error of the command line."""
    from pipeline.review.errors import Refused  # noqa: PLC0415 - beside an extra

    try:
        yield
    except Refused as refused:
        raise UsageError(refused.message, hint=refused.hint) from refused


@reviewer.callback()
def review(
    context: typer.Context,
    *,
    port: Annotated[int | None, typer.Option(help="Default: the first free one from 8720.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others than this machine's own need TLS.")
    ] = "127.0.0.1",
) -> None:
    """Open the review page, where people verify every row against the recording. Only this machine can reach it.

    Example: rescue review
    """
    if context.invoked_subcommand is not None:
        return
    settings, database = _open()
    from pipeline.review.serve import first_administrator, is_loopback, listen, serve  # noqa: PLC0415 - an extra

    opened = listen(host, port)
    if not is_loopback(host):
        text = f"warning: {host} can be reached from other machines, and passwords and recordings travel unencrypted."
        err.print(Text(f"{text} Put a reverse proxy with TLS in front: docs/how-to/review.md", style="bold yellow"))
    first = first_administrator(database, _life(settings))
    shown = f"[{host}]" if ":" in host else host
    out.print(Text(f"the review page is at http://{shown}:{opened.getsockname()[1]}/  (stop it with Ctrl-C)"))
    if first is not None:
        out.print(
            Text(f"sign in as {first.user.name} with the one-time password {_told_once(first.password, settings)}")
        )
        out.print(Text("it is shown only now; you will be asked for one of your own"))
    sys.stdout.flush()
    try:
        serve(settings, database, opened, host)
    except KeyboardInterrupt:
        pass
    finally:
        database.close()


@accounts.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Letters, digits, - and _; it names the person's annotation files.")],
    *,
    role: Annotated[_Role, typer.Option(help="What the account is for.")] = "annotator",
    ask: Annotated[bool, typer.Option("--ask", help="Ask for the password instead of making one up.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make an account. Its password is shown once, to be changed at the first sign-in.

    Example: rescue review user add ann --role annotator
    """
    settings, database = _open()
    from pipeline.review import trail  # noqa: PLC0415 - an extra
    from pipeline.review.accounts import Role, add_user  # noqa: PLC0415

    password = typer.prompt("password", hide_input=True, confirmation_prompt=True) if ask else None
    with _refusals(), database.writing() as connection:
        made = add_user(connection, name, Role(role), password, life=_life(settings))
        trail.note(connection, trail.at_the_command_line(), "add_user", detail=f"{made.user.name}, {role}")
    if as_json:
        print_json({"name": made.user.name, "role": role, "password": None if ask else made.password})
        return
    out.print(Text(f"{made.user.name} can sign in as {role}"))
    if not ask:
        out.print(Text(f"one-time password, shown only now: {_told_once(made.password, settings)}"))


@accounts.command("list")
def list_accounts(*, as_json: JsonOption = False) -> None:
    """List the accounts.

    Example: rescue review user list
    """
    _, database = _open()
    from pipeline.review.accounts import list_users  # noqa: PLC0415 - an extra

    with database.reading() as connection:
        found = list_users(connection)
    if as_json:
        print_json({"users": [one.to_json() for one in found]})
        return
    rows = [[one.name, one.role.value, "no" if one.disabled else "yes", one.last_seen_at or "never"] for one in found]
    print_table(["name", "role", "may sign in", "last seen"], rows)


@accounts.command("reset")
def reset(name: Annotated[str, typer.Argument(help="Whose password.")], *, as_json: JsonOption = False) -> None:
    """Make a new one-time password for somebody, and let the person in again.

    Example: rescue review user reset ann
    """
    settings, database = _open()
    from pipeline.review import trail  # noqa: PLC0415 - an extra
    from pipeline.review.accounts import change_user, user_named  # noqa: PLC0415

    with database.writing() as connection:
        user = user_named(connection, name)
        _, password = change_user(connection, user.id, disabled=False, reset_password=True, life=_life(settings))
        detail = f"{user.name}: disabled, reset_password"
        trail.note(connection, trail.at_the_command_line(), "change_user", detail=detail)
    if as_json:
        print_json({"name": user.name, "password": password})
        return
    out.print(Text(f"one-time password of {user.name}, shown only now: {_told_once(str(password), settings)}"))


@reviewer.command("assign")
def assign(
    conversation: Annotated[str, typer.Argument(metavar="ID", help="Id or folder name of the conversation.")],
    name: Annotated[str, typer.Argument(help="Who gets it.")],
    *,
    task: Annotated[_Task, typer.Option(help="Annotate alone, adjudicate, or read.")] = "independent",
    source: Annotated[_Source, typer.Option(help="What the first rows are.")] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Give a conversation to a person.

    Example: rescue review assign smith/01 ann
    """
    settings, database = _open()
    from pipeline.review import trail  # noqa: PLC0415 - an extra
    from pipeline.review.accounts import user_named  # noqa: PLC0415
    from pipeline.review.assignments import Source, Task  # noqa: PLC0415
    from pipeline.review.office import file_notes, give  # noqa: PLC0415

    (workspace,) = select(find_workspaces(settings).workspaces, [conversation])
    with database.reading() as connection:
        user = user_named(connection, name)
    with _refusals():
        made = give(database, workspace, user.id, Task(task), Source(source), trail.at_the_command_line())
    notes = file_notes(workspace)
    if as_json:
        given = {"id": made.id, "conversation": made.conversation_id, "user": made.user, "task": task}
        print_json({**given, "notes": notes})
        return
    out.print(Text(f"{made.user} has {made.conversation_id}: {task}"))
    for note in notes:
        err.print(Text(f"  {note}"), soft_wrap=True)


@reviewer.command("export")
def export(
    conversations: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="All if none is named.")] = None,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace files not written from here.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write what people verified as annotation files, which the next build takes in.

    Example: rescue review export smith/01
    """
    settings, database = _open()
    from pipeline.review import trail  # noqa: PLC0415 - an extra
    from pipeline.review.assignments import of_conversation  # noqa: PLC0415
    from pipeline.review.exporting import export_conversation  # noqa: PLC0415

    with database.reading() as connection:
        assigned = {one.conversation_id for one in of_conversation(connection)}
    chosen = select(find_workspaces(settings).workspaces, conversations or [])
    done = {
        one.conversation.id: export_conversation(database, one, by=trail.at_the_command_line(), replace=replace)
        for one in chosen
        if one.conversation.id in assigned or conversations
    }
    if as_json:
        print_json({name: {"files": one.files, "notes": one.notes} for name, one in done.items()})
    else:
        for name, one in done.items():
            out.print(Text(f"{name}: {', '.join(one.files) or 'nothing to write'}"))
            for note in one.notes:
                out.print(Text(f"  {note}"))
        if not done:
            out.print(Text("nothing is assigned to anybody yet"))
    if any(one.withheld for one in done.values()):
        raise typer.Exit(1)


@reviewer.command("status")
def status(*, as_json: JsonOption = False) -> None:
    """Show how far everybody is, and which rows are not verified.

    Example: rescue review status
    """
    settings, database = _open()
    database.close()
    from pipeline.review.progress import review_progress  # noqa: PLC0415 - an extra

    found = review_progress(settings)
    if as_json:
        print_json({"progress": [one.to_json() for one in found]})
        return
    lines = [
        [
            one.conversation_id, one.author, one.task, "done" if one.done else "at work",
            f"{one.rows - len(one.unverified)} of {one.rows}", _numbers(one.unverified),
        ]
        for one in found
    ]  # fmt: skip
    print_table(["conversation", "who", "task", "state", "verified", "rows that are not"], lines)


def _numbers(found: tuple[int, ...]) -> str:
    shown = ", ".join(str(number) for number in found[:12])
    return f"{shown} and {len(found) - 12} more" if len(found) > 12 else shown
