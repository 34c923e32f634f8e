"""One person at work on one conversation: what the screen shows, and every save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import Connection, update

from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.annotation.labels import label_set
from pipeline.conversation import Conversation
from pipeline.errors import InputError, RescueError
from pipeline.links import check_link
from pipeline.review import trail
from pipeline.review.accounts import User
from pipeline.review.adjudicating import adjudicated_rows, versions_json
from pipeline.review.assignments import Assignment, Source, Task, hold, of_user, own, progress_of, waiting_for
from pipeline.review.database import Database
from pipeline.review.editing import Change, Edited, History, apply_edits
from pipeline.review.entries import (
    VERIFIED,
    Entry,
    check_texts,
    entries_of,
    fields_of,
    findings_of,
    has_errors,
    live,
    row_json,
)
from pipeline.review.errors import Conflict, NotFound, Refused
from pipeline.review.layers import (
    Layer,
    Layers,
    change_with_id,
    differing,
    history,
    rows_since,
    seed,
    state_at,
    versions_since,
    write,
)
from pipeline.review.library import Library, source_facts
from pipeline.review.playing import POINTS_PER_SECOND, Playable, not_played, playable, prepare, waveform
from pipeline.review.recognition import Heard, heard
from pipeline.review.seeding import annotation_there, first_rows
from pipeline.review.tables import assignments, moment
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, digest_json
from pipeline.subtitles import subtitle_candidates, subtitle_cues
from pipeline.times import Seconds

__all__ = ["Desk"]


@dataclass(frozen=True)
class _Work:
    """An assignment with its conversation."""

    assignment: Assignment
    workspace: Workspace
    duration: Seconds | None
    heard: Heard | None

    @property
    def conversation(self) -> Conversation:
        return self.workspace.conversation


class Desk:
    """The work of people on conversations.

    Every method takes the person who asks, and raises `NotFound` for an assignment that is not theirs.
    """

    def __init__(self, database: Database, library: Library) -> None:
        self._database = database
        self._library = library
        self._layers = Layers()

    # --- looking

    def queue(self, user: User) -> list[dict[str, Json]]:
        """The person's assignments."""
        with self._database.reading() as connection:
            return [self._queued(connection, one) for one in of_user(connection, user)]

    def _queued(self, connection: Connection, one: Assignment) -> dict[str, Json]:
        workspace = self._library.find(one.conversation_id)
        facts = source_facts(workspace) if workspace else None
        return {
            "id": one.id,
            "task": one.task.value,
            "done": one.done,
            "conversation": {
                "id": one.conversation_id,
                "title": workspace.conversation.title if workspace else None,
                "scenario": workspace.conversation.scenario if workspace else None,
                "duration": facts["duration"] if facts else None,
                "has_audio": bool(facts and facts["has_audio"]),
                "has_video": bool(facts and facts["has_video"]),
            },
            "progress": progress_of(connection, [one.id])[one.id],
            "assigned_at": one.assigned_at,
            "changed_at": one.changed_at,
            "waiting": waiting_for(connection, one.conversation_id) if one.task is Task.ADJUDICATE else 0,
        }

    def open(self, user: User, assignment_id: str) -> dict[str, Json]:
        """Everything that the screen of a conversation needs; the first time, the rows are made."""
        work = self._work(user, assignment_id)
        if not work.assignment.seeded and work.assignment.task is not Task.READ:
            self._seed(work)
        prepare(work.workspace)
        with self._database.writing() as connection:
            trail.note(connection, user, "open", conversation=work.conversation.id, detail=work.assignment.task.value)
        work, layer = self._current(user, assignment_id)
        url = f"/api/assignments/{assignment_id}"
        recording = playable(work.workspace)
        cues, notes = _cues(work)
        if not_played(work.workspace):
            notes.append("the recording is not shown: it is a link out of the conversation's folder")
        scenario = work.conversation.scenario
        return {
            "id": assignment_id,
            "task": work.assignment.task.value,
            "done": work.assignment.done,
            "writable": work.assignment.task is not Task.READ and not work.assignment.done,
            "version": layer.version,
            "conversation": {
                "id": work.conversation.id,
                "title": work.conversation.title,
                "scenario": scenario,
                "language": work.conversation.language,
                "duration": work.duration,
                "participants": list(work.conversation.participants),
                "entities": list(work.conversation.entities),
                "group_label": scenario.group_label if scenario else None,
            },
            "media": recording.to_json(f"{url}/media") if recording else None,
            "waveform": {"url": f"{url}/waveform", "points_per_second": POINTS_PER_SECOND}
            if Record.read(work.workspace.record("audio")).state is State.DONE and not not_played(work.workspace)
            else None,
            "labels": label_set(scenario).model_dump(mode="json", exclude={"scenario"}) if scenario else None,
            "turns": work.heard.to_json() if work.heard else [],
            "cues": cues,
            "rows": self._rows(work, layer),
            "findings": layer.findings,
            "notes": notes,
        }

    def media(self, user: User, assignment_id: str) -> Playable:
        """The file to play."""
        work = self._work(user, assignment_id)
        found = playable(work.workspace)
        if found is None:
            raise NotFound
        trail.note_visit(self._database, user, "play", work.conversation.id)
        return found

    def waveform(self, user: User, assignment_id: str) -> Path:
        """The file of the waveform."""
        found = waveform(self._work(user, assignment_id).workspace)
        if found is None:
            raise NotFound
        return found

    def since(self, user: User, assignment_id: str, version: int) -> dict[str, Json]:
        """What changed after a version, for a second window."""
        work, layer = self._current(user, assignment_id)
        with self._database.reading() as connection:
            touched = rows_since(connection, work.assignment, version)
        known = [row_id for row_id in touched if row_id in layer.entries]
        return {
            "version": layer.version,
            "rows": self._rows(work, layer, known),
            "order": layer.order,
            "findings": layer.findings if version < layer.version else {},
        }

    def row_history(self, user: User, assignment_id: str, row_id: str) -> list[dict[str, Json]]:
        """The changes of a row, newest first."""
        with self._database.reading() as connection:
            one = own(connection, user, assignment_id)
            found = history(connection, one, row_id=row_id)
        if not found:
            raise NotFound
        trail.note_visit(self._database, user, "history", one.conversation_id)
        return found

    def row_at(self, user: User, assignment_id: str, row_id: str, version: int) -> dict[str, Json]:
        """A row as it was."""
        _, layer = self._current(user, assignment_id)
        entry = layer.entries.get(row_id)
        if entry is None:
            raise NotFound
        with self._database.reading() as connection:
            return row_json(state_at(connection, own(connection, user, assignment_id), entry, version), None)

    def whole_history(self, user: User, assignment_id: str, *, limit: int, before: int | None) -> list[dict[str, Json]]:
        """The changes of a layer, newest first."""
        with self._database.reading() as connection:
            found = own(connection, user, assignment_id)
        trail.note_visit(self._database, user, "history", found.conversation_id)
        with self._database.reading() as connection:
            return history(connection, found, limit=limit, before=before)

    # --- changing

    def save(self, user: User, assignment_id: str, change: Change) -> dict[str, Json]:
        """Apply a change once. When this returns, it is on the disk.

        Raises:
            Conflict: If others changed the same fields.
            Refused: If nothing may be changed, or a row with errors is to be verified.
        """
        for position, edit in enumerate(change.edits):
            check_texts(vars(edit), f"edits.{position}")
        edits = [edit.model_dump(exclude_unset=True) for edit in change.edits]
        digest = digest_json(edits)
        work = self._work(user, assignment_id)
        with self._database.writing() as connection:
            work = replace(work, assignment=hold(connection, work.assignment))
            known = change_with_id(connection, work.assignment, change.change_id)
            if known is not None:
                if known[0] != digest:
                    hint = "make a new id for every change"
                    raise Refused(422, "change_id_reused", "this id was used for another change", hint=hint)
                layer = self._layer(connection, work)
                return self._saved(work, layer, change.change_id, known[1], {}, {}, applied=False)
            _check_writable(work.assignment)
            before = self._layer(connection, work)
            edited = self._edited(connection, work, before, change)
            entries = {**before.entries, **{one.entry.row_id: one.entry for one in edited.changed}}
            findings = findings_of(work.conversation, list(entries.values()), work.duration)
            broken = [row_id for row_id in edited.to_verify if has_errors(findings, row_id)]
            if broken:
                raise Refused(
                    409, "has_errors", "a row with errors cannot be verified", hint="correct what is marked as error",
                    findings=[one for row_id in broken for one in findings[row_id]],
                )  # fmt: skip
            version = write(connection, work.assignment, user.id, change.change_id, digest, edited.changed)
        after = Layer(version, entries, findings)
        self._layers.keep(assignment_id, after, work.conversation, work.duration)
        touched = [one.entry.row_id for one in edited.changed]
        differs = differing(before.findings, findings, entries)
        return self._saved(work, after, change.change_id, touched, edited.merged, differs, applied=True)

    def _edited(self, connection: Connection, work: _Work, before: Layer, change: Change) -> Edited:
        past = History(
            since=lambda row_id, version: versions_since(connection, work.assignment, row_id, version),
            at=lambda entry, version: state_at(connection, work.assignment, entry, version),
            machine=lambda entry: _machine_now(work, entry),
        )
        try:
            return apply_edits(before, change.edits, past)
        except Conflict as conflict:
            numbers = {row_id: number for number, row_id in enumerate(before.order, start=1)}
            for one in conflict.more["conflicts"]:
                one["row"]["row_index"] = numbers.get(one["row_id"])
            raise

    def _saved(
        self,
        work: _Work,
        layer: Layer,
        change_id: str,
        touched: Sequence[str],
        merged: Mapping[str, Json],
        findings: Mapping[str, Json],
        *,
        applied: bool,
    ) -> dict[str, Json]:
        if not applied:
            findings = {row_id: layer.findings.get(row_id, []) for row_id in touched}
        return {
            "change_id": change_id,
            "applied": applied,
            "version": layer.version,
            "rows": self._rows(work, layer, touched),
            "order": layer.order,
            "merged": dict(merged),
            "findings": dict(findings),
        }

    def versions(self, user: User, assignment_id: str) -> dict[str, Json]:
        """Stretch by stretch what every annotator said, for the adjudicator alone."""
        work = self._work(user, assignment_id)
        if work.assignment.task is not Task.ADJUDICATE:
            raise NotFound
        trail.note_visit(self._database, user, "compare", work.conversation.id)
        with self._database.reading() as connection:
            return versions_json(connection, work.workspace, own(connection, user, assignment_id))

    def check(self, user: User, assignment_id: str, row_id: str, fields: Mapping[str, Json]) -> list[dict[str, Json]]:
        """What the rules would say of a row with other fields."""
        work, layer = self._current(user, assignment_id)
        entry = layer.entries.get(row_id)
        if entry is None or entry.discarded:
            raise NotFound
        given = fields_of(fields, entry.fields, layer.entries, "fields")
        tried = {**layer.entries, row_id: replace(entry, fields={**entry.fields, **given})}
        return findings_of(work.conversation, list(tried.values()), work.duration).get(row_id, [])

    def finish(self, user: User, assignment_id: str, *, done: bool) -> dict[str, Json]:
        """Mark the work as done, or open it again.

        Raises:
            Refused: If a row is not verified, or there is none.
        """
        work = self._work(user, assignment_id)
        if work.assignment.task is Task.READ:
            raise _read_only("this conversation is yours to read")
        with self._database.writing() as connection:
            work = replace(work, assignment=hold(connection, work.assignment))
            rows = live(self._layer(connection, work).entries.values())
            left = [entry.row_id for entry in rows if entry.status != VERIFIED]
            if done and (left or not rows):
                text = f"{len(left)} rows are not verified" if rows else "there are no rows"
                raise Refused(409, "not_verified", text, hint="verify or discard every row first", rows=left)
            values = {"done": done, "changed_at": moment()}
            connection.execute(update(assignments).where(assignments.c.id == assignment_id).values(**values))
            action = "done" if done else "open_again"
            trail.note(connection, user, action, conversation=work.conversation.id, detail=work.assignment.task.value)
            return self._queued(connection, hold(connection, work.assignment))

    # --- parts

    def _work(self, user: User, assignment_id: str) -> _Work:
        with self._database.reading() as connection:
            return self._work_of(own(connection, user, assignment_id))

    def _work_of(self, assignment: Assignment) -> _Work:
        workspace = self._library.find(assignment.conversation_id)
        if workspace is None:
            msg = "its folder is not there, or its conversation.yaml cannot be read"
            raise InputError(msg, conversation=assignment.conversation_id, hint="ask your administrator")
        facts = source_facts(workspace)
        return _Work(assignment, workspace, float(facts["duration"]) if facts else None, heard(workspace))

    def _current(self, user: User, assignment_id: str) -> tuple[_Work, Layer]:
        """The rows, for somebody to see: no way to them leaves no entry."""
        with self._database.reading() as connection:
            work = self._work_of(own(connection, user, assignment_id))
            layer = self._layer(connection, work)
        trail.note_visit(self._database, user, "open", work.conversation.id)
        return work, layer

    def _layer(self, connection: Connection, work: _Work) -> Layer:
        if work.assignment.task is Task.READ:
            return _as_it_stands(work)
        return self._layers.read(connection, work.assignment, work.conversation, work.duration)

    def _seed(self, work: _Work) -> None:
        digest = None
        if work.assignment.task is Task.ADJUDICATE:
            with self._database.reading() as connection:
                entries, digest = adjudicated_rows(connection, work.workspace, work.duration)
        else:
            entries = list(first_rows(work.workspace, work.assignment.source).entries)
        with self._database.writing() as connection:
            held = hold(connection, work.assignment)
            if not held.seeded:  # another window may have been faster
                seed(connection, held, entries, digest)

    def _rows(self, work: _Work, layer: Layer, only: Sequence[str] | None = None) -> list[dict[str, Json]]:
        numbers = {row_id: number for number, row_id in enumerate(layer.order, start=1)}
        wanted = layer.entries if only is None else only
        last = len(numbers) + 1
        ordered = sorted(wanted, key=lambda one: (numbers.get(one, last), layer.entries[one].sequence))
        return [
            row_json(entry, numbers.get(row_id), work.heard.now(entry.machine) if work.heard else None)
            for row_id in ordered
            for entry in (layer.entries[row_id],)
        ]


