"""Asking judges about the answers of ER and VP, after all answers are there.

What a judge said of the same answer in an earlier run stays. What is asked goes through inspect_ai's cache, which never
expires here, so that a run that was killed while judging repeats no call either.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.evaluation.asking import in_project, open_model
from pipeline.evaluation.cost import Price
from pipeline.evaluation.judge import JudgeRequest, judge_requests, read_judgement
from pipeline.evaluation.plan import Call, Plan, full_name
from pipeline.store import Json

if TYPE_CHECKING:
    from inspect_ai.model import Model

__all__ = ["Graders", "judge_answers"]


@dataclass(frozen=True)
class Graders:
    """Who judges."""

    models: tuple[str, ...]
    repeats: int = 1
    """Judgements of each model about an answer; every other one shows the two texts in the other order."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, if the judges are there."""
    prices: Mapping[str, Price] | None = None


def judge_answers(
    plan: Plan, rows: Sequence[dict[str, Any]], graders: Graders, known: Mapping[str, Sequence[Json]]
) -> dict[str, dict[str, Json]]:
    """Put the judgements into rows of the outcomes table.

    Args:
        plan: The run; its limits of connections, time and retries hold for the judges too.
        rows: Changed in place.
        graders: Who judges, how often.
        known: Instance id to the judgements of earlier runs.

    Returns:
        Judge to ``asked``, ``failed`` (no answer: the judgement is missing), ``unreadable``, tokens and cost.
    """
    told: dict[str, dict[str, Json]] = {}
    call = replace(
        plan.call,
        base_url=graders.base_url,
        key_variable="RESCUE_GRADER_API_KEY",
        temperature=0.0,
        max_tokens=None,
    )
    found: dict[str, list[Json]] = {name: list(given) for name, given in known.items()}
    for name in graders.models:
        there = {
            (at, one["repeat"]) for at, given in found.items() for one in given if one["judge"] == _name(name, call)
        }
        asked = [one for one in judge_requests(rows, graders.repeats) if (one.instance_id, one.repeat) not in there]
        told[_name(name, call)] = _judged(plan, name, call, asked, graders, found)
    for row in rows:
        given = found.get(row["instance_id"])
        row["judgements"] = sorted(given, key=lambda one: (one["judge"], one["repeat"])) if given else None
    return told


def _name(model: str, call: Call) -> str:
    return full_name(model, call)


def _judged(
    plan: Plan, model: str, call: Call, asked: Sequence[JudgeRequest], graders: Graders, found: dict[str, list[Json]]
) -> dict[str, Json]:
    """Ask one judge, and add what it said."""
    name, counts = _name(model, call), Counter[str]()
    if asked:
        in_project(plan)
        outputs = asyncio.run(_ask(open_model(name, call), asked, structured=call.structured))
        for request, output in zip(asked, outputs, strict=True):
            if output is None:
                counts["failed"] += 1
                continue
            judgement = read_judgement(output.completion, request.task)
            found.setdefault(request.instance_id, []).append(judgement.row(name, request.repeat))
            counts["unreadable"] += judgement.score is None
            if output.usage:
                counts["input_tokens"] += output.usage.input_tokens
                counts["output_tokens"] += output.usage.output_tokens
    price = (graders.prices or {}).get(name)
    told = {key: counts[key] for key in ("failed", "unreadable", "input_tokens", "output_tokens")}
    cost = price.cost(told["input_tokens"], told["output_tokens"]) if price else None
    return {"asked": len(asked), **told, "cost": cost}


async def _ask(model: Model, asked: Sequence[JudgeRequest], *, structured: bool) -> list[Any]:
    from inspect_ai.model import (  # noqa: PLC0415 - takes seconds
        CachePolicy,
        ChatMessage,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ResponseSchema,
    )
    from inspect_ai.util import JSONSchema  # noqa: PLC0415

    async def one(request: JudgeRequest) -> Any:
        schema = ResponseSchema(
            name="judgement", json_schema=JSONSchema.model_validate(request.prompt.schema), strict=True
        )
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=request.prompt.system),
            ChatMessageUser(content=request.prompt.user),
        ]
        try:
            return await model.generate(
                messages,
                config=GenerateConfig(response_schema=schema) if structured else GenerateConfig(),
                cache=CachePolicy(expiry=None),
            )
        except Exception:  # noqa: BLE001 - whatever it is, the judgement is missing, and is counted so
            return None

    return await asyncio.gather(*(one(request) for request in asked))
