"""Error rates of the speech stations on every recording with a reference.

python -m benchmarks.quality [--media DIR] [--json FILE] [--only NAME]

Runs media and speech stations as a user would, scores turns against the references, and compares the attribution
of words to speakers with the plain rule of maximum overlap (``whisperx.diarize.assign_word_speakers``) on the same
words and stretches. Counts are summed over recordings; rates are not averaged.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.recordings import Recording, recordings
from pipeline.build import build_conversation
from pipeline.conversation import Conversation, SpeakerBounds
from pipeline.errors import RescueError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.privacy import go_private
from pipeline.schemas import read_rows
from pipeline.scoring import Score, Transcript, read_hypothesis
from pipeline.settings import Settings, load_settings
from pipeline.speech.models import Models
from pipeline.speech.nist import SpeakerTurn, Utterance
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.station import State, Workspace
from pipeline.store import read_json, write_json

BOUNDS = ("exact", "range", "none")
"""What diarization is told: the number of speakers; 2 to one more than there are; nothing."""


@dataclass(frozen=True)
class Result:
    """The scores of one recording."""

    recording: Recording
    seconds: float
    scores: Mapping[str, Score]
    """By what diarization was told."""
    counts: Mapping[str, int]
    """Speakers found, by what diarization was told."""
    plain: Score
    """With words given to speakers by maximum overlap; the number of speakers told."""


def measure(recording: Recording, folder: Path, models: Models, settings: Settings) -> Result:
    """Run the stations on one recording, once for each thing that diarization may be told.

    Raises:
        RescueError: If a station fails.
    """
    line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
    raw = folder / "raw" / recording.name
    raw.mkdir(parents=True)
    (raw / recording.media.name).symlink_to(recording.media)
    scores, counts, hypotheses = {}, {}, {}
    for told in BOUNDS:
        conversation = Conversation(
            id=recording.name, media=recording.media.name, speakers=_bounds(told, recording.speaker_count)
        )
        workspace = Workspace.of(conversation, raw, settings)
        for outcome in build_conversation(workspace, line):
            if outcome.state is not State.DONE:
                raise RescueError(f"{outcome.station}: {outcome.record.reason}", conversation=recording.name)
        duration = read_json(workspace.artifact("source.json"))["duration"]
        hypotheses[told] = read_hypothesis(workspace.data)
        scores[told] = recording.score(hypotheses[told], duration)
        counts[told] = len({turn.speaker for turn in hypotheses[told].speech})
        if told == "exact":
            words = read_rows(workspace.artifact("words.parquet"))
            plain = recording.score(by_maximum_overlap(words, hypotheses[told].speech), duration)
    return Result(recording, duration, scores, counts, plain)


def by_maximum_overlap(words: Sequence[Mapping[str, Any]], stretches: Sequence[SpeakerTurn]) -> Transcript:
    """The same words, given to speakers by whisperx."""
    import pandas as pd
    from whisperx.diarize import assign_word_speakers

    segments: dict[int, list[dict[str, Any]]] = {}
    for word in words:
        timed = {"word": word["text"], "start": word["start"], "end": word["end"]}
        segments.setdefault(word["segment"], []).append(timed)
    listed = [{"start": part[0]["start"], "end": part[-1]["end"], "words": part} for part in segments.values()]
    frame = pd.DataFrame(
        [{"start": turn.start, "end": turn.end, "speaker": turn.speaker} for turn in stretches],
        columns=["start", "end", "speaker"],
    )
    assigned = assign_word_speakers(frame, {"segments": listed})
    text = [
        Utterance(word["start"], word["end"], word.get("speaker", part.get("speaker", "unknown")), word["word"])
        for part in assigned["segments"]
        for word in part["words"]
    ]
    return Transcript(tuple(stretches), tuple(sorted(text)))


def _bounds(told: str, count: int) -> SpeakerBounds | None:
    if told == "exact":
        return SpeakerBounds(min=count, max=count)
    return SpeakerBounds(min=2, max=count + 1) if told == "range" else None


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f}"


def _rows(results: Sequence[Result]) -> list[list[str]]:
    def cells(name: str, seconds: float, speakers: str, told: Mapping[str, Score], plain: Score) -> list[str]:
        exact = told["exact"]
        return [
            name,
            f"{seconds:.0f}",
            speakers,
            _percent(exact.der.rate),
            _percent(exact.der_single.rate),
            _percent(told["range"].der.rate),
            _percent(told["none"].der.rate),
            _percent(exact.wer.rate),
            _percent(exact.cpwer.rate),
            _percent(plain.cpwer.rate),
        ]

    rows = [
        cells(
            result.recording.name,
            result.seconds,
            f"{result.recording.speaker_count}: " + " ".join(str(result.counts[told]) for told in BOUNDS),
            result.scores,
            result.plain,
        )
        for result in results
    ]
    total = {told: sum((result.scores[told] for result in results), Score()) for told in BOUNDS}
    plain = sum((result.plain for result in results), Score())
    return [*rows, cells("all", sum(result.seconds for result in results), "", total, plain)]


HEAD = (
    "recording",
    "s",
    "speakers: found",
    "DER",
    "DER single",
    "DER range",
    "DER none",
    "WER",
    "cpWER",
    "cpWER max overlap",
)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--media", type=Path, default=Path(os.environ.get("RESCUE_TEST_MEDIA", "../shared/media")))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", action="append", help="name of a recording; repeat for several")
    arguments = parser.parse_args()
    go_private()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder) / "data", raw=Path(folder) / "raw")
        models = Models(settings)
        results = [
            measure(recording, Path(folder), models, settings)
            for recording in recordings(arguments.media.absolute())
            if not arguments.only or recording.name in arguments.only
        ]
    table = Table(*HEAD, title="Error rates in percent")
    rows = _rows(results)
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
    if arguments.json:
        content = {
            "settings": settings.model_dump(mode="json", include={"profile", "recognition", "diarization", "turns"}),
            "recordings": {
                result.recording.name: {
                    "seconds": result.seconds,
                    "speakers": result.recording.speaker_count,
                    "speakers_found": dict(result.counts),
                    "told": {told: found.to_json() for told, found in result.scores.items()},
                    "maximum_overlap": result.plain.to_json(),
                }
                for result in results
            },
        }
        write_json(arguments.json, content)


if __name__ == "__main__":
    main()
