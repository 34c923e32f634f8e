"""``rescue draft`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.drafts.run import receiver
from pipeline.errors import PrerequisiteError
from tests.drafts.made import answer, workspace
from tests.evaluation.loopback import Behaviour, Loopback, loopback

PRICES = "openai-api/server/small: {input: 10, output: 50}\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workspace(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)


def rescue(server: Loopback, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["draft", "role_play", "-m", "small", "--base-url", server.url, *arguments])


def good(*_: Any) -> Behaviour:
    return Behaviour(text=answer())


def test_a_dry_run_shows_what_would_be_sent_and_calls_nothing(tmp_path: Path) -> None:
    with loopback(good) as server:
        people = rescue(server, "--dry-run", "--window", "5", "--prices", "prices.yaml")
        told = json.loads(rescue(server, "--dry-run", "--window", "5", "--json").stdout)["dry_run"]
        assert server.calls == 0
    assert people.exit_code == 0, people.output
    assert "You draft the annotation of a couple therapy session" in people.stdout
    assert "to ask: 3 windows, about" in people.stdout
    assert "in the currency of the price file" in people.stdout
    assert people.stdout.rstrip().endswith("nothing was asked")
    assert told["by_conversation"]["role_play"][-1] == {"window": 3, "turns": [9, 12]}
    assert told["input_tokens"] > 3 * 1000
    assert told["cost"] is None
    assert not (tmp_path / "data" / "conversations" / "role_play" / "drafts").exists()
    assert not (tmp_path / "raw_video" / "role_play" / "annotations").exists()


def test_it_says_who_reads_the_words_before_and_what_it_cost_after() -> None:
    with loopback(good) as server:
        done = rescue(server, "--window", "5", "--prices", "prices.yaml")
        host = server.url.removeprefix("http://").removesuffix("/v1")
    assert done.exit_code == 0, done.output
    assert f"the words of 1 conversation go to the server {host}: 3 windows" in done.stderr
    assert "0.0060" in done.stdout
    assert "draft in annotations/model~3aopenai-api~2fserver~2fsmall.json" in done.stdout


def test_nothing_is_drafted_without_a_model() -> None:
    done = CliRunner().invoke(app, ["draft", "role_play"])
    assert done.exit_code == 2
    assert "--model" in done.output


def test_a_draft_that_fails_is_exit_code_1_with_a_way_out() -> None:
    with loopback(lambda _text, _seen: Behaviour(finish="length", text='{"rows": [')) as server:
        done = rescue(server)
        told = json.loads(rescue(server, "--json").stdout)
    assert done.exit_code == 1
    assert "no draft, window 1: ran_out_of_tokens" in done.stderr
    assert "--max-tokens" in done.stderr
    (report,) = told["drafts"]
    assert (report["complete"], report["failure"], report["file"]) == (False, "ran_out_of_tokens", None)


def test_errors_that_stay_are_listed() -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[3]["end_time"] = rows[3]["start_time"]

    with loopback(lambda _text, _seen: Behaviour(text=answer(change))) as server:
        done = rescue(server)
    assert done.exit_code == 0
    assert "row 4, end_time: ends at" in done.stdout
    assert "1 error" in done.stdout


def test_a_taken_name_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "raw_video" / "role_play" / "annotations"
    folder.mkdir()
    (folder / "anna.json").write_text('{"rows": []}')
    with loopback(good) as server:
        done = rescue(server, "--as", "anna")
        assert server.calls == 0
    assert done.exit_code == 1
    assert "--as NAME" in str(done.exception)


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = CliRunner().invoke(app, ["draft", "role_play", "-m", "openai/gpt-4o"])
    assert isinstance(done.exception, PrerequisiteError)
    assert "OPENAI_API_KEY" in done.exception.message


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, "the provider openai"),
        ("http://127.0.0.1:8000/v1", "the server 127.0.0.1:8000"),
        ("https://user:secret@llm.example.org/v1?key=secret", "the server llm.example.org"),
    ],
)
def test_the_receiver_is_named_without_secrets(url: str | None, told: str) -> None:
    assert receiver("openai/gpt-4o", url) == told


def test_a_server_from_the_provider_s_own_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(good) as server:
        monkeypatch.setenv("SOME_BASE_URL", server.url)
        monkeypatch.setenv("SOME_API_KEY", "secret")
        monkeypatch.setenv("RESCUE_API_KEY", "secret")
        done = CliRunner().invoke(app, ["draft", "role_play", "-m", "openai-api/some/small"])
        host = server.url.removeprefix("http://").removesuffix("/v1")
    assert done.exit_code == 0, done.output
    assert f"go to the server {host}" in done.stderr
    assert "secret" not in done.output
