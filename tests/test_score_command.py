"""``rescue score``: references of every kind, what they cannot tell, and the figures in the line of stations."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.annotation.formats import FORMATS
from pipeline.annotation.model import Annotation, Row
from pipeline.cli.app import app
from pipeline.conversation import Conversation, Scenario, load_conversation, save_conversation
from pipeline.errors import InputError
from pipeline.offsets import TimeOffsets, speech_starts, turn_starts, word_starts
from pipeline.quality import QualityStation, measure
from pipeline.reference import Reference, find_references, read_reference_files
from pipeline.schemas import WORDS, read_rows, table_of, write_table
from pipeline.scoring import Transcript
from pipeline.settings import Settings
from pipeline.speech.nist import SpeakerTurn, Utterance, read_rttm, read_stm, rttm_of
from pipeline.speech.stations import TurnsStation
from pipeline.speech.words import Word
from pipeline.station import Outcome, Record, State, Workspace
from pipeline.store import read_json, write_json, write_text
from pipeline.times import Interval, format_clock

pytest.importorskip("meeteval")
pytest.importorskip("pyannote.metrics")
if find_spec("pyannote.audio") is None:
    pytest.skip("the recording comes with pyannote.audio", allow_module_level=True)

LATE = 0.1
"""Seconds by which the words of the fixture lie behind the reference."""


def sample(suffix: str) -> Path:
    spec = find_spec("pyannote.audio")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "sample" / f"sample{suffix}"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A telephone call whose turns are its reference, a little late and with one word that is wrong.

    The turns are made by their real station; the words before it are not recognised, so that errors are known.
    """
    monkeypatch.chdir(tmp_path)
    raw = tmp_path / "raw_video" / "call"
    raw.mkdir(parents=True)
    save_conversation(raw, Conversation(id="call", media="sample.wav", participants=("Diane", "Sheila")))
    for suffix in (".wav", ".rttm", ".stm"):
        (raw / f"sample{suffix}").symlink_to(sample(suffix))
    workspace = Workspace.of(load_conversation(raw), raw, Settings())
    speech = [SpeakerTurn(part.start, part.end, part.speaker) for part in read_stm(sample(".stm"))]
    words = []
    for number, part in enumerate(read_stm(sample(".stm"))):
        texts = part.text.split()
        each = (part.end - part.start) / len(texts)
        words += [
            Word(text, part.start + LATE + place * each, part.start + LATE + (place + 0.9) * each, number)
            for place, text in enumerate(texts)
        ]
    words[-1] = Word("then.", words[-1].start, words[-1].end, words[-1].segment)
    rows = [word.to_row(index) for index, word in enumerate(words)]
    write_table(workspace.artifact("words.parquet"), table_of(rows, WORDS), WORDS)
    write_text(workspace.artifact("speakers.rttm"), rttm_of(speech, "call"))
    for station in ("words", "speakers"):
        write_json(workspace.record(station), Record(State.DONE).to_json())
    assert run(TurnsStation(), workspace).state is State.DONE
    return workspace


def run(station: TurnsStation | QualityStation, workspace: Workspace) -> Outcome:
    with workspace.locked() as digests:
        return station.process(workspace, digests)


