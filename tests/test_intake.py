"""Adding a conversation: whole or not at all, never over another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.conversation import Conversation, load_conversation
from pipeline.errors import InputError
from pipeline.intake import add_conversation


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "It's Zoe & Max (é).wav"
    path.write_bytes(b"sound")
    return path


def test_the_folder_holds_the_files_and_what_is_known(tmp_path: Path, recording: Path) -> None:
    notes = tmp_path / "rows.json"
    notes.write_text("{}")
    asked = Conversation.model_validate({"id": "k/ä 1", "scenario": "couple", "participants": ["Zoe", "Max"]})
    stored, folder = add_conversation(asked, {"media": recording, "annotations": notes}, tmp_path / "raw")
    assert folder.name == "k~2f~c3~a4~201"
    assert load_conversation(folder) == stored
    assert (stored.media, stored.annotations) == (recording.name, "rows.json")
    assert (folder / recording.name).read_bytes() == b"sound"
    assert [path.name for path in (tmp_path / "raw").iterdir()] == [folder.name]


def test_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path, recording: Path) -> None:
    twin = tmp_path / "other" / recording.name
    twin.parent.mkdir()
    twin.write_text("cues")
    stored, folder = add_conversation(Conversation(id="a"), {"media": recording, "subtitles": twin}, tmp_path / "raw")
    assert stored.media != stored.subtitles
    assert (folder / str(stored.media)).read_bytes() == b"sound"
    assert (folder / str(stored.subtitles)).read_text() == "cues"


def test_a_file_called_like_ours_is_kept_beside_it(tmp_path: Path) -> None:
    odd = tmp_path / "conversation.yaml"
    odd.write_text("sound")
    stored, folder = add_conversation(Conversation(id="a"), {"media": odd}, tmp_path / "raw")
    assert (folder / str(stored.media)).read_text() == "sound"
    assert load_conversation(folder).id == "a"


def test_a_link_points_to_the_file(tmp_path: Path, recording: Path) -> None:
    stored, folder = add_conversation(Conversation(id="a"), {"media": recording}, tmp_path / "raw", link=True)
    assert (folder / str(stored.media)).resolve() == recording.resolve()


@pytest.mark.parametrize("second", ["a", "A"])
def test_a_name_that_is_taken_is_refused_and_nothing_changes(tmp_path: Path, recording: Path, second: str) -> None:
    add_conversation(Conversation(id="a"), {"media": recording}, tmp_path / "raw")
    before = sorted((tmp_path / "raw").rglob("*"))
    with pytest.raises(InputError, match="exists already"):
        add_conversation(Conversation(id=second), {"media": recording}, tmp_path / "raw")
    assert sorted((tmp_path / "raw").rglob("*")) == before


@pytest.mark.parametrize("name", ["gone.wav", "folder"])
def test_a_missing_file_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="no such file"):
        add_conversation(Conversation(id="a"), {"media": tmp_path / name}, tmp_path / "raw")
    assert not (tmp_path / "raw").exists()
