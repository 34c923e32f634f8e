"""``rescue import FORMAT``, ``rescue export FORMAT``, and annotation files of other tools in the build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from pipeline.annotation.formats import FORMATS
from pipeline.annotation.formats.transfer import export
from pipeline.annotation.io import read_annotation
from pipeline.annotation.stations import AnnotationsStation
from pipeline.build import find_workspaces
from pipeline.cli.app import app
from pipeline.errors import InputError, RescueError
from pipeline.settings import load_settings
from pipeline.store import write_json
from tests.annotation.made import ROW, THERAPIST_ROW, made

CSV = "start_time,end_time,speaker,target,text,mood\n1,3,Anna,Ben,You never call.,bad\n3,6,ben,Anna,I forgot.,\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "raw_video" / "a"
    folder.mkdir(parents=True)
    (folder / "conversation.yaml").write_text("id: a\nscenario: couple\nparticipants: [Anna, Ben]\n")
    (tmp_path / "coding.csv").write_text(CSV)
    return tmp_path


def rescue(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def stored(project: Path) -> dict[str, object]:
    return json.loads((project / "raw_video/a/annotations.json").read_text())  # type: ignore[no-any-return]


def test_a_dry_run_shows_and_writes_nothing(project: Path) -> None:
    done = rescue("import", "csv", "coding.csv", "--into", "a", "--dry-run")
    assert done.exit_code == 0, done.output
    for shown in ("You never call.", "dry run: 2 rows, 1 parts left out", "column mood", "length of the recording"):
        assert shown in done.output
    assert sorted(path.name for path in (project / "raw_video/a").iterdir()) == ["conversation.yaml"]


def test_an_import_is_kept_with_its_record_and_never_overwrites(project: Path) -> None:
    assert rescue("import", "csv", "coding.csv", "--into", "a").output.startswith("added: 2 rows")
    content = stored(project)
    assert [row["primary_speaker"] for row in content["rows"]] == ["Anna", "Ben"]  # type: ignore[union-attr,index]
    assert yaml.safe_load((project / "raw_video/a/conversation.yaml").read_text())["annotations"] == "annotations.json"
    record = json.loads((project / "raw_video/a/annotations.import.json").read_text())
    assert (record["file"], record["left_out"][0]["place"]) == ("coding.csv", "column mood")
    assert str(project) not in json.dumps(record)

    assert rescue("import", "csv", "coding.csv", "--into", "a").output.startswith("unchanged")
    (project / "coding.csv").write_text(CSV.replace("forgot", "was busy"))
    refused = rescue("import", "csv", "coding.csv", "--into", "a")
    assert isinstance(refused.exception, InputError)
    assert "has annotations already" in str(refused.exception)
    assert stored(project) == content

    assert rescue("import", "csv", "coding.csv", "--into", "a", "--replace").output.startswith("changed")
    kept = list((project / "raw_video/a").glob("annotations.????????.json"))
    assert [json.loads(path.read_text()) for path in kept] == [content]


def test_a_row_that_cannot_be_used_stops_the_import(project: Path) -> None:
    (project / "coding.csv").write_text(CSV.replace("3,6,ben", "6,3,ben"))
    refused = rescue("import", "csv", "coding.csv", "--into", "a")
    assert "row 2, end_time: ends at 3.0" in str(refused.exception)
    assert not (project / "raw_video/a/annotations.json").exists()
    shown = rescue("import", "csv", "coding.csv", "--into", "a", "--dry-run")
    assert shown.exit_code == 1
    assert "row 2, end_time" in shown.output


def test_json_output_has_rows_findings_and_what_was_left_out(project: Path) -> None:
    report = json.loads(rescue("import", "csv", "coding.csv", "--into", "a", "--dry-run", "--json").output)
    assert (report["rows"], report["left_out"][0]["count"], report["state"]) == (2, 1, "dry run")
    assert {finding["rule"] for finding in report["findings"]} == {"no-type"}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_goes_out_and_comes_back(project: Path, name: str) -> None:
    write_json(project / "raw_video/a/annotations.json", {"rows": [ROW, THERAPIST_ROW]})
    with (project / "raw_video/a/conversation.yaml").open("a") as opened:
        opened.write("annotations: annotations.json\n")
    report = json.loads(rescue("export", name, "a", "-o", f"out{FORMATS[name].suffixes[0]}", "--json").output)
    assert report["rows"] == 2
    assert ("utterance_type" in report["lost"]) == (name in {"srt", "vtt", "rttm"})
    back = rescue("import", name, report["file"], "--into", "a", "--replace")
    assert back.exit_code == 0, back.output
    if not report["lost"]:
        path = project / "raw_video/a/annotations.json"
        from pipeline.annotation.formats.transfer import take

        (workspace,) = find_workspaces(load_settings()).workspaces
        assert take(path, workspace.conversation).loaded.annotation.rows == made(ROW, THERAPIST_ROW).rows


def test_export_says_what_is_lost_and_does_not_overwrite(project: Path) -> None:
    assert rescue("import", "csv", "coding.csv", "--into", "a").exit_code == 0
    done = rescue("export", "srt", "a")
    assert "wrote a.srt: 2 rows" in done.output
    assert "target: 2" in done.output
    (project / "a.srt").write_text("work of hours")
    refused = rescue("export", "srt", "a")
    assert isinstance(refused.exception, RescueError)
    assert (project / "a.srt").read_text() == "work of hours"
    assert rescue("export", "srt", "a", "--replace").exit_code == 0


def test_the_build_reads_files_of_other_tools_through_the_same_importer(project: Path) -> None:
    folder = project / "raw_video/a"
    (folder / "session.eaf").write_bytes(export(made(ROW, THERAPIST_ROW), "eaf").data)
    with (folder / "conversation.yaml").open("a") as opened:
        opened.write("annotations: session.eaf\n")
    (workspace,) = find_workspaces(load_settings()).workspaces
    station = AnnotationsStation()
    assert station.run(workspace)["rows"] == 2
    assert read_annotation(workspace.artifact("annotations.json")).rows == made(ROW, THERAPIST_ROW).rows
    assert "mapping" not in station.inputs(workspace)
    (folder / "session.eaf.mapping.yaml").write_text("ignore: ['target@Anna']\n")
    assert station.inputs(workspace)["mapping"].name == "session.eaf.mapping.yaml"
    station.run(workspace)
    assert read_annotation(workspace.artifact("annotations.json")).rows[0].target == ()
    rules = {finding["rule"] for finding in json.loads(workspace.artifact("findings.json").read_text())["findings"]}
    assert "left-out" in rules
