"""Who is speaking, judged on every turn; and what cues and clips cost beside recognition.

    python -m benchmarks.vision [--media FOLDER] [--only speaking|cost|memory] [--sheets FOLDER]

``speaking`` looks at three recordings twice: with the turns of the reference, and with the turns of the stations. What
the speaker's face is was judged by eye once, picture by picture, and is written down below as places on the screen;
``--sheets`` writes a picture of each turn with all faces boxed, so that anybody can judge again. ``cost`` runs the
stations of the demo one after the other in one process. ``memory`` gives the peak of cues and clips on a short and a
long recording, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import cv2
import numpy as np

from benchmarks.recordings import Recording, recordings
from pipeline.build import build_conversation, find_workspaces
from pipeline.build import stations as line_of
from pipeline.conversation import Conversation, SpeakerBounds
from pipeline.media.frames import FrameGrid, Picture, decode
from pipeline.media.probe import probe
from pipeline.privacy import go_private
from pipeline.schemas import ROWS, TURNS, read_rows, table_of, write_table
from pipeline.settings import load_settings
from pipeline.speech.models import Models
from pipeline.speech.nist import SpeakerTurn, read_ctm, rttm_of
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, write_json, write_text
from pipeline.times import Interval, Seconds
from pipeline.vision.cues import Watched, picture_columns, watch
from pipeline.vision.faces import FaceTrack
from pipeline.vision.speaking import SpokenUnit

REPOSITORY = Path(__file__).resolve().parent.parent
RECORDINGS = ("googlework_short", "grid_two_faces", "friday")


@dataclass(frozen=True)
class Place:
    """Where a speaker's face is while it is seen to speak."""

    speaker: str
    start: Seconds
    end: Seconds
    left: float = 0.0
    """Share of the width."""
    right: float = 1.0


SEEN: Mapping[str, tuple[Place, ...]] = {
    # Exact by construction.
    "grid_two_faces": (Place("LEFT_F", 0, 17, 0, 0.5), Place("RIGHT_M", 0, 17, 0.5, 1)),
    # While Carlo is at his laptop, and while the street is shown, their voices go on, and nobody is seen to speak.
    "googlework_short": (
        Place("CARLO", 21.15, 24.52, 0.6, 0.85),
        Place("CARLO", 26.49, 28.16, 0.6, 0.85),
        Place("OMAR", 28.16, 32.5, 0.25, 0.45),
    ),
    "friday": (Place("STANDING", 0.45, 3.0, 0.55, 0.8), Place("SEATED", 3.0, 4.45, 0.35, 0.52)),
}
"""Judged by eye, frame by frame: share of the width from ``left`` to ``right``."""
SPENT = ("words", "speakers", "cues", "clips")
SHORT, LONG = 2, 30
"""Minutes."""
_UNIT = 5.0
"""Seconds of a made turn and row."""
_LEAST_SEEN = 0.15
"""Seconds that a speaker is in view from which a face of theirs could be chosen."""


@dataclass(frozen=True)
class Verdict:
    """What became of one turn."""

    recording: str
    turns: str
    """``reference`` or ``stations``."""
    unit: SpokenUnit
    speaker: str
    faces: int
    visible: bool
    """Whether the speaker is seen to speak."""
    chosen: str
    largest: str


def speaking(media: Path, sheets: Path | None) -> list[Verdict]:
    """Both kinds of turns on each recording."""
    found = []
    settings = load_settings().cues
    for recording in (one for one in recordings(media) if one.name in RECORDINGS):
        info = probe(recording.media)
        for kind, units in (("reference", reference_turns(recording)), ("stations", station_turns(recording))):
            watched = watch(recording.media, info, units, settings)
            columns = picture_columns(watched, units, {}, settings)
            for unit, column in zip(units, columns, strict=True):
                verdict = judge(recording, kind, unit, column, watched)
                found.append(verdict)
                if sheets:
                    pictures = decode(recording.media, info, watched.grid, "bgr24")
                    target = sheets / f"{recording.name}.{kind}.{unit.index:02d}.png"
                    target.parent.mkdir(parents=True, exist_ok=True)
                    cv2.imwrite(str(target), sheet(pictures, watched, verdict, column))
    return found


