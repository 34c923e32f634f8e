"""A project with annotated conversations and no media: a few samples of the made release, built."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.made_release import made_release
from pipeline.annotation.release import import_release
from pipeline.annotation.stations import AnnotationsStation
from pipeline.build import build_conversation, find_workspaces
from pipeline.join.stations import RowsStation
from pipeline.settings import Settings
from pipeline.station import Workspace

LINE = (AnnotationsStation(), RowsStation())


def project(folder: Path, samples: int = 8, **settings: Any) -> Settings:
    """Import samples and run the stations that need no media."""
    chosen = [*islice(made_release(seed=11), samples - 1), list(made_release(seed=11))[-1]]
    lines = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in chosen)
    (folder / "release.jsonl").write_text(lines, encoding="utf-8")
    made = Settings(data=folder / "data", raw=folder / "raw", **settings)
    import_release([folder / "release.jsonl"], made.raw)
    run(made)
    return made


def run(settings: Settings) -> tuple[Workspace, ...]:
    """Run the stations for all conversations."""
    workspaces = find_workspaces(settings).workspaces
    for workspace in workspaces:
        build_conversation(workspace, LINE)
    return workspaces
