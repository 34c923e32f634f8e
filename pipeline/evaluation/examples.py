"""Right and wrong answers to look at. They quote the gold and the model, so a report has them only on request."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from pipeline.evaluation.metrics import metrics
from pipeline.evaluation.outcomes import Status
from pipeline.evaluation.scores import HEADLINE, Run

__all__ = ["examples_of"]


def examples_of(run: Run, number: int) -> dict[str, list[dict[str, str]]]:
    """Task to examples: ``number`` right ones, then as many wrong ones, in order of instance.

    Right is a first answer that equals the gold; for emotions an intensity match of 4 or more, for viewpoints a judge's
    4 or more.
    """
    return {
        task: [
            {"verdict": verdict, "gold": _gold(row), "answer": _answer(row)}
            for verdict, wanted in (("right", True), ("wrong", False))
            for row in islice((row for row in run.of(task) if _right(row) is wanted), number)
        ]
        for task in HEADLINE
        if run.of(task)
    }


def _right(row: Mapping[str, Any]) -> bool | None:
    if row["status"] == Status.FAILED:
        return None
    if row["task"] in ("er", "vp"):
        value = next((one.value for one in metrics([row]) if one.name == HEADLINE[row["task"]]), None)
        return None if value is None else value >= 4
    return bool(row["answer_ranking"]) and row["answer_ranking"][0] == row["gold_label"]


def _gold(row: Mapping[str, Any]) -> str:
    if row["task"] == "vp":
        return _views(row["gold_viewpoints"])
    return f"{row['gold_label']}, {row['gold_intensity']:g}" if row["task"] == "er" else str(row["gold_label"])


def _answer(row: Mapping[str, Any]) -> str:
    if row["status"] == Status.INVALID:
        return f"invalid: {row['reason']}"
    if row["task"] == "vp":
        return _views(row["answer_viewpoints"])
    if row["task"] == "er":
        return f"{row['answer_emotion']}, {row['answer_intensity']:g}"
    return ", ".join(row["answer_ranking"])


def _views(views: Any) -> str:
    return "; ".join(f"{view['source']} on {view['target']}: {view['viewpoint']}" for view in views or ()) or "nothing"
