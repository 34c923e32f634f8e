"""Asking for the rows of a conversation, window after window, with repairs, and going on where an earlier call ended.

Windows of a conversation are asked one after another, since each is shown how the one before ended; conversations are
asked side by side. The journal holds one line for each finished window, keyed by the digest of all that decides the
answer: what is there is never asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.annotation.findings import Finding
from pipeline.annotation.model import Row
from pipeline.drafts.check import Checked, check_reply
from pipeline.drafts.prompt import DraftPrompt, render_window, repair_text
from pipeline.drafts.window import Material, Window
from pipeline.errors import InputError, RescueError
from pipeline.evaluation.answers import Reason
from pipeline.evaluation.clips import data_uri, picture
from pipeline.evaluation.cost import Price
from pipeline.evaluation.ledger import Exchange, Journal
from pipeline.evaluation.plan import Call
from pipeline.evaluation.replies import cause_of, exchange_of, is_fatal, reply_of, why
from pipeline.store import digest_file, digest_json

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content, GenerateConfig, Model, ModelOutput

__all__ = ["Drafted", "Purse", "Work", "ask_rows", "take_over"]

_REPAIRS = 2
_NOT_AGAIN = frozenset({Reason.REFUSED, Reason.RAN_OUT_OF_TOKENS})
"""A refusal is taken as it is, and what ran out of tokens would do so again."""
_SHOWN_FINDINGS = 40


@dataclass
class Purse:
    """The money of a call of the command, and why no further request is made."""

    limit: float | None = None
    """A window on its way when it is spent is finished."""
    price: Price | None = None
    spent: float = 0.0
    stopped: str | None = None

    def __post_init__(self) -> None:
        self._look()

    def pay(self, exchange: Exchange) -> None:
        """A window is answered."""
        self.spent += exchange.cost or 0.0
        self._look()

    def _look(self) -> None:
        if self.limit is not None and self.spent >= self.limit:
            self.stopped = self.stopped or "cost_limit"


@dataclass(frozen=True)
class Work:
    """What is to be drafted of one conversation."""

    material: Material
    windows: Sequence[Window]
    journal: Journal
    model: str
    """Full name."""
    call: Call
    pictures: int = 0
    """Of each turn."""

    @cached_property
    def recording_digest(self) -> str | None:
        """SHA-256 of the recording, where pictures of it are shown."""
        return digest_file(self.material.recording) if self.material.recording else None

    def prompt(self, window: Window, rows: Sequence[Row]) -> DraftPrompt:
        """What is sent for a window behind the given rows."""
        return render_window(self.material, window, rows, pictures=self.pictures)

    def digest(self, prompt: DraftPrompt) -> str:
        """SHA-256 over all that decides the answer to a prompt, and how it is checked."""
        shown = [self.recording_digest, prompt.picture_times] if prompt.picture_times else None
        parameters = {"model": self.model, **self.call.deciding()}
        return digest_json(
            [prompt.system, prompt.user, prompt.schema, shown, parameters, self.material.duration, _REPAIRS]
        )


@dataclass
class Drafted:
    """What came of a conversation."""

    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    """Of this call of the command, those of unfinished windows included."""
    windows: int = 0
    """Finished ones."""
    answered_before: int = 0
    repairs: int = 0
    """Further questions in the answers of all finished windows."""
    failure: str | None = None
    """Why the next window has no rows."""
    detail: str = ""


def take_over(work: Work) -> Drafted:
    """What earlier calls of the command finished, up to the first window that they did not."""
    drafted = Drafted()
    _take_over(work, drafted, work.journal.read())
    return drafted


async def ask_rows(work: Work, model: Model, purse: Purse, on_window: Callable[[str, int], None]) -> Drafted:
    """Draft a conversation, up to the first window that cannot be done.

    Args:
        work: What to draft.
        model: Whom to ask.
        purse: Shared by all conversations.
        on_window: Told conversation id and number of every window that is asked for.
    """
    drafted, known = Drafted(), await asyncio.to_thread(work.journal.read)
    while True:
        await asyncio.to_thread(_take_over, work, drafted, known)
        if drafted.windows == len(work.windows):
            return drafted
        if purse.stopped:
            drafted.failure, drafted.detail = "not_run", f"stopped: {purse.stopped}"
            return drafted
        window = work.windows[drafted.windows]
        on_window(work.material.conversation.id, window.number)
        exchange = await _asked(work, window, model, purse, drafted)
        if drafted.failure is not None:
            return drafted
        work.journal.append(exchange)
        _add(work, drafted, exchange)


def _take_over(work: Work, drafted: Drafted, known: Mapping[str, Exchange]) -> None:
    for window in work.windows[drafted.windows :]:
        exchange = known.get(work.digest(work.prompt(window, drafted.rows)))
        if exchange is None:
            return
        _add(work, drafted, exchange)
        drafted.answered_before += 1


def _add(work: Work, drafted: Drafted, exchange: Exchange) -> None:
    """The next window is finished."""
    window = work.windows[drafted.windows]
    best = _best([check_reply(reply, work.material, window, drafted.rows) for reply in exchange.replies])
    drafted.rows += best.rows
    drafted.findings += best.findings
    drafted.repairs += len(exchange.replies) - 1
    drafted.windows += 1


async def _asked(work: Work, window: Window, model: Model, purse: Purse, drafted: Drafted) -> Exchange:
    """Ask for a window, and again for what is wrong. Where no rows come of it, ``drafted`` has the reason."""
    prompt = work.prompt(window, drafted.rows)
    outputs: list[ModelOutput] = []
    found: list[Checked] = []
    try:
        messages, config = await _first(work, prompt)
        for _ in range(1 + _REPAIRS):
            outputs.append(await model.generate(messages, config=config))
            last = check_reply(reply_of(outputs[-1]), work.material, window, drafted.rows)
            found.append(last)
            if last.unread in _NOT_AGAIN or not (last.unread or last.wrong):
                break
            messages = [*messages[:2], outputs[-1].message, _told(last)]
    except RescueError as error:
        drafted.failure, drafted.detail = "no_pictures", str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the window has no rows, and says why
        cause = cause_of(error)
        drafted.failure = why(cause)
        if is_fatal(cause):
            purse.stopped = purse.stopped or drafted.failure
    else:
        if _best(found).unread is not None:
            drafted.failure, drafted.detail = str(last.unread), last.detail
    exchange = exchange_of(work.digest(prompt), f"window-{window.number}", outputs, purse.price)
    # It counts whether it is kept or not: it is paid for.
    purse.pay(exchange)
    drafted.exchanges.append(exchange)
    return exchange


def _best(found: Sequence[Checked]) -> Checked:
    """The answer that is kept: one with rows, with the fewest wrong things, the later of equals."""
    return min(reversed(found), key=lambda one: (one.unread is not None, len(one.wrong)))


async def _first(work: Work, prompt: DraftPrompt) -> tuple[list[ChatMessage], GenerateConfig]:
    from inspect_ai.model import (  # noqa: PLC0415 - takes seconds
        ChatMessageSystem,
        ChatMessageUser,
        ContentText,
        GenerateConfig,
        ResponseSchema,
    )
    from inspect_ai.util import JSONSchema  # noqa: PLC0415

    schema = ResponseSchema(name="rows", json_schema=JSONSchema.model_validate(prompt.schema), strict=True)
    config = GenerateConfig(response_schema=schema) if work.call.structured else GenerateConfig()
    recording = work.material.recording
    shown: str | list[Content] = prompt.user
    if recording and prompt.picture_times:
        pictures = await asyncio.to_thread(_pictures, recording, prompt, work.material.conversation.id)
        shown = [ContentText(text=prompt.user), *pictures]
    return [ChatMessageSystem(content=prompt.system), ChatMessageUser(content=shown)], config


def _pictures(recording: Path, prompt: DraftPrompt, conversation_id: str) -> list[Content]:
    """The pictures, each under its turn. Where the recording shows none, the turn has none."""
    from inspect_ai.model import ContentImage, ContentText  # noqa: PLC0415

    found: list[Content] = []
    for turn, at in prompt.picture_times:
        content = picture(recording, at)
        if content:
            found += [ContentText(text=f"Turn {turn}:"), ContentImage(image=data_uri("image/jpeg", content))]
    if not found:
        msg = "the recording shows no picture"
        raise InputError(msg, conversation=conversation_id, file=recording, hint="leave out --frames")
    return found


def _told(checked: Checked) -> ChatMessage:
    """The further question: what was wrong."""
    from inspect_ai.model import ChatMessageUser  # noqa: PLC0415

    if checked.unread:
        return ChatMessageUser(content=repair_text([checked.detail]))
    lines = [_line(finding) for finding in checked.wrong]
    more = [f"and {len(lines) - _SHOWN_FINDINGS} more of the kind"] if len(lines) > _SHOWN_FINDINGS else []
    return ChatMessageUser(content=repair_text([*lines[:_SHOWN_FINDINGS], *more]))


def _line(finding: Finding) -> str:
    place = f"row {finding.row}, {finding.field}" if finding.row else finding.field or "rows"
    return f"{place}: {finding.message}" + (f"; {finding.suggestion}" if finding.suggestion else "")
