"""Label Studio, JSON export of audio or video regions, both ways.

A region is several results with one id: a label for the speaker, text areas and choices for the other fields.
``annotation_schema/labelstudio.xml`` is the labelling configuration that gives each field its control.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, Source, parse_json
from pipeline.annotation.formats.cells import FIELDS, TIMES, cell_of, value_of
from pipeline.annotation.formats.tiers import numbered
from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import THERAPIST
from pipeline.store import Json
from pipeline.times import TimeUnit, round_time, to_seconds

__all__ = ["LabelStudioFormat", "Work", "works_of"]

_CHOICES = ("utterance_type", "relation_pattern", "relation_cycle_state", "target")
"""Fields whose control is a choice; `cell_of` is their text."""
_VALUE_KEY = {"labels": "labels", "textarea": "text", "choices": "choices", "number": "number"}


@dataclass(frozen=True)
class Work:
    """One person's annotation of one task."""

    task: str
    id: str
    author: str
    is_gold: bool
    results: tuple[Mapping[str, Json], ...]


class LabelStudioFormat(Format):
    """Regions as rows."""

    name: ClassVar[str] = "labelstudio"
    title: ClassVar[str] = "Label Studio"
    suffixes: ClassVar[tuple[str, ...]] = (".labelstudio.json",)

    def read(self, source: Source, context: Context) -> Imported:
        """The rows of one annotation.

        Raises:
            InputError: If the file is no export, holds no region in time, or the work of several people or on several
                tasks and neither the mapping nor a ground truth says which counts.
        """
        works, repeated = works_of(parse_json(source), source)
        _refuse_without_times(works, source)
        imported = Imported()
        if repeated:
            imported.left_out.append(LeftOut("annotations", "the export repeats an annotation", count=repeated))
        work = _chosen(works, source, context)
        others = [other for other in works if other is not work]
        imported.left_out += [
            LeftOut(f"annotation {other.id}", f"the work of {other.author} on task {other.task}") for other in others
        ]
        imported.facts = {
            "annotator": work.author,
            "annotation": work.id,
            "rule": "the only annotation" if not others else "ground truth, or as the mapping says",
            "head": {"origin": {"author": work.author}},
        }
        self._regions(work, source, context, imported)
        return imported

    def _regions(self, work: Work, source: Source, context: Context, imported: Imported) -> None:
        controls = _controls(work.results, context)
        regions: dict[str, dict[str, Json]] = {}
        for number, result in enumerate(work.results, start=1):
            value: Mapping[str, Json] = result.get("value") or {}
            place = f"annotation {work.id}, result {result.get('id') or number}"
            control, kind = str(result.get("from_name")), str(result.get("type"))
            if not _has_times(result):
                imported.left_out.append(LeftOut(place, "it has no times", f"{control}: {json.dumps(value)[:200]}"))
                continue
            try:
                start, end = (to_seconds(value[side], TimeUnit.SECONDS) for side in ("start", "end"))
            except (ValueError, TypeError) as error:
                raise source.error(f"its times are no seconds: {error}", place=place, hint="export it again") from error
            region = regions.setdefault(str(result.get("id") or number), {"start_time": start, "end_time": end})
            field = controls.get(control)
            if field is None:
                reason = "ignored by the mapping" if context.mapping.ignores(control) else "no field is named for it"
                imported.left_out.append(LeftOut(place, f"control {control}: {reason}"))
                continue
            self._value(region, field, kind, value, place, context, imported)
        imported.rows = numbered(
            (f"annotation {work.id}, region {region}", values) for region, values in regions.items()
        )

    def _value(
        self,
        region: dict[str, Json],
        field: str,
        kind: str,
        value: Mapping[str, Json],
        place: str,
        context: Context,
        imported: Imported,
    ) -> None:
        held = value.get(_VALUE_KEY.get(kind, kind))
        parts = [str(part) for part in (held if isinstance(held, list) else [held]) if part is not None]
        if not parts:
            imported.left_out.append(LeftOut(place, f"{field} is empty"))
        elif field == "primary_speaker":
            region[field] = context.speaker(parts[0])
            imported.left_out += [LeftOut(place, "a region has one speaker", name) for name in parts[1:]]
        else:
            try:
                if field == "target" and len(parts) > 1:
                    region[field] = [context.speaker(name) for name in parts]
                    return
                cell = " ".join(parts)
                region[field] = value_of(field, cell, separator=context.mapping.separator)
            except ValueError as error:
                imported.left_out.append(LeftOut(place, str(error), " ".join(parts)))
                return
            if len(parts) > 1:
                imported.changes.append(context.change(None, field, parts, cell, f"{place}: several texts joined"))

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """One task with one annotation, to be imported into a project with our labelling configuration."""
        names = [*annotation.participants, THERAPIST, annotation.scenario.group_label]
        people = list(dict.fromkeys((*names, *(row.primary_speaker for row in annotation.rows))))
        targets = list(dict.fromkeys((*names, *(name for row in annotation.rows for name in row.target))))
        task = {
            "id": 1,
            "data": {
                "media": media or annotation.conversation_id,
                "speakers": [{"value": name} for name in people],
                "targets": [{"value": name} for name in targets],
            },
            "annotations": [
                {"id": 1, "completed_by": 1, "result": [part for row in annotation.rows for part in _results(row)]}
            ],
        }
        return (json.dumps([task], ensure_ascii=False, indent=1) + "\n").encode()


