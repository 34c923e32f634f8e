"""Runs against a server with the faults of real ones: every instance ends scored, invalid or failed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError, PrerequisiteError, UsageError
from pipeline.evaluation.asking import ask_in_processes
from pipeline.evaluation.cost import Price
from pipeline.evaluation.instances import Selection
from pipeline.evaluation.judging import Graders
from pipeline.evaluation.ledger import Exchange, Journal, Ledger, Reply
from pipeline.evaluation.outcomes import OUTCOMES
from pipeline.evaluation.plan import Call, Plan, plan_run
from pipeline.evaluation.run import RunReport, run
from pipeline.schemas import read_rows, read_table
from pipeline.store import read_json
from pipeline.tasks.render import Mode, RenderOptions
from tests.evaluation.loopback import Behaviour, Loopback, loopback

TASKS = ("itp", "rpp", "stp", "ssp", "er", "vp")


def call(server: Loopback, **options: Any) -> Call:
    return Call(**{"base_url": server.url, "max_retries": 2, "timeout": 20, "attempt_timeout": 5, **options})


def go(data: Path, server: Loopback, tasks: tuple[str, ...] = ("itp",), limit: int | None = 6, **options: Any) -> Any:
    plan = plan_run("small", data, tasks=tasks, selection=Selection(limit=limit), call=call(server, **options))
    return plan, run(plan)


def rows_of(plan: Plan) -> list[dict[str, Any]]:
    return read_rows(plan.folder / "outcomes.parquet")


def sums_match(report: RunReport) -> bool:
    return all(one["planned"] == one["scored"] + one["invalid"] + one["failed"] for one in report.counts.values())


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.CLIPS])
@pytest.mark.parametrize("baseline", ["random", "majority", "repeat-last", "rules", "learned"])
def test_every_baseline_answers_every_task(data: Path, baseline: str, mode: Mode) -> None:
    plan = plan_run(f"baseline/{baseline}", data, selection=Selection(limit=4), options=RenderOptions(mode=mode))
    report = run(plan)
    assert report.complete
    assert set(report.counts) == set(TASKS)
    assert all(count["scored"] == count["planned"] > 0 for count in report.counts.values())
    table = read_table(plan.folder / "outcomes.parquet")
    assert table.schema.equals(OUTCOMES, check_metadata=True)


def test_a_baseline_gives_the_same_bytes_again(data: Path) -> None:
    plan = plan_run("baseline/random", data, selection=Selection(limit=5))
    run(plan)
    first = (plan.folder / "outcomes.parquet").read_bytes()
    run(plan, fresh=True)
    assert (plan.folder / "outcomes.parquet").read_bytes() == first
    assert "limit" not in read_json(plan.folder / "run.json")


def test_all_tasks_against_a_server(data: Path) -> None:
    with loopback() as server:
        plan, report = go(data, server, TASKS, limit=3)
    assert report.complete
    assert sums_match(report)
    assert server.calls == sum(count["planned"] for count in report.counts.values())
    assert {row["parse_step"] for row in rows_of(plan)} == {"as_is"}
    for body in server.bodies:
        # What leaves the machine: the prompt, the schema, the parameters. Nothing that names the instance.
        assert set(body) == {"messages", "model", "response_format", "temperature"}
    record = read_json(plan.folder / "run.json")
    assert set(record["tasks"]) == set(TASKS)
    assert server.url not in json.dumps(record)
    assert str(data) not in json.dumps(record)


FAULTS: dict[str, tuple[Behaviour, str, str | None]] = {
    "fenced": (Behaviour(text='Sure:\n```json\n{"should_speak": true}\n```'), "scored", "fenced"),
    "sentence": (Behaviour(text='I say {"should_speak": false}.'), "scored", "first_object"),
    "broken": (Behaviour(text="{'should_speak': true,}"), "scored", "repaired"),
    "thinking": (Behaviour(text='<think>{"should_speak": false}</think>{"should_speak": true}'), "scored", "as_is"),
    "thinking apart": (Behaviour(text='{"should_speak": true}', reasoning="hm"), "scored", "as_is"),
    "nonsense": (Behaviour(text="Perhaps."), "invalid", "invalid_response_format"),
    "empty": (Behaviour(text=""), "invalid", "no_answer"),
    "refusal": (Behaviour(text=None, refusal="I can't help with that."), "invalid", "refused"),
    "filter": (Behaviour(text="", finish="content_filter"), "invalid", "refused"),
    "refusal as text": (Behaviour(text="I'm sorry, I can't help with this."), "invalid", "refused"),
    "truncated": (Behaviour(text='{"should_sp', finish="length"), "invalid", "ran_out_of_tokens"),
    "endless thinking": (Behaviour(text="<think>well", finish="length"), "invalid", "ran_out_of_tokens"),
    "thinking only": (Behaviour(text="", reasoning="well", finish="length"), "invalid", "ran_out_of_tokens"),
    "bad request": (Behaviour(status=400), "failed", "http_400"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_ends_in_its_state(data: Path, fault: str) -> None:
    behaviour, status, why = FAULTS[fault]
    with loopback(lambda _text, _seen: behaviour) as server:
        plan, report = go(data, server, limit=2)
    assert sums_match(report)
    assert {row["status"] for row in rows_of(plan)} == {status}
    assert {row["parse_step"] if status == "scored" else row["reason"] for row in rows_of(plan)} == {why}
    assert all(bool(row["answer_text"]) or not behaviour.text for row in rows_of(plan))


@pytest.mark.slow
def test_a_run_of_all_faults_adds_up(data: Path) -> None:
    """All tasks and all modes, every request with another fault; a second run repeats no call for what is answered."""
    faults = [behaviour for behaviour, _, _ in FAULTS.values()] + [
        Behaviour(),
        Behaviour(status=429),
        Behaviour(hang=True),
    ]

    def plan_of(text: str, _seen: int) -> Behaviour:
        # By the text: the same request meets the same fault, whenever it comes.
        return faults[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(faults)]

    for mode in (mode for mode in Mode if mode is not Mode.CLIPS):
        with loopback(plan_of) as server:
            plan = plan_run(
                "small",
                data,
                selection=Selection(limit=8),
                options=RenderOptions(mode=mode),
                call=call(server, max_retries=0, attempt_timeout=1, max_connections=20),
            )
            report = run(plan)
            assert sums_match(report)
            rows = rows_of(plan)
            assert [row["instance_id"] for row in rows] == [one.id for one in plan.all_requests()]
            for row in rows:
                assert (row["reason"] is None) == (row["status"] == "scored") == (row["parse_step"] is not None)
            assert {"scored", "invalid", "failed"} == {row["status"] for row in rows}
            asked, failed = Counter(server.seen), sum(row["status"] == "failed" for row in rows)
            again = run(plan)
            assert again.counts.keys() == report.counts.keys()
            assert sum(count["failed"] for count in again.counts.values()) == failed
            assert (Counter(server.seen) - asked).total() == failed


def test_one_more_question_is_asked_once(data: Path) -> None:
    def plan_of(text: str, seen: int) -> Behaviour:
        return Behaviour() if "Answer again" in text else Behaviour(text="Well, perhaps.")

    with loopback(plan_of) as server:
        plan, _ = go(data, server, limit=2)
    assert server.calls == 4
    assert {(row["status"], row["parse_step"]) for row in rows_of(plan)} == {("scored", "reasked")}
    assert {(row["input_tokens"], row["output_tokens"]) for row in rows_of(plan)} == {(200, 40)}
    asked_again = next(body for body in server.bodies if "Answer again" in str(body["messages"][-1]["content"]))
    assert [message["role"] for message in asked_again["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 500])
def test_a_busy_server_is_asked_again_and_counts_once(data: Path, status: int) -> None:
    def plan_of(_text: str, seen: int) -> Behaviour:
        return Behaviour(status=status, headers={"retry-after": "0.05"}) if seen < 1 else Behaviour()

    with loopback(plan_of) as server:
        _, report = go(data, server, limit=2)
    assert report.complete
    assert set(server.seen.values()) == {2}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_server_is_asked_again_when_it_said(data: Path, form: str) -> None:
    """Told to wait twice, as a server may; never asked early, and once it answers that is the answer."""
    asked: list[float] = []
    told: list[float] = []

    def plan_of(_text: str, seen: int) -> Behaviour:
        now = time.time()
        asked.append(now)
        if seen >= 3:
            return Behaviour()
        told.append(math.ceil(now) + 2 if form == "date" else now + 2)
        return Behaviour(
            status=429, headers={"retry-after": formatdate(told[-1], usegmt=True) if form == "date" else "2"}
        )

    with loopback(plan_of) as server:
        plan, report = go(data, server, limit=1, max_retries=4)
    assert report.complete
    assert server.calls == 4
    # A date has whole seconds.
    assert all(later >= until - (1.0 if form == "date" else 0.05) for later, until in zip(asked[1:], told, strict=True))
    assert [row["status"] for row in rows_of(plan)] == ["scored"]


def test_a_server_that_wants_to_wait_too_long_is_left(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(status=429, headers={"retry-after": "3600"})) as server:
        _, report = go(data, server, limit=2)
    assert report.reasons == {"rate_limited": 2}
    assert server.calls == 2


@pytest.mark.slow
def test_a_request_that_always_fails_is_failed_not_wrong(data: Path) -> None:
    bad: set[str] = set()

    def plan_of(text: str, _seen: int) -> Behaviour:
        if not bad:
            bad.add(text)
        return Behaviour(status=429, headers={"retry-after": "0.05"}) if text in bad else Behaviour()

    with loopback(plan_of) as server:
        plan, report = go(data, server, limit=5, max_retries=1)
        assert report.counts["itp"] == {"planned": 5, "scored": 4, "invalid": 0, "failed": 1, "answered_before": 0}
        assert report.reasons == {"rate_limited": 1}
        assert not report.complete
        assert not read_json(plan.folder / "run.json")["tasks"]["itp"]["complete"]
        bad.clear()
        bad.add("none")
        before = server.calls
        _, report = go(data, server, limit=5)
    assert report.complete
    assert server.calls == before + 1


def test_a_wrong_key_stops_the_run_at_once(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(status=401)) as server:
        plan, report = go(data, server, TASKS, limit=None, max_connections=2)
    assert server.calls <= 2 * len(TASKS)
    assert report.stopped == "unauthorized"
    assert sums_match(report)
    assert set(report.reasons) == {"unauthorized", "not_run"}
    assert {row["status"] for row in rows_of(plan)} == {"failed"}


def test_a_silent_server_is_left(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(hang=True)) as server:
        _, report = go(data, server, limit=2, attempt_timeout=1, timeout=2, max_retries=0)
    assert report.reasons == {"timeout": 2}
    assert sums_match(report)


def test_a_dead_server_is_left(data: Path) -> None:
    with loopback() as server:
        pass
    _, report = go(data, server, limit=2, max_retries=0)
    assert report.reasons == {"connection": 2}


def test_a_larger_run_asks_only_what_is_new(data: Path) -> None:
    with loopback() as server:
        go(data, server, limit=3)
        go(data, server, limit=5)
        assert server.calls == 5
        plan, report = go(data, server, ("rpp",), limit=2)
        assert server.calls == 7
        assert Counter(row["task"] for row in rows_of(plan)) == {"itp": 5, "rpp": 2}
        plan, report = go(data, server, limit=3)
        assert server.calls == 7
        assert report.counts["itp"]["planned"] == 5  # what was answered the same way stays
        go(data, server, limit=3, max_tokens=50)
    assert server.calls == 10  # other parameters are another question


def test_the_number_of_connections_holds(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(delay=0.05)) as server:
        go(data, server, limit=12, max_connections=3)
    assert server.most_at_once == 3


def test_cost_is_counted_and_limited(data: Path) -> None:
    with loopback() as server:
        plan = plan_run(
            "small", data, tasks=("itp",), selection=Selection(limit=8), call=call(server, max_connections=1)
        )
        price = {plan.model: Price(input=10_000, output=50_000)}  # 1 + 1 a call
        report = run(plan, prices=price, cost_limit=3.5)
        assert (server.calls, report.cost, report.stopped) == (2, 4.0, "cost_limit")
        assert report.reasons == {"not_run": 6}
        assert run(plan, prices=price).complete
        assert server.calls == 8
        with pytest.raises(UsageError, match="price"):
            run(plan, cost_limit=1)


@pytest.mark.slow
def test_kill_and_resume_repeat_no_finished_call(data: Path, tmp_path: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(delay=0.1)) as server:
        plan = plan_run("small", data, tasks=("itp",), call=call(server, max_connections=2))
        total = len(plan.requests["itp"])
        command = [sys.executable, "-m", "pipeline", "eval", "-m", "small", "-t", "itp", "--base-url", server.url]
        child = subprocess.Popen(
            [*command, "--data", str(data), "--max-connections", "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        journal = plan.folder / "journal.jsonl"
        deadline = time.monotonic() + 120
        while (not journal.exists() or journal.read_bytes().count(b"\n") < 6) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        finished = len(Journal(journal).read())
        assert 6 <= finished < total
        with journal.open("ab") as torn:
            torn.write(b'{"digest": "hal')
        asked = Counter(server.seen)
        report = run(plan)
        assert report.complete
        assert report.counts["itp"]["answered_before"] == finished
        # Only the calls that were on their way are made twice.
        assert server.calls - asked.total() == total - finished
        assert len(Journal(journal).read()) == total
        assert {row["instance_id"] for row in rows_of(plan)} == {request.id for request in plan.requests["itp"]}


def test_a_journal_outlives_torn_and_foreign_lines(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    made = [Exchange(digest=f"d{at}", instance_id=f"i{at}", replies=(Reply(text="x"),)) for at in range(3)]
    for exchange in made:
        journal.append(exchange)
    for tail in (b'{"digest": "d9", "inst', b"\xff\xfe", b'{"other": 1}\n', b"[]"):
        with (tmp_path / "journal.jsonl").open("ab") as opened:
            opened.write(tail)
        journal.append(made[0])
        assert journal.read() == {exchange.digest: exchange for exchange in made}


def test_wrong_calls_are_told(data: Path) -> None:
    with pytest.raises(UsageError, match="no task"):
        plan_run("baseline/random", data, tasks=("xyz",))
    with pytest.raises(UsageError, match="no baseline"):
        plan_run("baseline/xyz", data)
    with pytest.raises(UsageError, match="provider"):
        plan_run("gpt", data)
    with pytest.raises(UsageError, match="no split"):
        plan_run("baseline/random", data, selection=Selection(split="xyz"))
    with pytest.raises(UsageError, match="conversation"):
        plan_run("baseline/random", data, selection=Selection(conversations=("xyz",)))
    with pytest.raises(PrerequisiteError, match="neither"):
        plan_run("baseline/random", data, options=RenderOptions(mode=Mode.CLIPS))
    with pytest.raises(InputError, match="no table"):
        plan_run("baseline/random", data / "empty")
    with pytest.raises(InputError, match="clip"):
        plan_run("openai/x", data, options=RenderOptions(mode=Mode.CLIPS))


def judged(text: str, _seen: int) -> Behaviour:
    if "Reference:" not in text:
        return Behaviour()
    return Behaviour(text='{"reason": "close", "score": 4, "pairing": 2, "viewpoint": 3}')


def test_judges_are_asked_once_about_valid_answers(data: Path) -> None:
    with loopback(judged) as server:
        plan = plan_run("small", data, tasks=("itp", "er", "vp"), selection=Selection(limit=3), call=call(server))
        run(plan)
        assert server.calls == 9
        graders = Graders(("judge",), repeats=2, base_url=server.url, prices={})
        report = run(plan, graders=graders)
        assert server.calls == 9 + 2 * 6
        assert report.judges["openai-api/server/judge"]["asked"] == 12
        for row in rows_of(plan):
            assert len(row["judgements"] or ()) == (0 if row["task"] == "itp" else 2)
            assert {one["score"] for one in row["judgements"] or ()} <= {4.0, 5.0}
        run(plan, graders=graders)
        run(plan)
        assert server.calls == 9 + 2 * 6
        assert sum(len(row["judgements"] or ()) for row in rows_of(plan)) == 12
        assert read_json(plan.folder / "run.json")["judges"] == ["openai-api/server/judge"]
        # Killed before the table was written: the cache of the calls is still there.
        (plan.folder / "outcomes.parquet").unlink()
        assert run(plan, graders=graders).complete
        assert server.calls == 9 + 2 * 6
    seen = [body["messages"][-1]["content"] for body in server.bodies if body["model"] == "judge"]
    assert not any("The session so far" in text for text in seen)


def test_a_judge_that_fails_leaves_the_run_incomplete(data: Path) -> None:
    def plan_of(text: str, _seen: int) -> Behaviour:
        return Behaviour(status=400) if "Reference:" in text else Behaviour()

    with loopback(plan_of) as server:
        plan = plan_run("small", data, tasks=("er",), selection=Selection(limit=2), call=call(server))
        report = run(plan, graders=Graders(("judge",), base_url=server.url))
    assert report.judges["openai-api/server/judge"]["failed"] == 2
    assert not report.complete
    assert {row["status"] for row in rows_of(plan)} == {"scored"}


@pytest.mark.slow
def test_several_processes_share_a_run(data: Path) -> None:

    told: list[str] = []

    def plan_of(text: str, _seen: int) -> Behaviour:
        return Behaviour(status=400) if hash(text) % 10 == 0 else Behaviour(delay=0.01)

    with loopback(plan_of) as server:
        plan = plan_run("small", data, tasks=("itp", "rpp"), call=call(server, max_connections=5))
        ledger = Ledger(plan.digests, Journal(plan.folder / "journal.jsonl"), on_finished=told.append)
        ask_in_processes(plan, ledger, None, 2)
        assert server.most_at_once <= 5
        ids = [request.id for request in plan.all_requests()]
        assert server.calls == len(ids)
    assert sorted([*ledger.exchanges, *ledger.failures]) == sorted(ids)
    assert set(ledger.failures.values()) <= {"http_400"}
    assert sorted(told) == sorted(ledger.exchanges)
    assert set(Journal(plan.folder / "journal.jsonl").read()) == {ledger.digests[name] for name in ledger.exchanges}


def test_inspect_finds_tasks_and_baselines(data: Path, tmp_path: Path) -> None:
    """As an installed package, by the entry point, from another folder."""
    metadata = tmp_path / "site" / "rescue_entry-0.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rescue-entry\nVersion: 0.0\n")
    (metadata / "entry_points.txt").write_text("[inspect_ai]\nrescue = pipeline.evaluation.registry\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "inspect", "eval", "rescue/rpp", "--model", "baseline/rules", "--limit", "3",
         "--log-dir", "logs", "--display", "plain", "-T", f"data={data}", "-T", "mode=visual"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(metadata.parent)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rpp (3 samples): baseline/rules" in done.stdout
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 1
