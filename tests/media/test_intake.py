"""Which stream, and is the file whole: every recording ends with a state that tells what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.media.audio import read_audio
from pipeline.media.probe import probe
from pipeline.station import State
from pipeline.store import read_json
from tests.media.made import MP4, cut, level, make, picture, take_in, tone


def test_a_video_without_sound_has_a_named_state_and_leaves_nothing(tmp_path: Path) -> None:
    recording = make(tmp_path / "silent.mp4", *picture(5), *MP4)
    workspace, source, audio = take_in(recording, tmp_path / "data")
    assert source.state is State.DONE
    assert audio.state is State.FAILED
    assert audio.record.error == "NoAudioStreamError"
    assert audio.record.reason == "silent.mp4: no audio stream"
    assert not workspace.artifact("audio.flac").exists()
    assert [path.name for path in workspace.data.iterdir() if path.name.endswith(".flac")] == []


@pytest.mark.parametrize("share", [0.6, 0.3])
def test_a_download_that_was_cut_off_fails_with_both_lengths(tmp_path: Path, share: float) -> None:
    recording = make(tmp_path / "cut.mp4", *picture(8), *tone(8), *MP4, "-movflags", "+faststart")
    _, source, audio = take_in(cut(recording, share), tmp_path / "data")
    assert source.state is State.FAILED
    assert "8.0 s" in str(source.record.reason)
    assert source.record.hint
    assert audio.state is State.SKIPPED


@pytest.mark.parametrize(("suffix", "options"), [(".wav", []), (".flac", []), (".mkv", ["-c:a", "flac"]), (".ts", [])])
def test_cut_off_sound_is_noticed_or_measured(tmp_path: Path, suffix: str, options: list[str]) -> None:
    recording = cut(make(tmp_path / f"cut{suffix}", *tone(8), *options), 0.5)
    _, source, audio = take_in(recording, tmp_path / "data")
    if suffix == ".ts":  # a stream has no header that promises a length
        assert source.record.summary is not None
        assert source.record.summary["duration"] == pytest.approx(4, abs=0.5)
    else:
        assert State.FAILED in (source.state, audio.state)


def test_an_index_that_was_never_written_is_said(tmp_path: Path) -> None:
    recording = cut(make(tmp_path / "noindex.mp4", *picture(4), *tone(4), *MP4), 0.7)
    _, source, _ = take_in(recording, tmp_path / "data")
    assert "index is missing" in str(source.record.reason)


def two_tracks(tmp_path: Path) -> Path:
    quiet = ["-f", "lavfi", "-i", "anullsrc=sample_rate=44100:channel_layout=mono:duration=4"]
    return make(
        tmp_path / "two.mp4",
        *picture(4),
        *quiet,
        *tone(4),
        *["-map", "0:v", "-map", "1:a", "-map", "2:a", *MP4, "-shortest"],
        *["-metadata:s:a:0", "language=fra", "-metadata:s:a:1", "language=eng"],
        *["-disposition:a:0", "0", "-disposition:a:1", "default"],
    )


@pytest.mark.parametrize(
    ("known", "track", "sounds"),
    [({}, 1, True), ({"language": "fr"}, 0, False), ({"audio_track": 0}, 0, False), ({"language": "de"}, 1, True)],
)
def test_the_track_follows_a_stated_rule(tmp_path: Path, known: dict[str, object], track: int, sounds: bool) -> None:
    workspace, _, audio = take_in(two_tracks(tmp_path), tmp_path / "data", **known)
    stored = read_json(workspace.artifact("audio.json"))
    assert stored["track"] == track
    assert (level(read_audio(workspace.artifact("audio.flac")), 0.5, 3.5) > 0.01) is sounds
    assert audio.record.summary is not None
    chose = any("audio track" in warning for warning in audio.record.summary["warnings"])
    assert chose is ("audio_track" not in known)


def test_a_track_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    _, _, audio = take_in(two_tracks(tmp_path), tmp_path / "data", audio_track=5)
    assert audio.state is State.FAILED
    assert "there is no audio track 5" in str(audio.record.reason)


def test_channels_that_cancel_out_are_not_mixed(tmp_path: Path) -> None:
    recording = make(tmp_path / "phase.wav", *tone(5), "-af", "pan=stereo|c0=c0|c1=-1*c0")
    workspace, _, audio = take_in(recording, tmp_path / "data")
    assert level(read_audio(workspace.artifact("audio.flac")), 1, 4) > 0.05
    assert audio.record.summary is not None
    assert audio.record.summary["mix"] == "channel 0"
    assert any("cancel" in warning for warning in audio.record.summary["warnings"])


@pytest.mark.parametrize("pan", ["stereo|c0=c0|c1=0*c0", "stereo|c0=c0|c1=c0", "5.1|c2=c0"])
def test_channels_that_do_not_cancel_are_mixed(tmp_path: Path, pan: str) -> None:
    recording = make(tmp_path / "mix.wav", *tone(3), "-af", f"pan={pan}")
    workspace, _, audio = take_in(recording, tmp_path / "data")
    assert audio.record.summary is not None
    assert audio.record.summary["mix"] == "mean"
    assert level(read_audio(workspace.artifact("audio.flac")), 1, 2) > 0.005


def test_a_cover_is_no_video(tmp_path: Path) -> None:
    cover = make(tmp_path / "cover.png", *picture(1), "-frames:v", "1")
    recording = make(
        tmp_path / "cover.m4a",
        *[*tone(5), "-i", str(cover), "-map", "0:a", "-map", "1:v"],
        *["-c:a", "aac", "-c:v", "copy", "-disposition:v:0", "attached_pic"],
    )
    _, source, audio = take_in(recording, tmp_path / "data")
    assert source.record.summary is not None
    assert source.record.summary["has_video"] is False
    assert audio.state is State.DONE


def test_sound_in_a_video_container_is_no_video(tmp_path: Path) -> None:
    assert probe(make(tmp_path / "sound.mp4", *tone(2), "-c:a", "aac")).video is None


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.mp4", b"", "the file is empty"),
        ("text.mp4", b"this is no video", "no recording"),
        ("noise.wav", bytes(range(256)) * 40, "cannot be read"),
        ("list.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:8\n#EXTINF:8,\nother.ts\n#EXT-X-ENDLIST\n", "playlist"),
        ("list2.mp4", b"ffconcat version 1.0\nfile other.wav\n", "playlist"),
        ("call.mp4", b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n", "playlist"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_kind(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    make(tmp_path / "other.ts", *tone(2))
    _, source, _ = take_in(tmp_path / name, tmp_path / "data")
    assert source.state is State.FAILED
    assert says in str(source.record.reason)
    assert source.record.hint
    assert str(tmp_path) not in str(source.record.to_json())


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.mp4").mkdir()
    for name in ("gone.mp4", "folder.mp4"):
        _, source, _ = take_in(tmp_path / name, tmp_path / "data")
        assert "there is no such file" in str(source.record.reason)


def test_overdriven_and_quiet_sound_is_flagged(tmp_path: Path) -> None:
    loud = make(tmp_path / "loud.wav", *tone(3), "-af", "volume=40dB")
    _, _, audio = take_in(loud, tmp_path / "a")
    assert any("overdriven" in warning for warning in (audio.record.summary or {})["warnings"])
    quiet = make(tmp_path / "quiet.wav", *tone(3), "-af", "volume=-45dB")
    _, _, audio = take_in(quiet, tmp_path / "b")
    assert any("quiet" in warning for warning in (audio.record.summary or {})["warnings"])


def test_the_same_recording_gives_the_same_bytes(tmp_path: Path) -> None:
    recording = make(tmp_path / "a.mp4", *picture(3), *tone(3), *MP4)
    one, _, _ = take_in(recording, tmp_path / "one")
    two, _, _ = take_in(recording, tmp_path / "two")
    for name in ("source.json", "audio.flac", "audio.json"):
        assert one.artifact(name).read_bytes() == two.artifact(name).read_bytes()


def test_real_recordings_come_in_whole(tmp_path: Path, media: Path) -> None:
    expected = {
        "video/friday.mp4": (6.17, True),
        "video/googlework_short.mp4": (35.02, True),
        "video/grid_id2_vcd_swwp2s.mpg": (3.0, True),
        "audio/commercial_mono.wav": (45.30, False),
        "audio/batchalign_test.mp3": (27.53, False),
        "audio/ami_debug/trñ00.wav": (30.0, False),
    }
    for number, (name, (seconds, has_video)) in enumerate(expected.items()):
        workspace, source, audio = take_in(media / name, tmp_path / str(number))
        assert audio.state is State.DONE, (name, audio.record.reason)
        assert source.record.summary is not None
        assert source.record.summary["has_video"] is has_video
        samples = read_audio(workspace.artifact("audio.flac"))
        assert len(samples) / 16_000 == pytest.approx(seconds, abs=0.1), name
