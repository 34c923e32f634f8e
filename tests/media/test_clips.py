"""Row clips: the first and last frame and the sound are the right ones, and only what changed is cut again.

Each frame carries its number as a code of black and white cells; each second of sound has a pitch of its own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pipeline.clips.cut import plan_cuts
from pipeline.clips.stations import ClipsStation
from pipeline.conversation import Conversation
from pipeline.media.frames import FrameGrid, native_grid
from pipeline.media.probe import VideoStream, probe
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.schemas import ROWS, table_of, write_table
from pipeline.settings import ClipSettings, Settings
from pipeline.station import Outcome, Record, State, Workspace
from pipeline.store import write_json
from pipeline.times import Interval
from tests.media.made import make

SECONDS = 6
CELL, BITS = 32, 10
WIDTH, HEIGHT = 320, 64


def hertz(second: int) -> int:
    """Pitch of the sound in a second of the recording."""
    return 400 + 200 * second


def numbered(target: Path, fps: str = "25", *, keep: str = "1") -> Path:
    """A recording whose frames show their number, cell by cell, as at the given rate; ``keep`` says which stay."""
    bit = f"255*mod(floor(N/pow(2,floor(X/{CELL}))),2)"
    tones = "0.4*sin(2*PI*t*(400+200*floor(t)))"
    return make(
        target,
        *["-f", "lavfi", "-i", f"nullsrc=s={WIDTH}x{HEIGHT}:r={fps}:d={SECONDS},format=gray,geq=lum='{bit}'"],
        *["-f", "lavfi", "-i", f"aevalsrc='{tones}':s=44100:d={SECONDS}"],
        *["-vf", f"select='{keep}',format=yuv420p", "-vsync", "vfr", "-c:v", "libx264", "-preset", "ultrafast"],
        *["-g", "250", "-c:a", "aac" if target.suffix == ".mp4" else "pcm_s16le"],
    )


def frames(clip: Path, *, upright: bool = False) -> list[int]:
    """The numbers that the frames of a clip show; it may lie on its side, as a turned phone shows it."""
    width, height = size_of(clip)
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(clip), "-f", "rawvideo", "-pix_fmt", "gray", "-vsync", "passthrough", "-"],
        capture_output=True,
        check=True,
    )
    pictures = np.frombuffer(done.stdout, dtype=np.uint8).reshape(-1, height, width)
    if upright:
        pictures = np.rot90(pictures, 1, axes=(1, 2))
    middles = pictures[:, HEIGHT // 2, CELL // 2 :: CELL][:, :BITS] > 127
    return [int(number) for number in middles @ (1 << np.arange(BITS))]


def pitches(clip: Path, *, at: Sequence[float]) -> list[int]:
    """The strongest pitch in 0.1 s around times of a clip, in Hz."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(clip), "-f", "f32le", "-ac", "1", "-ar", "16000", "-"],
        capture_output=True,
        check=True,
    )
    sound = np.frombuffer(done.stdout, dtype="<f4")
    found = []
    for time in at:
        part = sound[max(0, round((time - 0.05) * 16_000)) :][:1600]
        found.append(int(np.abs(np.fft.rfft(part * np.hanning(len(part)), 16_000)).argmax()))
    return found


def onset_of(clip: Path, pitch: int) -> float:
    """When a pitch begins in a clip, in seconds."""
    times = np.arange(0.05, 2.0, 0.01)
    heard = pitches(clip, at=times.tolist())
    return float(next(time for time, found in zip(times, heard, strict=True) if abs(found - pitch) < 60))


def seconds_of(clip: Path) -> dict[str, float]:
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type,duration", "-of", "json", str(clip)],
        capture_output=True,
        check=True,
    )
    return {stream["codec_type"]: float(stream["duration"]) for stream in json.loads(done.stdout)["streams"]}


def workspace_of(recording: Path, data: Path, rows: Sequence[tuple[float, float]], **clips: object) -> Workspace:
    """A conversation with the given rows, as the stations before would leave it."""
    settings = Settings(data=data, raw=recording.parent, clips=ClipSettings.model_validate(clips))
    conversation = Conversation.model_validate({"id": "one", "media": recording.name})
    workspace = Workspace.of(conversation, recording.parent, settings)
    values = [
        {
            "conversation_id": "one",
            "group_id": "one",
            "scenario": "couple",
            "row_index": number,
            "start_time": start,
            "end_time": end,
            "primary_speaker": "Ann",
            "dialogue_cleaned": "so",
            **{field.name: [] for field in ROWS if not field.nullable and str(field.type).startswith("list")},
        }
        for number, (start, end) in enumerate(rows, start=1)
    ]
    workspace.data.mkdir(parents=True, exist_ok=True)
    write_table(workspace.artifact("rows.parquet"), table_of(values, ROWS), ROWS)
    write_json(workspace.record("rows"), Record(State.DONE).to_json())
    return workspace


def build(workspace: Workspace) -> Outcome:
    with workspace.locked() as digests:
        for station in (SourceStation(), AudioStation()):
            station.process(workspace, digests)
        return ClipsStation().process(workspace, digests)


