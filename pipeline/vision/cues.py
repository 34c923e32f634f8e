"""One pass over a recording: shots, motion and faces, gathered for turns and rows."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pipeline.media.frames import FrameGrid, decode, sampled_grid
from pipeline.media.probe import MediaInfo
from pipeline.settings import EMBEDDED, CueSettings
from pipeline.store import Json
from pipeline.times import Interval, Seconds, merge, round_time
from pipeline.vision.faces import Detector, FaceTrack, FaceTracker
from pipeline.vision.networks import FaceDetector, FaceMesh
from pipeline.vision.onnx import SFace, YuNet, same_people
from pipeline.vision.shots import ShotWatcher
from pipeline.vision.speaking import FaceCues, SpokenUnit, chosen_face, face_cues, link_speakers

__all__ = ["Watched", "picture_columns", "watch"]

_MARGIN = 0.2
"""Seconds before a unit from which its faces are looked for."""


@dataclass
class Watched:
    """What was seen. Holds a few numbers a frame, no pictures."""

    grid: FrameGrid
    cuts: list[Seconds] = field(default_factory=list)
    motion: array[float] = field(default_factory=lambda: array("f"))
    """Mean change of brightness from frame to frame."""
    tracks: list[FaceTrack] = field(default_factory=list)
    people: dict[int, int] = field(default_factory=dict)
    """Track to person, where faces are recognised."""

    def frames(self, interval: Interval) -> range:
        """The frames shown in an interval."""
        times = range(len(self.motion))
        return range(
            bisect_left(times, interval.start, key=self.grid.time), bisect_left(times, interval.end, key=self.grid.time)
        )


def watch(recording: Path, info: MediaInfo, units: Sequence[SpokenUnit], settings: CueSettings) -> Watched:
    """Look through the recording once. Shots are found everywhere, faces where somebody speaks.

    Raises:
        InputError: If the picture cannot be decoded.
        PrerequisiteError: If the extra ``vision`` is not installed.
    """
    assert info.video is not None
    grid = sampled_grid(info.video, settings.frame_rate, settings.longest_side)
    describer = SFace(Path(settings.face_recognition)) if settings.face_recognition else None
    tracker = FaceTracker(_detector(settings), FaceMesh(), settings.detect_every, describer)
    watcher = ShotWatcher(float(grid.rate), settings.cut_threshold)
    watched = Watched(grid)
    wanted = iter(merge(Interval(max(0.0, u.interval.start - _MARGIN), u.interval.end) for u in units))
    span = next(wanted, None)
    for frame, picture in enumerate(decode(recording, info, grid, "bgr24")):
        time = grid.time(frame)
        watcher.see(picture)
        watched.motion.append(watcher.motion)
        if watcher.is_cut:
            watched.cuts.append(round_time(time))
        while span is not None and span.end <= time:
            span = next(wanted, None)
        if span is not None and span.start <= time:
            tracker.see(picture, frame, time, len(watched.cuts) + 1)
    watched.tracks = tracker.tracks
    watched.people = same_people(tracker.tracks)
    return watched


def _detector(settings: CueSettings) -> Detector:
    if settings.face_detector == EMBEDDED:
        return FaceDetector(settings.face_confidence)
    return YuNet(Path(settings.face_detector), settings.face_confidence)


def picture_columns(
    watched: Watched, units: Sequence[SpokenUnit], participants: Mapping[str, str], settings: CueSettings
) -> list[dict[str, Json]]:
    """The picture's columns of the table ``cues``, one dict a unit in the order given."""
    rate = float(watched.grid.rate)
    firsts = [track.times[0] for track in watched.tracks]
    faces = []
    for unit in units:
        # Tracks are in order of first sight, so those that begin later cannot be in it.
        known = watched.tracks[: bisect_left(firsts, unit.interval.end)]
        near = [track for track in known if track.times[-1] >= unit.interval.start]
        faces.append(face_cues(near, unit, len(watched.frames(unit.interval)), rate, settings.lip_motion))
    pairs = list(zip(units, faces, strict=True))
    linked = link_speakers(pair for pair in pairs if pair[0].kind == "turn")
    return [_columns(watched, unit, found, linked, participants) for unit, found in pairs]


def _columns(
    watched: Watched,
    unit: SpokenUnit,
    faces: Sequence[FaceCues],
    linked: Mapping[int, str],
    participants: Mapping[str, str],
) -> dict[str, Json]:
    frames = watched.frames(unit.interval)
    cuts = [cut for cut in watched.cuts if unit.interval.start < cut < unit.interval.end]
    at_once = Counter(frame for face in faces for frame in face.track.frames[face.track.within(unit.interval)])
    speaking = chosen_face(unit, faces, linked)
    seen = {linked[face.track.index] for face in faces if face.track.index in linked}
    return {
        "shots": len(cuts) + 1,
        "cuts": cuts,
        "picture_motion": _rounded(float(np.mean(watched.motion[frames.start : frames.stop]))) if frames else None,
        "frames": len(frames),
        "most_faces": max(at_once.values(), default=0),
        "faces": list(_face_columns(faces, watched.people, linked, participants)),
        "speaking_track": speaking.track.index if speaking else None,
        "speaking_score": _rounded(speaking.speaking_score) if speaking else None,
        "speaker_on_screen": unit.speaker in seen if unit.speaker in linked.values() else None,
    }


def _face_columns(
    faces: Sequence[FaceCues], people: Mapping[int, int], linked: Mapping[int, str], participants: Mapping[str, str]
) -> Iterator[dict[str, Json]]:
    for face in faces:
        speaker = linked.get(face.track.index)
        yield {
            "track": face.track.index,
            "shot": face.track.shot,
            "person": people.get(face.track.index),
            **{
                name: _rounded(getattr(face, name))
                for name in ("on_screen_share", "size", "x", "y", "lip_motion", "head_motion", "speaking_score")
            },
            "speaker": speaker,
            "participant": participants.get(speaker) if speaker else None,
        }


def _rounded(value: float | None) -> float | None:
    """Four places: finer ones are noise, and differ between processors."""
    return None if value is None else round(value, 4)
