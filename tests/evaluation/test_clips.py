"""Row clips go to the model as pictures and sound."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError, PrerequisiteError
from pipeline.evaluation.clips import Clips, takes
from pipeline.evaluation.instances import Benchmark, Selection
from pipeline.evaluation.plan import Call, Plan, plan_run
from pipeline.evaluation.run import run
from pipeline.keys import key_of
from pipeline.media.ffmpeg import binary
from pipeline.tasks.render import Mode, RenderOptions
from tests.evaluation.loopback import loopback

OPTIONS = RenderOptions(mode=Mode.CLIPS, context_size=2)


@pytest.fixture
def clips(data: Path) -> Path:
    """A data folder in which every row of the first instance's conversation has a clip."""
    first = Benchmark(data / "benchmark").instances("er", Selection(limit=1))[0]["conversation_id"]
    folder = data / "conversations" / key_of(first) / "clips"
    folder.mkdir(parents=True)
    made = folder / "1.mp4"
    subprocess.run(
        [binary("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=640x360:rate=10",
         "-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-pix_fmt", "yuv420p", str(made)],
        check=True,
    )  # fmt: skip
    for row in range(2, 200):
        (folder / f"{row}.mp4").hardlink_to(made)
    return data


def plan_of(data: Path, url: str) -> Plan:
    return plan_run(
        "small", data, tasks=("er",), selection=Selection(limit=1), options=OPTIONS, call=Call(base_url=url), frames=2
    )


def parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = body["messages"][-1]["content"]
    return content


def test_pictures_and_sound_follow_the_text(clips: Path) -> None:
    with loopback() as server:
        report = run(plan_of(clips, server.url))
    assert report.complete
    kinds = [part["type"] for part in parts_of(server.bodies[0])]
    assert kinds == ["text", *["text", "image_url", "image_url", "input_audio"] * 3]
    picture = next(part for part in parts_of(server.bodies[0]) if part["type"] == "image_url")["image_url"]["url"]
    assert base64.b64decode(picture.partition(",")[2]).startswith(b"\xff\xd8")
    sound = next(part for part in parts_of(server.bodies[0]) if part["type"] == "input_audio")["input_audio"]
    assert base64.b64decode(sound["data"].rpartition(",")[2]).startswith(b"RIFF")


def test_another_clip_is_another_question(clips: Path) -> None:
    with loopback() as server:
        plan = plan_of(clips, server.url)
        run(plan)
        run(plan)
        assert server.calls == 1
        clip = plan.requests["er"][0].media[-1]
        content = clip.read_bytes()
        clip.unlink()
        clip.write_bytes(content + b"\0" * 8)
        run(plan_of(clips, server.url))
    assert server.calls == 2


def test_no_bytes_of_media_in_the_log_or_the_journal(clips: Path) -> None:
    with loopback() as server:
        plan = plan_of(clips, server.url)
        run(plan)
    assert all(path.stat().st_size < 60_000 for path in (plan.folder / "logs").iterdir())
    assert (plan.folder / "journal.jsonl").stat().st_size < 2_000


def test_a_clip_without_sound_sends_pictures(clips: Path, tmp_path: Path) -> None:
    silent = tmp_path / "silent.mp4"
    source = ["-f", "lavfi", "-i", "testsrc=duration=0.2:size=64x64:rate=5", "-pix_fmt", "yuv420p"]
    subprocess.run([binary("ffmpeg"), "-v", "error", *source, str(silent)], check=True)
    request = plan_of(clips, "http://127.0.0.1:1/v1").requests["er"][0]
    one = type(request)(request.instance, request.prompt, request.tenth, request.rows, (silent,) * len(request.media))
    assert {part.type for part in Clips(takes("openai"), 1)(one)} == {"text", "image"}


def test_a_broken_clip_is_told(clips: Path) -> None:
    plan = plan_of(clips, "http://127.0.0.1:1/v1")
    clip = plan.requests["er"][0].media[0]
    clip.unlink()
    clip.write_bytes(b"no clip")
    with pytest.raises(InputError, match=r"1|2|3"):
        Clips(takes("openai"))(plan.requests["er"][0])


def test_what_providers_take() -> None:
    assert takes("google") == {"video"}
    assert takes("anthropic") == {"frames"}
    assert takes("openai-api") == {"frames", "sound"}
    assert takes("openai-api", sound=False) == {"frames"}
    for provider in ("baseline", "mockllm", "hf"):
        with pytest.raises(PrerequisiteError, match="neither"):
            takes(provider)
