"""What Dagster adds to a conversation: one run over many, a rerun with nothing to do, and three bad ones.

Run it with ``python -m benchmarks.orchestration [CONVERSATIONS]``. The stations do next to nothing, so that what is
measured is the bookkeeping: Dagster's, and the library's own.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from time import perf_counter, process_time

import dagster as dg

from assets.conversations import RECORDING, conversation_assets
from assets.partitions import register
from assets.resources import Project
from pipeline.build import build_conversation, find_workspaces
from pipeline.conversation import Conversation, save_conversation
from pipeline.errors import InputError
from pipeline.settings import Settings
from pipeline.station import Station, Workspace, status_of
from pipeline.store import Json


class Step(Station):
    """Copies a line of text."""

    name = "step"
    outputs = ()

    version = 1
    before: str | None = None

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The text before."""
        return {"text": workspace.artifact(f"{self.before}.txt") if self.before else workspace.raw / "text.txt"}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write the text again, unless it is bad."""
        text = self.inputs(workspace)["text"].read_text()
        if text == "bad":
            msg = "the text is bad"
            raise InputError(msg)
        workspace.artifact(self.outputs[0]).write_text(text)
        return {"letters": len(text), "duration": 1.0}


def line(length: int) -> tuple[Station, ...]:
    """A chain of small stations."""
    made = []
    for number in range(length):
        before = f"step{number - 1}" if number else None
        members = {
            "name": f"step{number}",
            "outputs": (f"step{number}.txt",),
            "needs": (before,) if before else (),
            "before": before,
        }
        made.append(type(f"Step{number}", (Step,), {"__module__": __name__, **members})())
    return tuple(made)


LINE = line(7)


class Small(Project):
    """A project of small stations."""

    folder: str

    @cached_property
    def settings(self) -> Settings:
        """Everything in the folder of this benchmark."""
        return Settings(data=Path(self.folder) / "data", raw=Path(self.folder) / "raw_video")

    @cached_property
    def line(self) -> tuple[Station, ...]:
        """The small stations."""
        return LINE


def write(folder: Path, name: str, text: str) -> None:
    """Write one conversation."""
    raw = folder / "raw_video" / name
    raw.mkdir(parents=True, exist_ok=True)
    save_conversation(raw, Conversation(id=name))
    (raw / "text.txt").write_text(text)


def measure(count: int) -> dict[str, float]:
    """Seconds of each step, over a number of conversations."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        names = [f"c{number:04d}" for number in range(count)]
        bad = {names[3], names[count // 2], names[-2]}
        for name in names:
            write(folder, name, "bad" if name in bad else name)
        started = perf_counter()
        for workspace in find_workspaces(Settings(data=folder / "beside", raw=folder / "raw_video")).workspaces:
            build_conversation(workspace, LINE)
        found["library alone"] = perf_counter() - started
        (folder / "dagster").mkdir()
        overrides = {"telemetry": {"enabled": False}}
        with dg.DagsterInstance.local_temp(str(folder / "dagster"), overrides=overrides) as instance:
            project = Small(folder=str(folder))
            register(instance, project.found())
            found["one run, three bad"] = _run(instance, project, names, succeeds=False)
            states = instance.get_status_by_partition(
                dg.AssetKey("step6"), names, dg.DynamicPartitionsDefinition(name="conversation")
            )
            failed = {name for name, state in (states or {}).items() if state and state.value == "FAILED"}
            assert failed == bad, failed
            for name in bad:
                write(folder, name, name)
            found["rerun, three repaired"] = _run(instance, project, names, succeeds=True)
            found["rerun, nothing to do"] = _run(instance, project, names, succeeds=True)
            started = perf_counter()
            for workspace in project.found().workspaces:
                status_of(LINE, workspace)
            found["find out that nothing is to do"] = perf_counter() - started
    return found


def _run(instance: dg.DagsterInstance, project: Small, names: list[str], *, succeeds: bool) -> float:
    definitions = dg.Definitions(
        assets=[RECORDING, conversation_assets(LINE)], resources={"project": project}, executor=dg.in_process_executor
    )
    job = definitions.resolve_implicit_global_asset_job_def()
    span = {"dagster/asset_partition_range_start": names[0], "dagster/asset_partition_range_end": names[-1]}
    started, used = perf_counter(), process_time()
    result = job.execute_in_process(instance=instance, raise_on_error=False, tags=span)
    assert result.success is succeeds
    print(f"  processor time of the next run: {(process_time() - used) / len(names):.3f} s a conversation")
    return perf_counter() - started


def main() -> None:
    """Print a table and one line of JSON."""
    logging.disable(logging.ERROR)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    found = measure(count)
    for name, seconds in found.items():
        print(f"{name:32} {seconds:7.2f} s   {seconds / count:.3f} s a conversation")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'peak memory':32} {peak:7.0f} MiB")
    print(json.dumps({"conversations": count, "seconds": found, "peak_mib": peak}))


if __name__ == "__main__":
    main()
