"""The six tasks and the baselines as inspect_ai finds them: ``inspect eval rescue/itp --model PROVIDER/MODEL``.

The entry point ``rescue`` of the group ``inspect_ai`` names this module. Every task takes the same parameters with
``-T``; what they mean is told by `pipeline.tasks.render.RenderOptions`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from inspect_ai import Task, task
from inspect_ai._util.registry import RegistryInfo, registry_add, registry_info

from pipeline.errors import UsageError
from pipeline.evaluation.harness import Setup, baseline, make_task
from pipeline.evaluation.instances import Benchmark, Selection, requests_of
from pipeline.settings import load_settings
from pipeline.tasks import TASK_BUILDERS
from pipeline.tasks.render import Mode, RenderOptions

__all__ = ["REGISTERED", "baseline"]

_ABOUT = {
    "itp": "Intervention timing: should the therapist speak now?",
    "rpp": "Relation pattern: what is at work between the clients?",
    "stp": "Support target: whom to support?",
    "ssp": "Support strategy: how to support?",
    "er": "Emotion: what does the client feel, and how strongly?",
    "vp": "Viewpoint: what does the client think of the others?",
}


def _registered(name: str) -> Callable[..., Task]:
    def make(
        mode: str = "dialogue",
        context_size: int | None = None,
        include_current: bool = False,
        recent_emotion: bool = True,
        candidate_order: Literal["fixed", "shuffled"] = "fixed",
        seed: int = 0,
        split: str | None = None,
        data: str | None = None,
        structured: bool = True,
    ) -> Task:
        options = RenderOptions(
            mode=Mode(mode),
            context_size=context_size,
            include_current=include_current,
            recent_emotion=recent_emotion,
            candidate_order=candidate_order,
            seed=seed,
        )
        if options.mode is Mode.CLIPS:
            msg = "mode clips needs to know the provider"
            raise UsageError(msg, hint="use `rescue eval --mode clips`")
        benchmark = Benchmark((Path(data) if data else load_settings().data) / "benchmark")
        requests = requests_of(benchmark, name, Selection(split), options)
        return make_task(name, requests, setup=Setup(structured=structured, seed=seed))

    make.__name__ = name
    make.__doc__ = _ABOUT[name]
    made: Callable[..., Task] = task(make)
    # Inspect names a task by the import package, which is `pipeline` where it is installed and nothing where it is
    # edited in place. Its users know this package as `rescue`, in both.
    known = registry_info(made)
    registry_add(made, RegistryInfo(type="task", name=f"rescue/{name}", metadata=known.metadata))
    return made


REGISTERED = {name: _registered(name) for name in TASK_BUILDERS}
"""Task name to what inspect calls to make the task."""