def _check_writable(assignment: Assignment) -> None:
    if assignment.task is Task.READ:
        raise _read_only("this conversation is yours to read")
    if assignment.done:
        raise _read_only("this conversation is marked as done")
    if not assignment.seeded:
        raise Refused(409, "not_ready", "it was never opened", hint="open the conversation first", waiting=0)


def _read_only(message: str) -> Refused:
    return Refused(409, "read_only", message, hint="open it again, or ask your administrator")


def _machine_now(work: _Work, entry: Entry) -> Mapping[str, Json] | None:
    if entry.machine is None or work.heard is None:
        return entry.machine
    return {**work.heard.within(entry.machine["start"], entry.machine["end"])}


def _as_it_stands(work: _Work) -> Layer:
    """The layer of a reader: the conversation's annotation, else its machine turns."""
    source = Source.ANNOTATION if work.conversation.annotations else Source.AUTO
    annotation = annotation_there(work.workspace) if source is Source.ANNOTATION else None
    if annotation is not None:
        ids = [str(uuid5(NAMESPACE_URL, f"{work.assignment.id}/{row.row_index}")) for row in annotation.rows]
        entries = [replace(entry, status=VERIFIED) for entry in entries_of(annotation.rows, ids)]
    elif work.heard is not None:
        made = first_rows(work.workspace, Source.TURNS).entries
        entries = [
            replace(entry, row_id=str(uuid5(NAMESPACE_URL, f"{work.assignment.id}/{entry.sequence}"))) for entry in made
        ]
    else:
        entries = []
    return Layer(
        0, {entry.row_id: entry for entry in entries}, findings_of(work.conversation, entries, work.duration)
    )  # fmt: skip


def _cues(work: _Work) -> tuple[list[dict[str, Json]], list[str]]:
    """The subtitle cues, or a note that says why there are none."""
    try:
        for path in subtitle_candidates(work.conversation, work.workspace.raw):
            check_link(work.workspace, path, mapping_beside(path))
        found = subtitle_cues(work.conversation, work.workspace.raw)
    except RescueError as error:
        return [], [f"no subtitles: {error}"]
    return [{"start": cue.start, "end": cue.end, "text": cue.text} for cue in found], []
