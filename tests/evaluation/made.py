"""Outcomes made up with a seed, shaped as a run leaves them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from pipeline.annotation.labels import label_set
from pipeline.conversation import Scenario
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.schemas import table_of

_FEELINGS = ("hurt and lonely", "angry at being ignored", "ashamed", "relieved", "afraid of being left")
_VIEWS = ("he never listens to her", "she wants to be close again", "he feels judged by her")


def outcome(task: str, number: int = 0, **changes: Any) -> dict[str, Any]:
    """One row; whatever is not given is a right answer, or empty."""
    return {
        **dict.fromkeys(OUTCOMES.names),
        "model": "made/model",
        "mode": "dialogue",
        "task": task,
        "instance_id": f"{task}-{number:04d}",
        "conversation_id": "anna-ben/001",
        "group_id": "anna-ben",
        "scenario": "couple",
        "split": "test",
        "row_index": number + 1,
        "tenth": 0,
        "status": "scored",
        "parse_step": "as_is",
        **changes,
    }


def judgement(score: float | None, judge: str = "judge/a", repeat: int = 0, **parts: Any) -> dict[str, Any]:
    return {
        "judge": judge,
        "repeat": repeat,
        "score": score,
        "pairing": None,
        "viewpoint": None,
        "reason": None,
    } | parts


def outcomes(seed: int = 0, each: int = 60, *, skill: float = 0.5, **same: Any) -> list[dict[str, Any]]:
    """Rows of all tasks, two scenarios and twelve groups; the gold depends on nothing but the number."""
    rows = []
    for task in ("itp", "rpp", "stp", "ssp", "er", "vp"):
        for number in range(each):
            gold, answers = random.Random(f"{task}/{number}"), random.Random(f"{seed}/{task}/{number}")
            rows.append(_one(task, number, gold, answers, skill) | same)
    return rows


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return table_of(rows, OUTCOMES)


def _one(task: str, number: int, gold: random.Random, answers: random.Random, skill: float) -> dict[str, Any]:
    group = number % 12
    scenario = "family" if group >= 9 else "couple"
    known = label_set(Scenario(scenario))
    candidates = {
        "itp": ["yes", "no"],
        "rpp": [label.label for label in known.relation_patterns],
        "stp": ["Anna", "Ben", "Couple" if scenario == "couple" else "Family"],
        "ssp": [label.label for label in known.support_strategies],
    }.get(task, [])
    row = outcome(task, number, group_id=f"group{group}", conversation_id=f"group{group}/{number % 24}")
    row |= {"scenario": scenario, "tenth": gold.randrange(10), "split": "test"}
    row |= {"seconds": answers.uniform(0.5, 4), "input_tokens": answers.randrange(300, 2000), "prompt_digest": "0" * 64}
    row |= {"output_tokens": answers.randrange(5, 200), "answer_text": "..."}
    right = answers.random() < skill
    if candidates:
        row["gold_label"] = gold.choice(candidates)
        others = answers.sample(candidates, k=len(candidates))
        ranking = [row["gold_label"], *others] if right else others
        row["answer_ranking"] = ranking[: 1 if task == "itp" else 3]
        row["candidates"] = None if task == "itp" else candidates
    elif task == "er":
        row |= {"gold_label": gold.choice(_FEELINGS), "gold_intensity": float(gold.randrange(11))}
        row["answer_emotion"] = row["gold_label"] if right else answers.choice(_FEELINGS)
        row["answer_intensity"] = float(answers.randrange(11))
        row["judgements"] = [judgement(5.0 if right else float(answers.randint(1, 4)))]
    else:
        gold_view = {"source": "Anna", "target": "Ben", "viewpoint": gold.choice(_VIEWS), "attitude": "critical"}
        row |= {"gold_viewpoints": [gold_view]}
        row["answer_viewpoints"] = [gold_view if right else gold_view | {"viewpoint": answers.choice(_VIEWS)}]
        pairing, viewpoint = (2, 4) if right else (answers.randint(0, 2), answers.randint(0, 4))
        row["judgements"] = [judgement(pairing + viewpoint, pairing=pairing, viewpoint=viewpoint)]
    if answers.random() < 0.08:
        row |= dict.fromkeys(
            ("answer_ranking", "answer_emotion", "answer_intensity", "answer_viewpoints", "judgements")
        )
        row |= {
            "status": "invalid",
            "reason": answers.choice(("refused", "invalid_response_format")),
            "parse_step": None,
        }
    return row
