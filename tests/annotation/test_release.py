"""The published release comes in exactly, once, and says what changed."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_release import made_release
from pipeline.annotation.release import import_release
from pipeline.conversation import discover, load_conversation, save_conversation
from pipeline.errors import InputError

SAMPLES = list(islice(made_release(seed=5), 6))


def write(path: Path, samples: list[dict[str, Any]]) -> Path:
    lines = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
    path.write_text(lines, encoding="utf-8", newline="\n")
    return path


def test_every_row_arrives_as_it_is(tmp_path: Path) -> None:
    samples = json.loads(json.dumps(SAMPLES))
    samples[0]["rows"][0]["dialogue_cleaned"] = "one\u2028two\u0085three"  # line separators that are none here
    report = import_release([write(tmp_path / "r.jsonl", samples)], tmp_path / "raw")
    assert len(report.added) == 6
    assert report.rows == sum(len(sample["rows"]) for sample in samples)
    found = discover(tmp_path / "raw")
    assert found.problems == ()
    by_id = {sample["sample_id"]: sample for sample in samples}
    for conversation, folder in found.conversations:
        sample = by_id[conversation.id]
        stored = json.loads((folder / "annotations.json").read_text("utf-8"))
        assert stored["rows"] == sample["rows"]
        assert list(conversation.participants) == sample["participants"]
        assert conversation.group_id == conversation.id.rpartition("/")[0]


def test_a_second_import_changes_nothing_and_a_changed_file_says_what(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    import_release([write(tmp_path / "r.jsonl", SAMPLES)], raw)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in raw.rglob("*") if path.is_file()}
    report = import_release([tmp_path / "r.jsonl"], raw)
    assert (report.added, report.changed, report.unchanged) == ([], {}, 6)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in raw.rglob("*") if path.is_file()} == before
    changed = json.loads(json.dumps(SAMPLES))
    changed[2]["rows"][1]["tone_of_voice"] = "another"
    changed[2]["rows"].pop()
    report = import_release([write(tmp_path / "r.jsonl", changed)], raw)
    assert report.changed == {changed[2]["sample_id"]: [2, len(SAMPLES[2]["rows"])]}
    assert report.unchanged == 5


def test_what_the_user_added_stays(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    import_release([write(tmp_path / "r.jsonl", SAMPLES[:1])], raw)
    folder = next(raw.iterdir())
    text = (folder / "conversation.yaml").read_text("utf-8")
    (folder / "conversation.yaml").write_text(text + "media: clip.mp4\n", encoding="utf-8")
    changed = json.loads(json.dumps(SAMPLES[:1]))
    changed[0]["rows"][0]["tone_of_voice"] = "another"
    import_release([write(tmp_path / "r.jsonl", changed)], raw)
    assert discover(raw).conversations[0][0].media == "clip.mp4"


def test_a_folder_of_samples(tmp_path: Path) -> None:
    for sample in SAMPLES[:3]:
        target = tmp_path / "release" / f"{sample['sample_id']}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps({name: value for name, value in sample.items() if name != "sample_id"}))
    report = import_release([tmp_path / "release"], tmp_path / "raw")
    assert sorted(report.added) == sorted(sample["sample_id"] for sample in SAMPLES[:3])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{torn", "not JSON"),
        ("[]", "no list of `rows`"),
        ('{"sample_id": "x", "scenario": "couple", "rows": 3}', "no list of `rows`"),
        ('{"sample_id": "x", "scenario": "trio", "rows": []}', "field scenario"),
        ('{"sample_id": "", "scenario": "couple", "rows": []}', "field id"),
    ],
)
def test_a_bad_line_is_named_and_the_others_come_in(tmp_path: Path, line: str, says: str) -> None:
    source = write(tmp_path / "r.jsonl", SAMPLES[:2])
    source.write_text(line + "\n" + source.read_text("utf-8"), encoding="utf-8")
    report = import_release([source], tmp_path / "raw")
    assert len(report.added) == 2
    assert len(report.problems) == 1
    assert "line 1" in str(report.problems[0])
    assert says in str(report.problems[0])


def test_a_sample_that_stands_twice_and_a_missing_file(tmp_path: Path) -> None:
    report = import_release([write(tmp_path / "r.jsonl", [SAMPLES[0], SAMPLES[0]])], tmp_path / "raw")
    assert "stands twice" in str(report.problems[0])
    with pytest.raises(InputError, match="no such file"):
        import_release([tmp_path / "gone.jsonl"], tmp_path / "raw")


@pytest.mark.parametrize(
    "bad",
    [
        '{"sample_id": "bad/1", "scenario": "couple", "rows": [{"row_index": 1, "start_time": NaN}]}',
        '{"sample_id": "bad/1", "scenario": "couple", "rows": [{"dialogue_cleaned": "\\ud83d"}]}',
        "[" * 100_000,
        '{"sample_id": "bad/1", "scenario": "couple", "rows": ["a", "b"]}',
    ],
)
def test_a_bad_sample_is_a_problem_of_its_own(tmp_path: Path, bad: str) -> None:
    good = '{"sample_id": "good/1", "scenario": "couple", "participants": ["A"], "rows": []}'
    release = tmp_path / "r.jsonl"
    release.write_text(f"{bad}\n{good}\n")
    for _ in range(2):
        report = import_release([release], tmp_path / "raw")
        assert len(report.problems) == 1
        assert report.problems[0].place == "line 1"
    assert report.unchanged == 1


def test_what_the_release_corrects_arrives(tmp_path: Path) -> None:
    row = {"row_index": 1, "start_time": 0, "end_time": 1, "primary_speaker": "A", "dialogue_cleaned": "x"}
    sample = {"sample_id": "s/1", "scenario": "couple", "participants": ["A"], "rows": [row, row]}
    release, raw = tmp_path / "r.jsonl", tmp_path / "raw"

    def brought(**changes: Any) -> Any:
        release.write_text(json.dumps({**sample, **changes}) + "\n")
        return import_release([release], raw)

    assert brought().added == ["s/1"]
    folder = next(path.parent for path in raw.rglob("conversation.yaml"))
    assert brought(participants=["A", "B"]).changed == {"s/1": []}
    assert load_conversation(folder).participants == ("A", "B")
    save_conversation(folder, load_conversation(folder).model_copy(update={"participants": ("A", "Bea")}))
    changed = brought(participants=["A", "B"], rows=[{**row, "dialogue_cleaned": "y"}, row])
    assert changed.changed == {"s/1": [1]}, "of two rows with one number the first changed"
    assert load_conversation(folder).participants == ("A", "Bea"), "what the user corrected stays"
