"""Files made to harm: each is refused with a clear error, and quickly."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from pipeline.annotation.formats import base, table
from pipeline.errors import InputError, RescueError
from tests.annotation.formats.made import taken
from tests.annotation.formats.test_tools import LONG, aligned, eaf, tier, workbook

_BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
) + "]>"  # fmt: skip
_OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
_EAF = eaf({"ts1": 0, "ts2": 900}, tier("Anna", aligned("a1", "ts1", "ts2", "&a;")))


@pytest.mark.parametrize("head", [_BOMB, _OUTSIDE], ids=["expansion", "external"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(tmp_path: Path, head: str, encoding: str) -> None:
    content = _EAF.replace("?>", f"?>{head}", 1).encode(encoding)
    with pytest.raises(InputError, match="declares a document type"):
        taken(tmp_path / "a.eaf", content)


def _package(**parts: bytes) -> bytes:
    written = io.BytesIO()
    whole = workbook(["start_time", "end_time"], [1, 2])
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            if member.filename not in parts:
                new.writestr(member.filename, old.read(member))
        for name, data in parts.items():
            new.writestr(name, data)
    return written.getvalue()


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_MAX_UNPACKED", 16 * 2**20)
    content = _package(**{"xl/media/zero.bin": b"\0" * (17 * 2**20)})
    assert len(content) < 2**16
    with pytest.raises(InputError, match="unpacks to 17 MB, at most 16 are read"):
        taken(tmp_path / "a.xlsx", content)


def test_entities_in_a_workbook_are_refused(tmp_path: Path) -> None:
    sheet = f'<?xml version="1.0"?>{_BOMB}<worksheet>&j;</worksheet>'.encode()
    with pytest.raises(InputError, match="declares a document type"):
        taken(tmp_path / "a.xlsx", _package(**{"xl/worksheets/sheet1.xml": sheet}))


def test_a_cell_far_away_does_not_make_a_sheet_large(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for column, (name, value) in enumerate([("start_time", 1), ("end_time", 2), ("speaker", "Anna")], start=1):
        book.active.cell(1, column, name)
        book.active.cell(2, column, value)
    book.active.cell(1_048_576, 16_384, "far")
    written = io.BytesIO()
    book.save(written)
    assert len(taken(tmp_path / "a.xlsx", written.getvalue()).loaded.annotation.rows) == 1


@pytest.mark.parametrize("number", ["1e999", "9" * 400, "nan", "inf", "-1e308", "1e16", "0x10"])
def test_gigantic_and_odd_numbers_are_refused_everywhere(tmp_path: Path, number: str) -> None:
    files = {
        "a.csv": f"start_time,end_time,speaker\n{number},2,Anna\n",
        "a.rttm": f"SPEAKER one 1 {number} 1 <NA> <NA> Anna <NA> <NA>\n",
        "a.TextGrid": LONG.replace("xmin = 2", f"xmin = {number}"),
        "a.eaf": _EAF.replace("&a;", "x").replace('TIME_VALUE="900"', f'TIME_VALUE="{number}"'),
    }
    for name, content in files.items():
        with pytest.raises(RescueError):
            taken(tmp_path / name, content)


@pytest.mark.parametrize(
    "content", ['{"rows": [{"start_time": ' + "9" * 5000 + "}]}", "[" * 100_000, '{"rows": ' + "[" * 100_000]
)
def test_json_beyond_reason_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="JSON"):
        taken(tmp_path / "a.json", content)


def test_a_label_studio_time_of_any_kind(tmp_path: Path) -> None:
    for value in (1e400, None, "soon", [1], {}):
        result = {
            "id": "r",
            "type": "labels",
            "from_name": "who",
            "value": {"start": value, "end": 2, "labels": ["Anna"]},
        }
        content = json.dumps([{"id": 1, "annotations": [{"id": 1, "result": [result]}]}])
        with pytest.raises(RescueError):
            taken(tmp_path / "a.json", content)


def test_a_file_too_large_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("wb") as opened:
        opened.truncate(base.MAX_BYTES + 1)
    from pipeline.annotation.formats.transfer import take
    from tests.annotation.formats.made import CONVERSATION

    with pytest.raises(InputError, match="at most 64 are read"):
        take(tmp_path / "a.csv", CONVERSATION)


def test_an_encoding_is_declared_or_refused(tmp_path: Path) -> None:
    content = "start_time,end_time,speaker,text\n1,2,Anna,caf\u00e9\n".encode("cp1252")
    with pytest.raises(InputError, match="--encoding"):
        taken(tmp_path / "a.csv", content)
    assert (
        taken(tmp_path / "a.csv", content, encoding="cp1252").loaded.annotation.rows[0].dialogue_cleaned == "caf\u00e9"
    )
    with pytest.raises(RescueError, match="no encoding 'x-none'"):
        taken(tmp_path / "a.csv", content, encoding="x-none")
    for codec in ("rot13", "zlib", "base64", "idna", "undefined"):
        with pytest.raises(RescueError):
            taken(tmp_path / "a.csv", content, encoding=codec)
