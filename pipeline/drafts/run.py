"""Drafts of several conversations by one model: plan, estimate, ask, keep.

What was answered lies in ``drafts/<model key>.jsonl`` of the conversation's data folder; the draft itself is a file in
the folder ``annotations`` beside the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from pipeline.annotation.findings import Finding, count_by_severity
from pipeline.annotation.model import Annotation
from pipeline.drafts.ask import Drafted, Purse, Work, ask_rows, take_over
from pipeline.drafts.keep import Place, place_for, save_draft
from pipeline.drafts.prompt import DraftPrompt, prompt_digest
from pipeline.drafts.window import read_material, windows_of
from pipeline.errors import InputError, PrerequisiteError, UsageError
from pipeline.evaluation.asking import keep_inside, open_model
from pipeline.evaluation.clips import takes_pictures
from pipeline.evaluation.cost import Price, tokens_in
from pipeline.evaluation.ledger import Journal
from pipeline.evaluation.plan import Call, full_name
from pipeline.extras import load
from pipeline.keys import key_of
from pipeline.station import Workspace
from pipeline.store import Json

if TYPE_CHECKING:
    from inspect_ai.model import Model

__all__ = [
    "DraftOptions",
    "DraftReport",
    "Estimate",
    "Plan",
    "draft",
    "estimate",
    "first_prompt",
    "plan_drafts",
    "receiver",
]

_TOKENS_OF_A_TURN = 200
"""Tokens of the rows of one turn, measured on the annotation of the demo."""


@dataclass(frozen=True)
class DraftOptions:
    """What a draft is made from and called."""

    window: int = 40
    """Turns annotated in one request, at most."""
    context: int = 8
    """Turns shown before and after them."""
    frames: int = 0
    """Pictures of each turn."""
    name: str | None = None
    """Author of the draft, and name of its file."""


@dataclass(frozen=True)
class Plan:
    """What a call of the command will do."""

    model: str
    """Full name."""
    call: Call
    works: tuple[Work, ...]
    places: tuple[Place, ...]
    """Where each draft goes."""

    @property
    def receiver(self) -> str:
        """Who gets to read the conversations, as far as it can be said before the model is opened."""
        return receiver(self.model, self.call.base_url)


@dataclass(frozen=True)
class Estimate:
    """What a call of the command may cost, without repairs, thinking and pictures."""

    windows: int
    input_tokens: int
    output_tokens: int
    pictures: int
    cost: float | None
    """In the currency of the price file; None without a price."""


@dataclass(frozen=True)
class DraftReport:
    """What came of one conversation."""

    conversation: str
    author: str
    file: str | None
    """Name of the version file; None if there is no draft."""
    windows: int
    """All of the conversation."""
    finished: int
    answered_before: int
    """Finished by an earlier call of the command."""
    rows: int
    calls: int
    repairs: int
    findings: Mapping[str, int]
    """Severity to number, of the finished windows."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    failure: str | None = None
    detail: str = ""
    listed: tuple[Finding, ...] = field(default=(), repr=False)
    """The findings themselves."""

    @property
    def complete(self) -> bool:
        """Whether the draft was written."""
        return self.file is not None

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**vars(self), "listed": [finding.to_json() for finding in self.listed], "complete": self.complete}


def receiver(model: str, base_url: str | None) -> str:
    """Who is sent the words of the conversations: a host, or the provider."""
    host = urlsplit(base_url).netloc.rpartition("@")[2] if base_url else ""
    return f"the server {host}" if host else f"the provider {model.partition('/')[0]}"


def _address(model: Model) -> str | None:
    """The address that the provider's client took, from its own variables too; None where it does not tell."""
    client = getattr(model.api, "client", None)
    found = getattr(model.api, "base_url", None) or getattr(client, "base_url", None)
    return str(found) if found else None


def plan_drafts(workspaces: Sequence[Workspace], model: str, call: Call, options: DraftOptions) -> Plan:
    """Read what will be asked, and see that every draft has a place.

    Raises:
        InputError: If a conversation cannot be drafted, or the name of its draft is taken.
        PrerequisiteError: If the provider takes no pictures and some are wanted.
        UsageError: If the model is a baseline, or has no provider.
    """
    name = full_name(model, call)
    provider = name.partition("/")[0]
    if provider == "baseline":
        msg = f"{name} is no language model"
        raise UsageError(msg, hint="baselines answer tasks only; name a model such as openai/gpt-4o")
    if options.frames and not takes_pictures(provider):
        msg = f"the provider {provider!r} takes no pictures"
        raise PrerequisiteError(msg, hint="leave out --frames")
    works, places = [], []
    for workspace in workspaces:
        material = read_material(workspace, pictures=options.frames > 0)
        windows = windows_of(material, size=options.window, context=options.context)
        journal = Journal(_folder(workspace) / f"{key_of(name)}.jsonl")
        works.append(Work(material, windows, journal, name, call, options.frames))
        places.append(place_for(workspace, name, options.name))
    return Plan(name, call, tuple(works), tuple(places))


