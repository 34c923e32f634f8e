"""The processes behind the workers: a Ray cluster, on this machine while it is needed, or one that is there."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pipeline.errors import PrerequisiteError, UsageError
from pipeline.extras import load
from pipeline.privacy import go_private
from pipeline.settings import EvaluationSettings, ReviewSettings, Settings
from pipeline.workers.worker import Run, Worker, set_environment

__all__ = ["Actor", "Pool", "open_pool"]

Actor: TypeAlias = Any
"""A Ray actor around a `Worker`; Ray makes its methods at run time."""

_STORE_BYTES = 80 * 2**20
"""Ray's smallest object store is 75 MiB: only keys and outcomes pass through it."""
_CLOSED = "http://127.0.0.1:9"
_SILENT = {
    # Ray's own processes ask the addresses of cloud providers where they are, also with usage statistics off. Nothing
    # listens on this port, and no name is looked up for a proxy. Workers get their own values back.
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _CLOSED),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    "RAY_USAGE_STATS_REPORT_URL": _CLOSED,
}
_ALONE = {
    # Other users of this machine may not give work to a cluster of ours. Ray reads the token once a process.
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    # Else Ray listens on every interface. It has no other switch for loopback; read when Ray is imported.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


@dataclass
class Pool:
    """Room for a number of workers, and the way to start one.

    Args:
        size: How many workers fit.
        run: What they work for, with settings that fit one worker.
        options: What Ray must reserve for each.
    """

    size: int
    run: Run
    options: Mapping[str, float]
    started: int = 0

    def hire(self) -> Actor:
        """Start one worker; it waits for free room in the cluster by itself."""
        ray = load("ray", "ray")
        self.started += 1
        return ray.remote(**self.options)(Worker).remote(self.run, f"worker{self.started:02d}")


@contextmanager
def open_pool(run: Run, most: int) -> Iterator[Pool]:
    """Workers as ``settings.workers`` says: a number of them here, or as many as the cluster at that address holds.

    What is printed in the block goes to standard error.

    Args:
        run: What they work for.
        most: How many can be used at best.

    Raises:
        PrerequisiteError: If Ray is not installed, or cannot be started or reached.
        UsageError: If there is no room for a worker.
    """
    settings = run.settings.model_copy(
        # Workers need neither, and a password has no business on other machines.
        update={"review": ReviewSettings(), "evaluation": EvaluationSettings()}
    )
    run = replace(run, settings=settings)
    here = isinstance(settings.workers, int)
    # Ray tells of dead workers on standard output, unasked, from a thread of its own; that one is the report's.
    with redirect_stdout(sys.stderr), _local(run, most) if here else _remote(run, most) as pool:
        yield pool


@contextmanager
def _local(run: Run, most: int) -> Iterator[Pool]:
    settings = run.settings
    size = min(int(settings.workers), most)
    threads = max(1, settings.threads // size)
    # Short, since the paths of sockets may have 107 characters; and of this user alone, like all that mkdtemp makes.
    folder = Path(tempfile.mkdtemp(prefix="rescue-"))
    with _environment(_ALONE):
        try:
            before = {name: os.environ.get(name) for name in _SILENT}
            with _environment(_SILENT):
                ray = _connect(
                    include_dashboard=False,
                    num_cpus=size * threads,
                    object_store_memory=_STORE_BYTES,
                    _node_ip_address="127.0.0.1",
                    _temp_dir=str(folder),
                )
            try:
                if settings.device == "cuda":
                    gpus = int(ray.cluster_resources().get("GPU", 0))
                    if gpus < size:
                        msg = f"{size} workers need a GPU each, and there are {gpus}"
                        raise UsageError(msg, hint=f"--workers {max(1, gpus)}, or RESCUE_DEVICE=cpu")
                run = replace(run, environment=before)
                yield Pool(size, _with_threads(run, threads), _options(settings, threads))
            finally:
                ray.shutdown()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _remote(run: Run, most: int) -> Iterator[Pool]:
    settings = run.settings
    ray = _connect(address=settings.workers)
    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if settings.device == "cuda":
            room = [(int(node.get("GPU", 0)), int(node.get("CPU", 0))) for node in nodes]
            threads = max(1, min([settings.threads, *(cpus // gpus for gpus, cpus in room if gpus)]))
            size = sum(gpus for gpus, _ in room)
            needed = "a GPU"
        else:
            threads = settings.threads
            size = sum(int(node.get("CPU", 0)) // threads for node in nodes)
            needed = f"{threads} processors (the setting `threads`)"
        if not size:
            msg = f"no machine of the cluster at {settings.workers} has {needed}"
            raise UsageError(msg, hint="`ray status` lists what they have; RESCUE_THREADS=1 needs least")
        yield Pool(min(size, most), _with_threads(run, threads), _options(settings, threads))
    finally:
        ray.shutdown()


def _connect(**options: Any) -> Any:
    """Ray, connected; its errors about the cluster become ours."""
    go_private()
    ray = load("ray", "ray")
    try:
        # What workers say would be mixed into what is said here: they log beside the journal.
        ray.init(logging_level="error", log_to_driver=False, **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        msg = f"Ray cannot be {'reached' if 'address' in options else 'started'}: {error}"
        hint = "docs/how-to/workers.md says how to start it; --workers 1 does without"
        raise PrerequisiteError(msg, hint=hint) from error
    return ray


def _with_threads(run: Run, threads: int) -> Run:
    return replace(run, settings=run.settings.model_copy(update={"threads": threads}))


def _options(settings: Settings, threads: int) -> dict[str, float]:
    # A worker that dies is replaced by whoever hands out the work, on any machine; Ray would wait for the same place.
    return {"num_cpus": threads, "num_gpus": float(settings.device == "cuda"), "max_restarts": 0}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        set_environment(before)
