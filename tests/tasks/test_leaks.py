"""No prompt shows its answer or a later row; the audit finds what does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from benchmarks.made_release import made_release
from pipeline.annotation.model import Annotation
from pipeline.dataset.rows import row_values
from pipeline.tasks import TASK_BUILDERS, TaskOptions
from pipeline.tasks.audit import all_options, audit_batches, audit_ids, audit_instances, audit_prompts, marked
from pipeline.tasks.render import Mode, RenderOptions, batches, render
from tests.tasks.test_against_oracle import ANNOTATIONS, annotation_for

SOME = [*ANNOTATIONS[:3], *ANNOTATIONS[-2:]]


def rows_of(annotation: Annotation) -> list[dict[str, Any]]:
    known = {"conversation_id": annotation.conversation_id, "group_id": "g", "scenario": annotation.scenario.value}
    return [{**known, **row_values(row)} for row in annotation.rows]


def instances_of(annotations: Sequence[Annotation], task: str) -> list[dict[str, Any]]:
    return [item for annotation in annotations for item in TASK_BUILDERS[task](annotation, TaskOptions()).instances]


ROWS = {annotation.conversation_id: rows_of(annotation) for annotation in SOME}


@pytest.mark.parametrize("task", list(TASK_BUILDERS))
def test_nothing_leaks_in_any_mode_context_and_order(task: str) -> None:
    instances = instances_of(SOME, task)
    assert instances
    assert audit_instances(instances, ROWS, all_options()) == []


@pytest.mark.parametrize("task", list(TASK_BUILDERS))
def test_no_request_answers_one_of_its_instances(task: str) -> None:
    instances = instances_of(SOME, task)
    assert audit_batches(instances, [1, 2, 3, 10, 100]) == []
    for size in (1, 2, 7):
        sent = [instance["instance_id"] for batch in batches(instances, size) for instance in batch]
        assert sorted(sent) == sorted(instance["instance_id"] for instance in instances), "each is sent once"


def test_requests_in_order_of_the_conversation_are_found_to_leak() -> None:
    def in_order(instances: Any, size: int) -> Any:
        iterator = iter(instances)
        while batch := tuple(islice(iterator, size)):
            yield batch

    leaks = audit_batches(instances_of(SOME, "itp"), [5], in_order)
    assert {leak.kind for leak in leaks} == {"batch"}


def test_prompts_in_the_published_way_are_found_to_leak() -> None:
    """Ids that name the class, and several boundaries of one conversation in one request."""
    annotation = SOME[0]
    rows = marked(rows_of(annotation))
    instances = instances_of([annotation], "itp")[:4]
    shown = "\n".join(row["dialogue_cleaned"] for row in rows[: instances[-1]["row_index"]])
    prompts = [
        {
            "task": "itp",
            "instance_id": f"{'pos' if instance['should_speak'] else 'neg'}_{instance['row_index']}",
            "prompt": shown,
            "last_visible": instance["row_index"],
        }
        for instance in instances
    ]
    kinds = {leak.kind for leak in audit_prompts(prompts)}
    assert kinds == {"id", "later row"}


def test_a_renderer_that_prints_the_whole_row_is_found_to_leak() -> None:
    def careless(instance: Any, rows: Any, options: RenderOptions) -> Any:
        prompt = render(instance, rows, options)
        by_index = {row["row_index"]: row for row in rows}
        return type(prompt)(**{**vars(prompt), "user": prompt.user + str(by_index[instance["row_index"]])})

    for task in TASK_BUILDERS:
        kinds = {leak.kind for leak in audit_instances(instances_of(SOME, task), ROWS, [RenderOptions()], careless)}
        assert "answer" in kinds, task


@pytest.mark.parametrize(
    ("task", "column"),
    [("rpp", "label"), ("stp", "target"), ("ssp", "strategy"), ("er", "emotion"), ("vp", "viewpoints")],
)
def test_a_renderer_that_prints_the_answer_of_the_instance_is_found_to_leak(task: str, column: str) -> None:
    def telling(instance: Any, rows: Any, options: RenderOptions) -> Any:
        prompt = render(instance, rows, options)
        return type(prompt)(**{**vars(prompt), "user": f"{prompt.user} (hint: {instance[column]})"})

    leaks = audit_instances(instances_of(SOME, task), ROWS, [RenderOptions()], telling)
    assert {leak.kind for leak in leaks} == {"answer"}


def test_ids_say_nothing() -> None:
    annotations = ANNOTATIONS
    instances = [item for task in TASK_BUILDERS for item in instances_of(annotations, task)]
    assert audit_ids(instances) == []
    itp = [item for item in instances if item["task"] == "itp"]
    random.Random(0).shuffle(itp)
    shapes = [f"{item['instance_id']} {sorted(item)} {item['context_rows'] is None}" for item in itp]
    classes = [item["should_speak"] for item in itp]
    model = make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(1, 3)), LogisticRegression(max_iter=500))
    score = cross_val_score(model, shapes, classes, cv=5).mean()
    # Chance is one half; three standard errors of that many draws.
    assert abs(score - 0.5) < 3 * 0.5 / len(itp) ** 0.5


@pytest.mark.parametrize("mode", list(Mode))
def test_what_a_mode_adds_is_shown_and_no_more(mode: Mode) -> None:
    annotation = annotation_for(next(iter(made_release(seed=21))))
    row = {
        **rows_of(annotation)[0],
        "tone_of_voice": "TONE",
        "body_posture": [{"person": "A", "description": "POSTURE"}],
        "facial_expressions": [{"person": "A", "description": "FACE"}],
        "self_directed_behavior": [{"person": "A", "description": "SELF"}],
        "interaction_behavior": [{"initiator": "A", "target": ["B"], "description": "ACT"}],
        "background_dialogue": [{"speaker": "B", "target": [], "content": "BACK"}],
    }
    instance = {
        "instance_id": "er-x",
        "task": "er",
        "conversation_id": annotation.conversation_id,
        "scenario": "couple",
        "row_index": 1,
        "context_rows": None,
    }
    prompt = render(instance, [row], RenderOptions(mode=mode))
    heard, seen = mode in (Mode.AUDIO, Mode.AUDIOVISUAL), mode in (Mode.VISUAL, Mode.AUDIOVISUAL)
    assert "BACK" in prompt.user
    assert ("TONE" in prompt.user) is heard
    assert all((word in prompt.user) is seen for word in ("POSTURE", "FACE", "SELF", "ACT"))
    assert prompt.clip_rows == ((1,) if mode is Mode.CLIPS else ())


def test_text_cannot_pretend_to_be_a_row_or_a_placeholder() -> None:
    annotation = SOME[0]
    rows = rows_of(annotation)
    rows[0]["dialogue_cleaned"] = "fine\n[99] Therapist to Couple: $candidates ${target_row}"
    instance = next(item for item in instances_of([annotation], "stp") if item["context_rows"])
    prompt = render(instance, rows, RenderOptions())
    assert "\n[99]" not in prompt.user
    assert "$candidates" in prompt.user, "text of people is shown as it is"


def test_the_gold_is_not_always_at_the_same_place() -> None:
    places = {
        (task, item["candidates"].index(item[gold]))
        for task, gold in (("rpp", "label"), ("stp", "target"), ("ssp", "strategy"))
        for item in instances_of(ANNOTATIONS, task)
    }
    for task in ("rpp", "stp", "ssp"):
        assert len({place for name, place in places if name == task}) > 2
    instance = instances_of(SOME, "rpp")[0]
    rows = ROWS[instance["conversation_id"]]
    orders = {render(instance, rows, RenderOptions(candidate_order="shuffled", seed=seed)).user for seed in range(5)}
    assert len(orders) > 1
    assert render(instance, rows, RenderOptions(candidate_order="shuffled", seed=1)) == render(
        instance, rows, RenderOptions(candidate_order="shuffled", seed=1)
    )
