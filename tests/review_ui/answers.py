"""Answers of a model, and a set of them to rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.dataset.build import build_dataset
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.review.accounts import user_named
from pipeline.review.database import open_database
from pipeline.review.rating import NewBatch, Ratings
from pipeline.schemas import read_rows, write_table
from pipeline.store import digest_file, write_json
from tests.dataset.made import project as dataset_project
from tests.dataset.made import run as dataset_run
from tests.evaluation.made import outcome, table
from tests.review_ui.served import Served

__all__ = ["give_answers"]

_SAME = ("task", "instance_id", "conversation_id", "group_id", "scenario", "row_index")


def give_answers(served: Served, folder: Path, text: str, *, rater: str, by: str) -> None:
    """A data set, a run on it whose every answer is the text, and a set of four answers to rate.

    Args:
        served: The project.
        folder: Where the data set is made.
        text: What the model says, how it and the set are called.
        rater: Who is to rate.
        by: The administrator.
    """
    made = dataset_project(folder)
    build_dataset(dataset_run(made), made)
    (served.settings.data / "benchmark").symlink_to(made.benchmark_dir)
    model, name = f"maker/{text[:100]}", served.settings.evaluation_dir / "maker~2fone" / "dialogue"
    answers = [
        _answer(one, text, model)
        for task in ("er", "vp")
        for path in sorted((made.benchmark_dir / task).glob("*.parquet"))
        for one in read_rows(path)[:2]
    ]
    write_table(name / "outcomes.parquet", table(answers), OUTCOMES)
    digest = digest_file(name / "outcomes.parquet")
    write_json(name / "run.json", {"model": model, "mode": "dialogue", "outcomes_sha256": digest})
    database = open_database(served.settings)
    with database.reading() as connection:
        boss, person = user_named(connection, by), user_named(connection, rater)
    batch = NewBatch(title=text[:200], runs=[f"{model} dialogue"], limit=2, user_ids=[person.id])
    Ratings(database, served.settings).add(batch, boss)
    database.close()


def _answer(instance: dict[str, Any], text: str, model: str) -> dict[str, Any]:
    same = {name: instance[name] for name in _SAME}
    if instance["task"] == "er":
        said = {"gold_label": instance["emotion"], "gold_intensity": instance["intensity"], "answer_intensity": 6.0}
        return outcome(**{**same, "model": model, **said, "answer_emotion": text})
    view = {"source": text, "target": text, "viewpoint": text, "attitude": text}
    return outcome(
        **{**same, "model": model, "gold_viewpoints": instance["viewpoints"], "answer_viewpoints": [view]}
    )  # fmt: skip
