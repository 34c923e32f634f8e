"""What the browser plays: ranges, a copy where it is needed, the waveform."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.conversation import save_conversation
from pipeline.errors import InputError
from pipeline.media.ffmpeg import binary
from pipeline.media.probe import probe
from pipeline.media.stations import AudioStation, SourceStation
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


def _served(house: House, work: str) -> tuple[int, int, Any]:
    ann = house.browser("ann")
    media, wave = (ann.ask("GET", f"/api/assignments/{work}/{what}").status_code for what in ("media", "waveform"))
    return media, wave, ann.get(f"/api/assignments/{work}")


def test_a_recording_that_became_a_link_out_of_its_folder_is_not_served(house: House, tmp_path: Path) -> None:
    house.add("ann")
    house.add("boss", "administrator")
    work = house.assign("ann")
    recording = house.project.raw / "pair" / "recording.mp4"
    elsewhere = tmp_path / "elsewhere" / "private.mp4"
    elsewhere.parent.mkdir()
    shutil.move(recording, elsewhere)
    recording.symlink_to(elsewhere)  # even the very same recording: it could be any file of this machine
    media, wave, shown = _served(house, work)
    assert (media, wave, shown["media"], shown["waveform"]) == (404, 404, None, None)
    assert any("link" in note for note in shown["notes"])
    assert str(tmp_path) not in json.dumps(shown)
    assert prepare(house.project.workspace("pair")) is None
    (notes,) = [one["notes"] for one in house.browser("boss").get("/api/conversations")["conversations"]]
    assert "recording.mp4 is a link" in notes[0]
    # A folder that whoever runs it has named, and a link within the conversation's own folder.
    settings = house.project.settings
    section = settings.review.model_copy(update={"linked_folders": (elsewhere.parent,)})
    allowed = replace(house.project.workspace("pair"), settings=settings.model_copy(update={"review": section}))
    assert playable(allowed) is not None
    recording.unlink()
    shutil.move(elsewhere, recording.with_name("real.mp4"))
    recording.symlink_to("real.mp4")
    assert _served(house, work)[:2] == (200, 200)


def test_a_recording_that_was_added_as_a_link_is_served_until_it_leads_elsewhere(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path / "project")
    monkeypatch.setenv("RESCUE_RAW", str(project.raw))
    monkeypatch.setenv("RESCUE_DATA", str(project.settings.data))
    options = ["--id", "pair", "--scenario", "couple", "--participants", "Nora,Daniel", "--link"]
    done = CliRunner().invoke(app, ["add", str(recording), *options])
    assert done.exit_code == 0, done.output
    workspace = project.workspace("pair")
    name = workspace.conversation.media
    assert name is not None
    link = workspace.raw / name
    assert link.is_symlink()
    for station in (SourceStation(), AudioStation()):
        with workspace.locked() as digests:
            station.process(workspace, digests)
    found = playable(workspace)
    assert found is not None
    assert found.path == recording.resolve()
    other = tmp_path / "other.mp4"
    shutil.copy(recording, other)
    link.unlink()
    link.symlink_to(other)
    assert playable(workspace) is None
    assert waveform(workspace) is None


@pytest.mark.parametrize("field", ["subtitles", "annotations"])
def test_no_other_file_is_read_through_a_link_either(house: House, tmp_path: Path, field: str) -> None:
    house.project.add_conversation("told", annotated=True)
    house.add("ann")
    workspace = house.project.workspace("told")
    secret = tmp_path / f"secret.{'srt' if field == 'subtitles' else 'json'}"
    if field == "subtitles":
        secret.write_text("1\n00:00:01,000 --> 00:00:02,000\na secret\n", "utf-8")
        update = {"subtitles": "cues.srt"}
        save_conversation(workspace.raw, workspace.conversation.model_copy(update=update))
        (workspace.raw / "cues.srt").symlink_to(secret)
        work = house.assign("ann", "told", source="annotation")
        shown = house.browser("ann").get(f"/api/assignments/{work}")
        assert shown["cues"] == []
        assert "link" in shown["notes"][0]
        return
    shutil.move(workspace.raw / "annotations.json", secret)
    (workspace.raw / "annotations.json").symlink_to(secret)
    with pytest.raises(InputError, match="link"):
        house.assign("ann", "told", source="annotation")


def test_a_link_to_itself_is_no_recording(house: House) -> None:
    house.add("ann")
    work = house.assign("ann")
    recording = house.project.raw / "pair" / "recording.mp4"
    recording.unlink()
    recording.symlink_to(recording)
    media, wave, shown = _served(house, work)
    assert (media, wave, shown["media"]) == (404, 404, None)
    assert shown["rows"]
