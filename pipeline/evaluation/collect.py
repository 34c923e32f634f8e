"""From what was said to the outcomes table: one row for every instance that was to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.evaluation.answers import Answer, Reading
from pipeline.evaluation.instances import Request
from pipeline.evaluation.ledger import Ledger
from pipeline.evaluation.outcomes import OUTCOMES, Status

__all__ = ["gold_of", "outcome", "status_of"]

_GOLD_LABEL = {"rpp": "label", "stp": "target", "ssp": "strategy", "er": "emotion"}
_GROUPING = ("task", "instance_id", "conversation_id", "group_id", "scenario", "split", "row_index")


def gold_of(instance: Mapping[str, Any]) -> dict[str, Any]:
    """The gold columns of the outcomes table, from a row of a task table."""
    task = instance["task"]
    if task == "itp":
        return {"gold_label": "yes" if instance["should_speak"] else "no"}
    gold = {"gold_label": instance[_GOLD_LABEL[task]] if task in _GOLD_LABEL else None}
    if task == "er":
        gold["gold_intensity"] = instance["intensity"]
    elif task == "vp":
        gold["gold_viewpoints"] = instance["viewpoints"]
    else:
        gold["candidates"] = instance["candidates"]
    return gold


def status_of(reading: Reading[Answer]) -> Status:
    """What came of an instance that has an answer."""
    return Status.SCORED if reading.answer else Status.INVALID


def outcome(request: Request, ledger: Ledger, *, model: str, mode: str) -> dict[str, Any]:
    """A row of the outcomes table, in every state that an instance can end in."""
    row: dict[str, Any] = dict.fromkeys(OUTCOMES.names) | {
        "model": model,
        "mode": mode,
        **{name: request.instance[name] for name in _GROUPING},
        "tenth": request.tenth,
        **gold_of(request.instance),
        "prompt_digest": request.prompt.digest,
    }
    exchange = ledger.exchanges.get(request.id)
    if exchange is None:
        return row | {"status": Status.FAILED.value, "reason": ledger.failures.get(request.id, "not_run")}
    reading = exchange.reading(request.expected)
    row |= {
        "status": status_of(reading).value,
        "reason": reading.reason.value if reading.reason else None,
        "parse_step": reading.step.value if reading.step else None,
        "answer_text": exchange.replies[-1].text,
        "input_tokens": exchange.input_tokens,
        "output_tokens": exchange.output_tokens,
        "cost": exchange.cost,
        "seconds": exchange.seconds,
    }
    if reading.answer:
        answer = reading.answer
        row |= {
            "answer_ranking": list(answer.ranking) if answer.ranking else None,
            "answer_emotion": answer.emotion,
            "answer_intensity": answer.intensity,
            "answer_viewpoints": [dict(view) for view in answer.viewpoints] if answer.viewpoints is not None else None,
        }
    return row
