"""Which face is chosen, which faces are one person, and what is said of networks that cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import PrerequisiteError
from pipeline.settings import CueSettings
from pipeline.times import Interval
from pipeline.vision.cues import watch
from pipeline.vision.faces import FaceTrack
from pipeline.vision.onnx import SFace, YuNet, same_people
from pipeline.vision.speaking import FaceCues, SpokenUnit, chosen_face, face_cues

UNIT = SpokenUnit("turn", 1, Interval(1.0, 3.0), "B", ())


def track(index: int, first: float, last: float, gaps: tuple[float, ...] = (0.1,), shot: int = 1) -> FaceTrack:
    """A face at ten frames a second whose lips go through the given gaps again and again."""
    made = FaceTrack(index, shot)
    for frame in range(round(first * 10), round(last * 10)):
        made.frames.append(frame)
        made.times.append(frame / 10)
        made.lip_gaps.append(gaps[frame % len(gaps)])
        made.sizes.append(0.5)
        made.xs.append(0.25)
        made.ys.append(0.5)
    return made


def cues(*tracks: FaceTrack, unit: SpokenUnit = UNIT) -> list[FaceCues]:
    return face_cues(tracks, unit, frames=20, rate=10, half=0.06)


def test_lip_motion_is_the_change_of_the_gap_a_second_while_words_are_said() -> None:
    still_then_moving = track(1, 0, 2)
    moving = track(1, 2, 4, (0.1, 0.12))
    for name in ("frames", "times", "lip_gaps", "sizes", "xs", "ys"):
        getattr(still_then_moving, name).extend(getattr(moving, name))
    said = SpokenUnit("turn", 1, UNIT.interval, "B", (Interval(2.0, 3.0),))
    (in_words,), (in_all,) = cues(still_then_moving, unit=said), cues(still_then_moving)
    assert in_words.lip_motion == pytest.approx(0.2, rel=1e-3)
    assert in_all.lip_motion == pytest.approx(0.2 * 9 / 19, rel=1e-3)
    assert in_words.speaking_score == pytest.approx(0.2 / 0.26, rel=1e-3)
    assert in_words.on_screen_share == 1.0


def test_a_face_that_is_seen_for_a_part_counts_for_a_part() -> None:
    whole, part = cues(track(1, 0, 4, (0.1, 0.12)), track(2, 2.4, 4, (0.1, 0.13)))
    assert part.on_screen_share == pytest.approx(0.3)
    assert chosen_face(UNIT, [whole, part], {}) is whole


def test_who_laughs_but_has_another_voice_is_not_chosen() -> None:
    laughs, speaks, listens = cues(
        track(1, 0, 4, (0.1, 0.14)), track(2, 0, 4, (0.1, 0.11)), track(3, 0, 4, (0.1, 0.101))
    )
    faces = [laughs, speaks, listens]
    assert chosen_face(UNIT, faces, {}) is laughs, "nothing is known of voices"
    assert chosen_face(UNIT, faces, {1: "A"}) is speaks
    assert chosen_face(UNIT, [laughs, listens], {1: "A"}) is laughs, "the only one whose lips move"
    assert chosen_face(UNIT, [listens], {}) is None


def described(made: FaceTrack, *angles: float) -> FaceTrack:
    made.descriptions.extend(np.array([np.cos(angle), np.sin(angle)], dtype=np.float32) for angle in angles)
    return made


def test_tracks_of_one_person_get_one_number() -> None:
    found = same_people(
        [
            described(track(1, 0, 1, shot=1), 0.0, 0.1),
            described(track(2, 0, 1, shot=1), 0.3),  # alike, but in view beside the first
            described(track(3, 2, 3, shot=2), 0.05),
            described(track(4, 4, 5, shot=3), 3.0),
            track(5, 6, 7, shot=4),
        ]
    )
    assert found[1] == found[3] == 1
    assert len({found[1], found[2], found[4]}) == 3
    assert 5 not in found, "nothing is known of it"


def test_a_network_that_is_not_there_or_is_none_is_named(tmp_path: Path, media: Path) -> None:
    missing, broken = tmp_path / "yunet.onnx", tmp_path / "sface.onnx"
    broken.write_bytes(b"no network")
    with pytest.raises(PrerequisiteError, match=r"yunet\.onnx of cues\.face_detector is not there"):
        YuNet(missing, 0.5)
    with pytest.raises(PrerequisiteError, match=r"cannot read the network sface\.onnx of cues\.face_recognition"):
        SFace(broken)
    from pipeline.media.probe import probe

    video = media / "video" / "grid_two_faces.mp4"
    with pytest.raises(PrerequisiteError, match=r"yunet\.onnx"):
        watch(video, probe(video), [UNIT], CueSettings(face_detector=str(missing)))
