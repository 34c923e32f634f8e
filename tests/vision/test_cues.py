"""Who is seen, whose lips move, how it sounds: on real faces and real voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.clips.hide import FaceHider
from pipeline.media.frames import decode, sampled_grid
from pipeline.media.probe import probe
from pipeline.settings import CueSettings
from pipeline.speech.nist import SpeakerTurn, read_rttm
from pipeline.speech.prosody import prosody
from pipeline.store import Json
from pipeline.times import Interval
from pipeline.vision.cues import Watched, picture_columns, watch
from pipeline.vision.networks import FaceDetector
from pipeline.vision.speaking import SpokenUnit

SETTINGS = CueSettings()


def look(video: Path, units: list[SpokenUnit]) -> tuple[Watched, list[dict[str, Json]]]:
    watched = watch(video, probe(video), units, SETTINGS)
    return watched, picture_columns(watched, units, {}, SETTINGS)


def turns_of(rttm: Path) -> list[SpokenUnit]:
    return [
        SpokenUnit("turn", index, Interval(turn.start, turn.end), turn.speaker, ())
        for index, turn in enumerate(sorted(read_rttm(rttm), key=lambda turn: turn.start), start=1)
    ]


@pytest.mark.media
@pytest.mark.slow
def test_of_two_faces_the_one_that_speaks_is_chosen_in_every_turn(media: Path) -> None:
    """Both faces are always in view; turns and sides are exact by construction."""
    units = turns_of(media / "video" / "grid_two_faces.rttm")
    watched, found = look(media / "video" / "grid_two_faces.mp4", units)
    assert watched.cuts == [], "one shot, although each face is a clip of its own"
    sides = []
    for unit, columns in zip(units, found, strict=True):
        assert columns["most_faces"] == 2
        (face,) = [face for face in columns["faces"] if face["track"] == columns["speaking_track"]]
        sides.append(("LEFT_F" if face["x"] < 0.5 else "RIGHT_M") == unit.speaker)
        assert face["speaker"] == unit.speaker, "the face is linked to its voice"
    assert sides == [True] * 7


@pytest.mark.media
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "places"),
    [
        # Judged by eye: where the speaker's face is, from left to right; the third turn ends in a street without faces.
        ("googlework_short", [(0.6, 0.85), (0.25, 0.45), (0.25, 0.45)]),
        # In the second turn who spoke before laughs, and who answers is seen from the side.
        ("friday", [(0.55, 0.8), (0.35, 0.52)]),
    ],
)
def test_in_films_with_cuts_and_listeners_the_one_that_speaks_is_chosen(
    media: Path, name: str, places: list[tuple[float, float]]
) -> None:
    _, found = look(media / "video" / f"{name}.mp4", turns_of(media / "video" / f"{name}.rttm"))
    for columns, (left, right) in zip(found, places, strict=True):
        (face,) = [face for face in columns["faces"] if face["track"] == columns["speaking_track"]]
        assert left <= face["x"] < right
        assert face["person"] is None, "faces are not recognised unless a network is named"


@pytest.mark.media
@pytest.mark.slow
def test_a_face_that_says_nothing_is_not_speaking(media: Path) -> None:
    unit = SpokenUnit("turn", 1, Interval(0.0, 8.0), "A", ())
    _, (columns,) = look(media / "video" / "face_silent_webcam.mp4", [unit])
    assert columns["most_faces"] == 1
    assert columns["speaking_track"] is None


@pytest.mark.media
@pytest.mark.slow
def test_cuts_are_found(media: Path) -> None:
    """The change of speaker in this film is a cut of the picture at 28.1 s."""
    unit = SpokenUnit("turn", 1, Interval(26.0, 30.0), "A", ())
    _, (columns,) = look(media / "video" / "googlework_short.mp4", [unit])
    assert any(abs(cut - 28.1) < 0.15 for cut in columns["cuts"])
    assert columns["shots"] == len(columns["cuts"]) + 1


@pytest.mark.media
@pytest.mark.slow
@pytest.mark.parametrize("way", ["pixelated", "blurred"])
def test_hidden_faces_are_found_no_more_and_the_rest_stays(media: Path, way: str) -> None:
    import cv2

    video = media / "video" / "grid_two_faces.mp4"
    info = probe(video)
    assert info.video is not None
    grid = sampled_grid(info.video, 1.0, 10_000)
    hider, detector = FaceHider(way), FaceDetector(0.6)  # type: ignore[arg-type]
    for picture in decode(video, info, grid, "yuv420p"):
        before = cv2.cvtColor(picture, cv2.COLOR_YUV2BGR_I420)
        hidden = hider(picture)
        assert hidden.shape == picture.shape
        after = cv2.cvtColor(hidden, cv2.COLOR_YUV2BGR_I420)
        found = detector.find(before)  # type: ignore[arg-type]
        assert len(found) == 2
        for face in found:
            left, top, right, bottom = (round(float(edge)) for edge in face.box)
            was, now = before[top:bottom, left:right], after[top:bottom, left:right]
            # Eyes, nose and mouth are fine detail: what is left of it has little to do with the face.
            assert np.corrcoef(detail(was), detail(now))[0, 1] < 0.4
        assert np.abs(before[:8].astype(int) - after[:8].astype(int)).mean() < 4, "the edge of the picture is as before"


def detail(picture: np.ndarray) -> np.ndarray:
    import cv2

    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(float)
    return np.asarray(grey - cv2.GaussianBlur(grey, (0, 0), sigmaX=3)).ravel()


def voice(pitch: float, seconds: float, loudness: float, rate: int = 16_000) -> np.ndarray:
    """A buzz with the overtones of a voice."""
    time = np.arange(round(seconds * rate)) / rate
    wave = sum(np.sin(2 * np.pi * pitch * number * time) / number for number in range(1, 12))
    return np.asarray(loudness * wave / np.sqrt(np.mean(np.square(wave))), dtype=np.float32)


def unit(start: float, end: float, *words: tuple[float, float]) -> SpokenUnit:
    return SpokenUnit("turn", 1, Interval(start, end), "A", tuple(Interval(*word) for word in words))


def test_pitch_loudness_rate_and_pauses_of_a_known_sound(tmp_path: Path) -> None:
    sound = np.concatenate([voice(110, 2, 0.1), np.zeros(16_000, np.float32), voice(220, 2, 0.01)])
    soundfile.write(tmp_path / "a.flac", sound, 16_000)
    low, quiet, both = prosody(
        tmp_path / "a.flac",
        [
            unit(0, 2, (0, 0.9), (1.0, 2)),
            unit(3, 5),
            unit(0, 5, (0, 2), (3, 4), (4.5, 5)),
        ],
        [SpeakerTurn(0, 3, "A"), SpeakerTurn(1, 2, "B"), SpeakerTurn(1.5, 2, "C")],
    )
    assert low["pitch_median"] == pytest.approx(110, rel=0.02)
    assert quiet["pitch_median"] == pytest.approx(220, rel=0.02)
    assert low["pitch_range"] < 6
    assert both["pitch_range"] == pytest.approx(110, rel=0.1)
    assert low["intensity"] == pytest.approx(-20, abs=0.5)
    assert quiet["intensity"] == pytest.approx(-40, abs=0.7)
    assert (low["speech_rate"], low["pauses"]) == (1.0, 0)
    assert (both["pauses"], both["pause_seconds"]) == (2, 1.5)
    assert (quiet["speech_rate"], quiet["pauses"]) == (None, None)
    assert low["overlap_share"] == pytest.approx(0.5)
    assert both["overlap_share"] == pytest.approx(0.2)
    assert 0.5 < both["voiced_share"] < 0.9


def test_silence_has_no_pitch(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.zeros(32_000, np.float32), 16_000)
    (found,) = prosody(tmp_path / "a.flac", [unit(0, 2)], [])
    assert found["pitch_median"] is None
    assert found["intensity"] == -120.0
    assert found["overlap_share"] == 0.0
