"""The clip in the conversation's folder: put there, kept, and never in the place of somebody's own file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pipeline.conversation import Conversation, load_conversation, save_conversation
from pipeline.errors import InputError
from pipeline.locate.align import Fit, Part
from pipeline.locate.decide import Status, Verdict
from pipeline.locate.episodes import Episode
from pipeline.locate.index import Heard
from pipeline.locate.place import NOTE, earlier, has_own_media, put, take_away
from pipeline.settings import Settings
from pipeline.station import Workspace
from tests.locate.made import scene
from tests.media.made import make, picture, tone


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Episode:
    path = make(tmp_path_factory.mktemp("episodes") / "one.mp4", *picture(4), *tone(4), "-preset", "ultrafast")
    return Episode(path, "a" * 64, Heard("Season 1/one.mp4", 4.0, ()), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    raw = tmp_path / "raw" / "x"
    raw.mkdir(parents=True)
    save_conversation(raw, Conversation(id="x", annotations="annotations.json"))
    return raw


def workspace(folder: Path) -> Workspace:
    settings = Settings(data=folder.parent.parent / "data", raw=folder.parent)
    return Workspace.of(load_conversation(folder), folder, settings)


def found_at(offset: float) -> Verdict:
    fit = Fit(0, (Part(0.0, offset),), Fraction(1), 1.0, (1.0,), (1.0,), 9, 0.0)
    return Verdict(scene("x", [(0.0, 1.0, "so")]), Status.LOCATED, fit)


def test_a_clip_is_put_there_once_and_again_when_its_place_changes(folder: Path, episode: Episode) -> None:
    assert put(found_at(1.0), episode, workspace(folder))
    assert load_conversation(folder).media == "located.mp4"
    note = earlier(workspace(folder))
    assert note is not None
    assert note["episode"] == "Season 1/one.mp4"
    assert not has_own_media(workspace(folder))
    assert not put(found_at(1.0), episode, workspace(folder))
    assert put(found_at(2.0), episode, workspace(folder))
    (folder / "located.mp4").write_bytes(b"torn")
    assert put(found_at(2.0), episode, workspace(folder))


def test_a_clip_that_was_put_there_is_taken_away(folder: Path, episode: Episode) -> None:
    put(found_at(1.0), episode, workspace(folder))
    after = take_away(workspace(folder))
    assert after.conversation.media is None
    assert load_conversation(folder).media is None
    assert sorted(path.name for path in folder.iterdir()) == ["conversation.yaml"]


def test_nothing_is_taken_away_that_was_not_put_there(folder: Path) -> None:
    (folder / "mine.mp4").write_bytes(b"mine")
    save_conversation(folder, Conversation(id="x", media="mine.mp4"))
    assert has_own_media(workspace(folder))
    assert take_away(workspace(folder)).conversation.media == "mine.mp4"
    assert (folder / "mine.mp4").read_bytes() == b"mine"


def test_a_file_of_the_same_name_is_not_written_over(folder: Path, episode: Episode) -> None:
    (folder / "located.mp4").write_bytes(b"mine")
    with pytest.raises(InputError, match="not from here"):
        put(found_at(1.0), episode, workspace(folder))
    assert (folder / "located.mp4").read_bytes() == b"mine"
    assert not (folder / NOTE).exists()
