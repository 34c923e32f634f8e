"""ELAN ``.eaf``, read and written with pympi.

ELAN Annotation Format 3.0: tiers of annotations that are tied to time slots or to annotations of a parent tier.
"""

from __future__ import annotations

import mimetypes
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree as ET

from pipeline.annotation.formats.base import Context, Format, Imported, Source, foreign
from pipeline.annotation.formats.cells import clean_xml
from pipeline.annotation.formats.tiers import DEPENDENT, Span, Tier, lanes_of, rows_of
from pipeline.annotation.model import Annotation
from pipeline.extras import load
from pipeline.times import Seconds, TimeUnit, to_ms, to_seconds

if TYPE_CHECKING:
    from pympi import Eaf

__all__ = ["EafFormat"]

_SCHEMA = "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"


class EafFormat(Format):
    """One tier for what each person says, one dependent tier for each other field."""

    name: ClassVar[str] = "eaf"
    title: ClassVar[str] = "ELAN"
    suffixes: ClassVar[tuple[str, ...]] = (".eaf",)

    def read(self, source: Source, context: Context) -> Imported:
        """The rows of an ELAN file; slots without a time are placed evenly between their neighbours and recorded."""
        eaf = _parse(source)
        marked: list[str] = []
        with foreign(source, "an ELAN file"):
            tiers = _tiers(eaf, marked)
        imported = rows_of(tiers, source, context)
        imported.changes = [
            context.change(
                None, "start_time", None, place, "a time slot without a value, placed between its neighbours"
            )
            for place in marked
        ]
        return imported

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """An ELAN file; times in whole milliseconds."""
        eaf = load("pympi", "formats").Eaf(author="rescue")
        eaf.adocument["DATE"] = "1970-01-01T00:00:00+00:00"  # the same annotation gives the same bytes
        eaf.header = {"MEDIA_FILE": "", "TIME_UNITS": "milliseconds"}
        eaf.remove_tier("default")
        eaf.add_linguistic_type("row")
        eaf.add_linguistic_type("field", constraints="Symbolic_Association", timealignable=False)
        if media:
            mime = mimetypes.guess_type(media)[0] or "unknown"
            eaf.media_descriptors.append({"MEDIA_URL": media, "RELATIVE_MEDIA_URL": f"./{media}", "MIME_TYPE": mime})
        for lane in lanes_of(annotation):
            parent = clean_xml(f"dialogue_cleaned@{lane.name}")
            eaf.add_tier(parent, ling="row", part=clean_xml(lane.speaker))
            ids: dict[int, str] = {}
            for row, cell in lane.cells("dialogue_cleaned"):
                eaf.add_annotation(parent, to_ms(row.start_time), to_ms(row.end_time), clean_xml(cell))
                ids[row.row_index] = next(reversed(eaf.tiers[parent][0]))
            for field in DEPENDENT:
                cells = list(lane.cells(field))
                if cells:
                    tier = clean_xml(f"{field}@{lane.name}")
                    eaf.add_tier(tier, ling="field", parent=parent, part=clean_xml(lane.speaker))
                    # Not by time, as pympi's own method does it: rows of one lane may touch.
                    for row, cell in cells:
                        annotation_id = eaf.generate_annotation_id()
                        eaf.annotations[annotation_id] = tier
                        eaf.tiers[tier][1][annotation_id] = (ids[row.row_index], clean_xml(cell), None, None)
        text: str = load("pympi.Elan", "formats").to_string(eaf)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _parse(source: Source) -> Eaf:
    """The file as pympi reads it, after what it does not check: entities, and a header without a schema location."""
    pympi = load("pympi", "formats")
    if "<!DOCTYPE" in source.text or "<!ENTITY" in source.text:
        # An ELAN file has no document type; one could make a small file fill the memory, or name other files.
        msg = "the file declares a document type, which no ELAN file does"
        raise source.error(msg, hint="open it in ELAN and save it again")
    with foreign(source, "an ELAN file"):
        root = ET.fromstring(source.text)  # noqa: S314 - no entities, as checked above
        if root.tag != "ANNOTATION_DOCUMENT":
            msg = f"the file holds {root.tag[:40]!r}, not an ELAN document"
            raise source.error(msg, hint="name the .eaf file, not settings (.pfsx) or a template (.etf)")
        header = root.find("HEADER")
        if header is not None and header.get("TIME_UNITS", "milliseconds") != "milliseconds":
            msg = f"its times are {header.get('TIME_UNITS')!r}, not milliseconds"
            raise source.error(msg, hint="save it with a current ELAN")
        root.attrib.setdefault(_SCHEMA, "")
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "whole.eaf"
            ET.ElementTree(root).write(whole, encoding="UTF-8")
            return pympi.Eaf(whole, suppress_version_warning=True)


