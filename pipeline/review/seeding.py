"""What the first rows of a layer are: a model's draft, machine turns, or an annotation that is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.annotation.formats.transfer import take
from pipeline.annotation.model import Annotation, Row, Status
from pipeline.annotation.versions import Version, read_version, version_files
from pipeline.errors import InputError, RescueError
from pipeline.links import check_link
from pipeline.review.assignments import Source
from pipeline.review.entries import Entry, entries_of
from pipeline.review.recognition import Heard, heard
from pipeline.station import Workspace
from pipeline.store import Json

__all__ = ["Seed", "annotation_there", "first_rows", "sources_of"]


@dataclass(frozen=True)
class Seed:
    """The first rows, and what they were made of."""

    source: Source
    entries: Sequence[Entry]


def first_rows(workspace: Workspace, source: Source) -> Seed:
    """The first rows of a layer.

    Args:
        workspace: The conversation.
        source: What to make them of. ``auto`` takes a draft of a model, else machine turns. What a person wrote, also
            the annotation, is taken only where it is asked for: an annotator must not see another one's answer.

    Raises:
        InputError: If what is asked for is not there, or cannot be read. An annotator reads the message: it says
            nothing of files that other people wrote (`sources_of` tells administrators).
    """
    makers = {Source.DRAFT: _of_draft, Source.TURNS: _of_turns, Source.ANNOTATION: _of_annotation}
    if source is Source.EMPTY:
        return Seed(source, ())
    if source is not Source.AUTO:
        made = makers[source](workspace)
        if made is None:
            msg = f"there is no {source.value} to begin with"
            hint = "run `rescue build` first, or choose another source"
            raise InputError(msg, conversation=workspace.conversation.id, hint=hint)
        return Seed(source, made)
    for one in (Source.DRAFT, Source.TURNS):
        made = makers[one](workspace)
        if made is not None:
            return Seed(one, made)
    msg = "there are neither a model's draft nor machine turns to begin with"
    hint = "run `rescue build`, or name what to begin with: annotation, which shows that answer, or empty"
    raise InputError(msg, conversation=workspace.conversation.id, hint=hint)


def sources_of(workspace: Workspace) -> tuple[list[str], list[str]]:
    """The sources that are there; and, for administrators, the files under ``annotations`` that cannot be read."""
    versions, broken = _versions(workspace)
    found = []
    if heard(workspace) is not None:
        found.append(Source.TURNS.value)
    if workspace.conversation.annotations is not None:
        found.append(Source.ANNOTATION.value)
    if _drafts(versions):
        found.append(Source.DRAFT.value)
    return found, broken


def annotation_there(workspace: Workspace) -> Annotation | None:
    """The annotation that the conversation names, as the build reads it; None if it names none.

    Raises:
        InputError: If it cannot be read.
    """
    path = workspace.source(workspace.conversation.annotations)
    if path is None:
        return None
    check_link(workspace, path, mapping_beside(path))
    return take(path, workspace.conversation).loaded.annotation


def _versions(workspace: Workspace) -> tuple[list[Version], list[str]]:
    """Everybody's annotations, and what keeps the others from being read.

    One file that cannot be read must not stop those who know nothing of its author.
    """
    found, broken = [], []
    for path in version_files(workspace.raw):
        try:
            check_link(workspace, path, mapping_beside(path))
            found.append(read_version(path, workspace.conversation))
        except RescueError as error:
            broken.append(str(error))
    return found, broken


def _drafts(versions: Sequence[Version]) -> list[Version]:
    """Drafts of models. Those of people are their work: nobody else sees it."""
    return [one for one in versions if one.origin.status is Status.DRAFT and one.origin.model]


def _of_draft(workspace: Workspace) -> list[Entry] | None:
    drafts = _drafts(_versions(workspace)[0])
    if not drafts:
        return None
    newest = max(drafts, key=lambda one: (one.origin.time.timestamp() if one.origin.time else 0.0, one.path.name))
    origin = {"from": "draft", "model": newest.origin.model, "file": newest.path.name}
    return _of_rows(newest.annotation.rows, heard(workspace), origin)


def _of_annotation(workspace: Workspace) -> list[Entry] | None:
    annotation = annotation_there(workspace)
    if annotation is None:
        return None
    origin: dict[str, Json] = {"from": "annotation"}
    if annotation.origin is not None:
        origin["author"] = annotation.origin.author
    return _of_rows(annotation.rows, heard(workspace), origin)


def _of_rows(rows: Sequence[Row], recognition: Heard | None, origin: Mapping[str, Json]) -> list[Entry]:
    made = entries_of(rows, [str(uuid4()) for _ in rows])
    return [
        replace(
            entry,
            origin={**origin, "row_index": row.row_index},
            machine=recognition.within(row.start_time, row.end_time) if recognition else None,
        )
        for entry, row in zip(made, rows, strict=True)
    ]


def _of_turns(workspace: Workspace) -> list[Entry] | None:
    recognition = heard(workspace)
    if recognition is None:
        return None
    rows = [
        Row(
            row_index=number,
            start_time=turn["start"],
            end_time=turn["end"],
            # Empty, which cannot be verified: a label of the machine is nobody's name, and the join knows whose it is
            # only from what somebody else annotated.
            primary_speaker="",
            dialogue_cleaned=turn["text"],
        )
        for number, turn in enumerate(recognition.turns, start=1)
    ]
    made = _of_rows(rows, recognition, {"from": "turns"})
    return [
        # The turn's own words: those of an overlapping turn lie within its times too.
        replace(entry, machine={**(entry.machine or {}), "speaker": turn["speaker"]})
        for entry, turn in zip(made, recognition.turns, strict=True)
    ]
