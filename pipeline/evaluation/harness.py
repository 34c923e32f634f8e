"""The tasks on inspect_ai: how a request becomes a sample, is answered, and scored for a first look.

What is published comes from the outcomes table; inspect's own scores only fill its log viewer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentText,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    ResponseSchema,
    get_model,
    modelapi,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema

from pipeline.errors import PrerequisiteError
from pipeline.evaluation.answers import Reason
from pipeline.evaluation.baselines import Predictor
from pipeline.evaluation.collect import gold_of, status_of
from pipeline.evaluation.cost import Price
from pipeline.evaluation.instances import Request
from pipeline.evaluation.ledger import Exchange, Ledger
from pipeline.evaluation.replies import cause_of, exchange_of, is_fatal, why

__all__ = ["BaselineAPI", "Setup", "make_task"]


class BaselineAPI(ModelAPI):
    """The provider of `pipeline.evaluation.baselines`: its answers come from the instance, not from messages."""

    async def generate(self, *args: object, **kwargs: object) -> ModelOutput:
        """Never called by the tasks of this project."""
        del args, kwargs
        msg = "a baseline answers the tasks of this project only"
        raise PrerequisiteError(msg, hint="run it with `rescue eval` or `inspect eval rescue/TASK`")


@modelapi(name="baseline")
def baseline() -> type[ModelAPI]:
    """Registers the provider: models are named ``baseline/NAME``."""
    return BaselineAPI


_ASK_AGAIN = frozenset({Reason.INVALID_FORMAT, Reason.NOT_A_CANDIDATE, Reason.SEVERAL_ANSWERS, Reason.NO_ANSWER})
"""A refusal is taken as it is, and what ran out of tokens would do so again."""


@dataclass(frozen=True)
class Setup:
    """How the requests of a task are answered."""

    structured: bool = True
    """Ask the server to hold the answer to its schema."""
    price: Price | None = None
    media: Callable[[Request], Sequence[Content]] | None = None
    """Gives the media of a request, for mode ``clips``."""
    seed: int = 0
    """For the baselines."""


def make_task(
    name: str,
    requests: Sequence[Request],
    *,
    ledger: Ledger | None = None,
    setup: Setup | None = None,
    population: Callable[[], Sequence[Request]] | None = None,
) -> Task:
    """The inspect task over the requests of one of the six tasks.

    Args:
        name: Name of the task.
        requests: What is to be answered.
        ledger: Keeps the answers; a new one without it.
        setup: How they are answered.
        population: All instances of the task: what a learned baseline learns from, outside the group it predicts.
    """
    ledger, setup = ledger or Ledger(), setup or Setup()
    by_id = {request.id: request for request in requests}
    return Task(
        name=name,
        dataset=MemoryDataset([_sample(request) for request in requests], name=name, location=name),
        solver=_answer(by_id, ledger, setup, population or (lambda: requests)),
        scorer=_first_look(by_id, ledger),
    )


def _sample(request: Request) -> Sample:
    instance = request.instance
    # What metrics group by. It is never part of a prompt: the input below is all that is sent.
    grouping = {name: instance[name] for name in ("conversation_id", "group_id", "scenario", "split", "row_index")}
    messages: list[ChatMessage] = [
        ChatMessageSystem(content=request.prompt.system),
        ChatMessageUser(content=request.prompt.user),
    ]
    return Sample(id=request.id, input=messages, target=str(gold_of(instance)["gold_label"] or ""), metadata=grouping)


class Stopped(Exception):  # noqa: N818 - says why a request was not made
    """No further request is made."""


def _answer(
    by_id: Mapping[str, Request], ledger: Ledger, setup: Setup, population: Callable[[], Sequence[Request]]
) -> Solver:
    predictor: list[Predictor] = []

    @solver(name="rescue/answer")
    def answer() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            del generate  # it keeps a conversation; here each call says what it sends
            request = by_id[str(state.sample_id)]
            model = get_model()
            exchange = ledger.exchanges.get(request.id)
            if exchange is None:
                if ledger.stopped:
                    ledger.skip(request.id)
                    raise Stopped(ledger.stopped)
                try:
                    if isinstance(model.api, BaselineAPI):
                        if not predictor:
                            predictor.append(Predictor(model.api.model_name, population(), setup.seed))
                        text = predictor[0].answer(request)
                        exchange = _exchange(ledger, request, [ModelOutput.from_content(str(model), text)], setup)
                    else:
                        exchange = await _asked(state, model, request, ledger, setup)
                except Exception as error:
                    # Counted as failed here, then logged by inspect, which goes on with the next one.
                    cause = cause_of(error)
                    ledger.fail(request.id, why(cause), stop=is_fatal(cause))
                    raise
                ledger.add(exchange)
            state.output = ModelOutput.from_content(str(model), exchange.replies[-1].text)
            return state

        return solve

    return answer()


async def _asked(state: TaskState, model: Model, request: Request, ledger: Ledger, setup: Setup) -> Exchange:
    """Ask, and once more if the answer could not be read."""
    config = GenerateConfig(response_schema=_schema(request)) if setup.structured else GenerateConfig()
    messages = list(state.messages)
    if setup.media:
        text = ContentText(text=request.prompt.user)
        messages[-1] = ChatMessageUser(content=[text, *await asyncio.to_thread(setup.media, request)])
    outputs = [await model.generate(messages, config=config)]
    exchange = _exchange(ledger, request, outputs, setup)
    reading = exchange.reading(request.expected)
    if reading.reason in _ASK_AGAIN:
        again = f"{reading.detail} Answer again, with one JSON object in the form asked for and nothing else."
        messages = [*messages, outputs[0].message, ChatMessageUser(content=again)]
        outputs.append(await model.generate(messages, config=config))
        exchange = _exchange(ledger, request, outputs, setup)
    return exchange


def _exchange(ledger: Ledger, request: Request, outputs: Sequence[ModelOutput], setup: Setup) -> Exchange:
    return exchange_of(ledger.digests.get(request.id, ""), request.id, outputs, setup.price)


def _schema(request: Request) -> ResponseSchema:
    return ResponseSchema(
        name=request.task, json_schema=JSONSchema.model_validate(request.prompt.answer_schema), strict=True
    )


def _first_look(by_id: Mapping[str, Request], ledger: Ledger) -> Scorer:
    @scorer(metrics=[mean(), stderr(cluster="group_id")], name="rescue/first_look")
    def first_look() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            del target
            request = by_id[str(state.sample_id)]
            exchange = ledger.exchanges[request.id]
            reading = exchange.reading(request.expected)
            gold = gold_of(request.instance)
            value = 0.0
            if reading.answer and reading.answer.ranking:
                value = float(reading.answer.ranking[0] == gold["gold_label"])
            elif reading.answer and reading.answer.intensity is not None:
                value = max(1.0, 5.0 - abs(reading.answer.intensity - gold["gold_intensity"]))
            elif reading.answer:
                value = 1.0
            return Score(
                value=value,
                answer=exchange.replies[-1].text,
                explanation=reading.detail or None,
                metadata={"status": status_of(reading), "parse": reading.step, "reason": reading.reason},
            )

        return score

    return first_look()
