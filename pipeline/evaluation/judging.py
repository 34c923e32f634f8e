"""Asking judges about the answers of ER and VP, after all answers are there.

What a judge said of the same answer in an earlier run stays. It has a journal of its own, keyed by all that a judge is
shown, so that a run that was killed while judging repeats no call either, and another gold or rubric is another
question.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.evaluation.asking import in_project, open_model
from pipeline.evaluation.cost import Price
from pipeline.evaluation.judge import JudgeRequest, judge_requests, read_judgement
from pipeline.evaluation.ledger import Journal, Ledger
from pipeline.evaluation.plan import Call, Plan, full_name
from pipeline.evaluation.replies import cause_of, exchange_of, is_fatal, why
from pipeline.store import Json, digest_json

if TYPE_CHECKING:
    from inspect_ai.model import Model

__all__ = ["Graders", "check_priced", "judge_answers", "open_graders"]


Key = tuple[str, int]
"""Instance and repeat."""


@dataclass(frozen=True)
class Graders:
    """Who judges."""

    models: tuple[str, ...]
    repeats: int = 1
    """Judgements of each model about an answer; every other one shows the two texts in the other order."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, if the judges are there."""
    prices: Mapping[str, Price] | None = None


def open_graders(plan: Plan, graders: Graders) -> None:
    """Find out before the first answer is paid whether the judges can be asked.

    Raises:
        PrerequisiteError: If a provider is unknown, or its package or key is missing.
        UsageError: If a name has no provider.
    """
    call = _call(plan, graders)
    for name in graders.models:
        in_project(plan)
        open_model(_name(name, call), call)


def check_priced(plan: Plan, graders: Graders) -> None:
    """Refuse judges without a price, where there is a limit of cost.

    Raises:
        UsageError: If one has none.
    """
    for name in graders.models:
        full = _name(name, _call(plan, graders))
        if full not in (graders.prices or {}):
            msg = f"a limit of cost needs the price of the judge {full}"
            raise UsageError(msg, hint="add it to the price file")


def _call(plan: Plan, graders: Graders) -> Call:
    return replace(
        plan.call,
        base_url=graders.base_url,
        key_variable="RESCUE_GRADER_API_KEY",
        temperature=0.0,
        max_tokens=None,
    )


def judge_answers(
    plan: Plan,
    rows: Sequence[dict[str, Any]],
    graders: Graders,
    known: Mapping[str, Sequence[Json]],
    *,
    fresh: bool = False,
    cost_limit: float | None = None,
) -> dict[str, dict[str, Json]]:
    """Put the judgements into rows of the outcomes table.

    Args:
        plan: The run; its limits of connections, time and retries hold for the judges too.
        rows: Changed in place.
        graders: Who judges, how often.
        known: Instance id to the judgements of earlier runs.
        fresh: Ask again, also what is in the journal.
        cost_limit: Money for all judges together.

    Returns:
        Judge to ``asked``, ``failed`` (no answer: the judgement is missing), ``unreadable``, tokens and cost, and
        ``reasons`` of what failed. A judge that cannot be reached, or has no right to answer, is not asked to the end.
    """
    told: dict[str, dict[str, Json]] = {}
    call = _call(plan, graders)
    found: dict[str, list[Json]] = {name: list(given) for name, given in known.items()}
    for name in graders.models:
        there = {
            (at, one["repeat"]) for at, given in found.items() for one in given if one["judge"] == _name(name, call)
        }
        asked = [one for one in judge_requests(rows, graders.repeats) if (one.instance_id, one.repeat) not in there]
        known_name = _name(name, call)
        told[known_name] = _judged(plan, name, call, asked, graders, found, fresh=fresh, cost_limit=cost_limit)
        if cost_limit is not None:
            cost_limit -= told[known_name]["cost"] or 0.0
    for row in rows:
        given = found.get(row["instance_id"])
        row["judgements"] = sorted(given, key=lambda one: (one["judge"], one["repeat"])) if given else None
    return told


def _name(model: str, call: Call) -> str:
    return full_name(model, call)


