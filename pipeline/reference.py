"""References: files that say how it truly was, read for error rates.

One file may say who speaks when (RTTM), who says what (STM, annotations of other tools, subtitles that name speakers),
what is said (subtitles without names), when each word is said (CTM, whisperx JSON), or what is evaluated (UEM). Several
files of one recording are put together; what none of them says stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.annotation.formats import FORMATS, Context, detect
from pipeline.annotation.formats.base import Source, parse_json
from pipeline.annotation.formats.mapping import FormatMapping, load_mapping, mapping_beside
from pipeline.conversation import THERAPIST, Conversation
from pipeline.errors import InputError, RescueError
from pipeline.speech.nist import SpeakerTurn, Utterance, read_ctm, read_rttm, read_stm, read_uem
from pipeline.subtitles import read_subtitles
from pipeline.times import Interval
from pipeline.whisperx_json import is_whisperx, read_whisperx

__all__ = ["Reference", "find_references", "read_reference_files"]

_BESIDE = (".rttm", ".stm", ".ctm", ".uem")
"""Files that can be nothing but a reference; a subtitle or an ELAN file has to be named as one."""


@dataclass(frozen=True)
class Reference:
    """How it truly was, as far as it is known."""

    speech: tuple[SpeakerTurn, ...] | None = None
    """Who speaks when."""
    text: tuple[Utterance, ...] | None = None
    """What is said."""
    named: bool = False
    """Whether the text says who speaks."""
    words: tuple[Utterance, ...] | None = None
    """Single words with times of their own."""
    evaluated: tuple[Interval, ...] | None = None
    """The parts that count; None for everything."""
    files: tuple[str, ...] = ()
    """Names of the files."""

    def with_part(self, other: Reference) -> Reference:
        """This, and what only the other one knows; text that names speakers goes before text that does not."""
        better = other.text is not None and (self.text is None or (other.named and not self.named))
        return Reference(
            speech=self.speech if self.speech is not None else other.speech,
            text=other.text if better else self.text,
            named=other.named if better else self.named,
            words=self.words if self.words is not None else other.words,
            evaluated=self.evaluated if self.evaluated is not None else other.evaluated,
            files=(*self.files, *other.files),
        )


def find_references(conversation: Conversation, folder: Path) -> tuple[Path, ...]:
    """The reference files of a conversation: the named ones, else NIST's files with the name of the recording.

    Args:
        conversation: What is said of the recording.
        folder: Its folder under ``raw_video``.
    """
    if conversation.reference:
        return tuple(folder / name for name in conversation.reference)
    if conversation.media is None:
        return ()
    media = folder / conversation.media
    taken = folder / conversation.annotations if conversation.annotations else None
    if not media.parent.is_dir():
        return ()
    found = sorted(
        path
        for path in media.parent.iterdir()
        if path.suffix.casefold() in _BESIDE and path.stem == media.stem and path.is_file() and path != taken
    )
    return tuple(found) if any(path.suffix.casefold() != ".uem" for path in found) else ()


def read_reference_files(
    paths: Iterable[Path], conversation: Conversation, *, recording: str | None = None
) -> Reference:
    """Read the files of one recording and put together what they know.

    Who speaks when comes from an RTTM file where there is one, as it is exact; else from the text.

    Args:
        paths: The files.
        conversation: Whose they are; its people decide which names are speakers.
        recording: Which recording of an RTTM, STM, CTM or UEM file that holds several.

    Raises:
        InputError: If a file cannot be read, or holds several recordings and none is named.
    """
    ordered = sorted(paths, key=lambda path: path.suffix.casefold() != ".rttm")
    whole = Reference()
    for path in ordered:
        try:
            whole = whole.with_part(_read(path, conversation, recording))
        except RescueError as error:
            error.conversation = error.conversation or conversation.id
            raise
    return whole


def _read(path: Path, conversation: Conversation, recording: str | None) -> Reference:
    suffix = path.suffix.casefold()
    files = (path.name,)
    if suffix in _NIST:
        if not path.is_file():
            msg = "there is no such file"
            raise InputError(msg, file=path, hint="check the path")
        return _NIST[suffix](path, recording, files)
    if suffix in {".srt", ".vtt"}:
        cues = [cue for cue in read_subtitles(path, conversation).cues if cue.words]
        return _of_text([Utterance(cue.start, cue.end, cue.speaker or "", " ".join(cue.words)) for cue in cues], files)
    source = Source.read(path)
    if suffix == ".json" and is_whisperx(value := parse_json(source)):
        return _of_whisperx(value, source, files)
    return _of_annotation(path, conversation, files)


def _rttm(path: Path, recording: str | None, files: tuple[str, ...]) -> Reference:
    return Reference(speech=tuple(read_rttm(path, file_id=recording)), files=files)


def _stm(path: Path, recording: str | None, files: tuple[str, ...]) -> Reference:
    return _of_text(read_stm(path, file_id=recording), files)


def _ctm(path: Path, recording: str | None, files: tuple[str, ...]) -> Reference:
    words = tuple(read_ctm(path, file_id=recording))
    return Reference(text=words, words=words, files=files)


def _uem(path: Path, recording: str | None, files: tuple[str, ...]) -> Reference:
    return Reference(evaluated=tuple(read_uem(path, file_id=recording)), files=files)


_NIST: Mapping[str, Callable[[Path, str | None, tuple[str, ...]], Reference]] = {
    ".rttm": _rttm,
    ".stm": _stm,
    ".ctm": _ctm,
    ".uem": _uem,
}


def _of_text(text: Sequence[Utterance], files: tuple[str, ...]) -> Reference:
    """Text, and the speech it implies where everybody is named."""
    said = tuple(part for part in text if part.text)
    named = bool(said) and all(part.speaker for part in said)
    speech = tuple(SpeakerTurn(part.start, part.end, part.speaker) for part in said) if named else None
    return Reference(speech=speech, text=said, named=named, files=files)


def _of_whisperx(value: Mapping[str, object], source: Source, files: tuple[str, ...]) -> Reference:
    segments = read_whisperx(value, source)
    found = _of_text([Utterance(part.start, part.end, part.speaker or "", part.text) for part in segments], files)
    words = tuple(
        Utterance(word.start, word.end, segment.speaker or "", word.text)
        for segment in segments
        for word in segment.words
        if word.start is not None and word.end is not None
    )
    return found.with_part(Reference(words=words or None))


def _of_annotation(path: Path, conversation: Conversation, files: tuple[str, ...]) -> Reference:
    beside = mapping_beside(path)
    mapping = load_mapping(beside) if beside.is_file() else FormatMapping()
    source = Source.read(path, encoding=mapping.encoding)
    people = conversation.entities or (THERAPIST,)
    rows = FORMATS[detect(source).name].read(source, Context(conversation.id, people, mapping)).rows
    text = []
    for row in rows:
        start, end = row.values.get("start_time"), row.values.get("end_time")
        if not (isinstance(start, int | float) and isinstance(end, int | float) and 0 <= start <= end):
            msg = "it has no start and end in seconds"
            raise source.error(msg, place=row.place, hint="rescue validate lists all that is wrong")
        speaker = str(row.values.get("primary_speaker") or mapping.speaker or "")
        text.append(Utterance(float(start), float(end), speaker, str(row.values.get("dialogue_cleaned") or "")))
    return _of_text(text, files)
