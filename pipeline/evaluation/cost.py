"""What a run costs: prices from a file, tokens from the servers, an estimate before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pipeline.errors import InputError
from pipeline.evaluation.instances import Request

__all__ = ["Price", "estimate_tokens", "read_prices", "tokens_in"]

_PER = 1_000_000
_CHARACTERS_PER_TOKEN = 4
_ANSWER_TOKENS = {"itp": 10, "rpp": 40, "stp": 25, "ssp": 25, "er": 25, "vp": 120}


class Price(BaseModel):
    """Money for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float:
        """The cost of a call, in the currency of the price file."""
        return ((input_tokens or 0) * self.input + (output_tokens or 0) * self.output) / _PER


def read_prices(path: Path | None) -> Mapping[str, Price]:
    """Model name to price, from a YAML file such as ``openai/gpt-4o: {input: 2.5, output: 10}``.

    Raises:
        InputError: If the file holds anything else.
    """
    if path is None:
        return {}
    try:
        return TypeAdapter(dict[str, Price]).validate_python(yaml.safe_load(path.read_text("utf-8")) or {})
    except (ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
        msg = "the price file cannot be read"
        raise InputError(
            msg,
            file=path,
            hint="one line a model, money for a million tokens: `openai/gpt-4o: {input: 2.5, output: 10}`",
        ) from error


def tokens_in(text: str) -> int:
    """Tokens of a text, roughly."""
    return len(text) // _CHARACTERS_PER_TOKEN


def estimate_tokens(requests: Iterable[Request]) -> tuple[int, int]:
    """Tokens in and out, roughly: four characters a token, a usual answer of each task, no thinking, no media."""
    read = written = 0
    for request in requests:
        read += tokens_in(request.prompt.system + request.prompt.user)
        written += _ANSWER_TOKENS[request.task]
    return read, written