def works_of(value: Json, source: Source) -> tuple[list[Work], int]:
    """The annotations of an export, each once, and how many repeats were dropped.

    Exports repeat a task for each of its annotations, or an annotation in each copy of its task.

    Raises:
        InputError: If it is no export.
    """
    tasks = value if isinstance(value, list) else [value]
    works: dict[tuple[str, str], Work] = {}
    repeated = 0
    for number, task in enumerate(tasks, start=1):
        annotations = task.get("annotations", task.get("completions")) if isinstance(task, dict) else None
        if not isinstance(annotations, list):
            msg = "it is no task of a Label Studio export: it has no list of `annotations`"
            raise source.error(msg, place=f"task {number}", hint="export the project as JSON, not JSON-MIN")
        for position, item in enumerate(annotations, start=1):
            results = item.get("result") if isinstance(item, dict) else None
            if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
                msg = "an annotation has no list of results"
                raise source.error(msg, place=f"task {number}, annotation {position}", hint="export the project again")
            if item.get("was_cancelled"):
                continue
            task_id = str(task.get("id", number))
            key = (task_id, str(item.get("id", f"{number}.{position}")))
            if key in works:
                repeated += 1
            else:
                is_gold = item.get("ground_truth") is True
                works[key] = Work(task_id, key[1], _author(item.get("completed_by")), is_gold, tuple(results))
    if not works:
        msg = "the file holds no finished annotation"
        raise source.error(msg, hint="submit the task in Label Studio, then export it")
    return list(works.values()), repeated


def _has_times(result: Mapping[str, Json]) -> bool:
    value = result.get("value")
    return isinstance(value, dict) and "start" in value and "end" in value


def _refuse_without_times(works: Sequence[Work], source: Source) -> None:
    results = [result for work in works for result in work.results]
    if not any(map(_has_times, results)):
        types = ", ".join(sorted({str(result.get("type")) for result in results})) or "none"
        msg = f"no region has a time: the results are of type {types}"
        hint = (
            "export a project of audio or video regions; annotation_schema/labelstudio.xml is a configuration for one"
        )
        raise source.error(msg, hint=hint)


def _author(value: Json) -> str:
    if isinstance(value, dict):
        return str(value.get("email") or value.get("id"))
    return str(value)


def _chosen(works: Sequence[Work], source: Source, context: Context) -> Work:
    """The annotation that counts: as the mapping says, else the ground truth, else the only one; never a guess."""
    wanted = works
    if context.mapping.recording is not None:
        wanted = [work for work in wanted if work.task == context.mapping.recording]
    tasks = list(dict.fromkeys(work.task for work in wanted))
    if len(tasks) != 1:
        every = ", ".join(dict.fromkeys(work.task for work in works))
        msg = f"the file holds the tasks {every}; one is one conversation"
        raise source.error(msg, hint="say which in a mapping file, `recording: ID`")
    if context.mapping.annotator is not None:
        wanted = [work for work in wanted if context.mapping.annotator in {work.author, work.id}]
    elif len(wanted) > 1:
        wanted = [work for work in wanted if work.is_gold] or wanted
    if len(wanted) != 1:
        authors = ", ".join(f"{work.author} (annotation {work.id})" for work in works)
        msg = f"the task was annotated by {authors}, and none of these is the one ground truth"
        raise source.error(
            msg, hint="mark one as ground truth in Label Studio, or say `annotator: NAME` in a mapping file"
        )
    return wanted[0]


def _controls(results: Sequence[Mapping[str, Json]], context: Context) -> dict[str, str]:
    """Control to field: by the mapping, by our own names, else the only labels are who speaks, the only texts what."""
    kinds: dict[str, set[str]] = {}
    for result in results:
        if _has_times(result):
            kinds.setdefault(str(result.get("type")), set()).add(str(result.get("from_name")))
    controls: dict[str, str] = {}
    for name in {name for names in kinds.values() for name in names}:
        if context.mapping.ignores(name):
            continue
        field = context.mapping.field_of(name) or (name if name in FIELDS else None)
        if field is not None:
            controls[name] = field
    for kind, field in (("labels", "primary_speaker"), ("textarea", "dialogue_cleaned")):
        names = kinds.get(kind, set())
        if len(names) == 1 and field not in controls.values():
            only = next(iter(names))
            if not context.mapping.ignores(only):
                controls.setdefault(only, field)
    return controls


def _results(row: Row) -> Iterator[dict[str, Json]]:
    """The results of a row: one for each field that holds something."""
    times = {"start": round_time(row.start_time), "end": round_time(row.end_time), "channel": 0}
    values = row.model_dump(mode="json")
    for field in FIELDS:
        if field in TIMES:
            continue
        if field == "primary_speaker":
            kind, content = "labels", [row.primary_speaker]
        else:
            cell = cell_of(field, values[field])
            if cell is None:
                continue
            kind = "choices" if field in _CHOICES else "textarea"
            content = list(row.target) if field == "target" and len(row.target) > 1 else [cell]
        yield {
            "id": f"row{row.row_index}",
            "from_name": field,
            "to_name": "audio",
            "type": kind,
            "value": {**times, _VALUE_KEY[kind]: content},
        }
