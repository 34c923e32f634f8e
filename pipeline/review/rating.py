"""People rate answers of models to ER and VP, without seeing whose they are, in an order shuffled for each of them.

The ratings of a run become a file that ``rescue agreement`` reads.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, insert, select

from pipeline.errors import InputError, PrerequisiteError
from pipeline.evaluation.agreement import Rating
from pipeline.evaluation.instances import Benchmark
from pipeline.evaluation.judge import JUDGED
from pipeline.evaluation.outcomes import Status
from pipeline.keys import key_of
from pipeline.review import trail
from pipeline.review.accounts import User, find_user
from pipeline.review.assignments import Task
from pipeline.review.database import Database
from pipeline.review.errors import Invalid, NotFound
from pipeline.review.rights import make_private
from pipeline.review.tables import assignments, batches, moment, raters, rating_items, ratings, users
from pipeline.settings import Settings
from pipeline.store import Json, write_text

if TYPE_CHECKING:
    from pipeline.evaluation.scores import Run

__all__ = ["NewBatch", "Ratings", "Value"]

_LINES = 12
"""Rows of dialogue before the row in question that a rater sees."""


class NewBatch(BaseModel):
    """What an administrator asks people to rate."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    title: str = Field(min_length=1, max_length=200)
    runs: list[str] = Field(min_length=1, max_length=100)
    tasks: list[str] = Field(default_factory=lambda: list(JUDGED), min_length=1, max_length=2)
    limit: int | None = Field(default=None, ge=1)
    """Answers of each run and task at most: the first by instance id, which is an even sample."""
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    user_ids: list[int] = Field(min_length=1, max_length=100)


