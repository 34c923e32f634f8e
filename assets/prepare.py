"""What happens once before the UI opens: ``python -m assets.prepare``.

The conversations are there when the page opens, and nothing that was cut off when the UI last ended looks as if it were
still running: such a run would hold its pool, and with it every later run, for ever.
"""

from __future__ import annotations

import dagster as dg

from assets.partitions import register
from assets.resources import Project

__all__ = ["end_lost_runs"]

_ALIVE = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)


def end_lost_runs(instance: dg.DagsterInstance) -> int:
    """Mark what was running when the last UI ended as failed, and return how many runs that were.

    Only right while no other process works on this instance; ``rescue ui`` holds a lock on it.
    """
    lost = instance.get_runs(filters=dg.RunsFilter(statuses=list(_ALIVE)))
    for run in lost:
        instance.report_run_failed(
            run, "the UI was ended while this was running; launch it again, what is done is kept"
        )
    return len(lost)


if __name__ == "__main__":
    with dg.DagsterInstance.get() as opened:
        end_lost_runs(opened)
        register(opened, Project().found())