def score(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(app, ["score", "call", *arguments, "--json"])
    assert result.exit_code == 0, result.exception
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_the_reference_in_the_folder_is_taken(workspace: Workspace) -> None:
    found = score()
    assert found["reference"] == ["sample.rttm", "sample.stm"]
    assert (found["wer"]["length"], found["wer"]["substitutions"], found["wer"]["deletions"]) == (81, 1, 0)
    assert 0 < found["der"]["rate"] < 0.2
    assert found["der"]["total"] > found["der_single"]["total"]
    starts = found["turn_starts"]
    assert (starts["compared"], starts["of"]) == (13, 13)
    assert starts["median"] == starts["bias"] == starts["p90"] == pytest.approx(LATE, abs=0.002)
    assert found["absent"] == {"word_starts": "the reference has no times of single words"}


def test_a_table_for_people_says_what_the_figures_are_over(workspace: Workspace) -> None:
    result = CliRunner().invoke(app, ["score", "call"])
    assert result.exit_code == 0
    for text in ("DER without overlap", "81 words: 1 other, 0 missing", "median +0.100 s", "no times of single words"):
        assert text in " ".join(result.stdout.split()), text


def test_who_speaks_without_what_is_said_has_no_word_errors(workspace: Workspace) -> None:
    found = score("--reference", str(sample(".rttm")))
    assert not {"wer", "cpwer", "word_starts"} & set(found)
    assert set(found["absent"]) == {"wer", "cpwer", "word_starts"}
    assert found["absent"]["wer"] == "the reference has no words"
    assert found["turn_starts"]["of"] == 10


def test_what_is_said_without_who_speaks_has_no_der(workspace: Workspace, tmp_path: Path) -> None:
    text = read_stm(sample(".stm"))
    cues = [f"{format_clock(part.start)} --> {format_clock(part.end)}\n{part.text} [noise]\n\n" for part in text]
    (tmp_path / "plain.vtt").write_text("WEBVTT\n\n" + "".join(cues))
    found = score("--reference", str(tmp_path / "plain.vtt"))
    assert not {"der", "der_single", "cpwer"} & set(found)
    assert (found["wer"]["length"], found["wer"]["substitutions"]) == (81, 1)
    assert found["absent"]["der"] == found["absent"]["cpwer"] == "the reference does not say who speaks"
    voices = [cue.replace("\n", f"\n<v {part.speaker}>", 1) for cue, part in zip(cues, text, strict=True)]
    (tmp_path / "voices.vtt").write_text("WEBVTT\n\n" + "".join(voices))
    found = score("--reference", str(tmp_path / "voices.vtt"))
    assert (found["der"]["rate"], found["wer"]["substitutions"]) == (0, 1)
    assert "cpwer" in found


def test_collar_and_evaluated_parts(workspace: Workspace, tmp_path: Path) -> None:
    plain, loose = score(), score("--collar", "0.25")
    assert loose["der"]["rate"] < plain["der"]["rate"]
    assert loose["collar"] == 0.25
    (tmp_path / "part.uem").write_text("sample 1 0 12.542\n")
    part = score("--uem", str(tmp_path / "part.uem"))
    assert part["reference"] == plain["reference"]
    assert part["wer"]["length"] == 23
    assert part["der"]["total"] < plain["der"]["total"]
    assert part["turn_starts"]["of"] == 6


@pytest.mark.parametrize("name", ["eaf", "textgrid", "srt", "vtt", "json"])
def test_files_of_other_tools_are_references(workspace: Workspace, tmp_path: Path, name: str) -> None:
    rows = [
        Row(
            row_index=number,
            start_time=part.start,
            end_time=part.end,
            primary_speaker=part.speaker,
            dialogue_cleaned=part.text,
        )
        for number, part in enumerate(read_stm(sample(".stm")), start=1)
    ]
    annotation = Annotation(
        conversation_id="call", scenario=Scenario.COUPLE, participants=("Diane", "Sheila"), rows=tuple(rows)
    )
    path = tmp_path / f"truth{FORMATS[name].suffixes[0]}"
    path.write_bytes(FORMATS[name].write(annotation))
    found = score("--reference", str(path))
    assert (found["wer"]["length"], found["wer"]["substitutions"]) == (81, 1)
    assert found["der"]["rate"] == pytest.approx(0, abs=0.001)
    assert found["turn_starts"]["median"] == pytest.approx(LATE, abs=0.002)


def test_the_json_of_whisperx_has_times_of_words(workspace: Workspace) -> None:
    own = workspace.artifact("turns.json")
    found = score("--reference", str(own))
    assert (found["wer"]["rate"], found["cpwer"]["rate"]) == (0, 0)
    assert (found["word_starts"]["compared"], found["word_starts"]["median"]) == (81, 0)
    assert found["absent"] == {}


def test_turns_are_exported_as_whisperx_has_them(workspace: Workspace) -> None:
    content = read_json(workspace.artifact("turns.json"))
    turns = read_rows(workspace.artifact("turns.parquet"))
    assert [segment["text"] for segment in content["segments"]] == [turn["text"] for turn in turns]
    assert {segment["speaker"] for segment in content["segments"]} == {"Diane", "Sheila"}
    assert set(content["segments"][0]["words"][0]) == {"word", "start", "end", "speaker"}
    assert len(content["word_segments"]) == 81
    pytest.importorskip("whisperx")
    from whisperx.utils import WriteSRT

    target = workspace.data / "out.srt"
    with target.open("w") as file:
        options = {"max_line_width": None, "max_line_count": None, "highlight_words": False}
        WriteSRT(str(workspace.data)).write_result(content, file=file, options=options)
    assert "[Diane]: Oh, hello." in target.read_text()


def test_a_word_without_times_is_text_all_the_same(media: Path) -> None:
    there = Conversation(id="x")
    found = read_reference_files([media / "annotations" / "whisperx_word_without_times.json"], there)
    assert found.text == (Utterance(0.0, 1.35, "", "hello brave world"),)
    assert [word.text for word in found.words or ()] == ["hello", "brave", "world"]
    other = read_reference_files([media / "annotations" / "whisper_timestamped_words.json"], there)
    assert [word.text for word in other.words or ()][:2] == ["Dis-moi", "est-ce"]


def test_real_word_times_of_a_meeting(media: Path) -> None:
    folder = media / "audio" / "ami_debug"
    truth = read_reference_files(
        [folder / "dev00.words.rttm", folder / "dev00.stm", folder / "dev00.ctm"], Conversation(id="x")
    )
    assert truth.named
    assert truth.words
    early = tuple(Utterance(word.start - 0.05, word.end, "A", word.text) for word in truth.words)
    found = measure(Transcript(truth.speech or (), early), truth)
    assert found.der is not None
    assert found.der.rate == 0
    assert found.word_starts is not None
    assert found.word_starts.compared >= 0.95 * found.word_starts.of
    assert found.word_starts.of == len(truth.words) == 62
    assert (found.word_starts.median, found.word_starts.bias, found.word_starts.p90) == (-0.05, -0.05, 0.05)
    assert not found.absent


def test_errors_name_the_file_and_the_cure(workspace: Workspace, tmp_path: Path) -> None:
    cases = {
        "gone.rttm": (None, r"call, gone\.rttm: there is no such file"),
        "gone.vtt": (None, r"call, gone\.vtt: there is no such file"),
        "bad.rttm": ("SPEAKER x 1 one 2 <NA> <NA> A <NA> <NA>\n", r"call, bad\.rttm, line 1: 'one' is no time"),
        "two.stm": ("a 1 A 0 1 yes\nb 1 A 0 1 no\n", r"call, two\.stm: the file holds 2 recordings"),
        "bad.json": ('{"segments": [{"text": "hello"}]}', r"call, bad\.json, segment 1: it has no `start`"),
        "other.json": ('{"words": []}', r"call, other\.json: the file holds no list of `rows`"),
        "odd.docx": ("x", r"call, odd\.docx: no annotation format has files named"),
    }
    for name, (content, message) in cases.items():
        if content is not None:
            (tmp_path / name).write_text(content)
        result = CliRunner().invoke(app, ["score", "call", "--reference", str(tmp_path / name)])
        assert isinstance(result.exception, InputError), name
        with pytest.raises(InputError, match=message):
            raise result.exception
    found = score("--reference", str(tmp_path / "two.stm"), "--recording", "b")
    assert found["wer"]["length"] == 1


def test_without_turns_or_reference_it_says_what_to_do(workspace: Workspace) -> None:
    for suffix in (".rttm", ".stm"):
        (workspace.raw / f"sample{suffix}").unlink()
    result = CliRunner().invoke(app, ["score", "call"])
    with pytest.raises(InputError, match=r"call: there is no reference in its folder \(name one with --reference"):
        raise result.exception
    workspace.record("turns").unlink()
    result = CliRunner().invoke(app, ["score", "call", "--reference", str(sample(".rttm"))])
    with pytest.raises(InputError, match=r"it has no turns yet \(rescue build call\)"):
        raise result.exception


class TestStation:
    def test_figures_reach_the_status_and_follow_the_reference(self, workspace: Workspace) -> None:
        outcome = run(QualityStation(), workspace)
        assert outcome.state is State.DONE
        summary = outcome.record.summary or {}
        assert summary["wer"] == pytest.approx(1 / 81, abs=0.0001)
        assert summary["turn_start_median"] == pytest.approx(LATE, abs=0.002)
        assert summary["absent"] == ["word_starts: the reference has no times of single words"]
        assert read_json(workspace.artifact("quality.json"))["reference"] == ["sample.rttm", "sample.stm"]
        assert not run(QualityStation(), workspace).ran
        status = CliRunner().invoke(app, ["status", "call"])
        assert "cpWER" in status.stdout
        assert "1.2 %" in status.stdout
        (workspace.raw / "sample.stm").unlink()
        again = run(QualityStation(), workspace)
        assert again.ran
        assert "wer" not in (again.record.summary or {})

    def test_figures_stand_in_the_metadata_of_dagster(self, workspace: Workspace) -> None:
        pytest.importorskip("dagster")
        from assets.metadata import outcome_metadata

        outcome = run(QualityStation(), workspace)
        files = {name: workspace.artifact(name) for name in outcome.record.outputs or {}}
        shown = {name: value.value for name, value in outcome_metadata(outcome, files, workspace.settings).items()}
        assert shown["WER"] == pytest.approx(1 / 81, abs=0.0001)
        assert shown["turn starts, median (s)"] == pytest.approx(LATE, abs=0.002)
        assert shown["absent"] == "word_starts: the reference has no times of single words"

    def test_without_a_reference_it_is_skipped_and_a_bad_one_fails(self, workspace: Workspace) -> None:
        stm, rttm = workspace.raw / "sample.stm", workspace.raw / "sample.rttm"
        rttm.unlink()
        stm.unlink()
        outcome = run(QualityStation(), workspace)
        assert (outcome.state, outcome.record.reason) == (State.SKIPPED, "no reference")
        stm.write_text("sample 1 A 3 1 yes\n")
        outcome = run(QualityStation(), workspace)
        assert outcome.state is State.FAILED
        assert "sample.stm, line 1: the end 1 lies before the start 3" in (outcome.record.reason or "")

    def test_which_files_are_the_reference(self, workspace: Workspace) -> None:
        conversation, folder = workspace.conversation, workspace.raw
        assert [path.name for path in find_references(conversation, folder)] == ["sample.rttm", "sample.stm"]
        (folder / "sample.srt").write_text("")
        (folder / "other.rttm").write_text("")
        annotated = conversation.model_copy(update={"annotations": "sample.rttm"})
        assert [path.name for path in find_references(annotated, folder)] == ["sample.stm"]
        named = conversation.model_copy(update={"reference": ("truth.eaf",)})
        assert find_references(named, folder) == (folder / "truth.eaf",)
        (folder / "sample.uem").write_text("sample 1 0 10\n")
        assert [path.suffix for path in find_references(conversation, folder)] == [".rttm", ".stm", ".uem"]
        assert read_reference_files(find_references(conversation, folder), conversation).evaluated == (Interval(0, 10),)
        assert find_references(Conversation(id="x"), folder) == ()


class TestOffsets:
    def test_of_starts_of_turns_words_and_stretches(self) -> None:
        text = [Utterance(0, 1, "A", "How are you?"), Utterance(2, 3, "B", "Fine."), Utterance(4, 5, "A", "Good.")]
        heard = [
            Utterance(0.1, 0.3, "x", "how"),
            Utterance(0.4, 0.6, "x", "are"),
            Utterance(2.3, 2.5, "y", "fine"),
            Utterance(4.0, 4.2, "x", "wood"),
        ]
        assert turn_starts(text, heard) == TimeOffsets(2, 3, 0.2, 0.2, 0.28)
        words = [Utterance(0, 0.2, "", "How"), Utterance(0.5, 0.6, "", "are"), Utterance(2, 2.5, "", "fine")]
        assert word_starts(words, heard) == TimeOffsets(3, 3, 0.1, 0.1, 0.26)
        assert turn_starts(text, []) is None
        speech = [SpeakerTurn(0, 1, "A"), SpeakerTurn(2, 3, "B"), SpeakerTurn(4, 5, "A")]
        assert speech_starts(speech, [SpeakerTurn(0.2, 1, "x"), SpeakerTurn(1.9, 5, "x")]) == TimeOffsets(
            2, 3, 0.05, 0.05, 0.19
        )

    def test_an_rttm_file_goes_before_the_edges_of_text(self) -> None:
        files = [sample(".stm"), sample(".rttm")]
        found = read_reference_files(files, Conversation(id="x"))
        assert found.speech == tuple(read_rttm(sample(".rttm")))
        assert len(found.text or ()) == 13
        assert Reference(text=(), named=False).with_part(found).named