class Value(BaseModel):
    """What a person says of an answer: ``score`` for ER, ``pairing`` and ``viewpoint`` for VP."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: int | None = None
    pairing: int | None = None
    viewpoint: int | None = None


@dataclass(frozen=True)
class _Answer:
    run: str
    row: Mapping[str, Any]


class Ratings:
    """The batches of answers that people rate."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    # --- for raters

    def of(self, user: User) -> list[dict[str, Json]]:
        """The batches of a person."""
        with self._database.reading() as connection:
            mine = select(batches).join(raters).where(raters.c.user_id == user.id).order_by(batches.c.created_at)
            return [
                {
                    "id": row.id,
                    "title": row.title,
                    "total": len(items := _items(connection, row.id, user)),
                    "rated": len(_values(connection, [item.id for item in items], user.id)),
                }
                for row in connection.execute(mine).all()
            ]

    def batch(self, user: User, batch_id: str) -> dict[str, Json]:
        """The answers of a batch in this person's order, always the same one."""
        with self._database.writing() as connection:
            row = _own(connection, user, batch_id)
            items = _items(connection, batch_id, user)
            random.Random(f"{row.seed}/{user.id}").shuffle(items)  # noqa: S311 - an order to be repeated, no secret
            given = _values(connection, [item.id for item in items], user.id)
            trail.note(connection, user, "rate", detail=row.title)
            return {
                "id": row.id,
                "title": row.title,
                "items": [_item_json(item, given.get(item.id)) for item in items],
            }

    def rate(self, user: User, batch_id: str, item_id: str, value: Value) -> dict[str, Json]:
        """Keep what a person says of an answer; the newest counts.

        Raises:
            Invalid: If it is off the scale, or of the other task.
        """
        with self._database.writing() as connection:
            _own(connection, user, batch_id)
            item = next((one for one in _items(connection, batch_id, user) if one.id == item_id), None)
            if item is None:
                raise NotFound
            given = {name: part for name, part in value.model_dump().items() if part is not None}
            if set(given) != ({"score"} if item.task == "er" else {"pairing", "viewpoint"}):
                raise Invalid("body", "give score for er, pairing and viewpoint for vp")
            try:
                Rating(instance_id=item.instance_id, rater=user.name, **given)
            except ValueError:
                raise Invalid("body", "score is 1 to 5, pairing 0 to 2, viewpoint 0 to 4") from None
            connection.execute(insert(ratings).values(item_id=item.id, user_id=user.id, value=given, at=moment()))
            return _item_json(item, given)

    def _runs(self) -> list[Run]:
        try:
            from pipeline.evaluation.scores import read_runs  # noqa: PLC0415 - an extra, and slow to load
        except ImportError as error:
            msg = f"the libraries of evaluation are not installed: {error.name}"
            raise PrerequisiteError(msg, hint="pip install 'rescue-bench[evaluate]'") from error
        return read_runs(self._settings.evaluation_dir)

    # --- for administrators

    def overview(self) -> dict[str, Json]:
        """All batches, and the runs whose answers can be rated."""
        with self._database.reading() as connection:
            found = []
            for row in connection.execute(select(batches).order_by(batches.c.created_at)).all():
                ids = list(connection.scalars(select(rating_items.c.id).where(rating_items.c.batch_id == row.id)))
                people = select(users.c.id, users.c.name).join(raters).where(raters.c.batch_id == row.id)
                found.append(
                    {
                        "id": row.id,
                        "title": row.title,
                        "items": len(ids),
                        "raters": [
                            {"user_id": one.id, "name": one.name, "rated": len(_values(connection, ids, one.id))}
                            for one in connection.execute(people.order_by(users.c.folded)).all()
                        ],
                    }
                )
        runs = [
            {"run": _name(run), "answers": {task: len(_answers(run, task)) for task in JUDGED}} for run in self._runs()
        ]
        return {"batches": found, "runs": runs}

    def add(self, wanted: NewBatch, user: User) -> dict[str, Json]:
        """Make a batch.

        Raises:
            Invalid: If a run, a task or a person is not there, or there is nothing to rate.
        """
        known = {_name(run): run for run in self._runs()}
        for name, there, place in ((wanted.runs, known, "runs"), (wanted.tasks, JUDGED, "tasks")):
            missing = next((one for one in name if one not in there), None)
            if missing is not None:
                raise Invalid(place, f"there is no {missing[:60]!r}")
        answers = [
            _Answer(name, row)
            for name in dict.fromkeys(wanted.runs)
            for task in dict.fromkeys(wanted.tasks)
            for row in _answers(known[name], task)[: wanted.limit]
        ]
        if not answers:
            raise Invalid("runs", "these runs have no answers to rate")
        benchmark = Benchmark(self._settings.benchmark_dir)
        content = [_content(one.row, benchmark) for one in answers]
        batch_id = str(uuid4())
        with self._database.writing() as connection:
            for user_id in wanted.user_ids:
                find_user(connection, user_id)
            connection.execute(
                insert(batches).values(id=batch_id, title=wanted.title, seed=wanted.seed, created_at=moment())
            )
            connection.execute(
                insert(raters), [{"batch_id": batch_id, "user_id": one} for one in dict.fromkeys(wanted.user_ids)]
            )
            connection.execute(
                insert(rating_items),
                [
                    {
                        "id": str(uuid4()),
                        "batch_id": batch_id,
                        "run": one.run,
                        "task": one.row["task"],
                        "instance_id": one.row["instance_id"],
                        "conversation_id": one.row["conversation_id"],
                        "content": shown,
                    }
                    for one, shown in zip(answers, content, strict=True)
                ],
            )
            trail.note(connection, user, "add_batch", detail=wanted.title)
        return next(one for one in self.overview()["batches"] if one["id"] == batch_id)

    def export(self, batch_id: str, user: User | None = None) -> list[str]:
        """Write one CSV file for each run under ``review/ratings/``; returns their names, relative to the data folder.

        Raises:
            NotFound: If there is no such batch.
            InputError: If nobody has rated anything.
        """
        with self._database.writing() as connection:
            row = connection.execute(select(batches).where(batches.c.id == batch_id)).one_or_none()
            if row is None:
                raise NotFound
            newest = _all_values(connection, batch_id)
            trail.note(connection, user, "export_ratings", detail=row.title)
        if not newest:
            msg = f"nobody has rated anything in {row.title!r}"
            raise InputError(msg, hint="ask the raters")
        written = []
        for run in sorted({one["run"] for one in newest}):
            text = io.StringIO()
            columns = ["instance_id", "rater", "score", "pairing", "viewpoint"]
            writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(one for one in newest if one["run"] == run)
            name = f"ratings/{key_of(run)[:100]}-{batch_id[:8]}.csv"
            write_text(self._settings.review_dir / name, text.getvalue())
            make_private(self._settings.review_dir / name)
            written.append(f"review/{name}")
        return written


