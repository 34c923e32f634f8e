"""A line of two small stations that read and write real files, and a project around them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from assets.conversations import RECORDING, conversation_assets
from assets.resources import Project
from pipeline.conversation import Conversation, save_conversation
from pipeline.errors import InputError
from pipeline.settings import Settings
from pipeline.station import Station, Workspace
from pipeline.store import Json


class Letters(Station):
    """Copies what the user wrote."""

    name = "letters"
    version = 1
    outputs = ("letters.txt",)
    summary_doc = "Copies the letters."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        return {"text": workspace.raw / "text.txt"}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        text = (workspace.raw / "text.txt").read_text()
        if text == "bad":
            msg = "the text is bad"
            raise InputError(msg, file=workspace.raw / "text.txt", hint="write another")
        workspace.artifact("letters.txt").write_text(text)
        return {"letters": len(text), "duration": 1.5, "flags": ["short", "plain"], "nothing": None}


class Count(Station):
    """Counts letters."""

    name = "count"
    version = 3
    needs = ("letters",)
    outputs = ("count.json",)
    summary_doc = "Counts the letters."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        return {"letters": workspace.artifact("letters.txt")}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        workspace.artifact("count.json").write_text(json.dumps(len(workspace.artifact("letters.txt").read_text())))
        return {}


LINE = (Letters(), Count())


class SmallProject(Project):
    """The project with the small line, in a folder of the test."""

    folder: str

    @cached_property
    def settings(self) -> Settings:
        return Settings(data=Path(self.folder) / "data", raw=Path(self.folder) / "raw_video")

    @cached_property
    def line(self) -> tuple[Station, ...]:
        return LINE


def write(folder: Path, **texts: str) -> None:
    """Write one conversation a text."""
    for name, text in texts.items():
        raw = folder / "raw_video" / name
        raw.mkdir(parents=True, exist_ok=True)
        save_conversation(raw, Conversation(id=name))
        (raw / "text.txt").write_text(text)


def definitions(folder: Path) -> dg.Definitions:
    """The small line as assets."""
    return dg.Definitions(
        assets=[RECORDING, conversation_assets(LINE)],
        resources={"project": SmallProject(folder=str(folder))},
        executor=dg.in_process_executor,
    )


def build(
    folder: Path, instance: dg.DagsterInstance, keys: Sequence[str], *stations: str, **options: Any
) -> dg.ExecuteInProcessResult:
    """One run over the partitions from the first to the last key, as the UI starts it."""
    chosen = [dg.AssetKey(name) for name in stations or ("letters", "count")]
    job = definitions(folder).resolve_implicit_global_asset_job_def()
    return job.get_subset(asset_selection=set(chosen)).execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"ops": {"build_conversations": {"config": options}}} if options else None,
        tags={"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]},
    )
