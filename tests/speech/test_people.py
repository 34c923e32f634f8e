"""The same person in several conversations of one group."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.build import build_conversation
from pipeline.cli.app import app
from pipeline.conversation import Conversation, save_conversation
from pipeline.errors import InputError, UsageError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.settings import Settings
from pipeline.speech.people import Voice, people_of, voices_of
from pipeline.speech.stations import SpeakersStation
from pipeline.station import Record, State, Workspace
from pipeline.store import read_json, write_json

NETWORK = "embedding 1234"


def voice(place: str, degrees: float, name: str | None = None, network: str = NETWORK, seconds: float = 10.0) -> Voice:
    """A voice in a plane: two that are d degrees apart have the cosine distance 1 - cos d."""
    conversation, _, label = place.partition("/")
    angle = math.radians(degrees)
    return Voice(conversation, label, seconds, (math.cos(angle), math.sin(angle)), network, name)


def joined(voices: list[Voice], threshold: float = 0.12) -> list[set[str]]:
    return [
        {f"{found.conversation_id}/{found.label}" for found in person.voices} for person in people_of(voices, threshold)
    ]


def test_close_voices_of_different_conversations_are_one_person_and_share_the_name() -> None:
    voices = [
        voice("1/A", 0, "Anna", seconds=60),
        voice("1/B", 60, "Ben"),
        voice("2/A", 65),
        voice("2/B", 5, seconds=30),
        voice("3/A", 120),
    ]
    anna, ben, other = people_of(voices, 0.12)
    assert {(found.conversation_id, found.label) for found in anna.voices} == {("1", "A"), ("2", "B")}
    assert (anna.name, ben.name, other.name) == ("Anna", "Ben", None)
    assert anna.distance == pytest.approx(1 - math.cos(math.radians(5)), abs=0.001)
    assert anna.flags == ben.flags == other.flags == []
    assert "embedding" not in json.dumps(anna.to_json())


def test_two_voices_of_one_conversation_are_never_one_person() -> None:
    assert joined([voice("1/A", 0), voice("1/B", 1), voice("2/A", 2)]) == [{"1/B", "2/A"}, {"1/A"}]


def test_voices_of_different_networks_are_not_compared() -> None:
    assert len(people_of([voice("1/A", 0), voice("2/A", 0, network="other")], 0.12)) == 2


def test_doubt_and_contradiction_are_flagged() -> None:
    unsure = people_of([voice("1/A", 0), voice("2/A", 10), voice("2/B", 14)], 0.12)[0]
    assert unsure.flags == ["unsure"]
    torn = people_of([voice("1/A", 0, "Anna"), voice("2/A", 1, "Ben")], 0.12)[0]
    assert (torn.flags, torn.name, torn.names) == (["names_differ"], None, ("Anna", "Ben"))
    assert people_of([], 0.12) == []


def test_names_hold_for_the_run_they_were_given_in(tmp_path: Path) -> None:
    workspace = Workspace.of(Conversation(id="a/1"), tmp_path, Settings(data=tmp_path / "data", raw=tmp_path))
    with pytest.raises(InputError, match=r"a/1: its speakers were not told apart yet \(rescue build a~2f1\)"):
        voices_of(workspace)
    speakers = [
        {"label": "SPEAKER_00", "seconds": 4.0, "turns": 1, "embedding": [1.0, 0.0]},
        {"label": "SPEAKER_01", "seconds": 4.0, "turns": 1, "embedding": [0.0, 0.0]},
        {"label": "SPEAKER_02", "seconds": 4.0, "turns": 1, "embedding": None},
    ]
    write_json(workspace.artifact("speakers.json"), {"run_id": "now", "speakers": speakers})
    for station in ("speakers", "rows"):
        write_json(workspace.record(station), Record(State.DONE).to_json())
    for run_id, name in (("now", "Anna"), ("before", None)):
        join = {"speakers": {"run_id": run_id, "participant": {"SPEAKER_00": "Anna"}}}
        write_json(workspace.artifact("join.json"), join)
        (found,) = voices_of(workspace)
        assert (found.label, found.name) == ("SPEAKER_00", name)


@pytest.mark.slow
def test_two_people_in_two_meetings(tmp_path: Path, media: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyannote.audio")
    from pipeline.speech.models import Models

    monkeypatch.chdir(tmp_path)
    settings = Settings()
    line = (SourceStation(), AudioStation(), SpeakersStation(Models(settings)))
    for name in ("dev00", "dev01"):
        raw = tmp_path / "raw_video" / name
        raw.mkdir(parents=True)
        shutil.copy(media / "audio" / "ami_debug" / f"{name}.wav", raw)
        conversation = Conversation.model_validate({"id": f"meeting/{name}", "media": f"{name}.wav", "speakers": 2})
        save_conversation(raw, conversation)
        outcomes = build_conversation(Workspace.of(conversation, raw, settings), line)
        assert [outcome.state for outcome in outcomes] == [State.DONE] * 3
    first = Workspace.of(Conversation(id="meeting/dev00"), tmp_path, settings)
    run_id = read_json(first.artifact("speakers.json"))["run_id"]
    # As an annotation of the first meeting would name them: MEE009 opens it.
    names = {"SPEAKER_00": "MEE009", "SPEAKER_01": "MEE012"}
    write_json(first.artifact("join.json"), {"speakers": {"run_id": run_id, "participant": names}})
    write_json(first.record("rows"), Record(State.DONE).to_json())
    result = CliRunner().invoke(app, ["voices", "meeting", "--json"])
    assert result.exit_code == 0, result.exception
    people = json.loads(result.stdout)["groups"]["meeting"]
    # The reference: MEE012 speaks first in the second meeting, MEE009 second.
    found = {
        person["name"]: {voice["conversation"]: voice["speaker"] for voice in person["voices"]} for person in people
    }
    assert found == {
        "MEE009": {"meeting/dev00": "SPEAKER_00", "meeting/dev01": "SPEAKER_01"},
        "MEE012": {"meeting/dev00": "SPEAKER_01", "meeting/dev01": "SPEAKER_00"},
    }
    table = CliRunner().invoke(app, ["voices"])
    assert "meeting/dev01 SPEAKER_01" in " ".join(table.stdout.split())
    with pytest.raises(UsageError, match=r"there is no group 'meetings' \(did you mean 'meeting'\?\)"):
        raise CliRunner().invoke(app, ["voices", "meetings"]).exception
