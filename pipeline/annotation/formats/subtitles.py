"""SRT and WebVTT, read and written with webvtt-py; who speaks stands in voice tags or before the text.

pysubs2 reads SRT too, but drops the sign of a time and a last line that is a number, and says nothing of what it skips.
"""

from __future__ import annotations

import html
import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, RawRow, Source, foreign
from pipeline.annotation.formats.cells import clean_xml
from pipeline.annotation.model import Annotation
from pipeline.extras import load
from pipeline.store import Json
from pipeline.times import format_clock, parse_clock, to_ms

if TYPE_CHECKING:
    from webvtt import Caption

__all__ = ["SrtFormat", "VttFormat"]

_VOICE = re.compile(r"<v(?:\.[\w.-]+)*[ \t]+([^>]+)>")
_VTT_TAG = re.compile(r"</?(?:[cibuv]|ruby|rt|lang)(?:[.\s][^<>]*)?>|<\d[\d:.]*>")
_SRT_TAG = re.compile(r"</?(?:b|i|u|s|font)(?:\s[^<>]*)?/?>|\{\\an?\d+\}", re.IGNORECASE)
_PREFIX = re.compile(r"(?:>>|-)?\s*([^\s:][^:\n]{0,60}?)\s*:\s+(?=\S)")
_NOTE = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t].*)?")


class _Subtitles(Format):
    """Cues as rows."""

    kind: ClassVar[str]
    """What the parser calls the format."""

    def read(self, source: Source, context: Context) -> Imported:
        """One row for each person who speaks in a cue. Cues come in the order of time; what is left out is listed."""
        webvtt = load("webvtt", "formats")

        imported = Imported()
        # Blank lines at the top are legal for players and upset the parser.
        text = source.text.lstrip("\r\n \t") + "\n"
        with foreign(source, self.title):
            parsed = webvtt.from_buffer(io.StringIO(text, newline=""), format=self.kind)
            _report_unread(text, parsed.captions, self.kind, source, imported)
        found: list[RawRow] = []
        for number, cue in enumerate(parsed.captions, start=1):
            found += self._rows(number, cue, context, imported)
        found.sort(key=lambda row: (row.values["start_time"], row.values["end_time"]))
        imported.rows = found
        return imported

    def _rows(self, number: int, cue: Caption, context: Context, imported: Imported) -> Iterator[RawRow]:
        place = f"cue {number}"
        start, end = parse_clock(cue.start), parse_clock(cue.end)
        text = self._plain(cue.raw_text)
        if not text:
            imported.left_out.append(LeftOut(place, "it has no text"))
        elif end <= start:
            reason = f"it ends at {format_clock(end)}, not after its start {format_clock(start)}"
            imported.left_out.append(LeftOut(place, reason, text))
        else:
            for speaker, said in self._parts(cue.raw_text, context):
                values: dict[str, Json] = {"start_time": start, "end_time": end, "dialogue_cleaned": said}
                if speaker is not None:
                    values["primary_speaker"] = context.speaker(speaker)
                yield RawRow(place, values)

    def _parts(self, raw: str, context: Context) -> Iterator[tuple[str | None, str]]:
        """Who says what in a cue: by voice tags, else by names before a colon, one a line."""
        pieces = _VOICE.split(raw) if self.kind == "vtt" else [raw]
        before = self._plain(pieces[0])
        if before:
            yield from _by_prefix(self._lines(pieces[0]), context)
        for name, said in zip(pieces[1::2], pieces[2::2], strict=True):
            if plain := self._plain(said):
                yield html.unescape(name).strip(), plain

    def _plain(self, raw: str) -> str:
        return " ".join(" ".join(self._lines(raw)).split())

    def _lines(self, raw: str) -> list[str]:
        if self.kind == "vtt":
            return html.unescape(_VTT_TAG.sub("", raw)).split("\n")
        return _SRT_TAG.sub("", raw).split("\n")

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """One cue a row; rows that last less than a millisecond, or say nothing, are left out."""
        webvtt = load("webvtt", "formats")

        del media
        cues = []
        for row in sorted(annotation.rows, key=lambda row: (row.start_time, row.end_time, row.row_index)):
            # A blank line would end the cue, an arrow would begin one.
            said = " ".join(clean_xml(row.dialogue_cleaned).replace("-->", "->").split())
            if said and to_ms(row.end_time) > to_ms(row.start_time) >= 0:
                start, end = (format_clock(time) for time in (row.start_time, row.end_time))
                cues.append(webvtt.Caption(start, end, self._cue(row.primary_speaker, said)))
        written = io.StringIO()
        webvtt.WebVTT(captions=cues).write(written, format=self.kind)
        return (written.getvalue().rstrip("\n") + "\n").encode()

    @abstractmethod
    def _cue(self, speaker: str, said: str) -> str:
        """The text of a cue: who, and what is said."""


