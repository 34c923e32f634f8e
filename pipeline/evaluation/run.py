"""A run of one model in one mode: plan, answer what is not answered yet, write what came of it.

Everything of a run lies below ``evaluation/<model key>/<mode>/``: ``journal.jsonl`` (what was said), ``logs/`` (of
inspect_ai, for its viewer), ``outcomes.parquet`` and ``run.json``. A run takes over every answer whose request is the
same to the letter, so that a second run, a larger limit, another task or a resumed run ask only what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from filelock import FileLock, Timeout

from pipeline.errors import UsageError
from pipeline.evaluation.asking import ask, ask_in_processes, processes_for
from pipeline.evaluation.collect import outcome
from pipeline.evaluation.cost import Price
from pipeline.evaluation.judge import JUDGED, rubric_digest
from pipeline.evaluation.judging import Graders, check_priced, judge_answers, open_graders
from pipeline.evaluation.ledger import INTERRUPTED, Journal, Ledger
from pipeline.evaluation.outcomes import OUTCOMES, Status
from pipeline.evaluation.plan import TASKS, Plan
from pipeline.provenance import package_versions
from pipeline.schemas import read_rows, table_of, write_table
from pipeline.store import Json, digest_file, read_json, write_json

__all__ = ["RunReport", "run"]

_PACKAGES = ("inspect_ai", "json-repair", "openai", "pyarrow", "pydantic", "rescue-bench", "scikit-learn")


@dataclass(frozen=True)
class RunReport:
    """What came of a run."""

    model: str
    mode: str
    counts: Mapping[str, Mapping[str, int]]
    """Task to ``planned``, ``scored``, ``invalid``, ``failed`` and ``answered_before``."""
    stopped: str | None
    """Why the run ended before every request was made."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """Of this run only; None where no price is known."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why instances are invalid or failed."""
    judges: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """Judge to what was asked of it in this run, and what failed."""

    @property
    def complete(self) -> bool:
        """Whether every instance has an answer, right or wrong, and its judgements."""
        answered = not any(count["failed"] for count in self.counts.values())
        return answered and not any(told["failed"] for told in self.judges.values())

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**vars(self), "complete": self.complete}


def run(
    plan: Plan,
    *,
    graders: Graders | None = None,
    prices: Mapping[str, Price] | None = None,
    cost_limit: float | None = None,
    fresh: bool = False,
    on_finished: Callable[[str], None] = lambda _: None,
) -> RunReport:
    """Answer what is not answered yet, and write the outcomes.

    Args:
        plan: What to do.
        graders: Who judges the answers of ER and VP.
        prices: Model name to price.
        cost_limit: Money for this run, its judges included; needs the price of the model and of each judge.
        fresh: Ask everything again, whatever was answered before.
        on_finished: Told the id of every instance that is over.

    Raises:
        UsageError: If there is a limit of cost and no price.
        PrerequisiteError: If the provider, or its key, is missing.
    """
    price = (prices or {}).get(plan.model)
    if cost_limit is not None and price is None:
        msg = f"a limit of cost needs the price of {plan.model}"
        raise UsageError(msg, hint="name a price file with --prices")
    if cost_limit is not None and graders is not None:
        check_priced(plan, graders)
    graders = graders or Graders(())
    open_graders(plan, graders)
    plan.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(plan.folder / ".lock", timeout=0):
            return _run(plan, graders, price, cost_limit, fresh=fresh, on_finished=on_finished)
    except Timeout as error:
        msg = f"another process evaluates {plan.model} in mode {plan.options.mode.value}"
        raise UsageError(msg, hint="wait for it; what it has answered is not asked again") from error


def _run(
    plan: Plan,
    graders: Graders,
    price: Price | None,
    cost_limit: float | None,
    *,
    fresh: bool,
    on_finished: Callable[[str], None],
) -> RunReport:
    journal = Journal(plan.folder / "journal.jsonl")
    if fresh:
        journal.forget()
    ledger = Ledger(plan.digests, journal, cost_limit, on_finished)
    ledger.resume()
    before = frozenset(ledger.exchanges)
    left = plan.without(before)
    processes = processes_for(plan, len(left.all_requests()))
    if processes > 1:
        ask_in_processes(left, ledger, price, processes)
    else:
        ask(left, ledger, price)
    return _write(plan, ledger, before, graders, fresh=fresh)


_JUDGED_BY = ("answer_text", "gold_label", "gold_intensity", "gold_viewpoints")
"""What a judgement rests on, beside the rubric."""


def _judgements(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Json]]:
    """Instance id to what judges said in earlier runs of the same answer, beside the same gold, by the same rubric."""
    path, found = plan.folder / "outcomes.parquet", {}
    now = {row["instance_id"]: row for row in rows}
    rubrics = _record(plan).get("rubrics", {})
    for row in read_rows(path) if path.exists() else ():
        other = now.get(row["instance_id"])
        if (
            row["judgements"]
            and other is not None
            and rubrics.get(row["task"]) == rubric_digest(row["task"])
            and all(_plain(row[name]) == _plain(other[name]) for name in _JUDGED_BY)
        ):
            found[row["instance_id"]] = row["judgements"]
    return found


def _plain(value: Json) -> Json:
    """A value as it compares: records in any order of their fields."""
    return [dict(one) for one in value] if isinstance(value, list) else value


