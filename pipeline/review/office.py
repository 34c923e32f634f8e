"""What administrators do: who works on what, and how far it is."""

from __future__ import annotations

from pipeline.errors import InputError
from pipeline.review import trail
from pipeline.review.accounts import User, find_user
from pipeline.review.assignments import Assignment, Source, Task, assign, of_conversation, progress_of, withdraw
from pipeline.review.database import Database
from pipeline.review.errors import NotFound
from pipeline.review.exporting import Exported, export_conversation
from pipeline.review.library import Library, source_facts
from pipeline.review.playing import not_played, prepare
from pipeline.review.seeding import first_rows, sources_of
from pipeline.station import Workspace
from pipeline.store import Json

__all__ = ["Office", "file_notes", "give"]


def give(
    database: Database, workspace: Workspace, user_id: int, task: Task, source: Source, by: User | str
) -> Assignment:
    """Assign a conversation, after a look at whether work on it can begin.

    Raises:
        InputError: If the scenario is unknown, or the source of the first rows is not there or cannot be read.
        Refused: If the person cannot have it.
    """
    if workspace.conversation.scenario is None:
        msg = "it is not said whether this is a couple or a family"
        raise InputError(
            msg, conversation=workspace.conversation.id, hint="add `scenario: couple` to conversation.yaml"
        )
    if task is Task.INDEPENDENT:
        try:
            first_rows(workspace, source)
        except InputError as error:
            error.hint = "; ".join([*([error.hint] if error.hint else []), *sources_of(workspace)[1]])
            raise
    prepare(workspace)
    with database.writing() as connection:
        user = find_user(connection, user_id)
        made = assign(connection, workspace.conversation.id, user, task, source)
        detail = f"{task.value} to {user.name}"
        trail.note(connection, by, "assign", conversation=workspace.conversation.id, detail=detail)
    return made


def file_notes(workspace: Workspace) -> list[str]:
    """What administrators should know of a conversation's files: those that are not read or not shown, and why."""
    return _looked_at(workspace)[1]


def _looked_at(workspace: Workspace) -> tuple[list[str], list[str]]:
    sources, notes = sources_of(workspace)
    if not_played(workspace):
        text = f"{workspace.conversation.media} is a link out of the conversation's folder and is not played"
        way = "copy it there, add it anew with `rescue add --link`, or name its folder in review.linked_folders"
        notes.append(f"{text}: {way}")
    return sources, notes


class Office:
    """The administrators' side."""

    def __init__(self, database: Database, library: Library) -> None:
        self._database = database
        self._library = library

    def conversations(self) -> list[dict[str, Json]]:
        """Every conversation, with who works on it."""
        workspaces = self._library.all()
        with self._database.reading() as connection:
            given = of_conversation(connection)
            progress = progress_of(connection, [one.id for one in given])
        return [
            {
                "key": workspace.conversation.key,
                "id": workspace.conversation.id,
                "title": workspace.conversation.title,
                "scenario": workspace.conversation.scenario,
                "duration": facts["duration"] if (facts := source_facts(workspace)) else None,
                "sources": sources,
                "problem": None
                if workspace.conversation.scenario
                else "the scenario is missing: add `scenario: couple` or `family` to conversation.yaml",
                "notes": notes,
                "assignments": [
                    self._given(one, progress[one.id])
                    for one in given
                    if one.conversation_id == workspace.conversation.id
                ],
            }
            for workspace in workspaces
            for sources, notes in (_looked_at(workspace),)
        ]

    def _given(self, one: Assignment, progress: dict[str, Json]) -> dict[str, Json]:
        return {
            "id": one.id,
            "user_id": one.user_id,
            "user": one.user,
            "task": one.task.value,
            "done": one.done,
            "progress": progress,
            "assigned_at": one.assigned_at,
            "changed_at": one.changed_at,
        }

    def assign(self, by: User, key: str, user_id: int, task: Task, source: Source) -> dict[str, Json]:
        """Give a conversation to a person."""
        made = give(self._database, self._workspace(key), user_id, task, source, by)
        with self._database.reading() as connection:
            return self._given(made, progress_of(connection, [made.id])[made.id])

    def withdraw(self, by: User, key: str, assignment_id: str) -> None:
        """Take a conversation from a person."""
        workspace = self._workspace(key)
        with self._database.writing() as connection:
            taken = withdraw(connection, assignment_id, workspace.conversation.id)
            detail = f"{taken.task.value} from {taken.user}"
            trail.note(connection, by, "withdraw", conversation=workspace.conversation.id, detail=detail)

    def export(self, by: User, key: str, *, replace: bool) -> Exported:
        """Write the annotation files of a conversation."""
        return export_conversation(self._database, self._workspace(key), by=by, replace=replace)

    def _workspace(self, key: str) -> Workspace:
        found = self._library.named(key)
        if found is None:
            raise NotFound
        return found
