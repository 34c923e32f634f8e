"""A real server under load, killed and started again, and a checker of what clients were told.

Each client edits rows of one person's layer and sends a change until it is told what became of it. The checker then
compares what they were told with the store: every acknowledged change is there, once, and every row's history leads
without a gap from its first state to the one that it has.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from sqlalchemy import select

from pipeline.review.tables import changes, row_changes, rows
from tests.review.made import PASSWORD, Project

FIELDS = ("tone_of_voice", "relation_pattern_reason", "dialogue_cleaned", "relation_cycle_reason")


class Server:
    """``rescue review`` as a process of its own."""

    def __init__(self, project: Project) -> None:
        self.project = project
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        environment = {
            **os.environ,
            "RESCUE_RAW": str(self.project.raw),
            "RESCUE_DATA": str(self.project.folder / "data"),
        }
        if self.project.database_address:
            environment["RESCUE_REVIEW__DATABASE"] = self.project.database_address
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "review", "--port", str(self.port)],
            env=environment, cwd=self.project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.address}/api/session", timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        msg = "the server did not start"
        raise RuntimeError(msg)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)


@dataclass
class Client:
    """One window: sends changes, and notes what it was told."""

    address: str
    name: str
    assignment: str
    seed: int
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Change id to the edit that was acknowledged."""
    refused: int = 0
    resent: int = 0
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def run(self, stop: threading.Event, pause: float = 0.0) -> None:
        """Edit until told to stop; the last change is seen through."""
        try:
            self._run(stop, pause)
        except Exception as error:  # noqa: BLE001 - shown by the one who waits for the thread
            self.errors.append(f"{type(error).__name__}: {error}")

    def _run(self, stop: threading.Event, pause: float) -> None:
        chance = random.Random(self.seed)
        with httpx.Client(base_url=self.address, timeout=30, headers=self.headers, cookies=self.cookies) as client:
            known = self._ask(client, "GET", f"/api/assignments/{self.assignment}").json()["rows"]
            versions = {row["row_id"]: row["version"] for row in known}
            while not stop.is_set():
                row_id = chance.choice(list(versions))
                body = {
                    "change_id": str(uuid4()),
                    "edits": [
                        {
                            "op": "edit",
                            "row_id": row_id,
                            "base_version": versions[row_id],
                            "fields": {chance.choice(FIELDS): f"{self.name} {uuid4()}"},
                        }
                    ],
                }
                started = time.perf_counter()
                answer = self._ask(client, "POST", f"/api/assignments/{self.assignment}/changes", body)
                self.seconds.append(time.perf_counter() - started)
                if answer.status_code == 200:
                    self.acknowledged[body["change_id"]] = body["edits"][0]
                    versions |= {row["row_id"]: row["version"] for row in answer.json()["rows"]}
                elif answer.status_code == 409:
                    self.refused += 1
                    for one in answer.json()["error"]["conflicts"]:
                        versions[one["row_id"]] = one["row"]["version"]
                else:
                    self.errors.append(answer.text)
                    return
                stop.wait(pause * chance.uniform(0.5, 1.5))

    def sign_in(self) -> None:
        """Before the trouble begins: sessions outlive the server."""
        answer = httpx.post(
            f"{self.address}/api/session", json={"name": self.name, "password": PASSWORD}, timeout=30
        ).raise_for_status()
        self.headers = {"X-CSRF-Token": answer.json()["csrf"]}
        self.cookies = dict(answer.cookies)

    def _ask(self, client: httpx.Client, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask until there is an answer, as the page does: the same request, word for word."""
        for _ in range(600):
            try:
                answer = client.request(method, path, json=body)
            except httpx.HTTPError:
                self.resent += 1
                time.sleep(0.1)
                continue
            if answer.status_code != 503:
                return answer
            time.sleep(0.1)
        msg = "no answer"
        raise RuntimeError(msg)


def check(project: Project, clients: list[Client]) -> dict[str, int]:
    """Compare what clients were told with the store.

    Raises:
        AssertionError: If an acknowledged change is lost, or one was applied twice, or a history has a gap.
    """
    database = project.open()
    try:
        with database.reading() as connection:
            stored = Counter(connection.scalars(select(changes.c.change_id)))
            told = connection.execute(select(row_changes, changes.c.change_id).join(changes)).all()
            now = {(row.assignment_id, row.row_id): row for row in connection.execute(select(rows))}
    finally:
        database.close()
    assert max(stored.values()) == 1, "a change was applied twice"
    by_change = {row.change_id: row for row in told}
    acknowledged = {one: edit for client in clients for one, edit in client.acknowledged.items()}
    lost = [one for one in acknowledged if one not in stored]
    assert not lost, f"{len(lost)} acknowledged changes are lost"
    for one, edit in acknowledged.items():
        assert {part["field"]: part["to"] for part in by_change[one].delta} == edit["fields"]
    by_row: dict[tuple[str, str], list[Any]] = {}
    for one in told:
        by_row.setdefault((one.assignment_id, one.row_id), []).append(one)
    for key, row in now.items():
        history = sorted(by_row[key], key=lambda one: one.version)
        assert [one.version for one in history] == list(range(1, row.version + 1)), "a version is missing"
        state = dict(history[0].state["fields"])
        for one in history[1:]:
            for part in one.delta:
                assert state.get(part["field"], part["from"]) == part["from"], "something was overwritten unseen"
                state[part["field"]] = part["to"]
        assert {name: state[name] for name in row.fields} == row.fields
    return {
        "acknowledged": len(acknowledged),
        "stored": sum(stored.values()),
        "refused": sum(client.refused for client in clients),
        "resent": sum(client.resent for client in clients),
    }


def under_load(
    project: Project, people: dict[str, str], *, windows: int, kills: int, between: float = 1.0, pause: float = 0.0
) -> tuple[list[Client], dict[str, int]]:
    """Let people edit in several windows each while the server is killed; then check.

    Args:
        project: The project; its store has the people and their assignments.
        people: Name to assignment.
        windows: Of each person, all on the same layer.
        kills: How often the server is killed.
        between: Seconds that it lives.
        pause: Seconds between two changes of a window, on average.
    """
    server = Server(project)
    server.start()
    stop = threading.Event()
    clients = [
        Client(server.address, name, assignment, 100 * index + window)
        for index, (name, assignment) in enumerate(people.items())
        for window in range(windows)
    ]
    threads = [threading.Thread(target=client.run, args=(stop, pause)) for client in clients]
    try:
        for client in clients:
            client.sign_in()
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(random.uniform(0.5, 1.5) * between)
            server.kill()
            server.start()
        time.sleep(between)
        stop.set()
        for thread in threads:
            thread.join(120)
    finally:
        stop.set()
        server.stop()
    errors = [error for client in clients for error in client.errors]
    assert not errors, errors
    return clients, check(project, clients)
