"""What comes back from a model through inspect_ai: a reply with its tokens and cost, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.evaluation.cost import Price
from pipeline.evaluation.ledger import Exchange, Reply

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput, ModelUsage

__all__ = ["cause_of", "exchange_of", "is_fatal", "reply_of", "why"]

_FATAL = frozenset({401, 402, 403, 404})
"""States of HTTP after which no further request can do better: key, money, rights, name of the model."""
_MEANING = {401: "unauthorized", 402: "not_paid", 403: "forbidden", 404: "not_found", 429: "rate_limited"}


def exchange_of(digest: str, instance_id: str, outputs: Sequence[ModelOutput], price: Price | None) -> Exchange:
    """All that was said about one thing that was asked, first answer first.

    Args:
        digest: That of the request.
        instance_id: What it was about.
        outputs: The answers.
        price: Of the model; the cost is not known without it.
    """
    usages = [output.usage for output in outputs if output.usage]
    read = sum(_tokens_read(usage) for usage in usages)
    written = sum(usage.output_tokens for usage in usages)
    return Exchange(
        digest=digest,
        instance_id=instance_id,
        replies=tuple(reply_of(output) for output in outputs),
        input_tokens=read if usages else None,
        output_tokens=written if usages else None,
        cost=price.cost(read, written) if price and usages else None,
        seconds=sum(output.time or 0.0 for output in outputs) if any(output.time for output in outputs) else None,
    )


def reply_of(output: ModelOutput) -> Reply:
    """One answer as it came; a half of a surrogate pair, which no file can hold, as a question mark."""
    content = output.message.content if output.choices else ""
    declared = not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)
    return Reply(
        text=output.completion.encode("utf-8", "replace").decode("utf-8"),
        truncated=output.stop_reason in ("max_tokens", "model_length"),
        refused=declared or output.stop_reason == "content_filter",
    )


def _tokens_read(usage: ModelUsage) -> int:
    """Tokens read, those from the server's own prompt cache included."""
    return int(usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0))


def cause_of(error: BaseException) -> BaseException:
    """What the last attempt failed of, where all attempts failed."""
    last = getattr(error, "last_attempt", None)
    return (last.exception() if last is not None else None) or error


def why(cause: BaseException) -> str:
    """A failed request in one word."""
    status = getattr(cause, "status_code", None)
    if status is not None:
        return _MEANING.get(status, "server_error" if status >= 500 else f"http_{status}")
    name = type(cause).__name__
    if "timeout" in name.lower():
        return "timeout"
    return "connection" if "connection" in name.lower() else name


def is_fatal(cause: BaseException) -> bool:
    """Whether no further request can do better."""
    return getattr(cause, "status_code", None) in _FATAL