def _name(run: Run) -> str:
    return f"{run.model} {run.record['mode']}"


def _answers(run: Run, task: str) -> list[Mapping[str, Any]]:
    rows = [row for row in run.of(task) if row["status"] == Status.SCORED.value]
    return sorted(rows, key=lambda row: str(row["instance_id"]))


def _content(row: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Json]:
    said = [one for one in benchmark.rows(row["conversation_id"]) if one["row_index"] <= row["row_index"]]
    lines = [
        f"{one['primary_speaker']} to {', '.join(one['target']) or 'nobody'}: {one['dialogue_cleaned']}"
        for one in said[-_LINES - 1 :]
    ]
    if row["task"] == "er":
        reference = {"emotion": row["gold_label"], "intensity": row["gold_intensity"]}
        answer = {"emotion": row["answer_emotion"], "intensity": row["answer_intensity"]}
    else:
        reference = {"viewpoints": row["gold_viewpoints"]}
        answer = {"viewpoints": row["answer_viewpoints"]}
    return {"context": "\n".join(lines), "reference": reference, "answer": answer}


def _own(connection: Connection, user: User, batch_id: str) -> Any:
    mine = select(batches).join(raters).where(batches.c.id == batch_id, raters.c.user_id == user.id)
    row = connection.execute(mine).one_or_none()
    if row is None:
        raise NotFound
    return row


def _items(connection: Connection, batch_id: str, user: User) -> list[Any]:
    """The answers that a person may see: not on a conversation that they annotate, since the gold is somebody's."""
    theirs = select(assignments.c.conversation_id).where(
        assignments.c.user_id == user.id, assignments.c.task == Task.INDEPENDENT.value
    )
    hidden = set(connection.execute(theirs).scalars())  # withdrawn ones too: they may come back
    found = select(rating_items).where(rating_items.c.batch_id == batch_id).order_by(rating_items.c.id)
    return [row for row in connection.execute(found) if row.conversation_id not in hidden]


def _values(connection: Connection, ids: Sequence[str], user_id: int) -> dict[str, Json]:
    found = select(ratings.c.item_id, ratings.c.value).where(ratings.c.user_id == user_id).order_by(ratings.c.id)
    known = frozenset(ids)
    return {row.item_id: row.value for row in connection.execute(found) if row.item_id in known}


def _all_values(connection: Connection, batch_id: str) -> list[dict[str, Json]]:
    found = (
        select(rating_items.c.run, rating_items.c.instance_id, users.c.name, ratings.c.value)
        .join(rating_items, rating_items.c.id == ratings.c.item_id)
        .join(users, users.c.id == ratings.c.user_id)
        .where(rating_items.c.batch_id == batch_id)
        .order_by(ratings.c.id)
    )
    newest = {(row.run, row.instance_id, row.name): row.value for row in connection.execute(found)}
    return [
        {"run": run, "instance_id": instance, "rater": rater, **value}
        for (run, instance, rater), value in sorted(newest.items())
    ]


def _item_json(item: Any, given: Json) -> dict[str, Json]:
    return {"id": item.id, "task": item.task, **item.content, "rating": given}
