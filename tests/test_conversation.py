"""conversation.yaml: read, written, found, and refused with the field's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.conversation import CONVERSATION_FILE, Conversation, discover, load_conversation, save_conversation
from pipeline.errors import InputError


def folder_with(parent: Path, name: str, text: str) -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / CONVERSATION_FILE).write_text(text, encoding="utf-8")
    return folder


def test_round_trip(tmp_path: Path) -> None:
    conversation = Conversation.model_validate(
        {"id": "a/b", "scenario": "couple", "participants": ["Zoë", "Max"], "media": "x.mp4", "speakers": 2}
    )
    save_conversation(tmp_path, conversation)
    assert load_conversation(tmp_path) == conversation


def test_defaults_follow_from_what_is_known() -> None:
    plain = Conversation(id="phone")
    assert (plain.group_id, plain.has_therapist, plain.speaker_bounds, plain.entities) == ("phone", False, None, ())
    couple = Conversation.model_validate({"id": "k/01", "scenario": "couple", "participants": ["A", "B"]})
    assert couple.group_id == "k"
    assert couple.entities == ("A", "B", "Therapist", "Couple")
    assert couple.speaker_bounds is not None
    assert (couple.speaker_bounds.min, couple.speaker_bounds.max) == (2, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id: a\nmedias: x.mp4\n", "did you mean 'media'?"),
        ("id: a\nscenario: couples\n", "field scenario"),
        ("id: a\nparticipants: Anna\n", "field participants"),
        ("id: a\nparticipants: [Anna, Therapist]\n", "therapist: true"),
        ("id: a\nparticipants: [Anna, Anna]\n", "listed twice"),
        ("id: a\nspeakers: {min: 3, max: 2}\n", "above"),
        ("id: ''\n", "field id"),
        ("media: x.mp4\n", "field id"),
        ("id: [\n", "line 2"),
        ("- a\n", "no fields"),
        ("", "no fields"),
        ("id: 12\n", "field id"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    folder = folder_with(tmp_path, "one", text)
    with pytest.raises(InputError) as refused:
        load_conversation(folder)
    assert says in str(refused.value)
    assert str(refused.value).startswith("one, conversation.yaml")


def test_one_bad_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    folder_with(tmp_path, "good", "id: good\n")
    folder_with(tmp_path, "deep/er", "id: k/1\n")
    folder_with(tmp_path, "twin", "id: good\n")
    folder_with(tmp_path, "torn", "id: [\n")
    (tmp_path / "notes").mkdir()
    found = discover(tmp_path)
    assert [conversation.id for conversation, _ in found.conversations] == ["good", "k/1"]
    assert sorted(problem.conversation or "" for problem in found.problems) == ["good", "torn"]


def test_ids_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, "a", "id: Anna\n")
    folder_with(tmp_path, "b", "id: anna\n")
    found = discover(tmp_path)
    assert len(found.conversations) == len(found.problems) == 1


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / CONVERSATION_FILE).write_bytes("\ufeffid: one\r\n".encode())
    assert load_conversation(folder).id == "one"


@pytest.mark.parametrize("field", ["media", "subtitles", "annotations"])
@pytest.mark.parametrize("name", ["../other/session.mp4", "/etc/passwd", "a/../../b.wav", ""])
def test_files_outside_the_folder_are_refused(field: str, name: str) -> None:
    with pytest.raises(ValidationError, match="no file of the conversation's own folder"):
        Conversation.model_validate({"id": "c", field: name})
    assert getattr(Conversation.model_validate({"id": "c", field: "takes/..two.mp4"}), field) == "takes/..two.mp4"
