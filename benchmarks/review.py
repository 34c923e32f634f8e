"""The review page with a conversation of 60 minutes and 300 rows: opening, saving with ten people, ``kill -9``.

Run it with ``python -m benchmarks.review [--people 10] [--seconds 60] [--kills 100] [--database postgresql://...]``.
The server is a process of its own; clients send real requests. ``--kills`` ends it that many times under load and
compares what clients were told with the store.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from pipeline.times import Seconds
from tests.review.load import Client, Server, check, under_load
from tests.review.made import PASSWORD, House, Project, turn, write_turns

_ROWS = 300
_LENGTH: Seconds = 3600.0
_TEXT = "I said that last week and you did not even look up from your phone when I came in"


def _project(folder: Path, database: str | None, people: int) -> tuple[Project, dict[str, str]]:
    project = Project(folder, database)
    project.add_conversation("pair")
    turns = [turn(number + 1, f"SPEAKER_0{number % 3}", number * _LENGTH / _ROWS, _TEXT) for number in range(_ROWS)]
    write_turns(project.workspace("pair"), turns)
    house = House(project)
    names = [f"person{number}" for number in range(people)]
    for name in names:
        house.add(name)
    work = {name: house.assign(name) for name in names}
    house.database.close()
    return project, work


def _open(project: Project, work: dict[str, str]) -> dict[str, float]:
    """Seconds of the answer that holds everything of the screen: the first time, and again."""
    server = Server(project)
    server.start()
    try:
        name, assignment = next(iter(work.items()))
        with httpx.Client(base_url=server.address, timeout=60) as client:
            client.post("/api/session", json={"name": name, "password": PASSWORD})
            times, size = [], 0
            for _ in range(11):
                started = time.perf_counter()
                size = len(client.get(f"/api/assignments/{assignment}").content)
                times.append(time.perf_counter() - started)
            for other, theirs in work.items():  # so that everybody's rows are there
                client.post("/api/session", json={"name": other, "password": PASSWORD})
                client.get(f"/api/assignments/{theirs}")
    finally:
        server.stop()
    return {"first_s": times[0], "again_s": statistics.median(times[1:]), "kib": size / 1024}


def _save(project: Project, work: dict[str, str], seconds: float, pause: float) -> dict[str, float]:
    """Times of saves, as those see them who wait for them."""
    server = Server(project)
    server.start()
    stop = threading.Event()
    clients = [
        Client(server.address, name, assignment, number) for number, (name, assignment) in enumerate(work.items())
    ]
    try:
        for client in clients:
            client.sign_in()
        threads = [threading.Thread(target=client.run, args=(stop, pause)) for client in clients]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stop.set()
        for thread in threads:
            thread.join()
    finally:
        server.stop()
    found = sorted(one for client in clients for one in client.seconds)
    check(project, clients)
    return {
        "people": len(clients),
        "saves": len(found),
        "median_ms": 1000 * statistics.median(found),
        "p95_ms": 1000 * found[int(0.95 * len(found))],
        "longest_ms": 1000 * found[-1],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=2, help="seconds between two saves of a person, on average")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--database")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        project, work = _project(Path(folder), given.database, given.people)
        result: dict[str, object] = {"open": _open(project, work)}
        result["save"] = _save(project, work, given.seconds, given.pause)
        if given.kills:
            some = dict(list(work.items())[:3])
            _, result["kills"] = under_load(project, some, windows=3, kills=given.kills, between=1.0, pause=0.05)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
