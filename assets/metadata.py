"""What the library knows, in the form that Dagster's pages show."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import dagster as dg
import pyarrow as pa

from pipeline.pictures import Picture
from pipeline.settings import Settings
from pipeline.station import Outcome, Record, State
from pipeline.store import Json, digest_json

__all__ = [
    "Problem",
    "column_schema",
    "data_version",
    "outcome_metadata",
    "picture_metadata",
    "problem_table",
    "shown_path",
]

Metadata = Mapping[str, dg.MetadataValue]

_LABELS = {
    "duration": "duration (s)",
    "speech_seconds": "speech (s)",
    "overlap_seconds": "overlap (s)",
    "der": "DER",
    "der_single": "DER without overlap",
    "wer": "WER",
    "cpwer": "cpWER",
    "turn_start_median": "turn starts, median (s)",
    "turn_start_bias": "turn starts, bias (s)",
    "turn_start_p90": "turn starts, 9 of 10 within (s)",
    "word_start_median": "word starts, median (s)",
    "word_start_bias": "word starts, bias (s)",
    "word_start_p90": "word starts, 9 of 10 within (s)",
}


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """The columns of a table, from its Arrow schema."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                field.name, type=str(field.type), constraints=dg.TableColumnConstraints(nullable=field.nullable)
            )
            for field in schema
        ]
    )


def shown_path(path: Path, settings: Settings) -> dg.MetadataValue:
    """A file as a person finds it from the project folder; never an absolute path of this machine."""
    return dg.MetadataValue.path(str(PurePosixPath(settings.data.name, path.relative_to(settings.data))))


def data_version(record: Record) -> str:
    """Changes exactly when the content of a station's outputs does."""
    return digest_json(dict(record.outputs or {}))[:16]


def picture_metadata(pictures: Sequence[Picture]) -> Metadata:
    """Pictures inside the page itself: nothing is fetched to show them."""
    return {
        picture.title: dg.MetadataValue.md(
            f"![{picture.title}](data:{picture.media_type};base64,{base64.b64encode(picture.content).decode()})"
        )
        for picture in pictures
    }


def outcome_metadata(outcome: Outcome, files: Mapping[str, Path], settings: Settings) -> Metadata:
    """What a station found out about a conversation, what it wrote, and whether it had to work now."""
    record = outcome.record
    known: dict[str, dg.MetadataValue] = {"made now": dg.MetadataValue.bool(outcome.ran)}
    if outcome.ran:
        known["took (s)"] = dg.MetadataValue.float(round(outcome.seconds, 2))
    if record.state is State.SKIPPED:
        known["nothing to do"] = dg.MetadataValue.text(record.reason or "")
    for name, value in (record.summary or {}).items():
        shown = _shown(value)
        if shown is not None:
            known[_LABELS.get(name, name.replace("_", " "))] = shown
    for name in record.outputs or {}:
        known[name] = shown_path(files[name], settings)
    return known


def _shown(value: Json) -> dg.MetadataValue | None:
    """A figure of a station's summary; None where there is nothing to show."""
    if value is None or value in ([], {}):
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return dg.MetadataValue.text("; ".join(value))
    if isinstance(value, (list, dict)):
        return dg.MetadataValue.json(value)
    makers = {bool: dg.MetadataValue.bool, int: dg.MetadataValue.int, float: dg.MetadataValue.float}
    return makers.get(type(value), dg.MetadataValue.text)(value)


@dataclass(frozen=True)
class Problem:
    """Why a conversation has no result at a station."""

    conversation: str
    station: str
    reason: str
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{self.conversation}: {self.station}: {self.reason}"
        return f"{text} ({self.hint})" if self.hint else text

    @property
    def metadata(self) -> Metadata:
        """Reason and way out, for the page of one conversation."""
        shown = {"reason": dg.MetadataValue.text(self.reason)}
        return {**shown, "try": dg.MetadataValue.text(self.hint)} if self.hint else shown


def problem_table(problems: Sequence[Problem]) -> dg.MetadataValue:
    """Everything that went wrong in a run, one row each."""
    columns = ("conversation", "station", "reason", "try")
    return dg.MetadataValue.table(
        records=[
            dg.TableRecord(
                dict(zip(columns, (item.conversation, item.station, item.reason, item.hint or ""), strict=True))
            )
            for item in problems
        ],
        schema=dg.TableSchema([dg.TableColumn(name, "string") for name in columns]),
    )
