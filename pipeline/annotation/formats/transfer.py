"""Files of other tools in and out: the one way that the command line and the build both take."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.annotation.findings import Finding, Severity
from pipeline.annotation.formats import FORMATS, Context, Format, FormatMapping, LeftOut, Source, detect, load_mapping
from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.annotation.io import Loaded, annotation_of
from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import THERAPIST, Conversation, Scenario
from pipeline.errors import InputError, RescueError
from pipeline.store import Json
from pipeline.times import to_ms

__all__ = ["Exported", "Taken", "export", "take"]


@dataclass(frozen=True)
class Taken:
    """An annotation from a file of any format, and all that is to be said about the way in."""

    format: str
    content: Mapping[str, Json]
    """What the file says, as our JSON, before normalisation."""
    loaded: Loaded
    """The typed annotation; its changes hold those of the importer too."""
    left_out: tuple[LeftOut, ...]
    facts: Mapping[str, Json]

    def findings(self) -> list[Finding]:
        """What was left out, as findings beside those of validation."""
        return [
            Finding(
                Severity.WARNING,
                "left-out",
                self.loaded.annotation.conversation_id,
                None,
                None,
                f"{part.place}: {part.reason}" + (f" ({part.count})" if part.count > 1 else ""),
                "name it in the mapping file, under `fields:` or `ignore:`"
                if "no field is named" in part.reason
                else None,
            )
            for part in self.left_out
        ]

    def report(self) -> dict[str, Json]:
        """The JSON form of what happened."""
        return {
            "format": self.format,
            "rows": len(self.loaded.annotation.rows),
            "left_out": [part.to_json() for part in self.left_out],
            "changes": [change.to_json() for change in self.loaded.changes],
            "facts": dict(self.facts),
        }


@dataclass(frozen=True)
class Exported:
    """A file of another format, and what it could not hold."""

    data: bytes
    lost: Mapping[str, int]
    """Field to the number of rows in which it does not come back; ``rows`` counts rows that do not come back at all."""


def take(
    path: Path,
    conversation: Conversation,
    *,
    format_name: str | None = None,
    mapping: FormatMapping | None = None,
    encoding: str | None = None,
) -> Taken:
    """Read an annotation file of any format.

    Args:
        path: The file.
        conversation: Whose it is; its people decide which names are speakers.
        format_name: The format; by the file's name if None.
        mapping: Which part of the file is which field; from ``<file>.mapping.yaml`` beside it if None.
        encoding: The encoding of a text file without a mark; from the mapping if None.

    Raises:
        InputError: If the file cannot be read, does not say what its parts are, or rows have no speaker.
    """
    if mapping is None:
        beside = mapping_beside(path)
        mapping = load_mapping(beside) if beside.is_file() else FormatMapping()
    source = Source.read(path, encoding=encoding or mapping.encoding)
    try:
        return _take(source, FORMATS[format_name] if format_name else detect(source), conversation, mapping)
    except RescueError as error:
        error.conversation = error.conversation or conversation.id
        raise


def export(annotation: Annotation, format_name: str, *, media: str | None = None) -> Exported:
    """A file of another format. What it lost is found by reading it back, so it cannot be forgotten."""
    written = FORMATS[format_name].write(annotation, media=media)
    return Exported(written, _lost(annotation, format_name, written))


def _take(source: Source, chosen: Format, conversation: Conversation, mapping: FormatMapping) -> Taken:
    context = Context(conversation.id, _people(conversation), mapping)
    imported = chosen.read(source, context)
    head = imported.facts.pop("head", {})
    rows: list[dict[str, Json]] = []
    nameless: list[str] = []
    for row in imported.rows:
        values = row.values
        if chosen.name != "json" and not str(values.get("primary_speaker") or "").strip():
            if mapping.speaker is None:
                nameless.append(row.place)
                continue
            values = {**values, "primary_speaker": mapping.speaker}
        rows.append(values if chosen.name == "json" else {"row_index": len(rows) + 1, **values})
    if nameless:
        msg = f"{len(nameless)} of {len(imported.rows)} rows name no speaker, first {', '.join(nameless[:3])}"
        hint = (
            "list the people as `participants:`, say `speaker: NAME` in a mapping file, or use the file as "
            "`subtitles:` of the conversation"
        )
        raise source.error(msg, hint=hint)
    if not rows:
        first = f", first {imported.left_out[0].place}: {imported.left_out[0].reason}" if imported.left_out else ""
        msg = f"no row comes out of the file; {sum(part.count for part in imported.left_out)} parts left out{first}"
        raise source.error(msg, hint="name tiers or columns in a mapping file (docs/how-to/annotation-tools.md)")
    content = {**head, "rows": rows}
    loaded = annotation_of(content, conversation, source.path)
    if chosen.name not in {"json", "xlsx"}:
        imported.facts["encoding"] = source.encoding
    spelt = [
        context.change(None, "primary_speaker", before, after, "spelling of a name")
        for before, after in context.respelt.items()
    ]
    changes = (*imported.changes, *spelt, *loaded.changes)
    return Taken(chosen.name, content, Loaded(loaded.annotation, changes), tuple(imported.left_out), imported.facts)


def _people(conversation: Conversation) -> tuple[str, ...]:
    people = conversation.entities
    # Before the scenario is set, a tier or a prefix `Therapist` is still the therapist.
    return people if THERAPIST in people or conversation.therapist is False else (*people, THERAPIST)


def _lost(annotation: Annotation, format_name: str, written: bytes) -> dict[str, int]:
    conversation = Conversation(
        id=annotation.conversation_id,
        scenario=Scenario(annotation.scenario),
        participants=tuple(name for name in dict.fromkeys(annotation.participants) if name and name != THERAPIST),
    )
    speakers = {row.primary_speaker: row.primary_speaker for row in annotation.rows}
    source = Source(Path(f"export.{format_name}"), written)
    try:
        back = _take(source, FORMATS[format_name], conversation, FormatMapping(speakers=speakers)).loaded.annotation
    except InputError:
        return {"rows": len(annotation.rows)}
    found: dict[tuple[int, int], deque[Row]] = {}
    for row in back.rows:
        found.setdefault(_when(row), deque()).append(row)
    lost: Counter[str] = Counter()
    for row in annotation.rows:
        waiting = found.get(_when(row))
        if not waiting:
            lost["rows"] += 1
            continue
        one, two = row.model_dump(), waiting.popleft().model_dump()
        lost.update(name for name in one if one[name] != two[name])
    return dict(sorted(lost.items()))


def _when(row: Row) -> tuple[int, int]:
    """Rows are matched by their times: not every format numbers them."""
    return to_ms(row.start_time), to_ms(row.end_time)
