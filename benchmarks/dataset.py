"""From annotations to all tables, splits, tasks and statistics: at the published size, and at 10 and 100 times that.

    python -m benchmarks.dataset [--copies 1 10 100] [--json FILE]

Each size runs in a process of its own, so that its peak memory is its own. Making and importing the release is not part
of the time, nor is loading Python; checking the annotations, the rows and the data set are.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.made_release import made_release
from pipeline.annotation.release import import_release
from pipeline.build import ANNOTATION_STATIONS, build_conversation, find_workspaces, stations
from pipeline.dataset.build import build_dataset
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.store import Json


def measure(copies: int) -> dict[str, Json]:
    """Seconds of each part, rows, and peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = Settings(data=root / "data", raw=root / "raw")
        with (root / "release.jsonl").open("w", encoding="utf-8") as release:
            for sample in made_release(1, copies):
                release.write(json.dumps(sample, ensure_ascii=False) + "\n")
        started = perf_counter()
        import_release([root / "release.jsonl"], settings.raw)
        imported = perf_counter()
        workspaces = find_workspaces(settings).workspaces
        line = stations(Models(settings))
        for workspace in workspaces:
            build_conversation(workspace, line, only=ANNOTATION_STATIONS)
        stationed = perf_counter()
        report = build_dataset(workspaces, settings)
        built = perf_counter()
        build_dataset(workspaces, settings)
        again = perf_counter()
    rows = report.tables["rows"]
    return {
        "copies": copies,
        "conversations": report.tables["conversations"],
        "rows": rows,
        "instances": sum(report.tables[task] for task in ("itp", "rpp", "stp", "ssp", "er", "vp")),
        "import_s": round(imported - started, 2),
        "stations_s": round(stationed - imported, 2),
        "dataset_s": round(built - stationed, 2),
        "total_s": round(built - imported, 2),
        "per_row_us": round(1e6 * (built - imported) / rows, 1),
        "nothing_to_do_s": round(again - built, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Measure each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    results = []
    for copies in options.copies:
        command = [sys.executable, "-m", "benchmarks.dataset", "--one", str(copies)]
        results.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
        if len(results) == 1:
            print("| " + " | ".join(results[0]) + " |\n|" + "---|" * len(results[0]))
        print("| " + " | ".join(f"{value:,}" for value in results[-1].values()) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