def _write(plan: Plan, ledger: Ledger, before: frozenset[str], graders: Graders, *, fresh: bool) -> RunReport:
    """Outcomes and the record of the run; other tasks, and other instances asked the same way, stay in them."""
    mode = plan.options.mode.value
    rows = [
        outcome(request, ledger, model=plan.model, mode=mode)
        for requests in plan.requests.values()
        for request in requests
    ]
    judges: dict[str, dict[str, Json]] = {}
    if ledger.stopped != INTERRUPTED:
        left = None if ledger.cost_limit is None else ledger.cost_limit - _spent(ledger, before)
        known = {} if fresh else _judgements(plan, rows)
        judges = judge_answers(plan, rows, graders, known, fresh=fresh, cost_limit=left)
    parameters = _parameters(plan)
    earlier = _earlier(plan, parameters, fresh=fresh)
    ids = {row["instance_id"] for row in rows}
    rows += [row for row in earlier if row["instance_id"] not in ids]
    rows.sort(key=lambda row: (TASKS.index(row["task"]), row["instance_id"]))
    write_table(plan.folder / "outcomes.parquet", table_of(rows, OUTCOMES), OUTCOMES)
    counts = {task: _counts([row for row in rows if row["task"] == task]) for task in TASKS}
    known = _record(plan).get("tasks", {})
    tasks = {
        task: {
            "parameters": parameters if task in plan.requests else known[task]["parameters"],
            "prompt_digests": sorted({row["prompt_digest"] for row in rows if row["task"] == task}),
            "counts": counts[task],
            "complete": not counts[task]["failed"],
            "steps": dict(
                sorted(Counter(row["parse_step"] for row in rows if row["task"] == task and row["parse_step"]).items())
            ),
        }
        for task in TASKS
        if counts[task]["planned"]
    }
    write_json(
        plan.folder / "run.json",
        {
            "model": plan.model,
            "mode": mode,
            "tasks": tasks,
            "judges": sorted({one["judge"] for row in rows for one in row["judgements"] or ()}),
            "rubrics": {task: rubric_digest(task) for task in JUDGED},
            "packages": package_versions(_PACKAGES),
            "outcomes_sha256": digest_file(plan.folder / "outcomes.parquet"),
        },
    )
    return _report(plan, ledger, before, rows, counts, judges)


def _spent(ledger: Ledger, before: frozenset[str]) -> float:
    """Money that the answers of this run took."""
    return sum(exchange.cost or 0.0 for name, exchange in ledger.exchanges.items() if name not in before)


def _parameters(plan: Plan) -> dict[str, Json]:
    """What must be equal for outcomes of two runs to stand in one table.

    The address of a server is no part of it: a model is known by its name, wherever it runs.
    """
    return {
        "benchmark": plan.benchmark.version,
        "options": plan.options.model_dump(mode="json"),
        "call": plan.call.deciding(),
        "frames": plan.frames if plan.shows_clips else None,
    }


def _record(plan: Plan) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read_json(plan.folder / "run.json")
    except (FileNotFoundError, ValueError):
        return {}
    return found


def _earlier(plan: Plan, parameters: Mapping[str, Json], *, fresh: bool) -> list[dict[str, Any]]:
    """Outcomes of earlier runs that still stand: of other tasks, and of the same tasks asked the same way.

    The same way is under the same parameters and in the same words. Nothing stands of a task that is asked afresh.
    """
    record = _record(plan)
    known, rubrics = record.get("tasks", {}), record.get("rubrics", {})
    path = plan.folder / "outcomes.parquet"
    if not known or not path.exists():
        return []
    stands = {
        task
        for task, one in known.items()
        if task not in plan.requests or (not fresh and one["parameters"] == parameters)
    }
    words: dict[tuple[str, str], set[str]] = {}
    for task, requests in plan.requests.items():
        for request in requests:
            words.setdefault((task, request.instance["scenario"]), set()).add(request.prompt.digest)
    rows = []
    for row in read_rows(path):
        if row["task"] not in stands:
            continue
        if row["prompt_digest"] not in words.get((row["task"], row["scenario"]), {row["prompt_digest"]}):
            continue
        if row["judgements"] and rubrics.get(row["task"]) != rubric_digest(row["task"]):
            row["judgements"] = None  # by another rubric than the one that the record names
        rows.append(row)
    return rows


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    found = Counter(row["status"] for row in rows)
    return {"planned": len(rows), **{status.value: found[status.value] for status in Status}}


def _report(
    plan: Plan,
    ledger: Ledger,
    before: frozenset[str],
    rows: Sequence[Mapping[str, Any]],
    counts: Mapping[str, Mapping[str, int]],
    judges: Mapping[str, Mapping[str, Json]],
) -> RunReport:
    new = [exchange for name, exchange in ledger.exchanges.items() if name not in before]
    costs = [exchange.cost for exchange in new if exchange.cost is not None]
    asked = {task: frozenset(request.id for request in requests) for task, requests in plan.requests.items()}
    return RunReport(
        model=plan.model,
        mode=plan.options.mode.value,
        counts={task: {**counts[task], "answered_before": len(asked[task] & before)} for task in plan.requests},
        stopped=ledger.stopped,
        input_tokens=sum(exchange.input_tokens or 0 for exchange in new),
        output_tokens=sum(exchange.output_tokens or 0 for exchange in new),
        cost=sum(costs) if costs else None,
        reasons=dict(sorted(Counter(row["reason"] for row in rows if row["reason"] and row["task"] in asked).items())),
        judges=judges,
    )
