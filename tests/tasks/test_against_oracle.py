"""The instances equal those of a second implementation, written from the rules alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.made_release import made_release
from pipeline.annotation.io import annotation_of
from pipeline.annotation.model import Annotation
from pipeline.conversation import Conversation
from pipeline.tasks import TASK_BUILDERS, TaskOptions
from tests.tasks import oracle

SAMPLES = list(made_release(seed=7))

# Ours to the oracle's: the oracle gives the emotion's whole record, the table its words.
PLAIN = (
    "row_index",
    "should_speak",
    "label",
    "candidates",
    "target",
    "strategy",
    "support_target",
    "emotion",
    "intensity",
)


def annotation_for(sample: dict[str, Any]) -> Annotation:
    conversation = Conversation.model_validate(
        {"id": sample["sample_id"], "scenario": sample["scenario"], "participants": sample["participants"]}
    )
    return annotation_of(sample, conversation).annotation


ANNOTATIONS = [annotation_for(sample) for sample in SAMPLES]


def as_dict(annotation: Annotation) -> dict[str, Any]:
    return annotation.model_dump(mode="json")


def comparable(task: str, instances: list[dict[str, Any]]) -> list[dict[str, Any]]:
    result = []
    for instance in instances:
        kept = {name: instance[name] for name in PLAIN if name in instance}
        if task == "vp":
            kept["viewpoints"] = [dict(view) for view in instance["viewpoints"]]
        if task == "ssp":
            emotion = instance["recent_emotion"]
            kept["recent_emotion"] = emotion["emotion"] if isinstance(emotion, dict) else emotion
        context = instance["context_rows"]
        kept["context"] = (context["first"], context["last"]) if isinstance(context, dict) else context
        result.append(kept)
    return result


def pairs(task: str, options: TaskOptions, **oracle_options: Any) -> Iterator[tuple[Any, Any]]:
    for annotation in ANNOTATIONS:
        ours = TASK_BUILDERS[task](annotation, options).instances
        theirs = oracle.TASKS[task](as_dict(annotation), **oracle_options)
        yield comparable(task, ours), comparable(task, theirs)


@pytest.mark.parametrize("size", [None, 0, 1, 3, 10])
@pytest.mark.parametrize("task", list(TASK_BUILDERS))
def test_every_context_size(task: str, size: int | None) -> None:
    # SSP: the oracle looks for the recent emotion within the context.
    options = TaskOptions(context_size=size, ssp_emotion_window=size)
    for ours, theirs in pairs(task, options, context_size=size):
        assert ours == theirs


@pytest.mark.parametrize("keep", [1, 2, 3, 5, 50])
@pytest.mark.parametrize("task", ["er", "vp"])
def test_every_sampling_limit(task: str, keep: int) -> None:
    options = TaskOptions(max_per_conversation=keep)
    for ours, theirs in pairs(task, options, context_size=None, max_per_sample=keep):
        assert ours == theirs


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("words", [0, 1, 5, 12])
def test_every_cut_and_minimum_of_er(cut: float, words: int) -> None:
    options = TaskOptions(er_early_cut=cut, er_min_words=words)
    for ours, theirs in pairs("er", options, context_size=None, early_cut=cut, min_words=words):
        assert ours == theirs


def test_any_row_of_rpp() -> None:
    options = TaskOptions(rpp_therapist_rows_only=False)
    for ours, theirs in pairs("rpp", options, context_size=None, rpp_any_row=True):
        assert ours == theirs


def test_the_counts_of_the_whole_release() -> None:
    counted: dict[str, Counter[str]] = {task: Counter() for task in TASK_BUILDERS}
    for annotation in ANNOTATIONS:
        for task, build in TASK_BUILDERS.items():
            counted[task][annotation.scenario.value] += len(build(annotation, TaskOptions()).instances)
    expected = oracle.counts([as_dict(annotation) for annotation in ANNOTATIONS])
    assert {task: dict(counts) for task, counts in counted.items()} == expected
    assert sum(sum(counts.values()) for counts in counted.values()) > 5_000


@pytest.mark.parametrize("seed", range(20))
def test_odd_conversations(seed: int) -> None:
    """Few rows, odd speakers and targets: where rules meet their edges."""
    randomness = random.Random(seed)
    sample = randomness.choice(SAMPLES)
    rows = [dict(row) for row in sample["rows"][: randomness.randint(0, 9)]]
    names = [*sample["participants"], "Therapist", "Couple", "Family", "Nobody"]
    for row in rows:
        row["primary_speaker"] = randomness.choice(names)
        row["target"] = randomness.sample(names, randomness.randint(0, 3))
        for move in row["support_strategy"]:
            move["target"] = randomness.sample(names, randomness.randint(0, 3))
    annotation = annotation_for({**sample, "rows": rows})
    for task, build in TASK_BUILDERS.items():
        options = TaskOptions(context_size=2, ssp_emotion_window=2)
        theirs = oracle.TASKS[task](as_dict(annotation), context_size=2)
        assert comparable(task, build(annotation, options).instances) == comparable(task, theirs), task
