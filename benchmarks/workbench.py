"""The workbench at its full size: 200 small conversations of real speech, real models, three broken recordings.

    python -m benchmarks.workbench [--conversations 200] [--media FOLDER] [--json FILE]

Conversations are pieces of 2.5 seconds out of the shared recordings, so that what surrounds the models shows. The
settings, the assets and the instance are those of `rescue ui`; only the folders are others. Each step runs in a process
of its own, loads its own models, and has a peak memory of its own. What Dagster adds is the time of its run less the
time spent inside the library in that same run.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.pieces import write_pieces
from pipeline.store import Json
from pipeline.workers.run import Built

REPOSITORY = Path(__file__).resolve().parent.parent
STEPS = {
    "library": "library alone, three bad",
    "first": "one Dagster run, three bad",
    "retry": "the three alone, repaired, a run each",
    "again": "rerun of everything, nothing to do",
    "find": "finding out that nothing is to do",
}


class Clock:
    """Wall and processor seconds spent inside its blocks."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter(), process_time()

    def __exit__(self, *_: object) -> None:
        self.wall += perf_counter() - self._began[0]
        self.cpu += process_time() - self._began[1]


def bad_ones(names: Sequence[str]) -> list[str]:
    """Three that do not stand side by side."""
    return [names[3], names[len(names) // 2], names[-2]]


def library(names: Sequence[str]) -> None:
    """`rescue build` without its tables."""
    from pipeline.build import find_workspaces, stations
    from pipeline.settings import load_settings
    from pipeline.speech.models import Models
    from pipeline.workers.run import build_conversations

    settings = load_settings(data=Path(os.environ["RESCUE_DATA"] + "-beside"))
    line = stations(Models(settings))
    failed = {
        built.workspace.conversation.id
        for built in build_conversations(find_workspaces(settings).workspaces, line, settings)
        if any(outcome.state.value == "failed" for outcome in built.outcomes)
    }
    assert failed == set(bad_ones(names)), failed


def find(names: Sequence[str]) -> None:
    """What the nightly build does before it starts a run."""
    from pipeline.build import find_workspaces, stations, worst_state
    from pipeline.settings import load_settings
    from pipeline.speech.models import Models
    from pipeline.station import status_of

    settings = load_settings()
    line = stations(Models(settings))
    states = [worst_state(status_of(line, one).values()).value for one in find_workspaces(settings).workspaces]
    assert states == ["done"] * len(names), states


def dagster(spans: Sequence[tuple[str, str]], expected_bad: Sequence[str], names: Sequence[str]) -> dict[str, Json]:
    """Runs over ranges of conversations, as the UI starts them; what they left is checked against what is expected."""
    import dagster as dg

    from assets.partitions import CONVERSATIONS, register
    from assets.resources import Project
    from pipeline.workers import run as building

    inside = Clock()
    build = building.build_conversations

    def timed(*arguments: Json, **named: Json) -> Iterator[Built]:
        conversations = build(*arguments, **named)
        while True:
            with inside:
                built = next(conversations, None)
            if built is None:
                return
            yield built

    building.build_conversations = timed
    from assets.definitions import defs  # takes the function above

    project = Project()
    keys = [dg.AssetKey(station.name) for station in project.line]
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(keys))
    with dg.DagsterInstance.get() as instance:
        register(instance, project.found())
        whole = Clock()
        for first, last in spans:
            tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
            with whole:
                result = job.execute_in_process(instance=instance, raise_on_error=False, tags=tags)
            assert result.success is not bool(expected_bad)
        for key in keys:
            states = instance.get_status_by_partition(key, list(names), CONVERSATIONS) or {}
            failed = {name for name in names if (state := states.get(name)) is None or state.value != "MATERIALIZED"}
            # A station that needs no recording has nothing to do for a broken one, and is done with that.
            assert failed <= set(expected_bad), (key, failed)
            assert key.path[-1] != "turns" or failed == set(expected_bad), (key, failed)
    return {
        "run_s": round(whole.wall, 2),
        "in_library_s": round(inside.wall, 2),
        "added_s": round(whole.wall - inside.wall, 2),
        "added_cpu_s": round(whole.cpu - inside.cpu, 2),
    }


def step(name: str, root: Path) -> dict[str, Json]:
    """One step, in this process."""
    logging.disable(logging.ERROR)
    names = json.loads((root / "names.json").read_text())
    started, used = perf_counter(), process_time()
    found: dict[str, Json] = {}
    if name == "library":
        library(names)
    elif name == "first":
        found = dagster([(names[0], names[-1])], bad_ones(names), names)
    elif name == "retry":
        found = dagster([(bad, bad) for bad in bad_ones(names)], [], names)
    elif name == "again":
        found = dagster([(names[0], names[-1])], [], names)
    else:
        find(names)
    return {
        "step": STEPS[name],
        "wall_s": round(perf_counter() - started, 2),
        "cpu_s": round(process_time() - used, 2),
        **found,
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def measure(count: int, media: Path) -> list[dict[str, Json]]:
    """All steps over a number of conversations."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        names = write_pieces(media, root / "raw_video", count)
        (root / "names.json").write_text(json.dumps(names))
        good = {name: (root / "raw_video" / name / "piece.wav").read_bytes() for name in bad_ones(names)}
        for name, content in good.items():
            (root / "raw_video" / name / "piece.wav").write_bytes(content[:40])
        environment = {
            **os.environ,
            "DAGSTER_HOME": str(REPOSITORY),
            "RESCUE_DAGSTER": str(root / "dagster"),
            "RESCUE_DATA": str(root / "data"),
            "RESCUE_RAW": str(root / "raw_video"),
        }
        for name in STEPS:
            if name == "retry":
                for bad, content in good.items():
                    (root / "raw_video" / bad / "piece.wav").write_bytes(content)
            command = [sys.executable, "-m", "benchmarks.workbench", "--step", name, "--root", str(root)]
            done = subprocess.run(command, env=environment, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
            results.append(json.loads(done.stdout.splitlines()[-1]))
            print(_row(results[-1], count), flush=True)
    return results


def _row(found: dict[str, Json], count: int) -> str:
    cells = [found["step"], found["wall_s"], found["cpu_s"], found.get("in_library_s", "")]
    built = 3 if found["step"] == STEPS["retry"] else count
    cells += [f"{found[name] / built:.3f}" if name in found else "" for name in ("added_s", "added_cpu_s")]
    return "| " + " | ".join(str(cell) for cell in [*cells, found["peak_mib"]]) + " |"


def main() -> None:
    """Measure and print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--media", type=Path, default=REPOSITORY.parent / "shared" / "media")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(step(options.step, options.root)))
        return
    print("| step | wall s | processor s | in the library s | added each s | the same, processor s | peak MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    results = measure(options.conversations, options.media)
    if options.json:
        options.json.write_text(json.dumps({"conversations": options.conversations, "steps": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
