"""Bring the partitions up to date before the UI opens: ``python -m assets.register``."""

from __future__ import annotations

import dagster as dg

from assets.partitions import register
from assets.resources import Project

if __name__ == "__main__":
    with dg.DagsterInstance.get() as instance:
        register(instance, Project().found())
