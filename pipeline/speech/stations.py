"""The stations of speech: words, speakers, turns. Importable without torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.schemas import TURNS, WORDS, read_rows, table_of, write_table
from pipeline.speech import weights
from pipeline.speech.attribute import attribute
from pipeline.speech.diarize import diarize
from pipeline.speech.models import Models
from pipeline.speech.nist import read_rttm, rttm_of
from pipeline.speech.recognize import recognize
from pipeline.speech.sound import StoredSound
from pipeline.speech.subtitle_truth import time_cues
from pipeline.speech.turns import make_turns, vtt_of
from pipeline.speech.voice import DETECTION, SAMPLE_RATE
from pipeline.speech.words import Word, is_suspected, word_of
from pipeline.station import Record, Station, Workspace
from pipeline.store import Json, write_json, write_text
from pipeline.subtitles import read_subtitles, subtitle_candidates, subtitle_file
from pipeline.whisperx_json import whisperx_of

__all__ = ["SpeakersStation", "TurnsStation", "WordsStation"]

NO_SPEECH = "no speech"


class WordsStation(Station):
    """Recognise speech: every word with start, end, confidence and how its time was got."""

    name = "words"
    version = 3
    needs = ("audio",)
    outputs = ("words.parquet", "subtitles.json")
    packages = ("ctranslate2", "faster-whisper", "onnxruntime", "pocketsphinx", "rapidfuzz", "webvtt-py")
    summary_doc = "Writes down every word that is said, with its start and end: as the subtitles say, if there are any."

    def __init__(self, models: Models) -> None:
        self._models = models

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The extracted audio, and the subtitles with their mapping file."""
        subtitles = subtitle_candidates(workspace.conversation, workspace.raw)
        files = {f"subtitles/{path.name}": path for path in (*subtitles, *map(mapping_beside, subtitles))}
        return {"audio": workspace.artifact("audio.flac"), **files}

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """Language, and the options of recogniser and voice detector. The batch decides nothing but rounding."""
        settings = workspace.settings.recognition
        return {
            "language": _language(workspace),
            "beam_size": settings.beam_size,
            "compute_type": settings.compute_type,
            "max_word_seconds": settings.max_word_seconds,
            "voice_detection": DETECTION,
        }

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """Digests of the recogniser, the speech detector, and the aligner if there is one."""
        settings = workspace.settings.recognition
        return weights.recognition_digests(settings.model, settings.alignment)

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``words.parquet``, and ``subtitles.json``: where subtitles and recognition differ.

        Raises:
            InputError: If the subtitles cannot be read, or it is not clear which file they are.
        """
        path = subtitle_file(workspace.conversation, workspace.raw)
        subtitles = read_subtitles(path, workspace.conversation) if path else None
        sound = StoredSound(workspace.artifact("audio.flac"))
        found = recognize(
            self._models.recognizer(),
            sound,
            workspace.settings.recognition,
            language=_language(workspace),
            aligner=self._models.aligner,
            batch=self._models.recognition_batch,
        )
        words: Sequence[Word] = found.words
        checked: dict[str, Json] = {}
        flags = [*found.flags, *self._models.recognition_batch.flags]
        differences: dict[str, Json] = {"file": None}
        if subtitles is not None:
            truth = time_cues(subtitles, found.words, found.speech, duration=len(sound) / SAMPLE_RATE)
            words = truth.words
            checked = {"subtitles": {"file": subtitles.path.name, **truth.counts()}}
            flags += truth.flags
            differences = {"file": subtitles.path.name, **truth.to_json()}
        write_json(workspace.artifact("subtitles.json"), differences)
        rows = [word.to_row(index) for index, word in enumerate(words)]
        write_table(workspace.artifact("words.parquet"), table_of(rows, WORDS), WORDS)
        return {
            "words": len(words),
            "suspected": sum(map(is_suspected, words)),
            "speech_seconds": round(sum(part.duration for part in found.speech), 1),
            "language": found.language,
            "language_probability": found.language_probability,
            "batch_size": self._models.recognition_batch.size,
            "flags": [*flags, *([] if words else [NO_SPEECH])],
            "word_flags": _counted(flag for word in words for flag in word.flags),
            **checked,
        }


class SpeakersStation(Station):
    """Find out who speaks when, and what each voice is like."""

    name = "speakers"
    version = 2
    needs = ("audio",)
    outputs = ("speakers.rttm", "speakers.json")
    packages = ("onnxruntime", "pyannote.audio", "scipy", "torch", "torchaudio")
    summary_doc = "Tells the voices apart: who speaks from when to when."

    def __init__(self, models: Models) -> None:
        self._models = models

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The extracted audio."""
        return {"audio": workspace.artifact("audio.flac")}

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """Bounds on the number of speakers, and the options of the pipeline. The batch decides nothing but rounding."""
        bounds = workspace.conversation.speaker_bounds
        settings = workspace.settings.diarization
        return {
            "bounds": bounds.model_dump() if bounds else None,
            "expected": _expected_speakers(workspace),
            "voice_detection": DETECTION,
            "clustering_threshold": settings.clustering_threshold,
        }

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """Digests of the networks."""
        return weights.diarization_digests(workspace.settings.diarization.model)

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``speakers.rttm`` and ``speakers.json``."""
        bounds = workspace.conversation.speaker_bounds
        expected = _expected_speakers(workspace)
        sound = StoredSound(workspace.artifact("audio.flac"))
        batch = self._models.diarization_batch
        found = diarize(self._models.diarizer(), sound, bounds, batch=batch)
        write_text(workspace.artifact("speakers.rttm"), rttm_of(found.turns, workspace.conversation.key))
        content = found.to_json(bounds, expected)
        write_json(workspace.artifact("speakers.json"), content)
        return {
            "speakers": len(found.speakers),
            "run_id": found.run_id,
            "bounds": found.arguments,
            "batch_size": batch.size,
            "flags": [*content["flags"], *batch.flags, *([] if found.turns else [NO_SPEECH])],
        }


class TurnsStation(Station):
    """Give words to speakers and cut turns."""

    name = "turns"
    version = 3
    needs = ("words", "speakers")
    outputs = ("turns.parquet", "turns.vtt", "turns.json")
    summary_doc = "Puts words and voices together: who said what, turn by turn."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """Words and speaker stretches."""
        return {"words": workspace.artifact("words.parquet"), "speakers": workspace.artifact("speakers.rttm")}

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """The tolerances of attribution and the pause between turns, and the id that the table holds."""
        return {"conversation_id": workspace.conversation.id, **workspace.settings.turns.model_dump()}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``turns.parquet``, ``turns.vtt``, and ``turns.json`` as whisperx has it.

        Suspected words stay out and are counted.
        """
        settings = workspace.settings.turns
        words = [word_of(row) for row in read_rows(workspace.artifact("words.parquet"))]
        stretches = read_rttm(workspace.artifact("speakers.rttm"))
        spoken = [word for word in attribute(words, stretches, settings) if not is_suspected(word.word)]
        turns = make_turns(spoken, stretches, settings)
        rows = [turn.to_row(workspace.conversation.id, number) for number, turn in enumerate(turns, start=1)]
        write_table(workspace.artifact("turns.parquet"), table_of(rows, TURNS), TURNS)
        write_text(workspace.artifact("turns.vtt"), vtt_of(turns))
        language = (Record.read(workspace.record("words")).summary or {}).get("language")
        write_json(workspace.artifact("turns.json"), whisperx_of(rows, language))
        return {
            "turns": len(turns),
            "words": len(spoken),
            "suspected": len(words) - len(spoken),
            "overlap_seconds": round(sum(turn.overlap for turn in turns), 1),
            "flags": [] if turns else [NO_SPEECH],
            "turn_flags": _counted(flag for turn in turns for flag in turn.flags),
        }


def _language(workspace: Workspace) -> str:
    return workspace.conversation.language or workspace.settings.recognition.language


def _expected_speakers(workspace: Workspace) -> int | None:
    """How many people the description names; None if it names none."""
    conversation = workspace.conversation
    return len(conversation.participants) + conversation.has_therapist if conversation.participants else None


def _counted(flags: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(flags).items()))
