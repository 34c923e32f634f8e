"""RTTM, the Rich Transcription Time Marked format of NIST (RT-09 evaluation plan, appendix A): who speaks when.

A line is ``SPEAKER recording channel start duration <NA> <NA> name <NA> [<NA>]``, times in seconds. There is no kept
library that reports what it skips; the format is ten fields.
"""

from __future__ import annotations

from typing import ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, RawRow, Source
from pipeline.annotation.model import Annotation
from pipeline.times import TimeUnit, round_time, to_seconds

__all__ = ["RttmFormat"]


class RttmFormat(Format):
    """Rows with a speaker and times; what is said is to be filled in."""

    name: ClassVar[str] = "rttm"
    title: ClassVar[str] = "RTTM"
    suffixes: ClassVar[tuple[str, ...]] = (".rttm",)

    def read(self, source: Source, context: Context) -> Imported:
        """One row a ``SPEAKER`` line of one recording.

        Raises:
            InputError: If a line has too few fields or no times, or the file holds several recordings and the mapping
                does not say which.
        """
        imported = Imported()
        by_recording: dict[str, list[RawRow]] = {}
        for number, line in enumerate(source.text.splitlines(), start=1):
            found = _row(line, f"line {number}", source, context)
            if isinstance(found, LeftOut):
                imported.left_out.append(found)
            elif found is not None:
                by_recording.setdefault(found[0], []).append(found[1])
        wanted = context.mapping.recording
        if wanted is None and len(by_recording) > 1:
            msg = f"the file holds {len(by_recording)} recordings: {', '.join(list(by_recording)[:8])}"
            raise source.error(msg, hint="say which in a mapping file, `recording: NAME`")
        if wanted is not None and wanted not in by_recording:
            msg = f"the file holds no recording {wanted!r}; it holds {', '.join(list(by_recording)[:8]) or 'none'}"
            raise source.error(msg, hint="correct `recording:` in the mapping file")
        for name, rows in by_recording.items():
            if wanted in {None, name}:
                imported.rows = sorted(rows, key=lambda row: (row.values["start_time"], row.values["end_time"]))
            else:
                imported.left_out.append(LeftOut(f"recording {name}", "another recording", count=len(rows)))
        return imported

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """One line a row; blanks in names become ``_``, since the format has none."""
        recording = "_".join((media or annotation.conversation_id).split())
        lines = []
        for row in annotation.rows:
            start, end = round_time(row.start_time), round_time(row.end_time)
            name = "_".join(row.primary_speaker.split())
            if end > start >= 0 and name:
                lines.append(f"SPEAKER {recording} 1 {start:.3f} {end - start:.3f} <NA> <NA> {name} <NA> <NA>")
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _row(line: str, place: str, source: Source, context: Context) -> tuple[str, RawRow] | LeftOut | None:
    """The recording and row of a line; None for a comment."""
    parts = line.split()
    if not parts or parts[0].startswith(";;"):
        return None
    if len(parts) < 8 or not parts[0].replace("-", "").isalpha():
        msg = f"the line is no RTTM: {len(parts)} fields, the first {parts[0][:30]!r}"
        raise source.error(msg, place=place, hint="SPEAKER and at least 7 fields more; names must not hold blanks")
    if parts[0] != "SPEAKER":
        return LeftOut(place, f"{parts[0][:30]} is not a stretch of speech", line.strip())
    try:
        start, length = (to_seconds(part, TimeUnit.SECONDS) for part in parts[3:5])
    except ValueError as error:
        raise source.error(str(error), place=place, hint="times are seconds") from error
    if length <= 0 or start < 0:
        return LeftOut(place, "it lasts no time" if length <= 0 else "it starts before 0", line.strip())
    values = {
        "start_time": start,
        "end_time": round(start + length, 6),
        "primary_speaker": context.speaker(parts[7]),
        "dialogue_cleaned": "",
    }
    return parts[1], RawRow(place, values)
