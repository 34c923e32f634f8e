"""What deserves a look is found from what the stations wrote, with a way out; what is fine is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.conversation import Conversation
from pipeline.health import LOOKS, look_at
from pipeline.schemas import WORDS, table_of, write_table
from pipeline.settings import Settings
from pipeline.station import Record, State, Workspace
from pipeline.store import write_json

SPEAKERS = {"speakers": 3, "flags": []}
FIT = {"matched_share": 0.95, "speaker_agreement": 1.0, "offset": 0.02, "drift_percent": 0.1}


def complaints(folder: Path, name: str, state: State = State.DONE, **summary: Any) -> list[str]:
    conversation = Conversation.model_validate({"id": "a", "scenario": "couple", "participants": ["Anna", "Ben"]})
    there = Workspace.of(conversation, folder / "raw", Settings(data=folder / "data"))
    (look,) = (look for look in LOOKS if look.name == name)
    write_json(there.record(look.station), Record(state, summary=summary).to_json())
    found = look_at(look, [there])
    assert all(one.conversation_id == "a" and one.hint for one in found)
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("name", "summary", "told"),
    [
        ("sound_is_good", {"warnings": []}, []),
        ("sound_is_good", {"warnings": ["very quiet: -60 dB on average"]}, ["very quiet: -60 dB on average"]),
        ("speakers_as_expected", SPEAKERS, []),
        (
            "speakers_as_expected",
            {"speakers": 2, "flags": ["unlike_participants"]},
            ["2 speakers were found; 3 people are listed, 2 to 3 were asked for"],
        ),
        ("annotation_fits", FIT, []),
        ("annotation_fits", dict.fromkeys(FIT), []),
        ("annotation_fits", FIT | {"matched_share": 0.4}, ["40% of the annotated words were found in the recording"]),
        ("annotation_fits", FIT | {"offset": -1.5}, ["annotated times are off by -1.5 s"]),
        ("annotation_fits", FIT | {"drift_percent": 4.1}, ["the annotation runs +4.1 % off"]),
        (
            "annotation_fits",
            FIT | {"speaker_agreement": 0.5},
            ["the machine hears the annotated speaker in 50% of the rows"],
        ),
    ],
)
def test_a_complaint_says_what_and_how_much(
    tmp_path: Path, name: str, summary: dict[str, Any], told: list[str]
) -> None:
    assert complaints(tmp_path, name, **summary) == told


@pytest.mark.parametrize(("seconds", "told"), [(6.0, []), (40.0, ["words cover 14% of 40 s of speech"]), (2.0, [])])
def test_speech_without_words(tmp_path: Path, seconds: float, told: list[str]) -> None:
    row = {"text": "yes", "confidence": 0.9, "time_source": "attention", "segment": 0, "flags": []}
    rows = [row | {"word_index": at, "start": 1.0 * at, "end": at + 0.5} for at in range(6)]
    (tmp_path / "data/conversations/a").mkdir(parents=True)
    path = tmp_path / "data/conversations/a/words.parquet"
    write_table(path, table_of(rows, WORDS), WORDS)
    assert complaints(tmp_path, "words_cover_speech", speech_seconds=seconds) == told


def test_what_is_not_built_is_not_looked_at(tmp_path: Path) -> None:
    assert complaints(tmp_path, "sound_is_good", State.FAILED, warnings=["x"]) == []
