"""How many instances a second the evaluation answers, beside a bare asynchronous loop over the same requests.

The server is on this machine, answers after 200 ms, and takes 50 requests at once: 250 a second at best. It has a
process of its own, so that its work does not count as ours; it does take processor time from both.

Run: ``python -m benchmarks.evaluation [--instances N] [--latency S] [--connections N]``: a table, and JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def serve(latency: float) -> None:
    """Run the server until standard input closes; its address is the first line of output."""
    from tests.evaluation.loopback import Behaviour, loopback

    with loopback(lambda _text, _seen: Behaviour(delay=latency), keep_bodies=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def measure(what: str, data: Path, url: str, instances: int, connections: int) -> dict[str, Any]:
    """One way over the same requests, in a process of its own."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.evaluation", "--only", what, "--data", str(data), "--url", url,
         "--instances", str(instances), "--connections", str(connections)],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"wall_with_start": round(time.perf_counter() - started, 2)}


def once(what: str, data: Path, url: str, instances: int, connections: int) -> dict[str, Any]:
    """Answer the instances in this process."""
    from pipeline.evaluation.instances import Selection
    from pipeline.evaluation.plan import Call, plan_run
    from pipeline.evaluation.run import run

    plan = plan_run(
        "small",
        data,
        tasks=("itp",),
        selection=Selection(limit=instances),
        call=Call(base_url=url, max_connections=connections),
    )
    requests = plan.requests["itp"]
    if what == "rescue":
        import inspect_ai  # noqa: F401 - the start is shown apart

        import pipeline.evaluation.harness  # noqa: F401
    used = _cpu()
    started = time.perf_counter()
    if what == "rescue":
        answered = run(plan, fresh=True).counts["itp"]["scored"]
    else:
        answered = asyncio.run(bare(requests, url, connections))
    seconds = time.perf_counter() - started
    cpu = _cpu() - used
    return {
        "what": what,
        "answered": answered,
        "seconds": round(seconds, 2),
        "per_second": round(answered / seconds, 1),
        "cpu_ms_each": round(1000 * cpu / answered, 1),
        "rss_mb": round(max(resource.getrusage(who).ru_maxrss for who in _WHO) / 1024),
    }


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu() -> float:
    """Seconds of processor time of this process and those it started."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, _WHO))


async def bare(requests: Any, url: str, connections: int) -> int:
    """The shortest loop that asks the same: no retry, no log, no check of the answer."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    gate = asyncio.Semaphore(connections)

    async def ask(request: Any) -> bool:
        schema = {"name": "itp", "schema": request.prompt.answer_schema, "strict": True}
        messages = [
            {"role": "system", "content": request.prompt.system},
            {"role": "user", "content": request.prompt.user},
        ]
        async with gate:
            found = await client.chat.completions.create(
                model="small",
                messages=messages,  # type: ignore[arg-type]
                response_format={"type": "json_schema", "json_schema": schema},  # type: ignore[arg-type]
            )
        return "should_speak" in json.loads(found.choices[0].message.content or "{}")

    return sum(await asyncio.gather(*(ask(request) for request in requests)))


def build(folder: Path) -> Path:
    """The made release as a data set, without media."""
    from pipeline.dataset.build import build_dataset
    from tests.dataset.made import project, run

    settings = project(folder, samples=120)
    build_dataset(run(settings), settings)
    return settings.data


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/evaluation.json"))
    parser.add_argument("--only")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--url")
    options = parser.parse_args()
    if options.serve:
        serve(options.latency)
        return
    if options.only:
        print(json.dumps(once(options.only, options.data, options.url, options.instances, options.connections)))
        return
    ideal = options.connections / options.latency
    with tempfile.TemporaryDirectory() as scratch:
        data = options.data or build(Path(scratch))
        server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.evaluation", "--serve", "--latency", str(options.latency)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout
        assert server.stdin
        url = server.stdout.readline().strip()
        try:
            results = [measure(what, data, url, options.instances, options.connections) for what in ("bare", "rescue")]
        finally:
            server.stdin.close()
            server.wait(30)
    print(f"{'':8} {'a second':>9} {'of ideal':>9} {'CPU ms each':>12} {'MB':>5} {'with start, s':>14}")
    for one in results:
        one["of_ideal"] = round(one["per_second"] / ideal, 3)
        print(f"{one['what']:8} {one['per_second']:9} {one['of_ideal']:9.0%} {one['cpu_ms_each']:12} {one['rss_mb']:5} "
              f"{one['wall_with_start']:14}")  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps({"ideal_per_second": ideal, **vars(options), "results": results}, default=str, indent=2)
    )


if __name__ == "__main__":
    main()
