"""The stations with the embedded models, on real recordings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.recordings import recordings
from pipeline.build import build_conversation
from pipeline.conversation import Conversation, SpeakerBounds
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.schemas import read_rows, read_table
from pipeline.scoring import read_hypothesis
from pipeline.settings import Settings, TurnSettings
from pipeline.speech.models import Models
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.station import Outcome, State, Workspace
from pipeline.store import read_json, write_json

pytest.importorskip("pyannote.audio")

pytestmark = pytest.mark.slow

FILES = ("words.parquet", "speakers.rttm", "speakers.json", "turns.parquet", "turns.vtt")


@pytest.fixture(scope="module")
def models():
    return Models(Settings())


def build(folder: Path, media: Path, models: Models, **conversation: object) -> tuple[Workspace, list[Outcome]]:
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    shutil.copy(media, raw / media.name)
    settings = conversation.pop("settings", None) or Settings(data=folder / "data", raw=raw)
    described = Conversation.model_validate({"id": "a/b", "media": media.name, **conversation})
    workspace = Workspace.of(described, raw, settings)
    line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
    return workspace, build_conversation(workspace, line)


def states(outcomes: list[Outcome]) -> list[State]:
    return [outcome.state for outcome in outcomes]


def test_two_people_on_the_telephone(tmp_path, media, models):
    sample = next(found for found in recordings(media) if found.name == "pyannote_sample")
    workspace, outcomes = build(tmp_path, sample.media, models, speakers=2)
    assert states(outcomes) == [State.DONE] * 5
    found = sample.score(read_hypothesis(workspace.data), 30.0)
    assert found.der.rate <= 0.07
    assert found.wer.rate <= 0.20
    assert found.cpwer.rate <= 0.23
    turns = read_rows(workspace.artifact("turns.parquet"))
    assert [turn["turn_index"] for turn in turns] == list(range(1, len(turns) + 1))
    assert {turn["conversation_id"] for turn in turns} == {"a/b"}
    assert sum(turn["overlap"] for turn in turns) > 0.5
    kept = [word["word_index"] for turn in turns for word in turn["words"]]
    assert kept == list(range(read_table(workspace.artifact("words.parquet")).num_rows))
    speakers = read_json(workspace.artifact("speakers.json"))
    assert [speaker["label"] for speaker in speakers["speakers"]] == ["SPEAKER_00", "SPEAKER_01"]
    assert all(len(speaker["embedding"]) == 256 for speaker in speakers["speakers"])
    assert (speakers["bounds"], speakers["flags"]) == ({"num_speakers": 2}, [])
    assert workspace.artifact("speakers.rttm").read_text().startswith("SPEAKER a~2fb 1 ")


def test_the_same_recording_gives_the_same_bytes(tmp_path, media, models):
    recording = media / "audio" / "katiesteve_mono.wav"
    first, _ = build(tmp_path / "first", recording, models, speakers=2)
    build(tmp_path / "other", media / "video" / "friday.mp4", models)
    again, _ = build(tmp_path / "again", recording, models, speakers=2)
    fresh, _ = build(tmp_path / "fresh", recording, Models(Settings()), speakers=2)
    for name in FILES:
        content = first.artifact(name).read_bytes()
        assert content == again.artifact(name).read_bytes() == fresh.artifact(name).read_bytes(), name


def test_a_recording_without_speech_is_done_and_empty(tmp_path, media, models):
    workspace, outcomes = build(tmp_path, media / "video" / "face_silent_webcam.mp4", models, speakers=2)
    assert states(outcomes) == [State.DONE] * 5
    assert all("no speech" in outcome.record.summary["flags"] for outcome in outcomes[2:])
    assert read_table(workspace.artifact("words.parquet")).num_rows == 0
    assert read_table(workspace.artifact("turns.parquet")).num_rows == 0
    assert workspace.artifact("speakers.rttm").read_text() == ""
    assert workspace.artifact("turns.vtt").read_text() == "WEBVTT\n"


def test_music_before_the_talk_is_nobody(tmp_path, media, models):
    film = next(found for found in recordings(media) if found.name == "googlework_short")
    workspace, _ = build(tmp_path, film.media, models, speakers=2)
    found = film.score(read_hypothesis(workspace.data), 35.0)
    assert found.der.rate <= 0.12
    assert min(turn.start for turn in read_hypothesis(workspace.data).speech) > 20.0


def test_the_number_of_speakers_comes_from_the_description(tmp_path, media, models):
    recording = media / "audio" / "katiesteve_mono.wav"
    described = {"participants": ["Katie", "Steve", "Ann"], "speakers": SpeakerBounds(min=1, max=1)}
    workspace, outcomes = build(tmp_path, recording, models, **described)
    content = read_json(workspace.artifact("speakers.json"))
    assert content["bounds"] == {"num_speakers": 1}
    assert content["flags"] == ["speakers_unlike_participants"]
    assert outcomes[3].record.summary["flags"] == ["speakers_unlike_participants"]


def test_only_what_depends_on_a_setting_is_made_again(tmp_path, media, models):
    recording = media / "audio" / "katiesteve_mono.wav"
    workspace, _ = build(tmp_path, recording, models, speakers=2)
    _, again = build(tmp_path, recording, models, speakers=2)
    assert [outcome.ran for outcome in again] == [False] * 5
    shorter = workspace.settings.model_copy(update={"turns": TurnSettings(pause=0.2)})
    _, changed = build(tmp_path, recording, models, speakers=2, settings=shorter)
    assert [outcome.ran for outcome in changed] == [False] * 4 + [True]
    _, bounded = build(tmp_path, recording, models, speakers=3)
    assert next(outcome.station for outcome in bounded if outcome.ran) == "speakers"


def test_another_language_than_the_model_knows_fails_with_the_cure(tmp_path, media, models):
    _, outcomes = build(tmp_path, media / "audio" / "katiesteve_mono.wav", models, language="de")
    assert states(outcomes)[2:] == [State.FAILED, State.DONE, State.SKIPPED]
    assert "English only" in outcomes[2].record.reason
    assert "recognition.model" in outcomes[2].record.hint


def test_suspected_words_stay_in_the_words_and_out_of_the_turns(tmp_path):
    from pipeline.schemas import WORDS, table_of, write_table
    from pipeline.speech.words import Word

    settings = Settings(data=tmp_path / "data", raw=tmp_path)
    workspace = Workspace.of(Conversation(id="x"), tmp_path, settings)
    words = [Word("yes", 1.0, 1.2), Word("bye", 2.0, 2.2, flags=("suspected_loop:repeated",)), Word("so", 2.5, 2.7)]
    table = table_of([word.to_row(index) for index, word in enumerate(words)], WORDS)
    write_table(workspace.artifact("words.parquet"), table, WORDS)
    workspace.artifact("speakers.rttm").write_text("SPEAKER x 1 0.5 3.0 <NA> <NA> SPEAKER_00 <NA> <NA>\n")
    for station in ("words", "speakers"):
        write_json(workspace.record(station), {"state": "done"})
    with workspace.locked() as digests:
        outcome = TurnsStation().process(workspace, digests)
    assert outcome.record.summary["suspected"] == 1
    (turn,) = read_rows(workspace.artifact("turns.parquet"))
    assert (turn["text"], [word["word_index"] for word in turn["words"]]) == ("yes so", [0, 2])
