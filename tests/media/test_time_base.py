"""A time in the audio is a time in the video: late sound, holes, rotation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.media.audio import SAMPLE_RATE, read_audio
from pipeline.media.probe import probe
from pipeline.station import State
from pipeline.times import Interval
from tests.media.made import MP4, level, make, onset, picture, take_in, tone

FRAME = 1 / 25


def click_at(seconds: float, length: float) -> list[str]:
    """Silence with a tone from the given time on."""
    return ["-f", "lavfi", "-i", f"aevalsrc='if(gte(t,{seconds}),0.5*sin(2764*t),0)':s=44100:d={length}"]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_sound_that_begins_late_is_where_it_was(tmp_path: Path, suffix: str) -> None:
    # The track begins 1.5 s late and its tone 1.5 s into it, so at 3.0 s of the clip.
    recording = make(
        tmp_path / f"late{suffix}",
        *[*picture(8), "-itsoffset", "1.5", *click_at(1.5, 6.5), "-map", "0:v", "-map", "1:a", *MP4],
    )
    workspace, source, _ = take_in(recording, tmp_path / "data")
    samples = read_audio(workspace.artifact("audio.flac"))
    assert onset(samples) == pytest.approx(3.0, abs=FRAME)
    assert source.record.summary is not None
    assert len(samples) / SAMPLE_RATE == pytest.approx(source.record.summary["duration"], abs=FRAME)


def test_a_picture_that_begins_late_does_not_move_the_sound(tmp_path: Path) -> None:
    recording = make(
        tmp_path / "late.mkv",
        *[*click_at(2.0, 6), "-itsoffset", "1.0", *picture(5), "-map", "1:v", "-map", "0:a", *MP4],
    )
    workspace, _, _ = take_in(recording, tmp_path / "data")
    assert onset(read_audio(workspace.artifact("audio.flac"))) == pytest.approx(2.0, abs=FRAME)


def test_a_clock_that_does_not_start_at_zero_is_the_clips_own(tmp_path: Path) -> None:
    recording = make(tmp_path / "shifted.mkv", *[*picture(8), *click_at(3.0, 8), *MP4, "-output_ts_offset", "5"])
    workspace, source, _ = take_in(recording, tmp_path / "data")
    assert source.state is State.DONE, source.record.reason
    samples = read_audio(workspace.artifact("audio.flac"))
    assert onset(samples) == pytest.approx(3.0, abs=FRAME)
    assert len(samples) / SAMPLE_RATE == pytest.approx(8.0, abs=FRAME)


def test_a_hole_is_filled_and_counted(tmp_path: Path) -> None:
    # 3 s to 5 s is taken out, the times after it are kept.
    keep = "aselect='not(between(t,3,5))'"
    recording = make(tmp_path / "hole.mkv", *tone(8), "-af", keep, "-c:a", "pcm_s16le")
    workspace, _, audio = take_in(recording, tmp_path / "data")
    samples = read_audio(workspace.artifact("audio.flac"))
    assert len(samples) / SAMPLE_RATE == pytest.approx(8.0, abs=FRAME)
    assert level(samples, 3.2, 4.8) < 0.001
    assert level(samples, 5.2, 7.8) > 0.05
    assert audio.record.summary is not None
    assert any("1 holes of 2.0 s" in warning for warning in audio.record.summary["warnings"])


@pytest.mark.parametrize(
    ("turn", "size", "clockwise"),
    [(90, (240, 320), 270), (-90, (240, 320), 90), (180, (320, 240), 180), (0, (320, 240), 0)],
)
def test_a_turned_phone_video_has_the_size_that_is_shown(
    tmp_path: Path, turn: int, size: tuple[int, int], clockwise: int
) -> None:
    flat = make(tmp_path / "flat.mp4", *picture(1), *MP4)
    turned = make(tmp_path / "turned.mp4", "-i", str(flat), "-c", "copy", "-metadata:s:v:0", f"rotate={turn % 360}")
    video = probe(turned).video
    assert video is not None
    assert (video.width, video.height) == size
    assert video.rotation == clockwise


def test_pixels_that_are_not_square_are_shown_square(tmp_path: Path) -> None:
    video = probe(make(tmp_path / "dv.mp4", *picture(1), "-vf", "setsar=4/3", *MP4)).video
    assert video is not None
    assert (video.width, video.height) == (427, 240)


def test_a_frame_rate_that_varies_is_said(tmp_path: Path) -> None:
    thinned = "select='lt(t,2)+not(mod(n,5))'"
    recording = make(tmp_path / "vfr.mp4", *picture(4), "-vf", thinned, "-vsync", "vfr", *MP4)
    video = probe(recording).video
    assert video is not None
    assert video.variable_frame_rate
    steady = probe(make(tmp_path / "cfr.mp4", *picture(4), *MP4)).video
    assert steady is not None
    assert not steady.variable_frame_rate


@pytest.mark.parametrize(("start", "end", "seconds"), [(1.0, 2.5, 1.5), (-1.0, 1.0, 1.0), (2.5, 99.0, 0.5), (5, 6, 0)])
def test_an_interval_is_read_alone(tmp_path: Path, start: float, end: float, seconds: float) -> None:
    workspace, _, _ = take_in(make(tmp_path / "a.wav", *tone(3)), tmp_path / "data")
    part = read_audio(workspace.artifact("audio.flac"), Interval(start, end))
    assert len(part) == seconds * SAMPLE_RATE
