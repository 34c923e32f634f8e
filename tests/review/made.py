"""A small project with a recording, for tests of the review page: real files, no model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi.testclient import TestClient

from pipeline.annotation.io import save_annotation
from pipeline.annotation.model import Annotation, Origin, Row, Status
from pipeline.build import find_workspaces
from pipeline.conversation import Conversation, Scenario, save_conversation
from pipeline.media.ffmpeg import binary
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.review.accounts import Role, User, add_user
from pipeline.review.assignments import Source, Task
from pipeline.review.database import Database, open_database
from pipeline.review.office import give
from pipeline.review.web.app import create_app
from pipeline.schemas import TURNS, table_of, write_table
from pipeline.settings import Settings, load_settings
from pipeline.station import State, Workspace
from pipeline.store import write_json

PASSWORD = "correct horse battery"
ORIGIN = "http://localhost"

SAID = (
    ("SPEAKER_00", "So where shall we begin today?"),
    ("SPEAKER_01", "He never listens to me."),
    ("SPEAKER_02", "That is not true, I listen all the time."),
    ("SPEAKER_00", "Let us slow down for a moment."),
)


def turn(index: int, speaker: str, start: float, text: str) -> dict[str, Any]:
    """A machine turn of two seconds."""
    words = text.split()
    step = 2.0 / len(words)
    return {
        "conversation_id": "pair",
        "turn_index": index,
        "speaker": speaker,
        "start": start,
        "end": start + 2.0,
        "text": text,
        "word_count": len(words),
        "confidence": 0.9,
        "overlap": 0.0,
        "words": [
            {
                "word_index": number,
                "text": word,
                "start": start + number * step,
                "end": start + (number + 1) * step,
                "confidence": 0.9,
            }
            for number, word in enumerate(words)
        ],
        "flags": [],
    }


def write_turns(workspace: Workspace, turns: list[dict[str, Any]]) -> None:
    """Machine turns, as the station leaves them."""
    rows = [{**one, "conversation_id": workspace.conversation.id} for one in turns]
    write_table(workspace.artifact("turns.parquet"), table_of(rows, TURNS), TURNS)
    write_json(workspace.record("turns"), {"state": State.DONE.value})


def write_draft(workspace: Workspace, said: str = "as a model puts it", author: str = "a-model") -> Path:
    """A draft of a model, as ``rescue draft`` leaves it."""
    path = workspace.raw / "annotations" / f"{author}.json"
    rows = tuple(
        Row(
            row_index=number + 1, start_time=number * 2.5, end_time=number * 2.5 + 2, primary_speaker="Nora",
            target=("Daniel",), dialogue_cleaned=f"{said}: {text}",
        )
        for number, (_, text) in enumerate(SAID)
    )  # fmt: skip
    origin = Origin(author=author, status=Status.DRAFT, model="a/model")
    conversation = workspace.conversation
    annotation = Annotation(
        conversation_id=conversation.id, scenario=Scenario.COUPLE, participants=conversation.participants, rows=rows,
        origin=origin,
    )  # fmt: skip
    save_annotation(path, annotation)
    return path


def usual_turns() -> list[dict[str, Any]]:
    """A short exchange."""
    return [turn(number + 1, speaker, number * 2.5, text) for number, (speaker, text) in enumerate(SAID)]


def make_recording(path: Path, seconds: int = 11) -> None:
    """A video with a tone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            binary("ffmpeg"), "-v", "error", "-y",
            "-f", "lavfi", "-i", f"testsrc=size=160x120:rate=25:duration={seconds}",
            "-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=16000:duration={seconds}", "-pix_fmt", "yuv420p",
            "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", str(path),
        ],
        check=True,
    )  # fmt: skip


