"""Asking a model through inspect_ai, in one process or several.

The library needs some 15 ms of processor time for an instance, mostly for its log: one process answers about 60 a
second, however fast the model. Where there is more than a few seconds of work, and connections enough, several
processes share the instances and the connections. They share the journal too, so a run is resumed the same way.
"""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from pipeline.errors import InputError, PrerequisiteError
from pipeline.evaluation.clips import Clips, takes
from pipeline.evaluation.cost import Price
from pipeline.evaluation.instances import Request, Selection, requests_of
from pipeline.evaluation.ledger import INTERRUPTED, Ledger
from pipeline.evaluation.plan import Call, Plan
from pipeline.tasks.render import Mode

if TYPE_CHECKING:
    from inspect_ai.model import Model

__all__ = ["ask", "ask_in_processes", "in_project", "keep_inside", "open_model", "processes_for"]

_CONNECTIONS_EACH = 10
_INSTANCES_EACH = 1000


def processes_for(plan: Plan, instances: int) -> int:
    """How many processes are worth their start."""
    if plan.provider == "baseline":
        return 1
    return max(
        1, min(os.cpu_count() or 1, plan.call.max_connections // _CONNECTIONS_EACH, instances // _INSTANCES_EACH)
    )


def ask_in_processes(plan: Plan, ledger: Ledger, price: Price | None, processes: int) -> None:
    """`ask`, shared by several processes. Each has its part of the connections, the instances and the limit of cost."""
    assert ledger.journal is not None
    seen = ledger.journal.size()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {
            pool.submit(
                _ask_part,
                part,
                replace(ledger, on_finished=_silent, cost_limit=limit, exchanges={}),
                price,
            )
            for part, limit in _parts(plan, ledger, processes)
        }
        pending = running
        while pending:
            pending = wait(pending, timeout=0.5).not_done
            new, seen = ledger.journal.follow(seen)
            for exchange in new:
                ledger.exchanges[exchange.instance_id] = exchange
                ledger.on_finished(exchange.instance_id)
    for done in running:
        failures, stopped = done.result()
        ledger.failures.update(failures)
        ledger.stopped = ledger.stopped or stopped


def _parts(plan: Plan, ledger: Ledger, processes: int) -> list[tuple[Plan, float | None]]:
    limit = None if ledger.cost_limit is None else ledger.cost_limit / processes
    parts = []
    for at in range(processes):
        connections = len(range(at, plan.call.max_connections, processes))
        requests = {task: found[at::processes] for task, found in plan.requests.items()}
        call = replace(plan.call, max_connections=connections)
        parts.append((replace(plan, call=call, requests=requests), limit))
    return parts


def _ask_part(plan: Plan, ledger: Ledger, price: Price | None) -> tuple[dict[str, str], str | None]:
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    ask(plan, ledger, price)
    return ledger.failures, ledger.stopped


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: who is killed can stop nobody, and each further call costs money."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _silent(_: str) -> None:
    """Told of what is over where nobody watches."""


def ask(plan: Plan, ledger: Ledger, price: Price | None) -> None:
    """Ask all requests of a plan; what comes of each is in the ledger afterwards.

    Raises:
        InputError: If the run broke off for a reason of its own.
        PrerequisiteError: If the provider, its package or its key is missing.
    """
    if not any(plan.requests.values()):
        return
    in_project(plan)
    try:
        from inspect_ai import eval as inspect_eval  # noqa: PLC0415 - takes seconds

        from pipeline.evaluation.harness import Setup, make_task  # noqa: PLC0415
    except ModuleNotFoundError as error:
        msg = f"the package {error.name} is missing"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[evaluate]'") from error
    media = Clips(takes(plan.provider), plan.frames) if plan.shows_clips else None
    setup = Setup(plan.call.structured, price, media, plan.options.seed)
    tasks = [
        make_task(task, requests, ledger=ledger, setup=setup, population=partial(_population, plan, task))
        for task, requests in plan.requests.items()
        if requests
    ]
    with _rare_collection():
        logs = inspect_eval(
            tasks,
            model=open_model(plan.model, plan.call),
            log_dir=str(plan.folder / "logs"),
            max_tasks=len(tasks),
            max_samples=plan.call.max_connections,
            # A failed instance is counted as failed and the others go on; what makes all fail stops the ledger.
            fail_on_error=False,
            continue_on_fail=True,
            display="none",
            log_level="error",
            log_images=False,
            log_realtime=False,
            log_buffer=500,
            log_model_api=False,
            score_display=False,
            ctl_server=False,
        )
    # A run that was interrupted comes back without its logs, or with logs that say so.
    if len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs):
        ledger.stopped = INTERRUPTED
    for log in logs:
        # A failed instance ends no task: this is a fault of the run itself, and to count it as theirs would hide it.
        if log.status == "error" and log.error and not ledger.stopped:
            msg = f"the run of {log.eval.task} broke off: {log.error.message}"
            raise InputError(msg, hint="the same command goes on from here; `inspect view` shows the log")


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Look for garbage rarely: the samples of a run are many, live to its end, and were searched again and again.

    A third of the processor time of a run was spent so.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _population(plan: Plan, task: str) -> list[Request]:
    return requests_of(plan.benchmark, task, Selection(), plan.options.model_copy(update={"mode": Mode.DIALOGUE}))


def in_project(plan: Plan) -> None:
    """`keep_inside` for a run: its cache lies with the runs."""
    keep_inside(plan.folder.parent.parent)


def keep_inside(folder: Path) -> None:
    """Keep what the library stores with the data: dialogue does not belong into the user's own folders.

    Args:
        folder: Where the library's cache goes, as ``.cache``.
    """
    os.environ["INSPECT_CACHE_DIR"] = str((folder / ".cache").absolute())
    # Its traces, in the user's folder, hold the prompt of every request that failed.
    os.environ["INSPECT_TRACE_LEVEL"] = "CRITICAL"


def open_model(name: str, call: Call) -> Model:
    """The model, with the limits that the library leaves open.

    Raises:
        PrerequisiteError: If the provider is unknown, or its package or key is missing.
    """
    from inspect_ai._util.error import PrerequisiteError as Missing  # noqa: PLC0415
    from inspect_ai.model import GenerateConfig, get_model  # noqa: PLC0415

    config = GenerateConfig(
        max_connections=call.max_connections,
        max_retries=call.max_retries,
        timeout=call.timeout,
        attempt_timeout=call.attempt_timeout,
        max_tokens=call.max_tokens,
        temperature=call.temperature,
        reasoning_effort=call.reasoning_effort,
    )
    arguments: dict[str, Any] = {}
    if name.startswith(("openai/", "openai-api/")):
        # This client waits as the server tells it (`Retry-After`), up to two minutes, and the library does not. So the
        # client makes the attempts, and the library only ends them; attempts of both would multiply.
        arguments = {"max_retries": call.max_retries, "client_timeout": call.attempt_timeout}
        config = config.model_copy(update={"max_retries": 0, "attempt_timeout": call.timeout})
    if call.base_url:
        # Its own key and no other: a key that another server gave must not reach this one.
        arguments["api_key"] = os.environ.get(call.key_variable) or "none"
    try:
        return get_model(name, config=config, base_url=call.base_url, memoize=False, **arguments)
    except (Missing, ValueError) as error:
        # The library's messages are marked up for its own console, over several lines.
        told = " ".join(re.sub(r"\[/?(?:bold|blue|red)\]", "", str(getattr(error, "message", error))).split())
        msg = f"{name} cannot be used: {told}"
        raise PrerequisiteError(msg, hint="the provider's page of inspect_ai names its package and key") from error