def reference_turns(recording: Recording) -> list[SpokenUnit]:
    """The turns of the reference, with its words where it times them."""
    ctm = recording.media.with_suffix(".ctm")
    words = [Interval(word.start, word.end) for word in read_ctm(ctm)] if ctm.is_file() else []
    said = [word for word in words if word.duration > 0]
    units = []
    for index, turn in enumerate(sorted(recording.reference.speech, key=lambda turn: turn.start), start=1):
        inside = tuple(word for word in said if turn.start <= word.start < turn.end)
        units.append(SpokenUnit("turn", index, Interval(turn.start, turn.end), turn.speaker, inside))
    return units


def station_turns(recording: Recording) -> list[SpokenUnit]:
    """The turns that the stations make."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder) / "data", raw=Path(folder) / "raw")
        raw = settings.raw / recording.name
        raw.mkdir(parents=True)
        (raw / recording.media.name).symlink_to(recording.media)
        count = recording.speaker_count
        told = SpeakerBounds(min=count, max=count)
        workspace = Workspace.of(
            Conversation(id=recording.name, media=recording.media.name, speakers=told), raw, settings
        )
        line = line_of(Models(settings))
        for outcome in build_conversation(workspace, line, only=("source", "audio", "words", "speakers", "turns")):
            assert outcome.state is State.DONE, outcome.record.reason
        return [
            SpokenUnit(
                "turn",
                turn["turn_index"],
                Interval(turn["start"], turn["end"]),
                turn["speaker"],
                tuple(Interval(word["start"], word["end"]) for word in turn["words"]),
            )
            for turn in read_rows(workspace.artifact("turns.parquet"))
        ]


def judge(recording: Recording, kind: str, unit: SpokenUnit, column: Mapping[str, Json], watched: Watched) -> Verdict:
    """Hold the chosen face, and the largest, against what was seen by eye."""
    speaker = _who(recording.reference.speech, unit.interval)
    places = [
        place
        for place in SEEN[recording.name]
        if place.speaker == speaker
        and min(place.end, unit.interval.end) - max(place.start, unit.interval.start) > _LEAST_SEEN
    ]
    faces = column["faces"]
    largest = max(faces, key=lambda face: face["size"] * face["on_screen_share"])["track"] if faces else None

    def word(index: int | None) -> str:
        if index is None:
            return "none"
        return "right" if _shows(watched.tracks[index - 1], unit.interval, places) else "wrong"

    return Verdict(recording.name, kind, unit, speaker, len(faces), bool(places), word(column["speaking_track"]),
                   word(largest))  # fmt: skip


def _who(turns: Sequence[SpeakerTurn], interval: Interval) -> str:
    """Who speaks most in an interval by the reference."""
    shares = dict.fromkeys((turn.speaker for turn in turns), 0.0)
    for turn in turns:
        shares[turn.speaker] += max(0.0, min(turn.end, interval.end) - max(turn.start, interval.start))
    return max(shares, key=lambda name: shares[name]) if any(shares.values()) else "?"


def _shows(track: FaceTrack, interval: Interval, places: Sequence[Place]) -> bool:
    """Whether most of a track in an interval is where the speaker's face is."""
    inside = track.within(interval)
    at = list(zip(track.times[inside], track.xs[inside], strict=True))
    hits = sum(any(p.start <= time < p.end and p.left <= x < p.right for p in places) for time, x in at)
    return hits > len(at) / 2