def _judged(
    plan: Plan,
    model: str,
    call: Call,
    asked: Sequence[JudgeRequest],
    graders: Graders,
    found: dict[str, list[Json]],
    *,
    fresh: bool,
    cost_limit: float | None,
) -> dict[str, Json]:
    """Ask one judge, and add what it said."""
    name, counts, reasons = _name(model, call), Counter[str](), Counter[str]()
    price = (graders.prices or {}).get(name)
    journal = Journal(plan.folder / "judgements.jsonl")
    known = {} if fresh else journal.read()
    digests = {_key(request): _digest(name, request, structured=call.structured) for request in asked}
    left = [request for request in asked if digests[_key(request)] not in known]
    if left:
        in_project(plan)
        state = Ledger(journal=journal, cost_limit=cost_limit)
        if cost_limit is not None and cost_limit <= 0:
            state.stopped = "cost_limit"
        failed = asyncio.run(_ask(open_model(name, call), left, state, digests, price, call))
        reasons.update(failed.values())
        known |= {exchange.digest: exchange for exchange in state.exchanges.values()}
        counts["failed"] = len(failed)
        counts["input_tokens"] = sum(one.input_tokens or 0 for one in state.exchanges.values())
        counts["output_tokens"] = sum(one.output_tokens or 0 for one in state.exchanges.values())
    for request in asked:
        exchange = known.get(digests[_key(request)])
        if exchange is not None:
            judgement = read_judgement(exchange.replies[-1].text, request.task)
            found.setdefault(request.instance_id, []).append(judgement.row(name, request.repeat))
            counts["unreadable"] += judgement.score is None
    told_counts = {key: counts[key] for key in ("failed", "unreadable", "input_tokens", "output_tokens")}
    cost = price.cost(counts["input_tokens"], counts["output_tokens"]) if price else None
    return {"asked": len(left), **told_counts, "cost": cost, "reasons": dict(sorted(reasons.items()))}


def _key(request: JudgeRequest) -> Key:
    return request.instance_id, request.repeat


def _digest(judge: str, request: JudgeRequest, *, structured: bool) -> str:
    """All that decides a judgement. Repeats ask the same, and each counts."""
    prompt = {"system": request.prompt.system, "user": request.prompt.user, "schema": dict(request.prompt.schema)}
    return digest_json({"judge": judge, "repeat": request.repeat, "structured": structured, **prompt})


async def _ask(
    model: Model,
    asked: Sequence[JudgeRequest],
    state: Ledger,
    digests: Mapping[Key, str],
    price: Price | None,
    call: Call,
) -> dict[Key, str]:
    """Ask; what is answered is in the ledger and its journal afterwards.

    Returns:
        What has no answer, and why.
    """
    from inspect_ai.model import (  # noqa: PLC0415 - takes seconds
        ChatMessage,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ResponseSchema,
    )
    from inspect_ai.util import JSONSchema  # noqa: PLC0415

    failed: dict[Key, str] = {}
    # Not all at once: what stops the judge then stops it after few requests.
    turn = asyncio.Semaphore(call.max_connections)

    async def one(request: JudgeRequest) -> None:
        schema = ResponseSchema(
            name="judgement", json_schema=JSONSchema.model_validate(request.prompt.schema), strict=True
        )
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=request.prompt.system),
            ChatMessageUser(content=request.prompt.user),
        ]
        config = GenerateConfig(response_schema=schema) if call.structured else GenerateConfig()
        async with turn:
            if state.stopped:
                failed[_key(request)] = "not_run"
                return
            try:
                output = await model.generate(messages, config=config)
            except Exception as error:  # noqa: BLE001 - whatever it is, the judgement is missing, and is counted so
                failed[_key(request)] = why(cause_of(error))
                state.fail(request.instance_id, failed[_key(request)], stop=is_fatal(cause_of(error)))
                return
        name = f"{request.instance_id} {request.repeat}"
        state.add(exchange_of(digests[_key(request)], name, [output], price))

    await asyncio.gather(*(one(request) for request in asked))
    return failed
