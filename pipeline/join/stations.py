"""The station of rows: annotation rows, joined with machine turns where there is a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.annotation.io import read_annotation
from pipeline.annotation.model import Annotation
from pipeline.dataset.rows import row_values
from pipeline.join.match import HeardWord, align
from pipeline.join.report import EMPTY_COLUMNS, join_columns, report
from pipeline.join.speakers import map_speakers
from pipeline.schemas import ROWS, read_rows, table_of, write_table
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, read_json, write_json

__all__ = ["RowsStation"]


class RowsStation(Station):
    """Join the annotation with what was recognised. Annotated values are never changed."""

    name = "rows"
    version = 1
    needs = ("annotations",)
    uses = ("speakers", "turns")
    outputs = ("rows.parquet", "join.json")
    packages = ("rapidfuzz", "scipy")
    summary_doc = "Finds the words of each annotation row in the recording, and says how well the two fit."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The annotation, and the turns where there are any."""
        files = {"annotations": workspace.artifact("annotations.json")}
        if _has_turns(workspace):
            files |= {name: workspace.artifact(name) for name in ("turns.parquet", "speakers.json")}
        return files

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """The group, which is a column."""
        return {"group_id": workspace.conversation.group_id}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``rows.parquet`` and ``join.json``."""
        annotation = read_annotation(workspace.artifact("annotations.json"))
        if _has_turns(workspace):
            columns, content = _join(annotation, workspace)
        else:
            columns = [dict(EMPTY_COLUMNS) for _ in annotation.rows]
            content = {"rows": len(annotation.rows), "joined": False}
        known = {
            "conversation_id": annotation.conversation_id,
            "group_id": workspace.conversation.group_id,
            "scenario": annotation.scenario.value,
        }
        rows = [{**known, **row_values(row), **added} for row, added in zip(annotation.rows, columns, strict=True)]
        write_table(workspace.artifact("rows.parquet"), table_of(rows, ROWS), ROWS)
        write_json(workspace.artifact("join.json"), content)
        kept = ("rows", "matched_share", "offset", "drift_percent", "speaker_agreement", "flags")
        return {name: content[name] for name in kept if name in content}


def _has_turns(workspace: Workspace) -> bool:
    return Record.read(workspace.record("turns")).state is State.DONE


def _join(annotation: Annotation, workspace: Workspace) -> tuple[list[dict[str, Json]], dict[str, Json]]:
    alignment = align(annotation.rows, _heard(workspace))
    run_id = read_json(workspace.artifact("speakers.json")).get("run_id")
    speakers = map_speakers(annotation.rows, alignment, run_id)
    columns = [
        join_columns(row, match, alignment, speakers)
        for row, match in zip(annotation.rows, alignment.rows, strict=True)
    ]
    return columns, {"joined": True, **report(annotation.rows, columns, alignment, speakers)}


def _heard(workspace: Workspace) -> Iterator[HeardWord]:
    """The words of all turns in order of time, each with its turn's speaker.

    Words that the recogniser likely invented are in no turn, and so are not joined.
    """
    words = [
        HeardWord(word["word_index"], word["text"], word["start"], word["end"], word["confidence"], turn["speaker"])
        for turn in read_rows(workspace.artifact("turns.parquet"))
        for word in turn["words"]
    ]
    yield from sorted(words, key=lambda word: (word.start, word.word_index))