def first_prompt(plan: Plan) -> DraftPrompt:
    """The prompt of the first window, which needs no answer before it."""
    return plan.works[0].prompt(plan.works[0].windows[0], ())


def estimate(plan: Plan, price: Price | None, *, fresh: bool = False) -> Estimate:
    """Tokens and cost of the windows that are not finished yet, or of all of them if everything is asked again."""
    windows = read = written = pictures = 0
    for work in plan.works:
        before = Drafted() if fresh else take_over(work)
        for window in work.windows[before.windows :]:
            prompt = work.prompt(window, before.rows)
            windows += 1
            read += tokens_in(prompt.system + prompt.user)
            written += _TOKENS_OF_A_TURN * len(window.turns)
            pictures += len(prompt.picture_times)
    return Estimate(windows, read, written, pictures, price.cost(read, written) if price else None)


def draft(
    plan: Plan,
    *,
    prices: Mapping[str, Price] | None = None,
    cost_limit: float | None = None,
    fresh: bool = False,
    on_open: Callable[[str], None] = lambda _receiver: None,
    on_window: Callable[[str, int], None] = lambda _conversation, _window: None,
) -> list[DraftReport]:
    """Ask what is not answered yet, and write the drafts that are whole.

    Args:
        plan: What to do.
        prices: Model name to price.
        cost_limit: Money for this call; needs the price of the model.
        fresh: Ask everything again.
        on_open: Told who will get to read the conversations, before anything is sent.
        on_window: Told conversation id and number of every window that begins.

    Raises:
        InputError: If another process drafts one of the conversations with this model.
        PrerequisiteError: If the provider, or its key, is missing.
        UsageError: If there is a limit of cost and no price.
    """
    price = (prices or {}).get(plan.model)
    if cost_limit is not None and price is None:
        msg = f"a limit of cost needs the price of {plan.model}"
        raise UsageError(msg, hint="name a price file with --prices")
    load("inspect_ai", "evaluate")
    keep_inside(plan.places[0].workspace.settings.data)
    model = open_model(plan.model, plan.call)
    on_open(receiver(plan.model, plan.call.base_url or _address(model)))
    with ExitStack() as held:
        for place in plan.places:
            _hold(held, place)
        if fresh:
            for work in plan.works:
                work.journal.forget()
        return asyncio.run(_draft(plan, model, Purse(cost_limit, price), on_window))


def _folder(workspace: Workspace) -> Path:
    return workspace.artifact("drafts")


def _hold(held: ExitStack, place: Place) -> None:
    folder = _folder(place.workspace)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        held.enter_context(FileLock(folder / f".{key_of(place.model)}.lock", timeout=0))
    except Timeout as error:
        msg = f"another process drafts it with {place.model}"
        hint = "wait for it; what it has finished is not asked again"
        raise InputError(msg, conversation=place.workspace.conversation.id, hint=hint) from error


async def _draft(plan: Plan, model: Model, purse: Purse, on_window: Callable[[str, int], None]) -> list[DraftReport]:
    # Not all at once: what stops the call then stops it after few requests.
    turn = asyncio.Semaphore(plan.call.max_connections)

    async def one(work: Work, place: Place) -> DraftReport:
        async with turn:
            drafted = await ask_rows(work, model, purse, on_window)
        # Written at once: what is whole stays, whatever happens to the others.
        return _report(work, place, drafted, priced=purse.price is not None)

    return await asyncio.gather(*(one(work, place) for work, place in zip(plan.works, plan.places, strict=True)))


def _report(work: Work, place: Place, drafted: Drafted, *, priced: bool) -> DraftReport:
    """Write the draft if it is whole, and say what came of it."""
    material = work.material
    report = DraftReport(
        conversation=material.conversation.id,
        author=place.author,
        file=None,
        windows=len(work.windows),
        finished=drafted.windows,
        answered_before=drafted.answered_before,
        rows=len(drafted.rows),
        calls=sum(len(exchange.replies) for exchange in drafted.exchanges),
        repairs=drafted.repairs,
        findings=count_by_severity(drafted.findings),
        input_tokens=sum(exchange.input_tokens or 0 for exchange in drafted.exchanges),
        output_tokens=sum(exchange.output_tokens or 0 for exchange in drafted.exchanges),
        cost=sum(exchange.cost or 0.0 for exchange in drafted.exchanges) if priced else None,
        failure=drafted.failure,
        detail=drafted.detail,
        listed=tuple(drafted.findings),
    )
    if drafted.failure is not None:
        return report
    if not drafted.rows:
        return replace(report, failure="no_rows", detail="the model found nothing to annotate")
    annotation = Annotation(
        conversation_id=material.conversation.id,
        scenario=material.scenario,
        participants=material.conversation.participants,
        rows=tuple(drafted.rows),
    )
    try:
        path = save_draft(place, annotation, prompt_digest(material))
    except InputError as error:
        # Somebody took the place while the model was asked: the answers are in the journal, nothing is lost.
        return replace(report, failure="place_taken", detail=str(error))
    return replace(report, file=path.name)