def cut(recording: Path, data: Path, rows: Sequence[tuple[float, float]], **clips: object) -> Path:
    workspace = workspace_of(recording, data, rows, **clips)
    outcome = build(workspace)
    assert outcome.state is State.DONE, outcome.record.reason
    return workspace.artifact("clips")


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("steady") / "steady.mp4")


@pytest.fixture(scope="module")
def ntsc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("ntsc") / "ntsc.mkv", "30000/1001")


def test_a_clip_has_exactly_its_frames_although_no_keyframe_is_near(steady: Path, tmp_path: Path) -> None:
    clips = cut(steady, tmp_path, [(2.0, 5.0), (0.0, 0.04), (5.5, 6.0), (3.013, 3.493)])
    assert frames(clips / "1.mp4") == list(range(50, 125))
    assert frames(clips / "2.mp4") == [0]
    assert frames(clips / "3.mp4") == list(range(137, 149))  # 5.5 s is in the middle of frame 137
    assert frames(clips / "4.mp4") == list(range(75, 87))
    lengths = seconds_of(clips / "1.mp4")
    assert lengths == {"video": pytest.approx(3.0, abs=0.04), "audio": pytest.approx(3.0, abs=0.04)}


def test_a_rate_that_is_no_whole_number(ntsc: Path, tmp_path: Path) -> None:
    rate = Fraction(30000, 1001)
    clips = cut(ntsc, tmp_path, [(1.001, 2.002), (4.5, 5.2)])
    assert frames(clips / "1.mp4") == list(range(30, 60))
    first = int(Fraction("4.5") * rate)
    assert frames(clips / "2.mp4") == list(range(first, first + round(Fraction("0.7") * rate)))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_where_the_rate_varies_each_moment_shows_what_the_recording_shows(tmp_path: Path, suffix: str) -> None:
    # From 2 s on only every fifth frame is there: 0.2 s each.
    recording = numbered(tmp_path / f"varying{suffix}", keep="lt(t,2)+not(mod(n,5))")
    clips = cut(recording, tmp_path / "data", [(1.0, 1.5), (3.3, 4.3)])
    for row, start in ((1, 1.0), (2, 3.3)):
        seen = frames(clips / f"{row}.mp4")
        video = probe(clips / f"{row}.mp4").video
        assert video is not None
        assert len(seen) == pytest.approx(video.fps * (0.5 if row == 1 else 1.0), abs=0.6)
        for index, number in enumerate(seen):
            shown = int((start + index / video.fps + 0.001) * 25)
            assert number == (shown if shown < 50 else shown // 5 * 5), (row, index)


@pytest.mark.parametrize("turn", [90, 270])
def test_a_turned_recording_gives_upright_clips(steady: Path, tmp_path: Path, turn: int) -> None:
    turned = make(tmp_path / "turned.mp4", "-i", str(steady), "-c", "copy", "-metadata:s:v:0", f"rotate={turn}")
    clips = cut(turned, tmp_path / "data", [(2.0, 3.0)])
    video = probe(clips / "1.mp4").video
    assert video is not None
    assert (video.width, video.height, video.rotation) == (HEIGHT, WIDTH, 0)
    # Turned back by hand, the cells read as before, or, where it was turned the other way, from the far end.
    seen = frames(clips / "1.mp4", upright=True)
    stored = probe(turned).video
    assert stored is not None
    if stored.rotation == 270:
        seen = [int(f"{number:0{BITS}b}"[::-1], 2) for number in seen]
    assert seen == list(range(50, 75))


def test_the_sound_of_a_clip_is_that_of_its_time(steady: Path, tmp_path: Path) -> None:
    clips = cut(steady, tmp_path, [(2.4, 4.4), (0.0, 1.0), (5.0, 6.0)])
    assert pitches(clips / "1.mp4", at=[0.1, 0.5, 0.7, 1.5, 1.7]) == pytest.approx(
        [hertz(2), hertz(2), hertz(3), hertz(3), hertz(4)], abs=12
    )
    assert onset_of(clips / "1.mp4", hertz(3)) == pytest.approx(0.6, abs=0.04)
    assert pitches(clips / "2.mp4", at=[0.5]) == pytest.approx([hertz(0)], abs=12)
    assert pitches(clips / "3.mp4", at=[0.5]) == pytest.approx([hertz(5)], abs=12)


def test_picture_and_sound_stay_together_where_one_begins_late(steady: Path, tmp_path: Path) -> None:
    late = make(
        tmp_path / "late.mkv",
        *[
            "-i",
            str(steady),
            "-itsoffset",
            "1.0",
            "-i",
            str(steady),
            "-map",
            "1:v",
            "-map",
            "0:a",
            "-c:v",
            "copy",
            "-c:a",
            "pcm_s16le",
        ],
    )
    clips = cut(late, tmp_path / "data", [(2.4, 4.4), (0.0, 0.9), (0.5, 2.0)])
    assert frames(clips / "1.mp4") == list(range(35, 85))
    assert onset_of(clips / "1.mp4", hertz(3)) == pytest.approx(0.6, abs=0.04)
    assert frames(clips / "3.mp4") == list(range(25))
    assert pitches(clips / "3.mp4", at=[0.5]) == pytest.approx([hertz(1)], abs=12)
    index = json.loads((clips / "index.json").read_text())
    assert index["left_out"] == [2]  # it ends before there is a picture


def test_the_last_picture_stays_where_the_sound_goes_on(steady: Path, tmp_path: Path) -> None:
    short = make(tmp_path / "short.mkv", "-t", "3", "-i", str(steady), "-i", str(steady),
                 "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-c:a", "pcm_s16le")  # fmt: skip
    clips = cut(short, tmp_path / "data", [(2.6, 3.4), (4.0, 4.2), (7.0, 8.0)])
    assert frames(clips / "1.mp4") == [*range(65, 75), *[74] * 10]
    assert frames(clips / "2.mp4") == [74] * 5
    assert json.loads((clips / "index.json").read_text())["left_out"] == [3]


def test_padding_overlap_and_order(steady: Path, tmp_path: Path) -> None:
    clips = cut(steady, tmp_path, [(3.0, 4.0), (1.0, 3.2), (0.2, 0.6)], padding=0.4)
    assert frames(clips / "1.mp4") == list(range(65, 110))
    assert frames(clips / "2.mp4") == list(range(15, 90))
    assert frames(clips / "3.mp4") == list(range(25))


def test_poster_and_contact_sheet(steady: Path, tmp_path: Path) -> None:
    clips = cut(steady, tmp_path, [(2.0, 4.0)], sheet_frames=6, sheet_width=160)
    assert frames(clips / "1.jpg") == [50]
    sheet = size_of(clips / "1.sheet.jpg")
    assert sheet == (4 * 160, 2 * HEIGHT // 2)


def size_of(picture: Path) -> tuple[int, int]:
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", str(picture)],
        capture_output=True,
        check=True,
        text=True,
    )
    width, height = done.stdout.strip().split(",")
    return int(width), int(height)


def test_only_what_changed_is_cut_again_and_what_is_gone_goes(steady: Path, tmp_path: Path) -> None:
    rows = [(0.5, 1.0), (1.5, 2.0), (2.5, 3.0)]
    first = build(workspace_of(steady, tmp_path, rows))
    assert first.record.summary is not None
    assert first.record.summary["cut"] == 3
    clips = tmp_path / "conversations" / "one" / "clips"
    before = {path.name: path.stat().st_mtime_ns for path in clips.iterdir()}
    bytes_before = (clips / "3.mp4").read_bytes()

    assert not build(workspace_of(steady, tmp_path, rows)).ran

    changed = build(workspace_of(steady, tmp_path, [rows[0], (1.5, 2.2)]))
    assert changed.record.summary is not None
    assert changed.record.summary["cut"] == 1
    assert not (clips / "3.mp4").exists()
    assert (clips / "1.mp4").stat().st_mtime_ns == before["1.mp4"]

    (clips / "1.jpg").unlink()
    again = build(workspace_of(steady, tmp_path, rows))
    assert again.record.summary is not None
    assert again.record.summary["cut"] == 3
    assert (clips / "3.mp4").read_bytes() == bytes_before  # the same row gives the same bytes

    off = build(workspace_of(steady, tmp_path, rows, enabled=False))
    assert (off.state, off.record.reason) == (State.SKIPPED, "clips are switched off")
    assert not list(clips.glob("*"))


def test_without_video_there_is_nothing_to_cut(tmp_path: Path) -> None:
    sound = make(tmp_path / "a.wav", "-f", "lavfi", "-i", "sine=duration=2")
    outcome = build(workspace_of(sound, tmp_path / "data", [(0.0, 1.0)]))
    assert (outcome.state, outcome.record.reason) == (State.SKIPPED, "no video: there is only sound")


def test_a_recording_with_a_name_that_tools_misread(steady: Path, tmp_path: Path) -> None:
    named = tmp_path / "-it's: 100% é.mp4"
    named.write_bytes(steady.read_bytes())
    clips = cut(named, tmp_path / "data: it's", [(1.0, 2.0)])
    assert frames(clips / "1.mp4") == list(range(25, 50))


def stream(fps: float, *, varies: bool = False) -> VideoStream:
    return VideoStream(0, "h264", 1921, 1080, 0, fps, varies, False, 0.0, None)


@pytest.mark.parametrize(
    ("fps", "rate"),
    [(25, Fraction(25)), (29.97, Fraction(30000, 1001)), (23.976, Fraction(24000, 1001)), (12.5, Fraction(25, 2))],
)
def test_the_rate_is_the_exact_one(fps: float, rate: Fraction) -> None:
    grid = native_grid(stream(fps), 1280)
    assert grid.rate == rate
    assert (grid.width, grid.height) == (1280, 720)


def test_each_frame_begins_at_its_time_for_hours() -> None:
    grid = FrameGrid(Fraction(30000, 1001), 0.0, 2, 2, held=False)
    for index in range(0, 400_000, 997):
        assert grid.index(round(grid.time(index), 3)) == index
    assert [cut.count for cut in plan_cuts([(1, Interval(0.0, 0.0))], grid, 10.0, 0.0)] == [1]