def _tiers(eaf: Eaf, marked: list[str]) -> list[Tier]:
    """Every tier; an annotation that refers to another one has the times of the one at the top."""
    times: dict[str, tuple[Seconds, Seconds]] = {}
    parents: dict[str, str] = {}
    for name, (aligned, references, _, _) in eaf.tiers.items():
        times |= _times(eaf.timeslots, name, aligned, marked)
        parents |= {key: reference for key, (reference, *_) in references.items()}
    tiers = []
    for name, (aligned, references, attributes, _) in eaf.tiers.items():
        spans = [Span(key, *times[key], value) for key, (_, _, value, _) in aligned.items()]
        for key, (reference, value, *_) in _in_order(references):
            top, steps = reference, 0
            while top in parents and steps < len(parents):
                top, steps = parents[top], steps + 1
            # A reference into nowhere has no time; it is reported with what belongs to no row.
            spans.append(Span(key, *times.get(top, (0.0, 0.0)), value, reference))
        tiers.append(Tier(name, tuple(spans), attributes.get("PARTICIPANT") or None, attributes.get("PARENT_REF")))
    return tiers


def _times(
    slots: Mapping[str, int | None], tier: str, aligned: Mapping[str, Sequence[Any]], marked: list[str]
) -> dict[str, tuple[Seconds, Seconds]]:
    """Start and end of each annotation of a tier.

    Slots without a value stand in a chain: annotations that share the time of their parent, each beginning where the
    one before ends. They are placed evenly between the valued slots around them.
    """
    order = {slot: position for position, slot in enumerate(slots)}
    chain = sorted(aligned.items(), key=lambda item: (order[item[1][0]], order[item[1][1]]))
    points: list[list[str]] = []
    for _, (start, end, *_) in chain:
        joined = points and points[-1][-1] != start and slots[points[-1][-1]] is None and slots[start] is None
        if joined:
            points[-1].append(start)
        elif not points or points[-1][-1] != start:
            points.append([start])
        points.append([end])
    placed: dict[str, float] = {}
    stated = [(position, slots[point[0]]) for position, point in enumerate(points)]
    valued = [(position, time) for position, time in stated if time is not None]
    for (position, time), point in zip(stated, points, strict=True):
        value: float | None = time
        if value is None:
            after = bisect_right(valued, position, key=itemgetter(0))
            if not 0 < after < len(valued):
                msg = f"time slot {point[0]} of tier {tier} has no value and none on one side of it"
                raise ValueError(msg)
            (left, earlier), (right, later) = valued[after - 1], valued[after]
            value = earlier + (position - left) / (right - left) * (later - earlier)
            marked.append(f"tier {tier}, slot {point[0]}")
        placed.update(dict.fromkeys(point, value))
    return {
        key: (to_seconds(placed[start], TimeUnit.MILLISECONDS), to_seconds(placed[end], TimeUnit.MILLISECONDS))
        for key, (start, end, *_) in aligned.items()
    }


def _in_order(references: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Annotations that refer to another one, each after its predecessor, whatever their order in the file."""
    following: dict[str | None, list[str]] = {}
    for key, (_, _, previous, _) in references.items():
        following.setdefault(previous if previous in references else None, []).append(key)
    seen: dict[str, None] = {}
    waiting = list(reversed(following.get(None, [])))
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen[key] = None
            waiting += reversed(following.get(key, []))
    for key in (*seen, *(key for key in references if key not in seen)):
        yield key, references[key]