class Project:
    """A project folder with its store."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self.folder = folder
        self.raw = folder / "raw_video"
        self.database_address = database

    def fill(self, recording: Path | None) -> None:
        """One conversation of a couple, with machine turns."""
        self.add_conversation("pair", recording=recording)
        write_turns(self.workspace("pair"), usual_turns())

    def add_conversation(self, name: str, *, recording: Path | None = None, annotated: bool = False) -> None:
        folder = self.raw / name
        folder.mkdir(parents=True)
        if recording is not None:
            (folder / "recording.mp4").write_bytes(recording.read_bytes())
        conversation = Conversation(
            id=name, title=f"A pair <b>{name}</b>", scenario=Scenario.COUPLE, participants=("Nora", "Daniel"),
            media="recording.mp4" if recording else None, annotations="annotations.json" if annotated else None,
        )  # fmt: skip
        save_conversation(folder, conversation)
        if annotated:
            rows = tuple(
                Row(
                    row_index=number + 1, start_time=number * 2.5, end_time=number * 2.5 + 2, primary_speaker="Nora",
                    target=("Daniel",), dialogue_cleaned=text, utterance_type="disclosure",
                )
                for number, (_, text) in enumerate(SAID)
            )  # fmt: skip
            save_annotation(
                folder / "annotations.json",
                Annotation(
                    conversation_id=name, scenario=Scenario.COUPLE, participants=("Nora", "Daniel"), rows=rows
                ),
            )  # fmt: skip
        if recording is not None:
            workspace = self.workspace(name)
            with workspace.locked() as digests:
                for station in (SourceStation(), AudioStation()):
                    outcome = station.process(workspace, digests)
                    assert outcome.state is State.DONE, outcome.record.reason

    @property
    def settings(self) -> Settings:
        review = {"database": self.database_address} if self.database_address else {}
        return load_settings(raw=self.raw, data=self.folder / "data", review=review)

    def workspace(self, name: str) -> Workspace:
        return next(one for one in find_workspaces(self.settings).workspaces if one.conversation.id == name)

    def open(self) -> Database:
        return open_database(self.settings)


class Person:
    """A browser of somebody."""

    def __init__(self, client: TestClient, name: str = "nobody") -> None:
        self.client = client
        self.name = name
        self.csrf = ""

    def sign_in(self, password: str = PASSWORD) -> None:
        answer = self.client.post("/api/session", json={"name": self.name, "password": password})
        assert answer.status_code == 200, answer.text
        self.csrf = answer.json()["csrf"]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        given = {"X-CSRF-Token": self.csrf, **headers}
        return self.client.request(method, path, json=body, headers=given)

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def save(self, assignment: str, *edits: dict[str, Any], status: int = 200, change_id: str | None = None) -> Any:
        body = {"change_id": change_id or str(uuid4()), "edits": list(edits)}
        return self.post(f"/api/assignments/{assignment}/changes", body, status)


class House:
    """A running application with people."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.database = project.open()
        self.app = create_app(project.settings, self.database)
        self.users: dict[str, User] = {}

    def add(self, name: str, role: str = "annotator") -> User:
        with self.database.writing() as connection:
            self.users[name] = add_user(connection, name, Role(role), PASSWORD).user
        return self.users[name]

    def assign(self, name: str, conversation: str = "pair", task: str = "independent", source: str = "auto") -> str:
        workspace = self.project.workspace(conversation)
        return give(self.database, workspace, self.users[name].id, Task(task), Source(source), "a test").id

    def browser(self, name: str = "nobody", *, signed_in: bool = True) -> Person:
        person = Person(TestClient(self.app, base_url=ORIGIN, raise_server_exceptions=False), name)
        if signed_in:
            person.sign_in()
        return person


def edit(row: dict[str, Any], status: str | None = None, base: int | None = None, **fields: Any) -> dict[str, Any]:
    """An edit of a row as somebody saw it."""
    made = {"op": "edit", "row_id": row["row_id"], "base_version": base or row["version"], "fields": fields}
    return {**made, "status": status} if status else made


def complete(person: Person, assignment: str, **fields: Any) -> list[dict[str, Any]]:
    """Fill in and verify every row."""
    speakers = {"SPEAKER_00": "Therapist", "SPEAKER_01": "Nora", "SPEAKER_02": "Daniel"}
    rows = person.get(f"/api/assignments/{assignment}")["rows"]
    edits = [
        edit(
            row, "verified", **{"primary_speaker": speakers[row["machine"]["speaker"]], "target": ["Couple"], **fields}
        )
        for row in rows
    ]
    return person.save(assignment, *edits)["rows"]  # type: ignore[no-any-return]


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))
