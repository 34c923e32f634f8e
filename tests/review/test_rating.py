"""Ratings of model answers: blind, in an order of one's own, into the file that agreement reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from pipeline.dataset.build import build_dataset
from pipeline.evaluation.agreement import agreement, read_ratings
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.review.assignments import Source, Task, assign
from pipeline.review.errors import Refused
from pipeline.review.tables import assignments, moment, rating_items
from pipeline.schemas import read_rows, write_table
from pipeline.store import digest_file, write_json
from tests.dataset.made import project as dataset_project
from tests.dataset.made import run as dataset_run
from tests.evaluation.made import outcome, table
from tests.review.made import House, Person


@pytest.fixture(scope="session")
def benchmark_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set, read only."""
    made = dataset_project(tmp_path_factory.mktemp("dataset"))
    build_dataset(dataset_run(made), made)
    return made.benchmark_dir


@pytest.fixture
def rated(house: House, benchmark_dir: Path) -> House:
    """A data set, two runs on it, two raters."""
    settings = house.project.settings
    (settings.data / "benchmark").symlink_to(benchmark_dir)
    for model in ("maker/one", "maker/two"):
        rows = [
            _answer(model, instance) for task in ("er", "vp") for instance in _instances(settings.benchmark_dir, task)
        ]
        folder = settings.evaluation_dir / model.replace("/", "~2f") / "dialogue"
        write_table(folder / "outcomes.parquet", table(rows), OUTCOMES)
        digest = digest_file(folder / "outcomes.parquet")
        write_json(folder / "run.json", {"model": model, "mode": "dialogue", "outcomes_sha256": digest})
    for name in ("ann", "bob"):
        house.add(name)
    house.add("boss", "administrator")
    return house


def _instances(folder: Path, task: str) -> list[dict[str, Any]]:
    return [row for path in sorted((folder / task).glob("*.parquet")) for row in read_rows(path)]


def _answer(model: str, instance: dict[str, Any]) -> dict[str, Any]:
    same = {
        name: instance[name] for name in ("task", "instance_id", "conversation_id", "group_id", "scenario", "row_index")
    }
    if instance["task"] == "er":
        said = {"gold_label": instance["emotion"], "gold_intensity": instance["intensity"], "answer_emotion": "hurt"}
        said["answer_intensity"] = 6.0
    else:
        said = {"gold_viewpoints": instance["viewpoints"], "answer_viewpoints": instance["viewpoints"]}
    return outcome(**{**same, "model": model, **said})


def _batch(house: House, *names: str) -> str:
    body = {
        "title": "First answers", "runs": ["maker/one dialogue", "maker/two dialogue"], "limit": 4, "seed": 7,
        "user_ids": [house.users[name].id for name in names],
    }  # fmt: skip
    made = house.browser("boss").post("/api/batches", body, 201)
    return str(made["id"])


def _rate(person: Person, batch: str, item: dict[str, Any], score: int) -> dict[str, Any]:
    value = {"score": score} if item["task"] == "er" else {"pairing": 1, "viewpoint": score - 1}
    answer = person.ask("PUT", f"/api/ratings/{batch}/items/{item['id']}", value)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_ratings_become_the_file_that_agreement_reads(rated: House) -> None:
    batch = _batch(rated, "ann", "bob")
    ann, bob, boss = (rated.browser(name) for name in ("ann", "bob", "boss"))
    hers, his = (person.get(f"/api/ratings/{batch}")["items"] for person in (ann, bob))
    assert {one["id"] for one in hers} == {one["id"] for one in his}
    assert [one["id"] for one in hers] != [one["id"] for one in his]
    assert hers == ann.get(f"/api/ratings/{batch}")["items"]
    assert "maker" not in str(hers)
    assert all(one["context"] for one in hers)
    for item in hers:
        _rate(ann, batch, item, 2)
    _rate(ann, batch, hers[0], 4)  # the newest counts
    _rate(bob, batch, his[0], 3)
    (shown,) = ann.get("/api/ratings")["batches"]
    assert (shown["rated"], shown["total"]) == (len(hers), len(hers))
    files = boss.post(f"/api/batches/{batch}/export", {})["files"]
    assert len(files) == 2
    ratings = [one for file in files for one in read_ratings(rated.project.settings.data / file)]
    assert len(ratings) == len(hers) + 1
    assert {one.rater for one in ratings} == {"ann", "bob"}
    one_file = read_ratings(rated.project.settings.data / files[0])
    found = agreement({one.instance_id: one.on_five for one in one_file if one.rater == "ann"}, one_file)
    assert found is not None
    assert found.instances == len({one.instance_id for one in one_file if one.rater == "ann"})


