"""What a run will ask: the model's full name, the requests, and what each is recognised by."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.errors import UsageError
from pipeline.evaluation.baselines import check_baseline
from pipeline.evaluation.clips import clip_of, takes
from pipeline.evaluation.instances import Benchmark, Request, Selection, requests_of
from pipeline.keys import key_of
from pipeline.store import Json, digest_file
from pipeline.tasks import TASK_BUILDERS
from pipeline.tasks.render import Mode, RenderOptions

__all__ = ["TASKS", "Call", "Plan", "full_name", "plan_run"]

TASKS = tuple(TASK_BUILDERS)
"""The tasks, in the order of the paper."""

_LONGEST_NAME = 150
_SERVER = "openai-api"
"""The provider of inspect_ai for any server that speaks OpenAI's protocol."""


@dataclass(frozen=True)
class Call:
    """How a model is called."""

    base_url: str | None = None
    """Address of an OpenAI-compatible server; the model is then the name that the server knows it by."""
    key_variable: str = "RESCUE_API_KEY"
    """Environment variable with the key of the server at ``base_url``."""
    max_connections: int = 10
    """Requests at once."""
    max_retries: int = 8
    """Further attempts after a failed request."""
    timeout: int = 300
    """Seconds for a request, all its attempts and waits together."""
    attempt_timeout: int = 120
    """Seconds for one attempt."""
    structured: bool = True
    """Ask the server to hold answers to their schema; some servers refuse that."""
    max_tokens: int | None = None
    temperature: float | None = 0.0
    reasoning_effort: str | None = None

    def deciding(self) -> dict[str, Json]:
        """Those parameters that decide what is answered."""
        names = ("structured", "max_tokens", "temperature", "reasoning_effort")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Plan:
    """What a run will do."""

    model: str
    """Full name: provider and model."""
    options: RenderOptions
    folder: Path
    benchmark: Benchmark
    requests: Mapping[str, Sequence[Request]]
    """Task to its requests."""
    call: Call
    frames: int = 2

    @property
    def provider(self) -> str:
        """The part of the model's name before the first stroke."""
        return self.model.partition("/")[0]

    @property
    def shows_clips(self) -> bool:
        """Whether clips go with the text."""
        return self.options.mode is Mode.CLIPS

    @property
    def digests(self) -> dict[str, str]:
        """Instance id to the digest of all that decides the answer."""
        parameters = {"model": self.model, **self.call.deciding(), "frames": self.frames if self.shows_clips else None}
        if self.provider == "baseline":
            # A baseline reads the instance and learns from the others, not from the prompt alone.
            parameters |= {"seed": self.options.seed, "benchmark": self.benchmark.version}
        known = {clip: digest_file(clip) for clip in {clip for one in self.all_requests() for clip in one.media}}
        return {request.id: request.digest(parameters, known.__getitem__) for request in self.all_requests()}

    def without(self, answered: Container[str]) -> Plan:
        """The plan for the instances that are not answered yet."""
        left = {task: [one for one in found if one.id not in answered] for task, found in self.requests.items()}
        return replace(self, requests=left)

    def all_requests(self) -> list[Request]:
        """The requests of all tasks."""
        return [request for requests in self.requests.values() for request in requests]


def plan_run(
    model: str,
    data: Path,
    *,
    tasks: Sequence[str] = (),
    selection: Selection | None = None,
    options: RenderOptions | None = None,
    call: Call | None = None,
    frames: int = 2,
) -> Plan:
    """Read and render what a run will ask.

    Args:
        model: ``provider/name`` of any provider of inspect_ai, ``baseline/NAME``, or a name at ``call.base_url``.
        data: The data folder, with ``benchmark`` in it.
        tasks: Names of tasks; all six if none is named.
        selection: Which instances.
        options: Mode and context.
        call: How the model is called.
        frames: Pictures of a clip, in mode ``clips``.

    Raises:
        InputError: If the data set, or a clip, is missing.
        PrerequisiteError: If the provider takes no media, in mode ``clips``.
        UsageError: If a name is unknown.
    """
    options, call, selection = options or RenderOptions(), call or Call(), selection or Selection()
    unknown = sorted(set(tasks) - set(TASKS))
    if unknown:
        msg = f"there is no task {unknown[0]!r}"
        raise UsageError(msg, hint=f"there are: {', '.join(TASKS)}")
    name = full_name(model, call)
    provider, _, baseline = name.partition("/")
    if provider == "baseline":
        check_baseline(baseline)
    benchmark = Benchmark(data / "benchmark")
    clip: Callable[[str, int], Path] | None = None
    if options.mode is Mode.CLIPS:
        takes(provider)

        def clip(conversation_id: str, row: int) -> Path:
            return clip_of(data, conversation_id, row)

    chosen = [task for task in TASKS if not tasks or task in tasks]
    requests = {task: requests_of(benchmark, task, selection, options, clip) for task in chosen}
    folder = data / "evaluation" / key_of(name) / options.mode.value
    return Plan(name, options, folder, benchmark, requests, call, frames)


def full_name(model: str, call: Call) -> str:
    """Provider and name of a model; a server named by its address is the provider of its models.

    Raises:
        UsageError: If the name has no provider and there is no address, or the address is none.
    """
    if not model.strip() or model.endswith("/") or len(model) > _LONGEST_NAME:
        msg = f"{model[:40]!r} is no name of a model"
        raise UsageError(msg, hint="write provider/model, such as openai/gpt-4o")
    if call.base_url:
        address = urlsplit(call.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            msg = "the address of the server is none"
            raise UsageError(msg, hint="write it like http://127.0.0.1:8000/v1")
        if address.username or address.password:
            msg = "the address of the server holds a password, which would stand in logs"
            raise UsageError(msg, hint=f"put the key into {call.key_variable}")
        return model if model.startswith(f"{_SERVER}/") else f"{_SERVER}/server/{model}"
    if "/" not in model:
        msg = f"{model!r} names no provider"
        raise UsageError(msg, hint="write provider/model, such as openai/gpt-4o, or give the server with --base-url")
    return model
