"""Whole episodes: which files of a folder they are, and what is said in them, recognised once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.build import Progress
from pipeline.conversation import Conversation
from pipeline.errors import InputError, UsageError
from pipeline.join.match import HeardWord
from pipeline.locate.index import Heard
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.provenance import DigestCache
from pipeline.schemas import read_rows
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.speech.stations import WordsStation
from pipeline.speech.words import is_suspected, word_of
from pipeline.station import State, Station, Workspace
from pipeline.store import read_json

__all__ = ["EPISODE_SUFFIXES", "Episode", "Folder", "episode_line", "find_episodes", "hear"]

EPISODE_SUFFIXES = frozenset(
    f".{name}"
    for name in (
        "aac", "ac3", "aiff", "avi", "dv", "eac3", "flac", "flv", "m2ts", "m4a", "m4v", "mka", "mkv", "mov", "mp3",
        "mp4", "mpeg", "mpg", "mts", "mxf", "nut", "oga", "ogg", "ogv", "opus", "ts", "vob", "wav", "webm", "wma",
        "wmv",
    )
)  # fmt: skip
_EPISODES = "episodes"


@dataclass(frozen=True)
class Folder:
    """What a folder of episodes holds."""

    root: Path
    files: tuple[Path, ...]
    """The recordings, in order of name; of several with the same content the first."""
    digests: tuple[str, ...]
    """SHA-256 of each."""
    others: tuple[str, ...]
    """Names of files that are no recordings, and of copies, relative to the folder."""

    def name(self, file: Path) -> str:
        """The name of a file as it is shown and stored: relative to the folder, with ``/``."""
        return file.relative_to(self.root).as_posix()


@dataclass(frozen=True)
class Episode:
    """An episode and what is heard in it."""

    path: Path
    sha256: str
    heard: Heard
    audio: Path
    """Its sound, 16 kHz mono."""


def find_episodes(root: Path, settings: Settings, progress: Progress | None = None) -> Folder:
    """The recordings in a folder and the folders in it. Names that begin with a dot are left alone.

    Every recording is read once for its digest; that is remembered as long as its size and time stay.

    Raises:
        UsageError: If there is no such folder, or no recording in it.
    """
    if not root.is_dir():
        msg = f"there is no folder {root.name!r}"
        raise UsageError(msg, hint="name the folder that holds the episodes with --episodes")
    digests = DigestCache(settings.data / _EPISODES / ".digests.json")
    files: dict[str, Path] = {}
    others: list[str] = []
    for path in sorted(_files(root)):
        name = path.relative_to(root).as_posix()
        recording = path.suffix.casefold() in EPISODE_SUFFIXES
        if recording and progress:
            progress(name, "digest")
        if not recording or files.setdefault(digests.digest(path), path) is not path:
            others.append(name)
    digests.save()
    if not files:
        msg = "there is no recording in the folder"
        raise UsageError(msg, file=root, hint=f"episodes end with one of {' '.join(sorted(EPISODE_SUFFIXES))}")
    return Folder(root, tuple(files.values()), tuple(files), tuple(others))


def episode_line(models: Models) -> tuple[Station, ...]:
    """The stations that an episode goes through: the first ones of every recording."""
    return (SourceStation(), AudioStation(), WordsStation(models))


def hear(
    folder: Folder, file: Path, sha256: str, line: Sequence[Station], settings: Settings, progress: Progress | None
) -> Episode:
    """Recognise an episode, unless that was done before: what is found is kept under the digest of the file.

    Raises:
        InputError: If it cannot be read or recognised.
    """
    name = folder.name(file)
    # A conversation outside the folder of conversations: the stations are the same, the data set knows nothing of it.
    about = Conversation(id=name, media=file.name)
    workspace = Workspace(about, file.parent, settings.data / _EPISODES / sha256[:24], settings)
    with workspace.locked() as digests:
        for station in line:
            if progress:
                progress(name, station.name)
            record = station.process(workspace, digests).record
            if record.state is not State.DONE:
                msg = f"the episode cannot be searched: {record.reason}"
                raise InputError(msg, file=name, hint=record.hint or "give the episode with its sound")
    spoken = [word for word in map(word_of, read_rows(workspace.artifact("words.parquet"))) if not is_suspected(word)]
    words = tuple(
        HeardWord(position, word.text, word.start, word.end, word.confidence) for position, word in enumerate(spoken)
    )
    duration = float(read_json(workspace.artifact("source.json"))["duration"])
    return Episode(file, sha256, Heard(name, duration, words), workspace.artifact("audio.flac"))


def _files(root: Path) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return found
