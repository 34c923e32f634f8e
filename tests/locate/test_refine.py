"""Loudness moves a scene by tenths of a second where it is clear, and leaves it where it is not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.locate.align import Fit, Part
from pipeline.locate.refine import refine
from pipeline.media.audio import SAMPLE_RATE
from tests.locate.made import Line, scene, talk

LINES = talk(7, 60)


def sound(
    target: Path, lines: list[Line], offset: float, speed: float = 1.0, *, gap: tuple[float, float] = (0, 0)
) -> Path:
    """Two minutes of soft noise that is loud while a line lasts; from ``gap[0]`` of the scene on ``gap[1]`` s later."""
    noise = np.random.default_rng(1).normal(0, 0.05, 120 * SAMPLE_RATE).astype(np.float32)
    level = np.full(len(noise), 0.02, dtype=np.float32)
    for start, end, _ in lines:
        late = gap[1] if gap[1] and start >= gap[0] else 0.0
        first, last = (round((offset + late + at / speed) * SAMPLE_RATE) for at in (start, end))
        level[max(0, first) : max(0, last)] = 1.0
    soundfile.write(target, noise * level, SAMPLE_RATE)
    return target


def fit(*parts: Part, speed: Fraction = Fraction(1)) -> Fit:
    return Fit(0, parts, speed, 1.0, (1.0,), (1.0,), 9, 0.0)


@pytest.mark.parametrize("speed", [Fraction(1), Fraction(25, 24)])
@pytest.mark.parametrize("error", [-0.5, -0.1, 0.0, 0.3, 0.6])
def test_a_place_that_is_off_is_put_right(tmp_path: Path, speed: Fraction, error: float) -> None:
    audio = sound(tmp_path / "audio.flac", LINES, 20.0, float(speed))
    found, how = refine(fit(Part(0.0, 20.0 + error), speed=speed), scene("x", LINES), audio)
    assert found.offset == pytest.approx(20.0, abs=0.03)
    assert how.shift == pytest.approx(-error, abs=0.03)
    assert how.correlation >= how.before


def test_a_scene_at_the_very_start_is_put_right(tmp_path: Path) -> None:
    audio = sound(tmp_path / "audio.flac", LINES, -0.5)
    found, _ = refine(fit(Part(0.0, -0.2)), scene("x", LINES), audio)
    assert found.offset == pytest.approx(-0.5, abs=0.03)


def test_both_parts_move(tmp_path: Path) -> None:
    audio = sound(tmp_path / "audio.flac", LINES, 20.0, gap=(30.0, 15.0))
    border = next(start for start, _, _ in LINES if start >= 30) - 0.1
    found, _ = refine(fit(Part(0.0, 20.3), Part(border, 35.3)), scene("x", LINES), audio)
    assert [part.offset for part in found.parts] == pytest.approx([20.0, 35.0], abs=0.03)


def test_music_moves_nothing(tmp_path: Path) -> None:
    audio = sound(tmp_path / "audio.flac", [(-20.0, 100.0, "")], 20.0)
    found, how = refine(fit(Part(0.0, 20.3)), scene("x", LINES), audio)
    assert found.offset == 20.3
    assert how.shift == 0


def test_a_place_that_is_far_off_stays(tmp_path: Path) -> None:
    audio = sound(tmp_path / "audio.flac", LINES, 20.0)
    found, _ = refine(fit(Part(0.0, 23.0)), scene("x", LINES), audio)
    assert found.offset == pytest.approx(23.0, abs=0.8)


@pytest.mark.parametrize("speed", [Fraction(1), Fraction(25, 24), Fraction(24, 25)])
@pytest.mark.parametrize("taken", [Fraction(1), Fraction(25, 24)])
def test_a_speed_that_few_anchors_show_is_put_right(tmp_path: Path, speed: Fraction, taken: Fraction) -> None:
    audio = sound(tmp_path / "audio.flac", LINES, 20.0, float(speed))
    end = LINES[-1][1]
    about_middle = 20.0 + end / 2 / float(speed) - end / 2 / float(taken)
    few = Fit(0, (Part(0.0, about_middle),), taken, 1.0, (1.0,), (1.0,), 6, 0.0)
    found, _ = refine(few, scene("x", LINES), audio)
    assert found.speed == speed
    assert found.offset == pytest.approx(20.0, abs=0.05)
