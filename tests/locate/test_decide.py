"""Scenes made of words are found where they are, and nowhere else."""

from __future__ import annotations

import pytest

from pipeline.locate.decide import Status, Verdict, confirm, locate_scene
from pipeline.locate.index import Heard, WordIndex
from pipeline.locate.scene import Scene
from tests.locate.made import episode, scene, spoken, talk

SPEEDS = {"as it was": 1.0, "PAL": 25 / 24, "film of PAL": 24 / 25, "NTSC film": 1001 / 1000, "odd": 1.02}


def decided(scenes: list[Scene], episodes: list[Heard]) -> list[Verdict]:
    index = WordIndex(episodes)
    return confirm([locate_scene(one, index) for one in scenes], index)


def one(wanted: Scene, *episodes: Heard) -> Verdict:
    return decided([wanted], list(episodes))[0]


@pytest.mark.parametrize("speed", SPEEDS.values(), ids=SPEEDS)
@pytest.mark.parametrize("wrong", [0.1, 0.4])
def test_a_scene_is_found_at_its_place_and_speed(speed: float, wrong: float) -> None:
    lines = talk(7, 240)
    found = one(
        scene("x/1", lines),
        episode("a.mkv", 1200, seed=1),
        episode("b.mkv", 1200, spoken(lines, 500, speed=speed, wrong=wrong), seed=2),
    )
    assert found.status is Status.LOCATED
    assert found.best is not None
    assert found.best.episode == 1
    for said in (0.0, 120.0, 240.0):
        assert found.best.heard(said) == pytest.approx(500 + said / speed, abs=0.2)
    assert float(found.best.speed) == pytest.approx(speed, abs=0.0015)
    assert found.confidence > 0.5


def test_a_scene_that_is_in_no_episode_is_refused() -> None:
    found = one(scene("x/1", talk(7, 240)), episode("a.mkv", 1200, seed=1), episode("b.mkv", 1200, seed=2))
    assert found.status is Status.REFUSED
    assert found.reason


def test_a_recap_in_a_later_episode_takes_no_scene_away() -> None:
    lines = talk(7, 240)
    recap = [line for line in lines if 60 <= line[0] <= 85]
    found = one(
        scene("x/1", lines),
        episode("a.mkv", 1200, spoken(recap, 0), seed=1),
        episode("b.mkv", 1200, spoken(lines, 300), seed=2),
    )
    assert found.status is Status.LOCATED
    assert found.best is not None
    assert found.best.episode == 1
    assert found.best.offset == pytest.approx(300, abs=0.2)


def test_a_recap_alone_is_no_scene() -> None:
    lines = talk(7, 240)
    recap = [line for line in lines if 60 <= line[0] <= 100]
    found = one(scene("x/1", lines), episode("a.mkv", 1200, spoken(recap, 0), seed=1))
    assert found.status is Status.REFUSED
    assert "recap" in (found.reason or "")


def test_scenes_that_share_phrases_go_to_their_own_places() -> None:
    shared = [line for line in talk(5, 240) if 40 <= line[0] <= 80]
    scenes, pieces = [], []
    for number in range(4):
        lines = sorted([line for line in talk(20 + number, 240) if not 38 <= line[0] <= 82] + shared)
        lines = [line for line in lines if not any(line != other and other[0] < line[1] < other[1] for other in lines)]
        scenes.append(scene(f"x/{number}", lines))
        pieces.append(spoken(lines, 100 + 300 * number, seed=number))
    found = decided(scenes, [episode("a.mkv", 1400, *pieces)])
    assert [verdict.status for verdict in found] == [Status.LOCATED] * 4
    for number, verdict in enumerate(found):
        assert verdict.best is not None
        assert verdict.best.offset == pytest.approx(100 + 300 * number, abs=0.2)


@pytest.mark.parametrize("gap", [30.0, 150.0])
def test_an_advertisement_in_the_middle_makes_two_parts(gap: float) -> None:
    lines = talk(7, 240)
    before = [line for line in lines if line[1] < 110]
    after = [line for line in lines if line[1] >= 110]
    found = one(
        scene("x/1", lines),
        episode("a.mkv", 1200, spoken(before, 300), spoken(after, 300 + gap, seed=9), seed=2),
    )
    assert found.status is Status.LOCATED
    assert found.best is not None
    assert [part.offset for part in found.best.parts] == [
        pytest.approx(300, abs=0.2),
        pytest.approx(300 + gap, abs=0.2),
    ]
    assert before[-1][1] <= found.best.parts[1].start <= after[0][0]


def test_a_scene_that_is_there_twice_is_refused() -> None:
    lines = talk(7, 240)
    found = one(
        scene("x/1", lines),
        episode("a.mkv", 1200, spoken(lines, 300), seed=1),
        episode("b.mkv", 1200, spoken(lines, 700, seed=4), seed=2),
    )
    assert found.status is Status.REFUSED
    assert "alike" in (found.reason or "")