class SrtFormat(_Subtitles):
    """SubRip: the speaker stands before the text, ``Anna: ...``."""

    name: ClassVar[str] = "srt"
    title: ClassVar[str] = "SRT"
    suffixes: ClassVar[tuple[str, ...]] = (".srt",)
    kind: ClassVar[str] = "srt"

    def _cue(self, speaker: str, said: str) -> str:
        # The writer takes what is in angle brackets for a tag and drops it.
        return f"{speaker}: {said}".replace("<", "\u2039").replace(">", "\u203a")


class VttFormat(_Subtitles):
    """WebVTT: the speaker is a voice tag, ``<v Anna>...</v>``."""

    name: ClassVar[str] = "vtt"
    title: ClassVar[str] = "WebVTT"
    suffixes: ClassVar[tuple[str, ...]] = (".vtt",)
    kind: ClassVar[str] = "vtt"

    def _cue(self, speaker: str, said: str) -> str:
        return f"<v {html.escape(speaker, quote=False)}>{html.escape(said, quote=False)}</v>"


def _by_prefix(lines: Sequence[str], context: Context) -> Iterator[tuple[str | None, str]]:
    """Who says what, by names before a colon.

    A word before a colon is a speaker only if it is somebody of this conversation, or all in capitals as captions have
    it: ``Look: it rains`` is speech.
    """
    speaker: str | None = None
    said: list[str] = []
    for line in lines:
        match = _PREFIX.match(line.strip())
        if match and (match[1].casefold() in context.known or (match[1].isupper() and len(match[1]) > 1)):
            if said:
                yield speaker, " ".join(" ".join(said).split())
            speaker, said = match[1], [line.strip()[match.end() :]]
        elif line.strip():
            said.append(line)
    if said:
        yield speaker, " ".join(" ".join(said).split())


def _report_unread(text: str, cues: Sequence[Caption], kind: str, source: Source, imported: Imported) -> None:
    """List the time lines that no cue was made of, with the text below them.

    The parser steps over them without a word. Its cues keep their order, so the two lists are walked side by side.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    waiting = [(cue.start, cue.end) for cue in reversed(cues)]
    in_note = False
    for number, line in enumerate(lines, start=1):
        if not line.strip() or not lines[number - 2].strip():
            in_note = bool(_NOTE.fullmatch(line))
        if "-->" not in line or in_note:
            continue
        if waiting and _alone(line, kind) == waiting[-1]:
            waiting.pop()
            continue
        below = list(takewhile(lambda following: following.strip() and "-->" not in following, lines[number:]))
        said = " ".join(below)
        reason = "its times cannot be read" if said else "it has no text"
        imported.left_out.append(LeftOut(f"line {number}", reason, said or line.strip()[:80]))
    if not cues and not imported.left_out:
        msg = "the file holds no cue"
        raise source.error(msg, hint="a cue is a line like 00:00:01,000 --> 00:00:02,500 with text below it")


def _alone(line: str, kind: str) -> tuple[str, str] | None:
    """The times that the parser reads in a line, or None."""
    webvtt = load("webvtt", "formats")

    head = "WEBVTT\n\n" if kind == "vtt" else "1\n"
    cues = webvtt.from_buffer(io.StringIO(f"{head}{line}\ntext\n"), format=kind).captions
    return (cues[0].start, cues[0].end) if cues else None
