"""The six tasks: how instances are made of rows, and what a model is shown of them."""

from collections.abc import Callable, Mapping

from pipeline.annotation.model import Annotation
from pipeline.tasks import er, itp, rpp, ssp, stp, vp
from pipeline.tasks.base import Built, TaskOptions

__all__ = ["TASK_BUILDERS", "Built", "TaskOptions"]

TASK_BUILDERS: Mapping[str, Callable[[Annotation, TaskOptions], Built]] = {
    "itp": itp.build,
    "rpp": rpp.build,
    "stp": stp.build,
    "ssp": ssp.build,
    "er": er.build,
    "vp": vp.build,
}
"""Task name to the pure function from a conversation's rows to its instances, in the order of the paper."""
