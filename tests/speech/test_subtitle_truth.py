"""Subtitles as the truth about words: their text, their bounds, and what recognition says to it."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.recordings import recordings
from pipeline.build import build_conversation
from pipeline.conversation import Conversation
from pipeline.errors import InputError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.schemas import read_rows
from pipeline.settings import Settings
from pipeline.speech.nist import Utterance, read_stm
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.speech.subtitle_truth import (
    CUE_WITHOUT_SPEECH,
    NOT_HEARD,
    SPEECH_WITHOUT_CUE,
    SUBTITLES_OFFSET,
    SUBTITLES_UNLIKE,
    Truth,
    time_cues,
)
from pipeline.speech.words import Word
from pipeline.station import State, Workspace, status_of
from pipeline.store import read_json
from pipeline.subtitles import Cue, Subtitles, read_subtitles, subtitle_candidates, subtitle_cues, subtitle_file
from pipeline.times import Interval, format_clock

pytest.importorskip("webvtt")

HERE = Conversation(id="a/b", media="session.mp4", participants=("Anna", "Ben"))


def srt_of(text: list[Utterance], shift: float = 0.0) -> str:
    return "\n".join(
        f"{number}\n{format_clock(part.start + shift, mark=',')} --> {format_clock(part.end + shift, mark=',')}\n"
        f"{part.text}\n"
        for number, part in enumerate(text, start=1)
    )


def cue(start: float, end: float, text: str, place: str = "", speaker: str | None = None) -> Cue:
    return Cue(place or f"cue at {start}", start, end, text, speaker)


def timed(cues: list[Cue], heard: list[Word], speech: list[tuple[float, float]], duration: float = 60.0) -> Truth:
    voice = [Interval(*span) for span in speech]
    return time_cues(Subtitles(Path("x.srt"), tuple(cues)), heard, voice, duration=duration)


def spoken(start: float, text: str, each: float = 0.4) -> list[Word]:
    return [
        Word(word, start + each * place, start + each * (place + 1), confidence=0.9)
        for place, word in enumerate(text.split())
    ]


class TestReading:
    def test_sounds_and_lyrics_are_no_words(self) -> None:
        said = cue(0, 1, "[door slams] Well \u2013 no (sighs), \u266a la la la \u266a I won't & you know it.")
        assert said.words == ("Well", "no", "I", "won't", "&", "you", "know", "it.")
        assert said.effects == ("[door slams]", "(sighs)", "\u266a la la la \u266a")
        for text in ("[music]", "\u266a la la", "(\u7b11)", "\uff08\u7b11\uff09", "# la la #", "*laughs*", "- ..."):
            assert cue(0, 1, text).words == (), text

    def test_voices_and_names_before_a_colon_are_speakers(self, tmp_path: Path) -> None:
        path = tmp_path / "session.vtt"
        path.write_text("WEBVTT\n\n00:01.000 --> 00:03.000\n<v Anna>It rains.\n<v Ben>Look: it does.\n")
        first, second = read_subtitles(path, HERE).cues
        assert (first.speaker, first.text, second.speaker, second.text) == (
            "Anna",
            "It rains.",
            "Ben",
            "Look: it does.",
        )
        assert first.place == second.place == "cue 1"
        path = tmp_path / "session.srt"
        path.write_text("1\n00:00:01,000 --> 00:00:03,000\nANNA: It rains.\nben: Look: it does.\n")
        assert [(found.speaker, found.words[-1]) for found in read_subtitles(path, HERE).cues] == [
            ("Anna", "rains."),
            ("Ben", "does."),
        ]

    def test_rolling_captions_give_each_word_once(self, media: Path) -> None:
        found = read_subtitles(media / "annotations" / "youtube_dl_word_times.vtt", HERE)
        assert " ".join(part.text for part in found.cues) == "yeah what this will happen is I'm telling"
        assert [part.reason for part in found.left_out] == ["it only repeats the cue before"]

    def test_what_people_repeat_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "session.srt"
        path.write_text(
            srt_of([Utterance(place, place + 1, "", text) for place, text in enumerate(["No.", "No.", "Why?", "So."])])
        )
        assert [part.text for part in read_subtitles(path, HERE).cues] == ["No.", "No.", "Why?", "So."]

    def test_a_file_of_another_kind_is_refused_with_the_cure(self, tmp_path: Path) -> None:
        path = tmp_path / "session.ass"
        path.write_text("[Script Info]")
        with pytest.raises(InputError, match=r"a/b, session\.ass: .*known are \.srt, \.vtt"):
            read_subtitles(path, HERE)


class TestFinding:
    def touch(self, folder: Path, *names: str) -> None:
        for name in names:
            (folder / name).write_text("1\n00:00:00,000 --> 00:00:01,000\nYes.\n")

    def test_the_only_file_beside_the_recording(self, tmp_path: Path) -> None:
        assert subtitle_file(HERE, tmp_path) is None
        assert subtitle_cues(HERE, tmp_path) == []
        self.touch(tmp_path, "other.srt")
        assert subtitle_file(HERE, tmp_path) == tmp_path / "other.srt"
        assert [part.text for part in subtitle_cues(HERE, tmp_path)] == ["Yes."]

    def test_of_several_the_one_with_the_name_of_the_recording(self, tmp_path: Path) -> None:
        self.touch(tmp_path, "other.srt", "session.SRT")
        assert subtitle_file(HERE, tmp_path) == tmp_path / "session.SRT"

    def test_a_named_file_goes_first_and_must_be_there(self, tmp_path: Path) -> None:
        self.touch(tmp_path, "other.srt", "session.srt")
        named = HERE.model_copy(update={"subtitles": "third.srt"})
        assert subtitle_candidates(named, tmp_path) == (tmp_path / "third.srt",)
        with pytest.raises(InputError, match=r"third\.srt: there is no such file"):
            subtitle_cues(named, tmp_path)

    def test_several_files_are_not_guessed_between(self, tmp_path: Path) -> None:
        self.touch(tmp_path, "session.en.srt", "session.de.srt")
        with pytest.raises(InputError, match=r"a/b: there are 2 subtitle files .*session\.de\.srt.*`subtitles:`"):
            subtitle_file(HERE, tmp_path)

    def test_annotations_and_references_are_no_subtitles(self, tmp_path: Path) -> None:
        self.touch(tmp_path, "rows.vtt", "truth.srt")
        taken = HERE.model_copy(update={"annotations": "rows.vtt", "reference": ("truth.srt",)})
        assert subtitle_file(taken, tmp_path) is None
        assert subtitle_candidates(HERE.model_copy(update={"media": None}), tmp_path) == ()


class TestTimes:
    def test_a_word_that_only_touches_a_cue_is_not_one_of_it(self) -> None:
        """Words squeezed together behind their sentence would squeeze the cue too."""
        late = [Word("rains", 1.97, 2.07), Word("today", 2.07, 2.2)]
        found = timed([cue(1.0, 2.0, "It rains today.")], late, [(1.0, 2.2)])
        assert {word.time_source for word in found.words} == {"subtitle"}
        assert found.words[1].start == pytest.approx(1.2, abs=0.15)

    def test_heard_words_have_their_own_times_inside_the_cue(self) -> None:
        found = timed([cue(1.1, 2.0, "It rains today.")], spoken(1.0, "it rains today"), [(1.0, 2.2)])
        assert [(word.text, word.start, word.end) for word in found.words] == [
            ("It", 1.1, 1.4),
            ("rains", 1.4, 1.8),
            ("today.", 1.8, 2.0),
        ]
        assert {word.time_source for word in found.words} == {"attention"}
        assert found.words[0].confidence == pytest.approx(0.9)
        assert (found.counts()["heard"], found.counts()["not_heard"], found.flags) == (3, 0, [])

    def test_unheard_words_share_the_room_by_length_and_are_flagged(self) -> None:
        heard = [Word("we", 1.0, 1.2), Word("home", 3.0, 3.4)]
        found = timed([cue(0.5, 4.0, "We really do go home.")], heard, [(0.9, 3.5)])
        really, do, go = found.words[1:4]
        assert (really.start, go.end) == (pytest.approx(1.2), pytest.approx(3.0))
        assert really.interval.duration == pytest.approx(3 * do.interval.duration)
        assert all(word.flags == (NOT_HEARD,) and word.time_source == "subtitle" for word in (really, do, go))
        assert found.words[0].flags == ()

    def test_a_cue_nobody_recognised_lies_where_its_voice_is(self) -> None:
        found = timed([cue(10, 14, "Never mind.")], [], [(11.0, 12.0), (12.5, 13.0)])
        assert (found.words[0].start, found.words[-1].end) == (11.0, 13.0)

    def test_a_word_without_room_gets_some_of_its_neighbour(self) -> None:
        heard = [Word("in", 1.0, 1.2), Word("jersey", 1.2, 1.6)]
        found = timed([cue(1.0, 2.0, "In New Jersey.")], heard, [(1.0, 2.0)]).words
        assert all(word.interval.duration > 0.05 for word in found)
        assert [word.end for word in found[:2]] == [word.start for word in found[1:]]
        first = timed([cue(1.0, 2.0, "New Jersey.")], [Word("jersey", 0.9, 1.6)], [(0.9, 2.0)]).words
        assert first[0].start == 1.0
        assert first[0].end == first[1].start > 1.05

    def test_words_heard_elsewhere_do_not_leave_the_cue(self) -> None:
        found = timed([cue(1, 2, "Yes."), cue(30, 31, "No.")], [Word("yes", 20.0, 20.3)], [(1, 2), (20, 21), (30, 31)])
        assert [(1 <= word.start <= word.end <= 2) or word.start >= 30 for word in found.words] == [True, True]
        assert found.words[0].flags == (NOT_HEARD,)

    def test_two_people_in_one_cue_speak_one_after_the_other(self) -> None:
        cues = [cue(5, 7, "Who is it?", "cue 1", "Anna"), cue(5, 7, "Me.", "cue 1", "Ben")]
        found = timed(cues, [], [(5, 7)])
        assert [word.segment for word in found.words] == [0, 0, 0, 1]
        assert all(before.end == after.start for before, after in pairwise(found.words))
        assert found.words[-1].end == 7

    def test_overlapping_cues_are_not_mixed(self) -> None:
        cues = [cue(1, 4, "I only wanted you to listen.", speaker="Anna"), cue(2, 3, "No, stop it.", speaker="Ben")]
        assert [word.segment for word in timed(cues, [], [(1, 4)]).words] == [0] * 6 + [1] * 3


class TestDifferences:
    def test_they_are_counted_and_told_with_their_place(self) -> None:
        cues = [
            cue(1, 3, "I heard a beep.", "cue 1"),
            cue(10, 12, "Are you there?", "cue 2"),
            cue(14, 15, "[music]", "cue 3"),
            cue(90, 95, "The next scene.", "cue 4"),
        ]
        heard = [*spoken(1.0, "I heard a deep"), *spoken(2.6, "um"), *spoken(20.0, "we are talking here")]
        found = timed(cues, heard, [(1, 3), (19.8, 22.0)])
        assert found.cues[0].misheard == [("beep.", "deep")]
        assert found.cues[1].words[0].flags == (CUE_WITHOUT_SPEECH, NOT_HEARD)
        assert found.counts() == {
            "cues": 2,
            "words": 7,
            "heard": 4,
            "misheard": 1,
            "not_heard": 3,
            "heard_only": 1,
            "cues_without_speech": 1,
            "speech_without_cue": 1,
            "speech_without_cue_seconds": 2.2,
            "sound_effects": 1,
            "left_out": 1,
            "offset": None,
        }
        assert found.flags == [CUE_WITHOUT_SPEECH, SPEECH_WITHOUT_CUE]
        told = found.to_json()
        assert told["speech_without_cue"] == [{"start": 19.8, "end": 22.0, "heard": "we are talking here"}]
        assert [part["cue"] for part in told["differences"]] == ["cue 1", "cue 2"]
        assert told["left_out"][0]["text"] == "The next scene."
        assert "we" not in [word.text for word in found.words]

    def test_subtitles_of_another_cut_are_noticed(self) -> None:
        sentences = ["we went down to the river", "nobody else was there", "then it began to rain", "so we ran home"]
        cues = [cue(5.0 * place, 5.0 * place + 3.0, text) for place, text in enumerate(sentences)]
        heard = [word for place, text in enumerate(sentences) for word in spoken(5.0 * place + 4.0, text, 0.3)]
        found = timed(cues, heard, [(0, 25)])
        assert found.offset == pytest.approx(4.0, abs=1.0)
        assert SUBTITLES_OFFSET in found.flags
        assert not timed(cues, [], [(0, 25)]).flags

    def test_subtitles_in_another_language_are_noticed(self) -> None:
        cues = [
            cue(5.0 * place, 5.0 * place + 4.0, "Und dann gingen wir nach Hause zur\u00fcck.") for place in range(5)
        ]
        heard = [word for place in range(5) for word in spoken(5.0 * place, "after that we all walked back home")]
        found = timed(cues, heard, [(0, 25)])
        assert found.flags == [SUBTITLES_UNLIKE]
        assert all(part.cue.start <= part.words[0].start <= part.words[-1].end <= part.cue.end for part in found.cues)


@pytest.fixture(scope="module")
def models():
    pytest.importorskip("pyannote.audio")
    from pipeline.speech.models import Models

    return Models(Settings())


def build(folder: Path, recording: Path, models: object, subtitles: str | None, **said: object) -> Workspace:
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    shutil.copy(recording, raw / recording.name)
    beside = raw / "session.srt"
    beside.unlink(missing_ok=True)
    if subtitles is not None:
        beside.write_text(subtitles)
    conversation = Conversation.model_validate({"id": "a/b", "media": recording.name, **said})
    workspace = Workspace.of(conversation, raw, Settings(data=folder / "data", raw=raw))
    line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
    outcomes = build_conversation(workspace, line)
    assert [outcome.state for outcome in outcomes] == [State.DONE] * 5, outcomes[2].record
    return workspace


@pytest.mark.slow
class TestRealRecordings:
    def test_a_telephone_call_says_what_its_subtitles_say(self, tmp_path: Path, media: Path, models) -> None:
        sample = next(found for found in recordings(media) if found.name == "pyannote_sample")
        text = read_stm(sample.stm)
        workspace = build(tmp_path, sample.media, models, srt_of(text), speakers=2)
        words = read_rows(workspace.artifact("words.parquet"))
        assert " ".join(word["text"] for word in words) == " ".join(part.text for part in text)
        bounds = [(part.start, part.end) for part in text for _ in part.text.split()]
        for word, (start, end) in zip(words, bounds, strict=True):
            assert start - 0.001 <= word["start"] <= word["end"] <= end + 0.001, word
        refined = [word for word in words if word["time_source"] in ("alignment", "attention")]
        assert len(refined) >= 0.7 * len(words)
        turns = read_rows(workspace.artifact("turns.parquet"))
        assert "I'm Sheila in Texas, originally from Chicago." in " ".join(turn["text"] for turn in turns)
        content = read_json(workspace.artifact("subtitles.json"))
        assert content["file"] == "session.srt"
        assert abs(content["counts"]["offset"]) < 0.3
        assert content["counts"]["misheard"] + content["counts"]["not_heard"] > 0

    def test_only_what_depends_on_the_subtitles_is_made_again(self, tmp_path: Path, media: Path, models) -> None:
        recording = media / "audio" / "katiesteve_mono.wav"
        text = read_stm(recording.with_suffix(".stm"))
        workspace = build(tmp_path, recording, models, None, speakers=2)
        assert read_json(workspace.artifact("subtitles.json")) == {"file": None}
        recognised = read_rows(workspace.artifact("words.parquet"))
        (workspace.raw / "session.srt").write_text(srt_of(text))
        line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
        stale = {name: record.state for name, record in status_of(line, workspace).items()}
        assert (stale["words"], stale["turns"], stale["speakers"]) == (State.STALE, State.STALE, State.DONE)
        workspace = build(tmp_path, recording, models, srt_of(text), speakers=2)
        told = read_rows(workspace.artifact("words.parquet"))
        assert [word["text"] for word in told] == " ".join(part.text for part in text).split()
        build(tmp_path, recording, models, None, speakers=2)
        assert read_rows(workspace.artifact("words.parquet")) == recognised

    def test_two_files_stop_only_the_words_and_say_the_cure(self, tmp_path: Path, media: Path, models) -> None:
        recording = media / "audio" / "katiesteve_mono.wav"
        raw = tmp_path / "raw"
        raw.mkdir()
        shutil.copy(recording, raw / recording.name)
        for name in ("one.srt", "two.srt"):
            (raw / name).write_text(srt_of([Utterance(0, 1, "", "Hello.")]))
        conversation = Conversation(id="x", media=recording.name)
        workspace = Workspace.of(conversation, raw, Settings(data=tmp_path / "data", raw=raw))
        line = (SourceStation(), AudioStation(), WordsStation(models))
        outcome = build_conversation(workspace, line)[2]
        assert outcome.state is State.FAILED
        assert "one.srt, two.srt" in (outcome.record.reason or "")
        assert "`subtitles:`" in (outcome.record.hint or "")
        assert status_of(line, workspace)["words"].state is State.FAILED
