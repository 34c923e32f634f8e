"""When judges are asked again, and when not: a judgement belongs to one answer, one gold, one rubric and one repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pipeline.errors import UsageError
from pipeline.evaluation import run as running
from pipeline.evaluation.cost import Price
from pipeline.evaluation.instances import Selection
from pipeline.evaluation.judging import Graders
from pipeline.evaluation.plan import Call, Plan, plan_run
from pipeline.evaluation.run import RunReport, run
from pipeline.schemas import TASKS, read_rows, table_of, write_table
from tests.evaluation.loopback import Behaviour, Loopback, loopback


def plan_of(data: Path, server: Loopback, limit: int = 3) -> Plan:
    call = Call(base_url=server.url, max_retries=0, max_connections=2)
    return plan_run("small", data, tasks=["er"], selection=Selection(limit=limit), call=call)


def judged(data: Path, server: Loopback, judge: Loopback, *, repeats: int = 1, **options: Any) -> RunReport:
    prices = {"openai-api/server/judge": Price(input=10_000, output=0)}
    return run(plan_of(data, server), graders=Graders(("judge",), repeats, judge.url, prices), **options)


def with_tables_of_its_own(data: Path) -> Path:
    """Tables that a test may change."""
    built = (data / "benchmark").resolve()
    (data / "benchmark").unlink()
    (data / "benchmark").mkdir()
    for path in built.rglob("*"):
        target = data / "benchmark" / path.relative_to(built)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(path.read_bytes())
    return data / "benchmark" / "er" / "test.parquet"


def test_another_gold_is_judged_again_and_the_same_is_not(data: Path) -> None:
    table = with_tables_of_its_own(data)
    with loopback() as server, loopback() as judge:
        judged(data, server, judge)
        judged(data, server, judge)
        assert judge.calls == 3
        first = plan_of(data, server).requests["er"][0].id
        rows = [row | ({"emotion": "quite another"} if row["instance_id"] == first else {}) for row in read_rows(table)]
        write_table(table, table_of(rows, TASKS["er"]), TASKS["er"])
        report = judged(data, server, judge)
        assert judge.calls == 4
        assert report.judges["openai-api/server/judge"]["asked"] == 1


def test_another_rubric_is_another_judgement(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback() as server, loopback() as judge:
        judged(data, server, judge)
        monkeypatch.setattr(running, "rubric_digest", lambda task: f"new {task}")
        plan = plan_of(data, server)
        run(plan)  # without a grader: what the old rubric gave must not stand under the new one
        assert [row["judgements"] for row in read_rows(plan.folder / "outcomes.parquet")] == [None] * 3


def test_every_repeat_is_a_judgement_of_its_own_and_what_was_paid_is_not_counted_again(data: Path) -> None:
    with loopback() as server, loopback() as judge:
        report = judged(data, server, judge, repeats=4)
        assert judge.calls == 12
        assert report.judges["openai-api/server/judge"]["cost"] == pytest.approx(12.0)
        (plan_of(data, server).folder / "outcomes.parquet").unlink()  # as after a kill while judging
        again = judged(data, server, judge, repeats=4)
        assert judge.calls == 12
        assert again.judges["openai-api/server/judge"]["cost"] == 0
        assert again.complete


def test_a_judge_without_rights_is_not_asked_to_the_end(data: Path) -> None:
    with loopback() as server, loopback(lambda _text, _seen: Behaviour(status=401)) as judge:
        report = judged(data, server, judge, repeats=8)
        told = report.judges["openai-api/server/judge"]
        assert judge.calls <= 2
        assert told["failed"] == 24
        assert told["reasons"]["not_run"] >= 22
        assert told["reasons"]["unauthorized"] >= 1
        assert not report.complete


def test_a_wrong_name_of_a_judge_is_told_before_anything_is_paid(data: Path) -> None:
    with loopback() as server:
        with pytest.raises(UsageError):
            run(plan_of(data, server), graders=Graders(("judge",)))
        assert server.calls == 0


def test_afresh_nothing_old_stands(data: Path) -> None:
    with loopback() as server, loopback() as judge:
        run(plan_of(data, server, limit=5))
        report = judged(data, server, judge)
        assert report.counts["er"]["planned"] == 5
        fresh = judged(data, server, judge, fresh=True)
        assert fresh.counts["er"]["planned"] == 3
        assert judge.calls == 6


def test_another_wording_is_not_mixed_with_the_old_one(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback() as server:
        run(plan_of(data, server, limit=6))
        plan = plan_of(data, server, limit=2)
        rows = read_rows(plan.folder / "outcomes.parquet")
        from pipeline.evaluation.outcomes import OUTCOMES

        old = [row | {"prompt_digest": "0" * 64} for row in rows]
        write_table(plan.folder / "outcomes.parquet", table_of(old, OUTCOMES), OUTCOMES)
        run(plan)
        left = read_rows(plan.folder / "outcomes.parquet")
        scenarios = {request.instance["scenario"] for request in plan.all_requests()}
        assert len({row["prompt_digest"] for row in left if row["scenario"] in scenarios}) == len(scenarios)


def test_the_limit_of_cost_holds_for_judges_too(data: Path) -> None:
    prices = {name: Price(input=10_000, output=0) for name in ("openai-api/server/small", "openai-api/server/judge")}
    with loopback() as server, loopback() as judge:
        graders = Graders(("judge",), 1, judge.url, prices)
        report = run(plan_of(data, server), graders=graders, prices=prices, cost_limit=4.0)
        assert server.calls == 3
        assert judge.calls <= 2  # one on each connection
        assert not report.complete
        with pytest.raises(UsageError, match="price of the judge"):
            run(plan_of(data, server), graders=Graders(("other",), 1, judge.url), prices=prices, cost_limit=4.0)


def test_two_runs_at_once_do_not_ask_twice(data: Path) -> None:
    with loopback() as server:
        plan = plan_of(data, server)
        plan.folder.mkdir(parents=True)
        with FileLock(plan.folder / ".lock"), pytest.raises(UsageError, match="another process evaluates"):
            run(plan)
        assert server.calls == 0
        assert run(plan).complete
