"""The clip of a scene begins and ends with the right frame and sound, at the scene's own speed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.locate.align import Fit, Part
from pipeline.locate.cut import ScenePlan, cut_scene, plan_scene, suffix_of
from pipeline.media.probe import probe
from tests.locate.made import scene
from tests.media.made import make
from tests.media.test_clips import SECONDS, frames, hertz, numbered, onset_of, pitches, seconds_of

PAL = Fraction(25, 24)


def fit(*parts: Part, speed: Fraction = Fraction(1)) -> Fit:
    return Fit(0, parts, speed, 1.0, (1.0,), (1.0,), 9, 0.0)


def cut(recording: Path, found: Fit, end: float, target: Path) -> ScenePlan:
    info = probe(recording)
    plan = plan_scene(found, scene("x", [(0.0, end, "so")]), info, info.duration)
    cut_scene(recording, info, info.audio[0], plan, target)
    return plan


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds whose frames show their number, 25 a second."""
    return numbered(tmp_path_factory.mktemp("steady") / "episode.mp4")


AGAIN = {
    "mp4": ("-c", "copy"),
    "mkv": ("-c", "copy"),  # begins with the sound's run-in, so that the picture is later
    "ts": ("-c", "copy"),  # its clock starts at 1.4 s
    "avi": ("-c:v", "mpeg4", "-q:v", "2", "-c:a", "pcm_s16le"),
}


@pytest.mark.parametrize("form", AGAIN)
def test_frames_and_sound_are_those_of_the_place(steady: Path, tmp_path: Path, form: str) -> None:
    recording = make(tmp_path / f"episode.{form}", "-i", str(steady), *AGAIN[form])
    video = probe(recording).video
    assert video is not None
    plan = cut(recording, fit(Part(0.0, video.start + 2.0)), 2.0, tmp_path / "scene.mp4")
    assert frames(tmp_path / "scene.mp4") == list(range(50, 125))  # two seconds and the tail of one
    assert plan.length == pytest.approx(3.0)
    heard = pitches(tmp_path / "scene.mp4", at=[0.5, 1.5, 2.5])
    assert heard == pytest.approx([hertz(2), hertz(3), hertz(4)], abs=30)
    assert onset_of(tmp_path / "scene.mp4", hertz(3)) == pytest.approx(1.0, abs=0.06)
    assert seconds_of(tmp_path / "scene.mp4") == pytest.approx({"video": 3.0, "audio": 3.0}, abs=0.05)


def test_a_start_between_frames_takes_the_nearest(steady: Path, tmp_path: Path) -> None:
    plan = cut(steady, fit(Part(0.0, 2.03)), 1.0, tmp_path / "scene.mp4")
    assert plan.stretches[0].start == pytest.approx(2.04)
    assert frames(tmp_path / "scene.mp4")[0] == 51


@pytest.mark.parametrize("speed", [PAL, 1 / PAL])
def test_an_episode_that_runs_at_another_speed_is_brought_back(steady: Path, tmp_path: Path, speed: Fraction) -> None:
    plan = cut(steady, fit(Part(0.0, 1.0), speed=speed), 3.0, tmp_path / "scene.mp4")
    assert plan.rate == 25 / speed
    shown = frames(tmp_path / "scene.mp4")
    assert shown == list(range(25, 25 + round(4 * 25 / float(speed))))  # every frame once
    assert seconds_of(tmp_path / "scene.mp4") == pytest.approx({"video": 4.0, "audio": 4.0}, abs=0.05)
    # The pitch of second 3 begins two seconds of the episode later, and is brought back as well.
    assert pitches(tmp_path / "scene.mp4", at=[2.5 * float(speed)]) == pytest.approx([hertz(3) / float(speed)], abs=20)
    assert onset_of(tmp_path / "scene.mp4", round(hertz(2) / float(speed))) == pytest.approx(float(speed), abs=0.06)


