"""What subtitles do for the words: error rates and word times with and without them.

python -m benchmarks.subtitles [--media DIR] [--json FILE]

Each recording whose reference has times of single words is built twice: as it is, and with its reference text as
subtitles, one cue an utterance. What is compared then is where the words inside a cue lie, and who they go to; that
their text is right is given.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.recordings import Recording, recordings
from pipeline.build import build_conversation
from pipeline.conversation import Conversation
from pipeline.errors import RescueError
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.offsets import TimeOffsets
from pipeline.privacy import go_private
from pipeline.quality import Quality, measure
from pipeline.reference import read_reference_files
from pipeline.scoring import read_hypothesis
from pipeline.settings import Settings, load_settings
from pipeline.speech.models import Models
from pipeline.speech.nist import Utterance
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.station import State, Workspace
from pipeline.store import write_json, write_text
from pipeline.times import format_clock

HEAD = ("recording", "subtitles", "WER", "cpWER", "words found", "median", "bias", "9 of 10 within")


def subtitles_of(text: Sequence[Utterance]) -> str:
    """Utterances as SubRip, one cue each."""
    return "\n".join(
        f"{number}\n{format_clock(part.start, mark=',')} --> {format_clock(part.end, mark=',')}\n{part.text}\n"
        for number, part in enumerate(text, start=1)
    )


def words_of(recording: Recording) -> Path:
    """The file of its word times; not every recording has one."""
    return recording.stm.with_suffix(".ctm")


def measured(recording: Recording, folder: Path, models: Models, settings: Settings, *, subtitled: bool) -> Quality:
    """Build one recording and compare it with its reference.

    Raises:
        RescueError: If a station fails.
    """
    raw = folder / ("with" if subtitled else "without") / recording.name
    raw.mkdir(parents=True)
    (raw / recording.media.name).symlink_to(recording.media)
    if subtitled:
        said = [part for part in recording.reference.text if part.text]
        write_text(raw / "subtitles.srt", subtitles_of(said))
    name = f"{recording.name}/{raw.parent.name}"
    conversation = Conversation(id=name, media=recording.media.name, speakers=recording.speaker_count)
    workspace = Workspace.of(conversation, raw, settings)
    line = (SourceStation(), AudioStation(), WordsStation(models), SpeakersStation(models), TurnsStation())
    for outcome in build_conversation(workspace, line):
        if outcome.state is not State.DONE:
            raise RescueError(f"{outcome.station}: {outcome.record.reason}", conversation=name)
    reference = read_reference_files([recording.rttm, recording.stm, words_of(recording)], conversation)
    return measure(read_hypothesis(workspace.data), reference)


def _row(name: str, subtitled: bool, found: Quality) -> list[str]:
    def percent(part: object) -> str:
        rate = getattr(part, "rate", None)
        return "-" if rate is None else f"{100 * rate:.1f}"

    starts: TimeOffsets | None = found.word_starts
    times = ["-"] * 4
    if starts:
        times = [
            f"{starts.compared} of {starts.of}",
            *(f"{value:.3f}" for value in (starts.median, starts.bias, starts.p90)),
        ]
    return [name, "yes" if subtitled else "no", percent(found.wer), percent(found.cpwer), *times]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--media", type=Path, default=Path(os.environ.get("RESCUE_TEST_MEDIA", "../shared/media")))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    go_private()
    table = Table(*HEAD, title="Word starts in seconds, machine less reference; rates in percent")
    content: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder) / "data", raw=Path(folder) / "raw")
        models = Models(settings)
        for recording in recordings(arguments.media.absolute()):
            if not words_of(recording).is_file():
                continue
            for subtitled in (False, True):
                found = measured(recording, Path(folder), models, settings, subtitled=subtitled)
                table.add_row(*_row(recording.name, subtitled, found))
                content[f"{recording.name}, {'with' if subtitled else 'without'} subtitles"] = found.to_json()
    Console(width=140).print(table)
    if arguments.json:
        write_json(arguments.json, content)


if __name__ == "__main__":
    main()