@pytest.mark.parametrize(
    "value",
    [{"score": 6}, {"score": 0}, {"pairing": 1}, {}, {"score": 3, "pairing": 1, "viewpoint": 1}, {"score": "3"}],
)
def test_ratings_off_the_scale_are_refused(rated: House, value: dict[str, Any]) -> None:
    batch = _batch(rated, "ann")
    ann = rated.browser("ann")
    item = next(one for one in ann.get(f"/api/ratings/{batch}")["items"] if one["task"] == "er")
    assert ann.ask("PUT", f"/api/ratings/{batch}/items/{item['id']}", value).status_code == 422


def test_who_annotates_a_conversation_does_not_rate_it(rated: House) -> None:
    batch = _batch(rated, "ann", "bob")
    ann, bob = rated.browser("ann"), rated.browser("bob")
    hers = ann.get(f"/api/ratings/{batch}")["items"]
    conversation = _instances(rated.project.settings.benchmark_dir, "er")[0]["conversation_id"]
    rated.project.add_conversation("extra")
    from sqlalchemy import func, select, update

    from pipeline.review.tables import assignments, rating_items

    rated.assign("ann", source="turns")
    with rated.database.writing() as connection:
        connection.execute(update(assignments).values(conversation_id=conversation))
        count = connection.scalar(
            select(func.count()).select_from(rating_items).where(rating_items.c.conversation_id == conversation)
        )
    assert count
    assert len(ann.get(f"/api/ratings/{batch}")["items"]) == len(hers) - count
    assert len(bob.get(f"/api/ratings/{batch}")["items"]) == len(hers)


def test_a_batch_is_only_there_for_its_raters(rated: House) -> None:
    batch = _batch(rated, "ann")
    bob = rated.browser("bob")
    assert bob.get(f"/api/ratings/{batch}", 404) == bob.get("/api/ratings/none", 404)
    assert bob.get("/api/ratings") == {"batches": []}
    overview = rated.browser("boss").get("/api/batches")
    assert [one["run"] for one in overview["runs"]] == ["maker/one dialogue", "maker/two dialogue"]
    assert overview["batches"][0]["raters"] == [{"user_id": rated.users["ann"].id, "name": "ann", "rated": 0}]


def test_who_rates_answers_on_a_conversation_cannot_annotate_it(rated: House) -> None:
    _batch(rated, "ann")
    conversation = _instances(rated.project.settings.benchmark_dir, "er")[0]["conversation_id"]
    with rated.database.writing() as connection:
        items = connection.execute(select(rating_items.c.conversation_id)).scalars().all()
        assert conversation in items
        with pytest.raises(Refused, match="may have seen"):
            assign(connection, conversation, rated.users["ann"], Task.INDEPENDENT, Source.AUTO)
        assign(connection, conversation, rated.users["bob"], Task.INDEPENDENT, Source.AUTO)


def test_a_withdrawn_annotator_still_sees_no_gold(rated: House) -> None:
    batch = _batch(rated, "ann")
    ann = rated.browser("ann")
    before = len(ann.get(f"/api/ratings/{batch}")["items"])
    with rated.database.writing() as connection:
        items = connection.execute(select(rating_items)).all()
        first = items[0].conversation_id
        connection.execute(
            insert(assignments).values(
                id="a", conversation_id=first, user_id=rated.users["ann"].id, task="independent", source="auto",
                seeded=False, done=False, withdrawn=True, version=0, assigned_at=moment(), changed_at=moment(),
            )
        )  # fmt: skip
    hidden = sum(row.conversation_id == first for row in items)
    assert len(ann.get(f"/api/ratings/{batch}")["items"]) == before - hidden
