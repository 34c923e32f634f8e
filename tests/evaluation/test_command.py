"""``rescue eval`` as a user calls it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app
from tests.evaluation.loopback import Behaviour, loopback


def rescue(data: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["eval", "--data", str(data), *arguments])


def test_a_dry_run_shows_prompts_and_calls_nothing(data: Path) -> None:
    with loopback() as server:
        done = rescue(data, "-m", "small", "--base-url", server.url, "--dry-run", "--limit", "2", "--json")
        assert server.calls == 0
    shown = json.loads(done.stdout)["dry_run"][0]
    assert len(shown["prompts"]) == 3
    assert shown["requests"] == dict.fromkeys(("itp", "rpp", "stp", "ssp", "er", "vp"), 2)
    assert shown["estimated_input_tokens"] > 12 * 100
    assert not (data / "evaluation").exists()
    people = rescue(data, "-m", "baseline/random", "--dry-run", "--limit", "2")
    assert "The session so far:" in people.stdout
    assert people.stdout.rstrip().endswith("nothing was asked")


def test_models_and_modes_run_after_one_another(data: Path) -> None:
    done = rescue(
        data, "-m", "baseline/random", "-m", "baseline/rules", "--mode", "dialogue", "--mode", "audio", "-t", "itp",
        "--limit", "3", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    runs = json.loads(done.stdout)["runs"]
    assert [(run["model"], run["mode"]) for run in runs] == [
        (model, mode) for model in ("baseline/random", "baseline/rules") for mode in ("dialogue", "audio")
    ]
    assert len(list(data.glob("evaluation/*/*/outcomes.parquet"))) == 4


def test_a_failed_instance_is_exit_code_1(data: Path) -> None:
    with loopback(lambda _text, _seen: Behaviour(status=400)) as server:
        done = rescue(data, "-m", "small", "--base-url", server.url, "-t", "itp", "--limit", "2")
    assert done.exit_code == 1
    assert "http_400 2" in done.output
    assert "incomplete" in done.output


def test_the_cost_is_in_the_table(data: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai-api/server/small: {input: 10, output: 50}\n")
    with loopback() as server:
        done = rescue(
            data, "-m", "small", "--base-url", server.url, "-t", "itp", "--limit", "2", "--prices", str(prices)
        )
    assert "0.0040" in done.output


def test_no_dialogue_outside_the_data_folder(data: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    with loopback(lambda _text, _seen: Behaviour(status=400)) as server:
        command = [sys.executable, "-m", "pipeline", "eval", "-m", "small", "--base-url", server.url, "-t", "itp"]
        subprocess.run(
            [*command, "--data", str(data), "--limit", "2"], env=environment, capture_output=True, check=False
        )
        assert server.calls == 2
    for file in home.rglob("*"):
        if file.is_file():
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            assert b"session" not in content, file


@pytest.mark.parametrize("arguments", [("-m", "gpt"), ("-m", "baseline/x"), ("-m", "baseline/random", "-t", "x")])
def test_wrong_usage_names_the_way_out(data: Path, arguments: tuple[str, ...]) -> None:
    done = rescue(data, *arguments)
    assert done.exit_code != 0
    assert done.exception.exit_code == 2
    assert done.exception.hint