def test_a_scene_that_begins_before_the_recording_is_found() -> None:
    lines = talk(7, 240)
    late = [line for line in lines if line[0] > 20]
    found = one(scene("x/1", lines), episode("a.mkv", 900, spoken(late, -18), seed=1))
    assert found.status is Status.LOCATED
    assert found.best is not None
    assert found.best.offset == pytest.approx(-18, abs=0.2)


def test_a_few_words_are_too_few() -> None:
    found = one(scene("x/1", [(0.0, 2.0, "you know what i mean")]), episode("a.mkv", 600, seed=1))
    assert found.status is Status.REFUSED
    assert "too few words" in (found.reason or "")


def test_of_two_scenes_at_one_place_one_is_refused() -> None:
    lines = talk(7, 240)
    disturbed = [(start, end, text if number % 3 else "mm") for number, (start, end, text) in enumerate(lines)]
    found = decided(
        [scene("x/1", lines), scene("x/2", disturbed)], [episode("a.mkv", 1200, spoken(lines, 300), seed=1)]
    )
    assert [verdict.status for verdict in found] == [Status.LOCATED, Status.REFUSED]
    assert "x/1 lies at the same place" in (found[1].reason or "")


def hardly_heard(name: str, file: str) -> tuple[Scene, Heard]:
    """A scene of which so little is heard that words alone do not decide."""
    lines = talk(7, 240)
    return scene(name, lines), episode(file, 1200, spoken(lines, 500, wrong=0.68), seed=2)


@pytest.mark.parametrize(
    ("name", "file", "status"),
    [
        ("x/001_s1e3_ct1", "Show S01E03.mkv", Status.LOCATED),
        ("x/001_s1e3_ct1", "Season 1/Episode 3.mkv", Status.LOCATED),
        ("x/001_s1e3_ct1", "Show S01E04.mkv", Status.REFUSED),
        ("x/001_s1e3_ct1", "show.mkv", Status.REFUSED),
        ("family/1", "Show S01E03.mkv", Status.REFUSED),
    ],
)
def test_names_decide_where_words_do_not(name: str, file: str, status: Status) -> None:
    wanted, there = hardly_heard(name, file)
    index = WordIndex([there])
    alone = locate_scene(wanted, index)
    assert alone.status is Status.POSSIBLE, (alone.best, alone.reason)
    assert confirm([alone], index)[0].status is status


def test_names_do_not_overrule_what_is_clearly_heard() -> None:
    lines = talk(7, 240)
    found = one(scene("x/001_s1e3_ct1", lines), episode("s01e04.mkv", 1200, spoken(lines, 500), seed=1))
    assert found.status is Status.LOCATED
    assert found.notes == ("the file says S01E04, the id S01E03",)


def test_scenes_out_of_order_are_noted_or_refused() -> None:
    clear = [talk(30 + number, 200) for number in range(4)]
    places = [800, 100, 350, 1100]  # the first scene lies behind the next two
    wrong = [0.1, 0.1, 0.1, 0.1]
    scenes = [scene(f"x/{number + 1:03d}_s1e3_ct{number + 1}", lines) for number, lines in enumerate(clear)]
    pieces = [spoken(lines, at, wrong=share, seed=at) for lines, at, share in zip(clear, places, wrong, strict=True)]
    found = decided(scenes, [episode("S01E03.mkv", 1400, *pieces)])
    assert [verdict.status for verdict in found] == [Status.LOCATED] * 4
    assert [bool(verdict.notes) for verdict in found] == [True, False, False, False]
    pieces[0] = spoken(clear[0], places[0], wrong=0.7, seed=1)
    found = decided(scenes, [episode("S01E03.mkv", 1400, *pieces)])
    assert [verdict.status for verdict in found] == [Status.REFUSED, *[Status.LOCATED] * 3]
    assert "out of order" in (found[0].reason or "")


def test_one_of_many_episodes_is_found() -> None:
    lines = talk(7, 240)
    there = episode("b.mkv", 3600, spoken(lines, 500), seed=3)
    many = [episode(f"{number}.mkv", 3600, seed=10 + number) for number in range(20)]
    found = one(scene("x/1", lines), *many, there)
    assert found.best is not None
    assert found.best.episode == 20


def test_a_short_scene_takes_the_speed_of_its_episode() -> None:
    long, short = talk(7, 300), talk(8, 25)
    pieces = [spoken(long, 100, speed=25 / 24), spoken(short, 600, speed=25 / 24, wrong=0.4, seed=3)]
    found = decided([scene("x/1", long), scene("x/2", short)], [episode("a.mkv", 1200, *pieces)])
    for verdict in found:
        assert verdict.status is Status.LOCATED
        assert verdict.best is not None
        assert float(verdict.best.speed) == pytest.approx(25 / 24, abs=0.0001)


def test_nothing_is_found_where_nobody_speaks() -> None:
    found = one(scene("x/1", talk(7, 240)), Heard("a.mkv", 600.0, ()))
    assert found.status is Status.REFUSED
    assert found.reason
