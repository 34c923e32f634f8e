"""ELAN, Praat, Label Studio and tables (faults E-1 to E-5, L-1 to L-3)."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from pipeline.annotation.formats import Source
from pipeline.annotation.formats.labelstudio import works_of
from pipeline.annotation.formats.transfer import export
from pipeline.annotation.stations import refusal
from pipeline.annotation.validate import validate
from pipeline.errors import InputError, PrerequisiteError
from tests.annotation.formats.made import CONVERSATION, rows, taken
from tests.annotation.made import ROW, made


def eaf(slots: dict[str, int | None], tiers: str) -> str:
    """An ELAN file without the optional schema location."""
    order = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="{name}"' + (f' TIME_VALUE="{value}"/>' if value is not None else "/>")
        for name, value in slots.items()
    )
    head = '<ANNOTATION_DOCUMENT AUTHOR="" DATE="" FORMAT="3.0" VERSION="3.0">'
    header = '<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>'
    first = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{first}{head}{header}<TIME_ORDER>{order}</TIME_ORDER>{tiers}</ANNOTATION_DOCUMENT>"


def aligned(key: str, start: str, end: str, value: str) -> str:
    return (
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{key}" TIME_SLOT_REF1="{start}" TIME_SLOT_REF2="{end}">'
        f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
    )


def referring(key: str, parent: str, value: str) -> str:
    return (
        f'<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="{key}" ANNOTATION_REF="{parent}">'
        f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>"
    )


def tier(name: str, annotations: str, extra: str = "") -> str:
    return f'<TIER TIER_ID="{name}" LINGUISTIC_TYPE_REF="x" {extra}>{annotations}</TIER>'


def test_a_slot_without_a_value_lies_between_its_neighbours(tmp_path: Path) -> None:
    """E-1."""
    both = aligned("a1", "ts1", "ts2", "hello") + aligned("a2", "ts2", "ts3", "")
    found = taken(tmp_path / "a.eaf", eaf({"ts1": 0, "ts2": None, "ts3": 2000}, tier("Anna", both)))
    assert rows(found) == [(0.0, 1.0, "Anna", "hello")]
    assert [change.after for change in found.loaded.changes] == ["tier Anna, slot ts2"]
    assert [(part.place, part.reason) for part in found.left_out] == [("tier Anna, annotation a2", "it is empty")]


def test_a_slot_without_a_value_at_the_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ts2 of tier Anna has no value"):
        taken(tmp_path / "a.eaf", eaf({"ts1": 0, "ts2": None}, tier("Anna", aligned("a1", "ts1", "ts2", "x"))))


def test_dependent_tiers_go_by_reference(tmp_path: Path) -> None:
    """E-2: stored in the order 2, 3, 1, over two levels."""
    slots: dict[str, int | None] = {f"ts{n}": n * 1000 for n in range(1, 7)}
    stored = (
        aligned("a2", "ts3", "ts4", "two") + aligned("a3", "ts5", "ts6", "three") + aligned("a1", "ts1", "ts2", "one")
    )
    child = referring("b3", "a3", "Therapist") + referring("b1", "a1", "Ben") + referring("b2", "a2", "Ben; Therapist")
    grand = referring("c1", "b1", "soft") + referring("c2", "b2", "loud") + referring("c9", "gone", "lost")
    tiers = (
        tier("Anna", stored, 'PARTICIPANT="Anna"')
        + tier("target@Anna", child, 'PARENT_REF="Anna"')
        + tier("tone_of_voice@Anna", grand, 'PARENT_REF="target@Anna"')
    )
    found = taken(tmp_path / "a.eaf", eaf(slots, tiers))
    got = [(row.dialogue_cleaned, row.target, row.tone_of_voice) for row in found.loaded.annotation.rows]
    assert got == [("one", ("Ben",), "soft"), ("two", ("Ben", "Therapist"), "loud"), ("three", ("Therapist",), None)]
    assert [(part.text, part.reason) for part in found.left_out] == [("lost", "there is no row it belongs to")]


def test_short_forms_of_one_speaker(tmp_path: Path) -> None:
    """A plain posture or strategy is the speaker's own; what names two people needs JSON."""
    tiers = (
        tier("Therapist", aligned("a1", "ts1", "ts2", "And you?"))
        + tier("target@Therapist", referring("b1", "a1", "Anna"), 'PARENT_REF="Therapist"')
        + tier("body_posture@Therapist", referring("c1", "a1", "leans in"), 'PARENT_REF="Therapist"')
        + tier("support_strategy@Therapist", referring("d1", "a1", "evoke"), 'PARENT_REF="Therapist"')
        + tier("viewpoints_attitudes@Therapist", referring("e1", "a1", "likes her"), 'PARENT_REF="Therapist"')
    )
    found = taken(tmp_path / "a.eaf", eaf({"ts1": 0, "ts2": 900}, tiers))
    row = found.loaded.annotation.rows[0]
    assert row.body_posture[0].model_dump() == {"person": "Therapist", "description": "leans in"}
    assert (row.support_strategy[0].strategy_type, row.support_strategy[0].target) == ("evoke", ("Anna",))
    assert [part.text for part in found.left_out] == ["likes her"]


LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 3
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "Anna"
        xmin = 0
        xmax = 3
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1
            text = "a ""quoted"" w\u00f6rd"
        intervals [2]:
            xmin = 1
            xmax = 2
            text = "item [2]: intervals [3]"
        intervals [3]:
            xmin = 2
            xmax = 3
            text = "three"
"""
SHORT = '\n'.join(
    ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "3", "<exists>", "1", '"IntervalTier"', '"Anna"',
     "0", "3", "3",
     "0", "1", '"a ""quoted"" w\u00f6rd"', "1", "2", '"item [2]: intervals [3]"', "2", "3", '"three"', ""]
)  # fmt: skip


@pytest.mark.parametrize("text", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_praat_files_whoever_saved_them(tmp_path: Path, text: str, encoding: str) -> None:
    """E-3."""
    expected = [(0.0, 1.0, 'a "quoted" w\u00f6rd'), (1.0, 2.0, "item [2]: intervals [3]"), (2.0, 3.0, "three")]
    for ends in (text, text.replace("\n", "\r\n")):
        found = rows(taken(tmp_path / "a.TextGrid", ends.encode(encoding)))
        assert [(start, end, said) for start, end, _, said in found] == expected


@pytest.mark.parametrize("text", [LONG, SHORT], ids=["long", "short"])
def test_a_cut_off_praat_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="it is cut off"):
        taken(tmp_path / "a.TextGrid", text[: text.index('"three"')])


def task(*authors: int, gold: int | None = None) -> dict[str, Any]:
    def work(author: int) -> dict[str, Any]:
        times = {"start": 1.0, "end": 2.0, "channel": 0}
        result = [
            {
                "id": "r",
                "type": "labels",
                "from_name": "who",
                "value": {**times, "labels": ["Anna", "Ben"][author - 1 : author]},
            },
            {"id": "r", "type": "textarea", "from_name": "what", "value": {**times, "text": [f"by {author}"]}},
        ]
        return {"id": 10 + author, "completed_by": author, "ground_truth": author == gold, "result": result}

    return {"id": 1, "annotations": [work(author) for author in authors]}


def test_two_annotators_are_never_mixed(tmp_path: Path) -> None:
    """E-4: the task repeated with both annotations in each copy."""
    source = Source(Path("a.json"), b"")
    works, repeated = works_of([task(1, 2), task(1, 2)], source)
    assert [(work.id, work.author) for work in works] == [("11", "1"), ("12", "2")]
    assert repeated == 2
    content = json.dumps([task(1, 2), task(1, 2)])
    with pytest.raises(InputError, match=r"annotated by 1 \(annotation 11\), 2 \(annotation 12\)"):
        taken(tmp_path / "a.json", content)
    assert rows(taken(tmp_path / "a.json", content, annotator="2")) == [(1.0, 2.0, "Ben", "by 2")]
    gold = taken(tmp_path / "a.json", json.dumps([task(1, 2, gold=1)]))
    assert rows(gold) == [(1.0, 2.0, "Anna", "by 1")]
    assert gold.facts["annotator"] == "1"


def test_milliseconds_are_not_rescaled_but_recognised(tmp_path: Path) -> None:
    """E-5."""
    content = "start_time,end_time,speaker,text\n4000,5000,Anna,a\n9000,9500,Ben,b\n15000,15500,Anna,c\n"
    found = taken(tmp_path / "a.csv", content)
    findings = validate(found.loaded.annotation, duration=60.0)
    beyond = [finding for finding in findings if finding.rule == "time-beyond-clip"]
    assert [finding.row for finding in beyond] == [1, 2, 3]
    assert "milliseconds" in str(refusal(beyond, Path("a.csv"), CONVERSATION, hint=beyond[0].suggestion))
    declared = taken(tmp_path / "a.csv", content, unit="milliseconds")
    assert [row[0] for row in rows(declared)] == [4.0, 9.0, 15.0]


def test_a_clock_needs_its_unit(tmp_path: Path) -> None:
    content = "start_time,end_time,speaker,text\n12:30,12:31.5,Anna,a\n"
    with pytest.raises(InputError, match=r"line 2, column start_time.*unit: clock"):
        taken(tmp_path / "a.csv", content)
    assert rows(taken(tmp_path / "a.csv", content, unit="clock")) == [(750.0, 751.5, "Anna", "a")]


def test_a_unit_is_never_guessed_from_a_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the unit of the columns begin and finish is not declared"):
        taken(
            tmp_path / "a.csv",
            "begin,finish,speaker,text\n1,2,Anna,a\n",
            fields={"start_time": "begin", "end_time": "finish"},
        )


def test_spellings_of_a_label_are_one_label(tmp_path: Path) -> None:
    """L-1."""
    labels = ["repair_softening", "repair_softening ", "Repair_Softening", "repair_softening\u00a0"]
    lines = "".join(f"{n},{n}.5,Therapist,a,{label}\n" for n, label in enumerate(labels, start=1))
    found = taken(tmp_path / "a.csv", "start_time,end_time,speaker,text,relation_pattern\n" + lines)
    assert {row.relation_pattern for row in found.loaded.annotation.rows} == {"repair_softening"}
    assert [change.row for change in found.loaded.changes] == [2, 3, 4]


def test_a_target_is_never_letters(tmp_path: Path) -> None:
    """L-2."""
    content = (
        'start_time,end_time,speaker,text,target\n1,2,Ben,a,Anna\n3,4,Ben,b,"[""Anna""]"\n5,6,Ben,c,Anna; Therapist\n'
    )
    found = taken(tmp_path / "a.csv", content).loaded.annotation
    assert [row.target for row in found.rows] == [("Anna",), ("Anna",), ("Anna", "Therapist")]


def test_words_for_nothing_are_words(tmp_path: Path) -> None:
    """L-3."""
    head = "start_time,end_time,speaker,text,tone_of_voice\n"
    found = taken(tmp_path / "a.csv", head + "1,2,Na,None,none\n3,4,Na,nan,null\n5,6,Na,n/a,\n").loaded.annotation
    assert [(row.primary_speaker, row.dialogue_cleaned) for row in found.rows] == [
        ("Na", "None"),
        ("Na", "nan"),
        ("Na", "n/a"),
    ]
    assert [row.tone_of_voice for row in found.rows] == ["none", "null", None]
    with pytest.raises(InputError, match=r"1 of 2 rows name no speaker, first line 3"):
        taken(tmp_path / "a.csv", head + "1,2,Na,a,\n3,4,,b,\n")


def workbook(*lines: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    content = workbook(["start_time", "end_time", "speaker", "text"], [1, 2.5, "Anna", "NA"], [3, 4, "Ben", None])
    assert rows(taken(tmp_path / "a.xlsx", content)) == [(1.0, 2.5, "Anna", "NA"), (3.0, 4.0, "Ben", "")]


def test_an_excel_time_is_refused(tmp_path: Path) -> None:
    import datetime as dt

    content = workbook(["start_time", "end_time", "speaker"], [dt.time(12, 30), 2, "Anna"])
    with pytest.raises(InputError, match="may mean hours or minutes"):
        taken(tmp_path / "a.xlsx", content)


@pytest.mark.parametrize("name", ["csv", "xlsx"])
@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-2", "@SUM(A1)", "\t=1", "'=1"])
def test_no_cell_is_a_formula(tmp_path: Path, name: str, text: str) -> None:
    done = export(made({**ROW, "tone_of_voice": None, "dialogue_cleaned": "x", "relation_pattern_reason": text}), name)
    assert done.lost == {}
    if name == "xlsx":
        sheet = openpyxl.load_workbook(io.BytesIO(done.data)).active
        assert all(cell.data_type != "f" for line in sheet.iter_rows() for cell in line)
    else:
        assert f",{text}" not in done.data.decode()


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    assert rows(taken(tmp_path / "a.csv", "start_time;end_time;speaker;text\n1,5;2;Anna;a, b\n")) == [
        (1.5, 2.0, "Anna", "a, b")
    ]


def test_a_line_with_too_many_cells_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 3"):
        taken(tmp_path / "a.csv", "start_time,end_time,speaker\n1,2,Anna\n3,4,Ben,more\n")


def test_rttm_names_line_and_recording(tmp_path: Path) -> None:
    line = "SPEAKER one 1 {} {} <NA> <NA> Anna <NA> <NA>\n"
    found = taken(tmp_path / "a.rttm", line.format(3, 1) + ";; note\n" + line.format(1, 0.5) + line.format(9, 0))
    assert [row[:3] for row in rows(found)] == [(1.0, 1.5, "Anna"), (3.0, 4.0, "Anna")]
    assert [part.reason for part in found.left_out] == ["it lasts no time"]
    with pytest.raises(InputError, match="line 1"):
        taken(tmp_path / "a.rttm", "SPEAKER one 1 x 1 <NA> <NA> Anna <NA> <NA>\n")


def test_the_mapping_file_beside_is_used_and_checked(tmp_path: Path) -> None:
    content = "start_time,end_time,who,text\n1,2,spk1,a\n"
    (tmp_path / "a.csv.mapping.yaml").write_text("fields: {primary_speaker: who}\nspeakers: {spk1: Ben}\n")
    assert rows(taken(tmp_path / "a.csv", content)) == [(1.0, 2.0, "Ben", "a")]
    (tmp_path / "a.csv.mapping.yaml").write_text("fields: {primry_speaker: who}\n")
    with pytest.raises(InputError, match="did you mean 'primary_speaker'"):
        taken(tmp_path / "a.csv", content)
    (tmp_path / "a.csv.mapping.yaml").write_text("a: [")
    with pytest.raises(InputError, match="not YAML"):
        taken(tmp_path / "a.csv", content)


@pytest.mark.parametrize(
    ("name", "library"), [("eaf", "pympi"), ("textgrid", "praatio"), ("vtt", "webvtt"), ("xlsx", "openpyxl")]
)
def test_a_missing_library_is_named_with_its_cure(name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [module for module in sys.modules if module.split(".")[0] == library]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'rescue-bench\[formats\]'"):
        export(made(ROW), name)


def test_a_name_taken_by_its_spelling_is_recorded(tmp_path: Path) -> None:
    found = taken(tmp_path / "a.csv", "start_time,end_time,speaker,text\n1,2,BEN,a\n")
    assert rows(found)[0][2] == "Ben"
    assert [(change.before, change.after) for change in found.loaded.changes] == [("BEN", "Ben")]
