"""What the models said: kept answer by answer, so that no call for a finished instance is ever made again.

The journal is the cache of a run. It has one line for each finished instance, keyed by the digest of the request, and
never expires. A line is appended in one write as soon as the answer is there, so ``kill -9`` loses at most the calls on
their way; the torn line it may leave is passed over by the next run. Failed requests are not kept: they are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.evaluation.answers import Answer, Expected, Reading, read_answer
from pipeline.evaluation.outcomes import ParseStep

__all__ = ["INTERRUPTED", "Exchange", "Journal", "Ledger", "Reply"]

INTERRUPTED = "interrupted"
"""Why a run stopped that somebody stopped."""
_GIVE_UP = 20
"""Failures in a row, with no answer between them, after which a server counts as gone."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reply(_Record):
    """One answer of a model as it came."""

    text: str
    truncated: bool = False
    refused: bool = False


class Exchange(_Record):
    """All that was said about one instance."""

    digest: str
    """That of the request."""
    instance_id: str
    replies: tuple[Reply, ...]
    """The answer, and the one to the further question where there was one."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def reading(self, expected: Expected) -> Reading[Answer]:
        """What the last answer says."""
        last = self.replies[-1]
        found = read_answer(last.text, expected, truncated=last.truncated, refused=last.refused)
        return replace(found, step=ParseStep.REASKED) if found.answer and len(self.replies) > 1 else found


class Journal:
    """Exchanges in a file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Exchange]:
        """Request digest to exchange. Torn and foreign lines are passed over; of repeats the last counts."""
        content = self._path.read_bytes() if self._path.exists() else b""
        return {exchange.digest: exchange for exchange in _exchanges(content)}

    def forget(self) -> None:
        """Drop everything that was said."""
        self._path.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes written so far: where `follow` begins."""
        return self._path.stat().st_size if self._path.exists() else 0

    def follow(self, position: int) -> tuple[list[Exchange], int]:
        """What other processes wrote since a position, and the next position."""
        if self.size() <= position:
            return [], position
        with self._path.open("rb") as opened:
            opened.seek(position)
            whole, _, _ = opened.read().rpartition(b"\n")
        return list(_exchanges(whole)), position + len(whole) + 1 if whole else position

    def append(self, exchange: Exchange) -> None:
        """Add a line, in one write: what several processes append does not mix."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = exchange.model_dump_json(exclude_defaults=True).encode() + b"\n"
        with self._path.open("a+b") as opened:
            end = opened.seek(0, 2)
            opened.seek(max(0, end - 1))
            torn = end > 0 and opened.read(1) != b"\n"
            opened.write(b"\n" + line if torn else line)


def _exchanges(content: bytes) -> Iterator[Exchange]:
    for line in content.splitlines():
        with suppress(ValidationError):
            yield Exchange.model_validate_json(line)


@dataclass
class Ledger:
    """The state of a run: what is answered, what failed, and whether it must stop."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Instance id to request digest."""
    journal: Journal | None = None
    cost_limit: float | None = None
    """Money for this run; requests on their way when it is spent still count."""
    on_finished: Callable[[str], None] = lambda _: None
    """Told the id of every instance that is over."""
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    """Instance id to what was said."""
    failures: dict[str, str] = field(default_factory=dict)
    """Instance id to why there is no answer."""
    stopped: str | None = None
    """Why no further request is made."""
    spent: float = 0.0
    _in_a_row: int = 0

    def resume(self) -> None:
        """Take over what earlier runs left."""
        known = self.journal.read() if self.journal else {}
        self.exchanges = {name: known[digest] for name, digest in self.digests.items() if digest in known}

    def add(self, exchange: Exchange) -> None:
        """An instance is answered."""
        self.exchanges[exchange.instance_id] = exchange
        self.answered()
        if self.journal:
            self.journal.append(exchange)
        if self.cost_limit is not None and exchange.cost is None:
            # The server does not say how many tokens it took: a limit that cannot be kept ends the run.
            self.stopped = self.stopped or "cost_unknown"
        self.spent += exchange.cost or 0.0
        if self.cost_limit is not None and self.spent >= self.cost_limit:
            self.stopped = self.stopped or "cost_limit"
        self.on_finished(exchange.instance_id)

    def answered(self) -> None:
        """The server is there: what failed before was no end."""
        self._in_a_row = 0

    def fail(self, instance_id: str, reason: str, *, stop: bool = False) -> None:
        """There is no answer for an instance; ``stop``: nor will there be for any other."""
        self.failures[instance_id] = reason
        self._in_a_row += 1
        if stop or self._in_a_row >= _GIVE_UP:
            self.stopped = self.stopped or reason
        self.on_finished(instance_id)

    def skip(self, instance_id: str) -> None:
        """An instance is not asked, since the run has stopped."""
        self.failures[instance_id] = "not_run"
        self.on_finished(instance_id)
