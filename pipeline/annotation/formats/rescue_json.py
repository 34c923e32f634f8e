"""Our own JSON, and a sample of the published release: an object with ``rows``. It holds everything."""

from __future__ import annotations

from typing import ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, RawRow, Source, parse_json
from pipeline.annotation.model import Annotation

__all__ = ["JsonFormat"]


class JsonFormat(Format):
    """The form in which annotations are kept."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "rescue JSON"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def read(self, source: Source, context: Context) -> Imported:
        """The rows as they stand; nothing is left out. The head of the file is in ``facts``."""
        del context
        value = parse_json(source)
        if not isinstance(value, dict):
            msg = "the file holds no object"
            raise source.error(msg, hint='it needs {"rows": [{...}, ...]}')
        rows = value.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            machine = isinstance(value.get("segments"), list) or isinstance(value.get("word_segments"), list)
            msg = "the file holds no list of `rows`"
            hint = (
                "it is what a recogniser wrote, not an annotation: `rescue build` recognises the recording itself"
                if machine
                else 'it needs {"rows": [{...}, ...]}'
            )
            raise source.error(msg, hint=hint)
        head = {name: part for name, part in value.items() if name != "rows"}
        people = head.get("participants")
        if people is not None and not (isinstance(people, list) and all(isinstance(name, str) for name in people)):
            raise source.error("it is no list of names", place="field participants", hint='["Anna", "Ben"]')
        if not isinstance(head.get("source_file"), str | None):
            raise source.error("it is no text", place="field source_file", hint="a file name, or leave it out")
        return Imported(
            rows=[RawRow(f"row {position}", dict(row)) for position, row in enumerate(rows, start=1)],
            facts={"head": head},
        )

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """The annotation, every field."""
        del media
        return (annotation.model_dump_json(indent=2) + "\n").encode()