def sheet(pictures: Iterator[Picture], watched: Watched, verdict: Verdict, column: Mapping[str, Json]) -> Picture:
    """Eight pictures of a turn with its faces boxed, and below the mouth of each face, frame after frame."""
    frames = watched.frames(verdict.unit.interval)
    shown = {frames[(2 * part + 1) * len(frames) // 16] for part in range(8)} if frames else set()
    tracks = [watched.tracks[face["track"] - 1] for face in column["faces"]]
    mouths: dict[int, list[Picture]] = {track.index: [] for track in tracks}
    tiles = []
    for index, picture in zip(range(frames.stop), pictures, strict=False):
        if index not in frames:
            continue
        large = picture.copy()
        for track in tracks:
            box = _box(track, index, watched.grid)
            if box is None:
                continue
            left, top, right, bottom = box
            mouth = picture[max(0, (top + bottom) // 2) : bottom, max(0, left) : right]
            if mouth.size:
                mouths[track.index].append(_resized(mouth, 88, 64))
            chosen = track.index == column["speaking_track"]
            cv2.rectangle(large, (left, top), (right, bottom), (0, 255, 0) if chosen else (0, 0, 255), 2)
            label = f"{track.index}{' CHOSEN' if chosen else ''}"
            cv2.putText(large, label, (max(0, left), max(12, top - 4)), cv2.FONT_HERSHEY_SIMPLEX, 0.5,
                        (0, 255, 0) if chosen else (0, 0, 255), 1)  # fmt: skip
        if index in shown:
            height = round(large.shape[0] * 352 / large.shape[1])
            tiles.append(_resized(large, 352, height))
            cv2.putText(tiles[-1], f"{watched.grid.time(index):.2f}", (4, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.45,
                        (0, 255, 255), 1)  # fmt: skip
    scores = ", ".join(f"{face['track']}: {face['speaking_score']} size {face['size']}" for face in column["faces"])
    lines = [_text(f"{verdict.recording} {verdict.turns} {verdict.unit.index}  {verdict.unit.interval.start:.2f}-"
                   f"{verdict.unit.interval.end:.2f}  {verdict.speaker}"), _text(scores or "no face")]  # fmt: skip
    for index, found in mouths.items():
        lines += [_text(f"mouth of {index}"), *_rows(found, 16)]
    return np.vstack([*lines[:2], *_rows(tiles, 4), *lines[2:]])


def _box(track: FaceTrack, frame: int, grid: FrameGrid) -> tuple[int, int, int, int] | None:
    if frame not in track.frames:
        return None
    at = track.frames.index(frame)
    x, y, size = track.xs[at] * grid.width, track.ys[at] * grid.height, track.sizes[at] * grid.height
    return round(x - 0.4 * size), round(y - size / 2), round(x + 0.4 * size), round(y + size / 2)


def _resized(picture: Picture, width: int, height: int) -> Picture:
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _text(line: str) -> Picture:
    strip = np.zeros((20, 1408, 3), dtype=np.uint8)
    cv2.putText(strip, line, (4, 15), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1)
    return strip


def _rows(tiles: Sequence[Picture], columns: int) -> Iterator[Picture]:
    for at in range(0, len(tiles), columns):
        part = list(tiles[at : at + columns])
        yield np.hstack([*part, *[np.zeros_like(part[0])] * (columns - len(part))])


Spent = Mapping[str, Mapping[str, tuple[float, float]]]
"""Conversation to station to seconds on the clock and seconds of the processors, those of ffmpeg with them."""


def cost() -> Spent:
    """What each station takes on the demo, one after the other; models are loaded in the first that needs them."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder), raw=REPOSITORY / "raw_video")
        line = line_of(Models(settings))
        for workspace in find_workspaces(settings).workspaces:
            spent = found[workspace.conversation.id] = dict.fromkeys(SPENT, (0.0, 0.0))
            for station in line:
                began, worked = perf_counter(), _processors()
                (outcome,) = build_conversation(workspace, line, only=(station.name,))
                assert outcome.state in (State.DONE, State.SKIPPED), outcome.record.reason
                if station.name in SPENT and outcome.state is State.DONE:
                    spent[station.name] = (perf_counter() - began, _processors() - worked)
    return found


def _processors() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def memory() -> dict[str, dict[str, float]]:
    """Peak memory of cues and clips on a short and a long recording: the demo's, played again and again."""
    found = {}
    for minutes in (SHORT, LONG):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.vision", "--step", str(minutes), "--folder", folder]
            done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
        found[f"{minutes} minutes"] = json.loads(done.stdout.splitlines()[-1])
    return found


def pictures_of(minutes: int, folder: Path) -> dict[str, float]:
    """Cues and clips of a recording with a turn and a row every five seconds, in this process."""
    settings = load_settings(data=folder / "data", raw=folder / "raw")
    raw = settings.raw / "long"
    raw.mkdir(parents=True)
    recording = REPOSITORY / "raw_video" / "role_play" / "role_play.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", recording, "-t", str(minutes * 60),
                    "-c", "copy", raw / "long.mp4"], check=True)  # fmt: skip
    workspace = Workspace.of(Conversation(id="long", media="long.mp4"), raw, settings)
    line = line_of(Models(settings))
    build_conversation(workspace, line, only=("source", "audio"))
    _write_units(workspace, int(minutes * 60 / _UNIT))
    spent = {}
    for name in ("cues", "clips"):
        began = perf_counter()
        (outcome,) = build_conversation(workspace, line, only=(name,))
        assert outcome.state is State.DONE, outcome.record.reason
        spent[name] = round(perf_counter() - began, 1)
        spent[f"{name}_peak_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return spent


def _write_units(workspace: Workspace, count: int) -> None:
    spans = [(number, (number - 1) * _UNIT, number * _UNIT) for number in range(1, count + 1)]
    said = [SpeakerTurn(start, end, f"SPEAKER_0{number % 3}") for number, start, end in spans]
    turns = [
        {"conversation_id": "long", "turn_index": number, "speaker": turn.speaker, "start": turn.start,
         "end": turn.end, "text": "", "word_count": 0, "overlap": 0.0, "words": [], "flags": []}
        for number, turn in enumerate(said, start=1)
    ]  # fmt: skip
    empty: dict[str, Json] = {
        field.name: [] for field in ROWS if not field.nullable and str(field.type).startswith("list")
    }
    rows = [
        {**empty, "conversation_id": "long", "group_id": "long", "scenario": "couple", "row_index": number,
         "start_time": start, "end_time": end, "primary_speaker": "A", "dialogue_cleaned": ""}
        for number, start, end in spans
    ]  # fmt: skip
    write_table(workspace.artifact("turns.parquet"), table_of(turns, TURNS), TURNS)
    write_table(workspace.artifact("rows.parquet"), table_of(rows, ROWS), ROWS)
    write_text(workspace.artifact("speakers.rttm"), rttm_of(said, "long"))
    write_json(workspace.artifact("join.json"), {})
    for name in ("turns", "rows"):
        write_json(workspace.record(name), Record(State.DONE).to_json())


def print_speaking(verdicts: Sequence[Verdict]) -> None:
    """Every turn, and the shares."""
    print("| recording | turns | turn | time | speaker | in view | faces | chosen | largest |")
    print("|---|---|---:|---|---|---|---:|---|---|")
    for one in verdicts:
        span = f"{one.unit.interval.start:.2f}-{one.unit.interval.end:.2f}"
        print(f"| `{one.recording}` | {one.turns} | {one.unit.index} | {span} | {one.speaker} | "
              f"{'yes' if one.visible else 'no'} | {one.faces} | {one.chosen} | {one.largest} |")  # fmt: skip
    for name in ("chosen", "largest"):
        for turns in ("reference", "stations"):
            print(name, turns, dict(Counter(getattr(one, name) for one in verdicts if one.turns == turns)), flush=True)


def print_cost(found: Spent) -> None:
    """Rows for each conversation and their sum, by the clock and by the processors."""
    print(f"| conversation | seconds | {' | '.join(SPENT)} | cues + clips | of words | of words + speakers |")
    print("|---|---|" + "---:|" * (len(SPENT) + 3))
    for kind, measure in enumerate(("clock", "processors")):
        table = {name: {station: both[kind] for station, both in spent.items()} for name, spent in found.items()}
        total = {station: sum(spent[station] for spent in table.values()) for station in SPENT}
        for conversation, seconds in [*table.items(), ("all", total)]:
            seen = seconds["cues"] + seconds["clips"]
            print(f"| `{conversation}` | {measure} | {' | '.join(f'{seconds[name]:.1f}' for name in SPENT)} | "
                  f"{seen:.1f} | {seen / seconds['words']:.2f} | "
                  f"{seen / (seconds['words'] + seconds['speakers']):.2f} |", flush=True)  # fmt: skip


def print_memory(found: Mapping[str, Mapping[str, float]]) -> None:
    """A row for each length, and how much more the longer one takes."""
    for length, figures in found.items():
        print(length, dict(figures))
    short, long = found.values()
    print("ratio of the peaks", {
        name: round(long[name] / short[name], 3) for name in short if name.endswith("mib")
    }, flush=True)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--media", type=Path, default=REPOSITORY.parent / "shared" / "media")
    parser.add_argument("--only", choices=("speaking", "cost", "memory"), action="append")
    parser.add_argument("--sheets", type=Path, help="folder for a picture of every turn")
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    go_private()
    if options.step:
        print(json.dumps(pictures_of(options.step, options.folder)))
        return
    wanted = options.only or ("speaking", "cost", "memory")
    if "speaking" in wanted:
        print_speaking(speaking(options.media.absolute(), options.sheets))
    if "cost" in wanted:
        print_cost(cost())
    if "memory" in wanted:
        print_memory(memory())


if __name__ == "__main__":
    main()