def test_a_speed_that_cannot_be_seen_is_left_alone(steady: Path, tmp_path: Path) -> None:
    info = probe(steady)
    found = fit(Part(0.0, 1.0), speed=Fraction(1001, 1000))
    assert plan_scene(found, scene("x", [(0.0, 3.0, "so")]), info, info.duration).speed == 1
    assert plan_scene(found, scene("x", [(0.0, 300.0, "so")]), info, info.duration).speed == Fraction(1001, 1000)


def test_what_lies_outside_the_recording_is_filled(steady: Path, tmp_path: Path) -> None:
    cut(steady, fit(Part(0.0, -1.0)), 2.0, tmp_path / "before.mp4")
    assert frames(tmp_path / "before.mp4") == [*[0] * 25, *range(50)]
    assert onset_of(tmp_path / "before.mp4", hertz(0)) == pytest.approx(1.0, abs=0.06)
    cut(steady, fit(Part(0.0, 4.0)), 5.0, tmp_path / "after.mp4")
    assert frames(tmp_path / "after.mp4") == list(range(100, SECONDS * 25))  # it ends with the episode


def test_an_advertisement_is_left_out(steady: Path, tmp_path: Path) -> None:
    cut(steady, fit(Part(0.0, 0.0), Part(1.0, 3.0)), 2.0, tmp_path / "scene.mp4")
    assert frames(tmp_path / "scene.mp4") == [*range(25), *range(100, 150)]
    heard = pitches(tmp_path / "scene.mp4", at=[0.5, 1.5, 2.5])
    assert heard == pytest.approx([hertz(0), hertz(4), hertz(5)], abs=30)


@pytest.mark.parametrize(("form", "rate"), [("mp4", 30), ("mkv", 25)])
def test_a_varying_frame_rate_keeps_its_times(tmp_path: Path, form: str, rate: int) -> None:
    # From 2 s on only every fifth frame is there: 0.2 s each.
    recording = numbered(tmp_path / f"episode.{form}", keep="lt(t,2)+not(mod(n,5))")
    plan = cut(recording, fit(Part(0.0, 1.0)), 2.0, tmp_path / "scene.mp4")
    assert plan.rate == rate
    seen = frames(tmp_path / "scene.mp4")
    assert len(seen) == 3 * rate
    for index, number in enumerate(seen):
        shown = int((1.0 + index / rate + 0.001) * 25)
        assert number == (shown if shown < 50 else shown // 5 * 5), index


def test_sound_alone_gives_sound(steady: Path, tmp_path: Path) -> None:
    recording = make(tmp_path / "episode.wav", "-i", str(steady), "-vn")
    assert suffix_of(probe(recording)) == ".flac"
    cut(recording, fit(Part(0.0, 2.0), speed=PAL), 1.0, tmp_path / "scene.flac")
    assert pitches(tmp_path / "scene.flac", at=[0.5]) == pytest.approx([hertz(2) / float(PAL)], abs=20)
    assert probe(tmp_path / "scene.flac").duration == pytest.approx(2.0, abs=0.001)


def test_a_broken_episode_leaves_no_clip(steady: Path, tmp_path: Path) -> None:
    recording = make(tmp_path / "episode.mkv", "-i", str(steady), "-c", "copy")
    info = probe(recording)
    plan = plan_scene(fit(Part(0.0, 2.0)), scene("x", [(0.0, 1.0, "so")]), info, info.duration)
    recording.write_bytes(b"\0" * 1000)
    with pytest.raises(InputError, match="cannot be cut"):
        cut_scene(recording, info, info.audio[0], plan, tmp_path / "scene.mp4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode.mkv"]


def test_the_same_plan_gives_the_same_bytes(steady: Path, tmp_path: Path) -> None:
    for name in ("one.mp4", "two.mp4"):
        cut(steady, fit(Part(0.0, 1.0), speed=PAL), 2.0, tmp_path / name)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()
