"""What the browser plays: ranges, a copy where it is needed, the waveform."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pipeline.media.ffmpeg import binary
from pipeline.media.probe import probe
from pipeline.review.playing import playable, prepare, waveform
from tests.review.made import House, Project


def test_ranges_give_exactly_these_bytes(house: House, recording: Path) -> None:
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann")
    whole = recording.read_bytes()
    path = f"/api/assignments/{work}/media"
    answer = ann.client.get(path)
    assert (answer.status_code, answer.content) == (200, whole)
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-type"] == "video/mp4"
    assert "no-store" in answer.headers["cache-control"]
    part = ann.client.get(path, headers={"Range": "bytes=100-299"})
    assert (part.status_code, part.content) == (206, whole[100:300])
    assert part.headers["content-range"] == f"bytes 100-299/{len(whole)}"
    tail = ann.client.get(path, headers={"Range": "bytes=-50"})
    assert tail.content == whole[-50:]
    assert ann.client.get(path, headers={"Range": f"bytes={len(whole)}-"}).status_code == 416


def test_the_waveform_has_fifty_points_a_second(house: House) -> None:
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann")
    points = ann.client.get(f"/api/assignments/{work}/waveform").content
    duration = ann.get(f"/api/assignments/{work}")["conversation"]["duration"]
    assert abs(len(points) - 50 * duration) <= 2
    tone = points[100:400]
    assert 20 < min(tone) <= max(tone) < 60  # the tone of ffmpeg is an eighth of full scale: 32 of 255
    made = waveform(house.project.workspace("pair"))
    assert made is not None
    stamp = made.stat().st_mtime_ns
    ann.client.get(f"/api/assignments/{work}/waveform")
    assert made.stat().st_mtime_ns == stamp


def test_what_browsers_cannot_play_is_converted_once_and_upright(tmp_path: Path, recording: Path) -> None:
    strange = tmp_path / "strange.mp4"
    subprocess.run(
        [binary("ffmpeg"), "-v", "error", "-i", str(recording), "-c:v", "mpeg4", "-c:a", "copy", str(strange)],
        check=True,
    )
    turned = tmp_path / "turned.mp4"
    subprocess.run(
        [binary("ffmpeg"), "-v", "error", "-display_rotation", "90", "-i", str(strange), "-c", "copy", str(turned)],
        check=False,
    )
    if not turned.is_file():  # an older ffmpeg sets the rotation another way
        subprocess.run(
            [
                binary("ffmpeg"),
                "-v",
                "error",
                "-i",
                str(strange),
                "-c",
                "copy",
                "-metadata:s:v",
                "rotate=90",
                str(turned),
            ],
            check=True,
        )
    project = Project(tmp_path / "project")
    project.add_conversation("turned", recording=turned)
    workspace = project.workspace("turned")
    before = playable(workspace)
    assert before is not None
    assert (before.kind, before.preparing) == ("audio", True)
    thread = prepare(workspace)
    assert thread is not None
    thread.join(60)
    after = playable(workspace)
    assert after is not None
    assert (after.kind, after.preparing) == ("video", False)
    info = probe(after.path)
    assert info.video is not None
    assert (info.video.codec, info.video.rotation) == ("h264", 0)
    assert (info.video.width, info.video.height) == (after.width, after.height) == (120, 160)
    assert abs(info.duration - 11) < 0.2
    assert prepare(workspace) is None


def test_a_conversation_without_a_recording_opens(house: House) -> None:
    house.project.add_conversation("told", annotated=True)
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann", "told", source="annotation")
    shown = ann.get(f"/api/assignments/{work}")
    assert (shown["media"], shown["waveform"], shown["turns"]) == (None, None, [])
    assert len(shown["rows"]) == 4
    assert ann.ask("GET", f"/api/assignments/{work}/media").status_code == 404


def test_a_folder_that_is_gone_says_so(house: House) -> None:
    house.add("ann")
    ann, work = house.browser("ann"), house.assign("ann")
    shutil.rmtree(house.project.raw / "pair")
    error = ann.get(f"/api/assignments/{work}", 422)["error"]
    assert "pair" in error["message"]
    assert str(house.project.folder) not in error["message"]
    assert ann.get("/api/assignments")["assignments"][0]["conversation"]["title"] is None
