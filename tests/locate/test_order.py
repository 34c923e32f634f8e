"""Season, episode and order in names."""

from __future__ import annotations

import pytest

from pipeline.locate.order import file_tag, natural, out_of_order, scene_tag


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("anna_ben/004_s1e3_ct2_segment01", "S01E03"),
        ("anna_ben/004_s12e103_ct2", "S12E103"),
        ("family_therapy/003/ep1", None),
        ("class1e3/1", None),
    ],
)
def test_ids(name: str, tag: str | None) -> None:
    assert (str(found) if (found := scene_tag(name)) else None) == tag


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("Show.S01E03.1080p.mkv", "S01E03"),
        ("show s1 e3.mkv", "S01E03"),
        ("Show - 2x11 - Title.mkv", "S02E11"),
        ("Season 2/Episode 11.mkv", "S02E11"),
        ("season_02/show_episode_11_1920x1080.mkv", "S02E11"),
        ("Show 1920x1080.mkv", None),
        ("Show.mkv", None),
    ],
)
def test_files(name: str, tag: str | None) -> None:
    assert (str(found) if (found := file_tag(name)) else None) == tag


def test_two_stands_before_ten() -> None:
    assert sorted(["a10", "a2", "a1b", "b"], key=natural) == ["a1b", "a2", "a10", "b"]


@pytest.mark.parametrize(
    ("offsets", "odd"), [([], []), ([1.0], []), ([1.0, 2.0, 3.0], []), ([9.0, 2.0, 3.0], [0]), ([1.0, 3.0, 2.0], [1])]
)
def test_the_fewest_are_out_of_order(offsets: list[float], odd: list[int]) -> None:
    assert out_of_order(offsets) == odd
