"""The small pictures: every turn is a bar in its lane, names are escaped, the overview shows the rows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import cv2
import numpy as np

from pipeline.conversation import Conversation
from pipeline.pictures import Span, pictures_of, timeline
from pipeline.schemas import TURNS, table_of, write_table
from pipeline.settings import Settings
from pipeline.station import Workspace
from pipeline.store import write_json

SVG = "{http://www.w3.org/2000/svg}"


def workspace(folder: Path) -> Workspace:
    return Workspace.of(Conversation(id="a"), folder / "raw", Settings(data=folder / "data"))


def test_each_span_is_a_bar_at_its_time_and_each_lane_is_named() -> None:
    spans = [Span("Anna", 0.0, 30.0), Span("Ben", 30.0, 60.0, "request"), Span("Anna", 60.0, 120.0)]
    root = ET.fromstring(timeline(spans, 120.0))
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) == 3
    first, last, second = (float(bar.get("width", "0")) for bar in bars)
    assert abs(first - second) < 0.2
    assert abs(last - 2 * first) < 0.2
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[-2:] == ["Anna", "Ben"]
    assert bars[2].find(f"{SVG}title").text == "request, 00:00:30.000 to 00:01:00.000"  # type: ignore[union-attr]


def test_names_are_text_whatever_they_hold() -> None:
    name = '"><script>alert(1)</script>&'
    root = ET.fromstring(timeline([Span(name, 0.0, 1.0, name)], 1.0))
    assert not list(root.iter(f"{SVG}script"))


def test_turns_of_a_built_conversation(tmp_path: Path) -> None:
    there = workspace(tmp_path)
    rows = [
        {
            "conversation_id": "a", "turn_index": at, "speaker": speaker, "start": 2.0 * at, "end": 2.0 * at + 1.5,
            "text": "hello", "word_count": 1, "confidence": 0.9, "overlap": False, "words": [], "flags": [],
        }
        for at, speaker in enumerate(["SPEAKER_01", "SPEAKER_00", "SPEAKER_02"])
    ]  # fmt: skip
    there.data.mkdir(parents=True)
    write_table(there.artifact("turns.parquet"), table_of(rows, TURNS), TURNS)
    write_json(there.artifact("source.json"), {"duration": 20.0})
    (picture,) = pictures_of("turns", there)
    assert picture.media_type == "image/svg+xml"
    names = [text.text for text in ET.fromstring(picture.content).iter(f"{SVG}text")]
    assert names[-3:] == ["SPEAKER_00", "SPEAKER_01", "SPEAKER_02"]


def test_the_overview_holds_at_most_twelve_rows(tmp_path: Path) -> None:
    there = workspace(tmp_path)
    (there.data / "clips").mkdir(parents=True)
    for row in range(1, 31):
        cv2.imwrite(str(there.artifact("clips") / f"{row}.jpg"), np.full((180, 320, 3), 8 * row, np.uint8))
    write_json(there.artifact("clips/index.json"), {"clips": [{"row": row} for row in range(1, 31)]})
    (picture,) = pictures_of("clips", there)
    found = cv2.imdecode(np.frombuffer(picture.content, np.uint8), cv2.IMREAD_COLOR)
    assert found is not None
    assert found.shape == (3 * 101, 4 * 180, 3)


def test_what_has_no_picture_has_none(tmp_path: Path) -> None:
    assert pictures_of("audio", workspace(tmp_path)) == []
