"""Drafts against a server with the faults of real ones."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.annotation.adjudicate import adjudicate
from pipeline.annotation.io import read_annotation, save_annotation
from pipeline.annotation.model import Annotation, Status
from pipeline.annotation.versions import read_versions
from pipeline.drafts.run import DraftOptions, DraftReport, Plan, draft, estimate, plan_drafts
from pipeline.errors import InputError, PrerequisiteError, UsageError
from pipeline.evaluation.cost import Price
from pipeline.evaluation.plan import Call
from pipeline.station import Workspace
from tests.drafts.made import Change, answer, rows_for, workspace
from tests.evaluation.loopback import Behaviour, Loopback, loopback

MODEL = "openai-api/server/small"
FILE = "model~3aopenai-api~2fserver~2fsmall.json"
PRICES = {MODEL: Price(input=10, output=50)}


def planned(made: Workspace, server: Loopback, window: int = 40, **options: Any) -> Plan:
    call = Call(
        base_url=server.url,
        max_retries=options.pop("max_retries", 2),
        timeout=options.pop("timeout", 20),
        attempt_timeout=options.pop("attempt_timeout", 5),
        structured=options.pop("structured", True),
    )
    return plan_drafts([made], "small", call, DraftOptions(window=window, **options))


def go(made: Workspace, server: Loopback, window: int = 40, **options: Any) -> DraftReport:
    (report,) = draft(planned(made, server, window, **options))
    return report


def written(made: Workspace, name: str = FILE) -> Annotation:
    return read_annotation(made.raw / "annotations" / name)


def good(*_: Any) -> Behaviour:
    return Behaviour(text=answer())


def then_good(first: Change | Behaviour) -> Callable[[str, int], Behaviour]:
    """A first answer that is wrong, and a right one to what is said about it."""

    def plan(text: str, seen: int) -> Behaviour:
        if text.startswith("The rows were checked") or seen:
            return good()
        return first if isinstance(first, Behaviour) else Behaviour(text=answer(first))

    return plan


def test_a_good_answer_is_a_draft_beside_the_others(tmp_path: Path) -> None:
    made = workspace(tmp_path, 12)
    with loopback(good) as server:
        report = go(made, server, window=5)
    assert (report.complete, report.file, report.windows, report.finished) == (True, FILE, 3, 3)
    assert (report.calls, report.repairs, report.rows) == (3, 0, 12)
    assert report.findings == {"error": 0, "warning": 0, "info": 0}
    draft_made = written(made)
    assert [row.row_index for row in draft_made.rows] == list(range(1, 13))
    assert draft_made.rows[1].primary_speaker == "Nora"
    origin = draft_made.origin
    assert origin is not None
    assert (origin.author, origin.status, origin.model) == (f"model:{MODEL}", Status.DRAFT, MODEL)
    assert len(origin.prompt_digest or "") == 64
    # It is a version like any other, and neither the annotation of the conversation nor a voice in adjudication.
    (version,) = read_versions(made.raw, made.conversation)
    assert version.annotation.rows == draft_made.rows
    with pytest.raises(InputError, match="reviewed"):
        adjudicate([version, version])
    assert made.conversation.annotations is None


def test_what_is_sent_is_the_closed_form_of_a_row(tmp_path: Path) -> None:
    with loopback(good) as server:
        go(workspace(tmp_path), server)
    (body,) = server.bodies
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True
    row = form["schema"]["properties"]["rows"]["items"]
    assert row["required"] == list(row["properties"])
    assert row["additionalProperties"] is False
    assert row["properties"]["primary_speaker"]["enum"] == ["Nora", "Daniel", "Therapist"]
    assert row["properties"]["target"]["items"]["enum"] == ["Nora", "Daniel", "Therapist", "Couple"]
    move = row["properties"]["support_strategy"]["items"]["properties"]
    assert "detach" in move["strategy_type"]["enum"]
    # What nobody sees or hears in a text is not asked for.
    assert not {"tone_of_voice", "facial_expressions", "relation_cycle_state"} & set(row["properties"])


def test_later_windows_know_how_the_earlier_ended(tmp_path: Path) -> None:
    with loopback(good) as server:
        go(workspace(tmp_path, 12), server, window=6, context=2)
    second = server.bodies[1]["messages"][-1]["content"]
    assert "SPEAKER_01 was mostly Nora" in second
    assert "row 6," in second
    assert "The first row has row_index 7." in second
    before = second.split("Turns before, for context only:")[1].split("The turns to annotate")[0]
    assert before.count("SPEAKER_") == 2


@pytest.mark.parametrize(
    ("wrap", "calls"),
    [
        pytest.param(lambda text: f"Here it is:\n```json\n{text}\n```", 1, id="fenced"),
        pytest.param(lambda text: f"<think>Who is who?</think>{text}", 1, id="thinking"),
        pytest.param(lambda text: text[:-1] + ",}", 1, id="a comma too many"),
    ],
)
def test_an_answer_is_read_as_answers_are(tmp_path: Path, wrap: Callable[[str], str], calls: int) -> None:
    made = workspace(tmp_path)
    with loopback(lambda _text, _seen: Behaviour(text=lambda body: wrap(answer()(body)))) as server:
        report = go(made, server)
    assert (report.complete, report.rows, report.calls) == (True, 12, calls)


@pytest.mark.parametrize("text", ["Nothing to say.", '{"rows": "none"}', '{"rows": [1, 2]}', '{"row": []}'])
def test_what_is_no_answer_is_asked_again(tmp_path: Path, text: str) -> None:
    made = workspace(tmp_path)
    with loopback(then_good(Behaviour(text=text))) as server:
        report = go(made, server)
    assert (report.complete, report.rows, report.calls, report.repairs) == (True, 12, 2, 1)


def _wrong_name(rows: list[dict[str, Any]]) -> None:
    rows[1]["target"] = ["Dr. Weiss"]


def _wrong_label(rows: list[dict[str, Any]]) -> None:
    rows[1]["utterance_type"] = "complaint"


def _wrong_shape(rows: list[dict[str, Any]]) -> None:
    rows[2]["internal_emotion"] = [{"person": "Daniel"}]


def _outside_the_clip(rows: list[dict[str, Any]]) -> None:
    rows[3]["end_time"] = 999999.0


def _backwards(rows: list[dict[str, Any]]) -> None:
    rows[3]["start_time"], rows[3]["end_time"] = rows[3]["end_time"], rows[3]["start_time"]


def _one_left_out(rows: list[dict[str, Any]]) -> None:
    del rows[4]


def _half_a_character(rows: list[dict[str, Any]]) -> None:
    rows[0]["dialogue_cleaned"] = "\ud83d"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_wrong_name, "'Dr. Weiss' is nobody in this conversation"),
        (_wrong_label, "'complaint' is no label"),
        (_wrong_shape, "internal_emotion.0.emotion_description: the row is left out"),
        (_outside_the_clip, "the turns at"),
        (_backwards, "not after its start"),
        (_one_left_out, "no row has the words of turn 5"),
        (_half_a_character, "half of a character"),
    ],
)
def test_what_is_wrong_is_told_and_repaired(tmp_path: Path, change: Change, told: str) -> None:
    made = workspace(tmp_path)
    with loopback(then_good(change)) as server:
        report = go(made, server)
    assert (report.calls, report.repairs, report.rows) == (2, 1, 12)
    assert report.findings == {"error": 0, "warning": 0, "info": 0}
    first, second = server.bodies
    assert told in second["messages"][-1]["content"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][:2] == first["messages"]


def test_what_stays_wrong_is_kept_as_a_draft_and_reported(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def both(rows: list[dict[str, Any]]) -> None:
        _backwards(rows)
        _wrong_name(rows)

    def plan(_text: str, _seen: int) -> Behaviour:
        # The second repair is worse again: the better answer stays.
        return Behaviour(text=answer(_backwards if server.calls == 1 else both))

    with loopback(plan) as server:
        report = go(made, server)
    assert (report.complete, report.calls, report.repairs) == (True, 3, 2)
    assert report.findings["error"] == 1
    assert [(one.rule, one.row) for one in report.listed if one.severity == "error"] == [("time-order", 4)]
    assert written(made).rows[1].target == ("Therapist",)


def test_of_equal_answers_the_last_stays(tmp_path: Path) -> None:
    def plan(_text: str, _seen: int) -> Behaviour:
        number = server.calls

        def change(rows: list[dict[str, Any]]) -> None:
            _backwards(rows)
            rows[0]["dialogue_cleaned"] = f"attempt {number}"

        return Behaviour(text=answer(change))

    made = workspace(tmp_path)
    with loopback(plan) as server:
        assert go(made, server).calls == 3
    assert written(made).rows[0].dialogue_cleaned == "attempt 2"  # counted from 0


def test_a_finding_belongs_to_its_window_alone(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def plan(text: str, _seen: int) -> Behaviour:
        return good() if "row_index 7." in text else Behaviour(text=answer(_backwards))

    with loopback(plan) as server:
        report = go(made, server, window=6)
    assert (report.calls, report.repairs, report.rows) == (4, 2, 12)
    assert report.findings["error"] == 1


def test_a_row_of_an_earlier_window_is_told(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def early(rows: list[dict[str, Any]]) -> None:
        rows[0]["start_time"] = 1.0

    def plan(text: str, _seen: int) -> Behaviour:
        return Behaviour(text=answer(early if "row_index 7." in text else None))

    with loopback(plan) as server:
        report = go(made, server, window=6)
    assert (report.calls, report.repairs) == (3, 1)
    assert "row 7, start_time: lies at 1-" in server.bodies[2]["messages"][-1]["content"]


def test_a_row_that_is_none_is_left_out_with_its_finding(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def change(rows: list[dict[str, Any]]) -> None:
        _wrong_shape(rows)
        rows[5]["relation_pattern_evidence_rows"] = [1, 5]

    with loopback(lambda _text, _seen: Behaviour(text=answer(change))) as server:
        report = go(made, server)
    assert report.rows == 11
    assert {one.rule for one in report.listed} >= {"shape", "turn-left-out"}
    # Rows behind it are numbered on, and what points to them with them.
    assert written(made).rows[4].relation_pattern_evidence_rows == (1, 4)


def test_fields_that_were_not_shown_are_left_out_with_a_finding(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def change(rows: list[dict[str, Any]]) -> None:
        rows[0]["tone_of_voice"] = "warm"

    with loopback(lambda _text, _seen: Behaviour(text=answer(change))) as server:
        report = go(made, server, structured=False)
    assert (report.calls, report.findings["warning"]) == (1, 1)
    assert written(made).rows[0].tone_of_voice is None
    assert "response_format" not in server.bodies[0]


def test_a_refusal_is_taken_as_it_is(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(lambda _text, _seen: Behaviour(text="I'm sorry, I cannot help with that.")) as server:
        report = go(made, server)
    assert (report.complete, report.failure, report.calls) == (False, "refused", 1)
    assert not (made.raw / "annotations").exists()


def test_an_answer_that_was_cut_off_is_not_repaired(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    cut = Behaviour(text=lambda body: answer()(body)[:-40], finish="length")
    with loopback(lambda _text, _seen: cut) as server:
        report = go(made, server)
    assert (report.complete, report.failure, report.calls) == (False, "ran_out_of_tokens", 1)


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 500])
def test_a_busy_server_is_asked_again(tmp_path: Path, status: int) -> None:
    busy = Behaviour(status=status, headers={"retry-after": "0.05"})
    with loopback(lambda _text, seen: good() if seen else busy) as server:
        report = go(workspace(tmp_path), server)
    assert (report.complete, report.calls, server.calls) == (True, 1, 2)


@pytest.mark.parametrize(("status", "reason"), [(500, "server_error"), (429, "rate_limited"), (400, "http_400")])
def test_a_server_that_fails_leaves_no_draft(tmp_path: Path, status: int, reason: str) -> None:
    made = workspace(tmp_path)
    with loopback(lambda text, _seen: good() if "row_index 1." in text else Behaviour(status=status)) as server:
        report = go(made, server, window=6, max_retries=0)
        assert (report.complete, report.failure, report.finished) == (False, reason, 1)
        assert not (made.raw / "annotations").exists()
        server.plan = good
        report = go(made, server, window=6)
    assert (report.complete, report.calls, report.answered_before) == (True, 1, 1)


def test_a_silent_server_is_left(tmp_path: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(hang=True)) as server:
        started = time.perf_counter()
        report = go(workspace(tmp_path), server, timeout=2, attempt_timeout=1, max_retries=0)
    assert (report.complete, report.failure) == (False, "timeout")
    assert time.perf_counter() - started < 10


def test_a_wrong_key_stops_all(tmp_path: Path) -> None:
    one, two = (workspace(tmp_path, id=name) for name in ("one", "two"))
    with loopback(lambda _text, _seen: Behaviour(status=401)) as server:
        call = Call(base_url=server.url, max_retries=0, max_connections=1)
        reports = draft(plan_drafts([one, two], "small", call, DraftOptions(window=6)))
        assert server.calls == 1
    assert [report.failure for report in reports] == ["unauthorized", "not_run"]


def test_a_second_call_asks_nothing_and_changes_nothing(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(good) as server:
        go(made, server, window=6)
        path = made.raw / "annotations" / FILE
        # The time of a draft is when its rows came to be.
        path.write_text(re.sub(r'"time": "\d+', '"time": "2020', path.read_text()))
        before = path.read_bytes()
        plan = planned(made, server, window=6)
        assert estimate(plan, None).windows == 0
        assert estimate(plan, None, fresh=True).windows == 2
        (report,) = draft(plan)
        assert (report.complete, report.calls, report.answered_before, server.calls) == (True, 0, 2, 2)
        assert path.read_bytes() == before
        (report,) = draft(plan, fresh=True)
    assert (report.calls, server.calls) == (2, 4)


@pytest.mark.slow
def test_kill_and_resume_repeat_no_finished_window(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(lambda text, _seen: good() if "row_index 1." in text else Behaviour(hang=True)) as server:
        command = [sys.executable, "-m", "pipeline", "draft", "role_play", "--model", "small"]
        root = Path(__file__).resolve().parent.parent.parent
        child = subprocess.Popen(
            [*command, "--base-url", server.url, "--window", "4"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 60
        while server.calls < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert server.calls == 2, (child.stderr.read() if child.stderr else b"").decode()
        assert not (made.raw / "annotations").exists()
        journal = next((made.data / "drafts").glob("*.jsonl"))
        with journal.open("ab") as opened:
            opened.write(b'{"digest": "torn')
        server.plan = good
        report = go(made, server, window=4, timeout=1800, attempt_timeout=600)
    assert (report.complete, report.rows, report.answered_before, report.calls) == (True, 12, 1, 2)
    assert sorted(server.seen.values()) == [1, 1, 2]  # only the window under way was asked twice


def test_work_of_a_person_is_never_overwritten(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    path = made.raw / "annotations" / FILE
    with loopback(good) as server:
        go(made, server)
        found = read_annotation(path)
        edited = found.rows[0].model_copy(update={"dialogue_cleaned": "So, where shall we begin?"})
        save_annotation(path, found.model_copy(update={"rows": (edited, *found.rows[1:])}))
        kept = path.read_bytes()
        with pytest.raises(InputError, match="edited since") as raised:
            go(made, server)
        assert "--as NAME" in (raised.value.hint or "")
        assert path.read_bytes() == kept
        report = go(made, server, name="second try")
        assert report.file == "second~20try.json"
        assert report.calls == 0  # a name is no reason to ask again
    assert written(made, "second~20try.json").origin.author == "second try"  # type: ignore[union-attr]


@pytest.mark.parametrize("status", [Status.REVIEWED, Status.ADJUDICATED])
def test_a_draft_that_a_person_has_verified_is_theirs(tmp_path: Path, status: Status) -> None:
    made = workspace(tmp_path)
    path = made.raw / "annotations" / FILE
    with loopback(good) as server:
        go(made, server)
        found = read_annotation(path)
        assert found.origin is not None
        save_annotation(path, found.model_copy(update={"origin": found.origin.model_copy(update={"status": status})}))
        with pytest.raises(InputError, match="a person's annotation"):
            go(made, server)


@pytest.mark.parametrize(
    ("name", "content"),
    [("anna.json", "notes"), ("anna.json", '{"rows": []}'), ("anna.eaf", "<eaf/>"), ("Anna.csv", "a,b")],
)
def test_any_file_of_the_name_stays(tmp_path: Path, name: str, content: str) -> None:
    made = workspace(tmp_path)
    path = made.raw / "annotations" / name
    path.parent.mkdir()
    path.write_text(content)
    with loopback(good) as server:
        with pytest.raises(InputError, match=r"that name|another file|no draft"):
            go(made, server, name="anna")
        assert server.calls == 0
    assert path.read_text() == content


def test_a_name_that_was_taken_meanwhile_loses_nothing(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    path = made.raw / "annotations" / "anna.json"

    def plan(_text: str, _seen: int) -> Behaviour:
        path.parent.mkdir(exist_ok=True)
        path.write_text("a person's")
        return good()

    with loopback(plan) as server:
        report = go(made, server, name="anna")
        assert (report.complete, report.failure) == (False, "place_taken")
        assert path.read_text() == "a person's"
        assert go(made, server, name="ben").calls == 0


def test_the_drafts_of_two_models_do_not_mix(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(good) as server:
        go(made, server, name="draft")
        with pytest.raises(InputError, match="a draft of openai-api/server/small"):
            plan_drafts([made], "large", Call(base_url=server.url), DraftOptions(name="draft"))


def test_the_annotation_of_the_conversation_is_not_replaced(tmp_path: Path) -> None:
    made = workspace(tmp_path, annotations=f"annotations/{FILE}")
    with loopback(good) as server, pytest.raises(InputError, match="the annotation of the conversation"):
        go(made, server)


def test_cost_is_counted_and_limited(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(good) as server:
        plan = planned(made, server, window=4)
        expected = estimate(plan, PRICES[MODEL])
        assert (expected.windows, expected.pictures) == (3, 0)
        assert expected.cost == pytest.approx(expected.input_tokens * 1e-5 + expected.output_tokens * 5e-5)
        # A window costs 0.002 here: the second one reaches the limit and is finished.
        (report,) = draft(plan, prices=PRICES, cost_limit=0.003)
        assert (report.complete, report.failure, report.calls) == (False, "not_run", 2)
        assert report.cost == pytest.approx(0.004)
        assert (report.input_tokens, report.output_tokens) == (200, 40)
        (report,) = draft(plan, prices=PRICES, cost_limit=0.003)
        assert (report.complete, report.calls, report.cost) == (True, 1, pytest.approx(0.002))
        calls = server.calls
        (report,) = draft(plan, prices=PRICES, cost_limit=0, fresh=True)
        assert (report.failure, server.calls) == ("not_run", calls)
        with pytest.raises(UsageError, match="price"):
            draft(plan, cost_limit=1)


def test_refused_answers_are_paid_for_too(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with loopback(lambda _text, _seen: Behaviour(text="Nothing.")) as server:
        (report,) = draft(planned(made, server), prices=PRICES)
    assert (report.failure, report.calls, report.cost) == ("invalid_response_format", 3, pytest.approx(0.006))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"scenario": None, "therapist": None}, "couple or a family"), ({"participants": []}, "who takes part")],
)
def test_what_a_draft_needs_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    made = workspace(tmp_path, **changes)
    with pytest.raises(InputError, match=message) as raised:
        plan_drafts([made], "openai/gpt-4o", Call(), DraftOptions())
    assert "conversation.yaml" in (raised.value.hint or "")


def test_wrong_calls_are_told(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    with pytest.raises(UsageError, match="no language model"):
        plan_drafts([made], "baseline/rules", Call(), DraftOptions())
    with pytest.raises(PrerequisiteError, match="no pictures"):
        plan_drafts([made], "groq/llama", Call(), DraftOptions(frames=1))
    with pytest.raises(InputError, match="no recording"):
        plan_drafts([made], "openai/gpt-4o", Call(), DraftOptions(frames=1))
    made.artifact("turns.parquet").unlink()
    with pytest.raises(InputError, match="no turns") as raised:
        plan_drafts([made], "openai/gpt-4o", Call(), DraftOptions())
    assert raised.value.hint == "rescue build role_play"


def test_a_conversation_without_a_therapist_has_no_support(tmp_path: Path) -> None:
    made = workspace(tmp_path, therapist=False)
    with loopback(good) as server:
        plan = planned(made, server)
    prompt = plan.works[0].prompt(plan.works[0].windows[0], ())
    assert "support_strategy" not in prompt.user + prompt.system + json.dumps(prompt.schema)


def test_subtitles_are_shown_and_kept_to(tmp_path: Path) -> None:
    made = workspace(tmp_path, 4, subtitles="talk.srt")
    (made.raw / "talk.srt").write_text(
        "1\n00:00:01,000 --> 00:00:05,000\nTherapist: So, you two came in without looking at each other.\n\n"
        "2\n00:00:05,000 --> 00:00:05,600\nWhere shall we begin?\n\n"
        "3\n00:00:06,211 --> 00:00:11,002\nAsk him about Friday, please. He was an hour late as ever.\n\n"
        "4\n00:00:11,100 --> 00:00:20,000\nI was on a call. There was no call. I could see you from the kitchen, "
        "Daniel, sitting there in the dark with your hands in your lap.\n"
    )

    def corrected(rows: list[dict[str, Any]]) -> None:
        rows[1]["dialogue_cleaned"] = "Ask him about Friday, please. He was an hour late as ever."

    def plan(text: str, _seen: int) -> Behaviour:
        return Behaviour(text=answer(corrected if text.startswith("The rows were checked") else None))

    with loopback(plan) as server:
        report = go(made, server)
    assert (report.complete, report.repairs) == (True, 1)
    assert "1.00-5.00 Therapist: So, you two" in server.bodies[0]["messages"][-1]["content"]
    assert "5.00-5.60 Where shall we begin?" in server.bodies[0]["messages"][-1]["content"]
    told = server.bodies[1]["messages"][-1]["content"]
    assert "is in no row" in told
    assert "words are not in the subtitles" in told
    assert report.findings["warning"] == 0


def test_pictures_go_under_their_turns(tmp_path: Path) -> None:
    made = workspace(tmp_path, 4, media="role_play.mp4")
    source = Path(__file__).resolve().parent.parent.parent / "raw_video" / "role_play" / "role_play.mp4"
    (made.raw / "role_play.mp4").symlink_to(source)

    def seen(rows: list[dict[str, Any]]) -> None:
        rows[0]["facial_expressions"] = [{"person": "Nora", "description": "looks at the floor"}]

    with loopback(lambda _text, _seen: Behaviour(text=answer(seen))) as server:
        assert go(made, server, frames=1).complete
    parts = server.bodies[0]["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", *["text", "image_url"] * 4]
    assert parts[1]["text"] == "Turn 1:"
    assert parts[2]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    assert written(made).rows[0].facial_expressions[0].person == "Nora"


def test_the_whole_role_play_comes_through(tmp_path: Path) -> None:
    made = workspace(tmp_path, 51)
    with loopback(good) as server:
        report = go(made, server, window=20)
    assert (report.complete, report.rows, report.windows, report.findings["error"]) == (True, 51, 3, 0)
    assert rows_for(server.bodies[0])[0]["row_index"] == 1


def test_two_processes_do_not_draft_the_same(tmp_path: Path) -> None:
    made = workspace(tmp_path)

    def plan(_text: str, _seen: int) -> Behaviour:
        code = (
            "import sys; from filelock import FileLock, Timeout\n"
            "try: FileLock(sys.argv[1], timeout=0).acquire()\n"
            "except Timeout: sys.exit(7)"
        )
        lock = next((made.data / "drafts").glob(".*.lock"))
        held.append(subprocess.run([sys.executable, "-c", code, str(lock)], check=False).returncode)
        return good()

    held: list[int] = []
    with loopback(plan) as server:
        assert go(made, server).complete
    assert held == [7]
