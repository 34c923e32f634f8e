"""The Arrow schemas of every table, and the only functions that read and write them.

Each table has one explicit schema: readers never guess a type from the first file. Nested values are lists of structs,
never JSON text. Times are seconds from the start of the clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.store import atomic_path

__all__ = [
    "CONVERSATIONS",
    "CUES",
    "ROWS",
    "SCHEMA_VERSION",
    "STATISTICS",
    "TASKS",
    "TURNS",
    "WORDS",
    "list_of",
    "read_rows",
    "read_table",
    "table_of",
    "write_table",
]

SCHEMA_VERSION = "1"
"""Raised with every change of a column; stored in the metadata of every file."""


def list_of(kind: pa.DataType) -> pa.DataType:
    """A list of a type."""
    # Parquet names the item of a list so; with another name a schema would not equal the one read back.
    return pa.list_(pa.field("element", kind))


_names = list_of(pa.string())
_described = list_of(pa.struct([("person", pa.string()), ("description", pa.string())]))


def _schema(name: str, fields: Iterable[tuple[str, pa.DataType]], *, required: Iterable[str]) -> pa.Schema:
    needed = frozenset(required)
    return pa.schema(
        [pa.field(field, kind, nullable=field not in needed) for field, kind in fields],
        metadata={"rescue.table": name, "rescue.schema_version": SCHEMA_VERSION},
    )


WORDS = _schema(
    "words",
    [
        ("word_index", pa.int32()),  # from 0, in order of time
        ("text", pa.string()),
        ("start", pa.float64()),
        ("end", pa.float64()),
        ("confidence", pa.float32()),  # 0..1; null where the recogniser gave none
        ("time_source", pa.string()),  # attention, alignment, subtitle, interpolated
        ("segment", pa.int32()),  # sentence-like unit of the recogniser, from 0
        ("flags", _names),  # for example trimmed, interpolated, suspected_loop
    ],
    required=["word_index", "text", "start", "end", "time_source", "segment", "flags"],
)

_turn_word = pa.struct(
    [
        ("word_index", pa.int32()),
        ("text", pa.string()),
        ("start", pa.float64()),
        ("end", pa.float64()),
        ("confidence", pa.float32()),
    ]
)

TURNS = _schema(
    "turns",
    [
        ("conversation_id", pa.string()),
        ("turn_index", pa.int32()),  # from 1
        ("speaker", pa.string()),  # diarization label, or "unknown"
        ("start", pa.float64()),
        ("end", pa.float64()),
        ("text", pa.string()),
        ("word_count", pa.int32()),
        ("confidence", pa.float32()),  # mean over words
        ("overlap", pa.float64()),  # seconds in which another speaker talks too
        ("words", list_of(_turn_word)),
        ("flags", _names),  # every decision that was a guess
    ],
    required=["conversation_id", "turn_index", "speaker", "start", "end", "text", "word_count", "overlap", "words"],
)

_viewpoint = pa.struct(
    [("source", pa.string()), ("target", pa.string()), ("viewpoint", pa.string()), ("attitude", pa.string())]
)

_identity = [
    ("conversation_id", pa.string()),
    ("group_id", pa.string()),
    ("scenario", pa.string()),
]

ROWS = _schema(
    "rows",
    [
        *_identity,
        ("row_index", pa.int32()),  # from 1
        ("start_time", pa.float64()),
        ("end_time", pa.float64()),
        ("primary_speaker", pa.string()),
        ("target", _names),
        ("dialogue_cleaned", pa.string()),
        ("utterance_type", pa.string()),
        (
            "background_dialogue",
            list_of(pa.struct([("speaker", pa.string()), ("target", _names), ("content", pa.string())])),
        ),
        ("tone_of_voice", pa.string()),
        ("body_posture", _described),
        ("facial_expressions", _described),
        ("self_directed_behavior", _described),
        (
            "interaction_behavior",
            list_of(pa.struct([("initiator", pa.string()), ("target", _names), ("description", pa.string())])),
        ),
        (
            "internal_emotion",
            list_of(
                pa.struct([("person", pa.string()), ("emotion_description", pa.string()), ("intensity", pa.float64())])
            ),
        ),
        ("viewpoints_attitudes", list_of(_viewpoint)),
        (
            "support_strategy",
            list_of(
                pa.struct(
                    [
                        ("provider", pa.string()),
                        ("target", _names),
                        ("strategy_type", pa.string()),
                        ("strategy_content", pa.string()),
                    ]
                )
            ),
        ),
        ("relation_label", pa.string()),  # resolved: therapist rows only
        ("relation_pattern", pa.string()),
        ("relation_pattern_reason", pa.string()),
        ("relation_pattern_evidence_rows", list_of(pa.int32())),
        ("relation_cycle_state", pa.string()),
        ("relation_cycle_reason", pa.string()),
        ("relation_cycle_evidence_rows", list_of(pa.int32())),
        # What the join adds; null where there is no media. It never changes a column above.
        ("machine_start", pa.float64()),  # first matched word, seconds
        ("machine_end", pa.float64()),  # last matched word, seconds
        ("machine_speaker", pa.string()),  # diarization label of most of the matched words
        ("machine_participant", pa.string()),  # who that label stands for, by the speaker map
        ("speaker_agrees", pa.bool_()),
        ("matched_share", pa.float64()),  # matched words of the row, 0..1
        ("text_error_rate", pa.float64()),  # word error rate of the recognised against the annotated text
        ("start_offset", pa.float64()),  # machine_start - start_time, seconds
        ("end_offset", pa.float64()),
        ("words", list_of(_turn_word)),  # the matched words
        ("join_flags", _names),
    ],
    required=[
        "conversation_id",
        "group_id",
        "scenario",
        "row_index",
        "start_time",
        "end_time",
        "primary_speaker",
        "target",
        "dialogue_cleaned",
        "background_dialogue",
        "body_posture",
        "facial_expressions",
        "self_directed_behavior",
        "interaction_behavior",
        "internal_emotion",
        "viewpoints_attitudes",
        "support_strategy",
    ],
)

_face = pa.struct(
    [
        ("track", pa.int32()),  # one face within one shot, from 1
        ("shot", pa.int32()),  # from 1
        ("person", pa.int32()),  # tracks of one person have one number, from 1; null without `cues.face_recognition`
        ("on_screen_share", pa.float64()),  # of the frames looked at, 0..1
        ("size", pa.float64()),  # median height of the face over the height of the picture
        ("x", pa.float64()),  # median centre, 0 left to 1 right
        ("y", pa.float64()),  # 0 top to 1 bottom
        ("lip_motion", pa.float64()),  # mean change of the lip gap while words are said, face heights a second
        ("head_motion", pa.float64()),  # mean way of the face's centre, face heights a second
        ("speaking_score", pa.float64()),  # 0..1, 0.5 where it speaks as likely as not
        ("speaker", pa.string()),  # diarization label that the track was linked to
        ("participant", pa.string()),  # who that label stands for
    ]
)

CUES = _schema(
    "cues",
    [
        ("conversation_id", pa.string()),
        ("unit", pa.string()),  # turn or row
        ("unit_index", pa.int32()),  # turn_index or row_index
        ("start", pa.float64()),
        ("end", pa.float64()),
        ("speaker", pa.string()),  # diarization label; null where none is known
        ("participant", pa.string()),  # who it stands for, by the speaker map of the join
        ("shots", pa.int32()),  # shots it touches
        ("cuts", list_of(pa.float64())),  # times of the cuts in it
        ("picture_motion", pa.float64()),  # mean change between frames, cuts left out, 0..1 of the full range
        ("frames", pa.int32()),  # frames looked at
        ("most_faces", pa.int32()),  # at one time
        ("faces", list_of(_face)),
        ("speaking_track", pa.int32()),  # the face that is likely speaking; null where no lips move enough
        ("speaking_score", pa.float64()),  # of that face
        ("speaker_on_screen", pa.bool_()),  # whether a face linked to its speaker is seen; null where none is linked
        ("pitch_median", pa.float64()),  # Hz; null where nothing is voiced
        ("pitch_range", pa.float64()),  # Hz between the 5th and the 95th percentile
        ("voiced_share", pa.float64()),  # of its frames of sound, 0..1
        ("intensity", pa.float64()),  # mean power while words are said, dB relative to full scale
        ("speech_rate", pa.float64()),  # words a second over the whole of it
        ("pauses", pa.int32()),  # silences between its words of at least 0.25 s
        ("pause_seconds", pa.float64()),
        ("overlap_share", pa.float64()),  # of its length in which two or more speak, 0..1
    ],
    required=["conversation_id", "unit", "unit_index", "start", "end", "cuts", "faces", "frames", "shots"],
)

CONVERSATIONS = _schema(
    "conversations",
    [
        ("conversation_id", pa.string()),
        ("group_id", pa.string()),
        ("scenario", pa.string()),  # null where nothing was annotated
        ("title", pa.string()),
        ("language", pa.string()),
        ("participants", _names),
        ("has_therapist", pa.bool_()),
        ("duration", pa.float64()),  # seconds; of the media, else the end of the last row
        ("has_audio", pa.bool_()),
        ("has_video", pa.bool_()),
        ("speaker_count", pa.int32()),  # found by diarization
        ("turn_count", pa.int32()),
        ("word_count", pa.int32()),
        ("row_count", pa.int32()),
        ("media_sha256", pa.string()),
        ("annotations_sha256", pa.string()),
    ],
    required=["conversation_id", "group_id", "participants", "row_count"],
)


def _task(name: str, *gold: tuple[str, pa.DataType]) -> pa.Schema:
    fields = [
        ("instance_id", pa.string()),  # opaque
        ("task", pa.string()),
        *_identity,
        ("split", pa.string()),
        ("row_index", pa.int32()),  # the target row; for ITP the row after which the decision is made
        # First and last row of the longest allowed context; null where there is none.
        ("context_rows", pa.struct([("first", pa.int32()), ("last", pa.int32())])),
        *gold,
    ]
    nullable = {"context_rows", "recent_emotion"}
    return _schema(name, fields, required=[field for field, _ in fields if field not in nullable])


TASKS: Mapping[str, pa.Schema] = {
    "itp": _task("itp", ("should_speak", pa.bool_())),
    "rpp": _task("rpp", ("label", pa.string()), ("candidates", _names)),
    "stp": _task("stp", ("target", pa.string()), ("candidates", _names)),
    "ssp": _task(
        "ssp",
        ("strategy", pa.string()),
        ("candidates", _names),
        ("support_target", pa.string()),
        ("recent_emotion", pa.string()),
    ),
    "er": _task("er", ("emotion", pa.string()), ("intensity", pa.float64())),
    "vp": _task("vp", ("viewpoints", list_of(_viewpoint))),
}
"""Task name to the schema of its table."""


STATISTICS = _schema(
    "statistics",
    [
        ("split", pa.string()),  # null over all splits
        ("figure", pa.string()),  # what is counted, for example rows, instances, transition_share
        ("scenario", pa.string()),  # null over both
        ("item", pa.string()),  # task, label or field, where the figure has one
        ("to", pa.string()),  # the next label, the reason of an exclusion, the tenth of the conversation
        ("value", pa.float64()),  # null where there is nothing to take a share of
    ],
    required=["figure"],
)


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table from one mapping a row.

    Raises:
        InputError: If a value does not fit its column, a required one is missing, or a column is unknown; the message
            names row and column.
    """
    listed = list(rows)
    names = set(schema.names)
    for position, row in enumerate(listed):
        unknown = row.keys() - names
        if unknown:
            msg = f"unknown column {min(unknown)!r}"
            raise InputError(msg, conversation=row.get("conversation_id"), place=f"item {position}")
    columns = [_column([row.get(field.name) for row in listed], field, listed) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: list[Any], field: pa.Field, rows: list[Mapping[str, Any]]) -> pa.Array:
    # Arrow takes text for a list of text and stores its letters.
    if pa.types.is_list(field.type) and any(isinstance(value, str) for value in values):
        position = next(index for index, value in enumerate(values) if isinstance(value, str))
        raise _misfit("text where a list belongs", position, field, rows)
    if not field.nullable and None in values:
        raise _misfit("a value is missing", values.index(None), field, rows)
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        msg = f"a value does not fit: {error}"
        raise InputError(msg, place=f"column {field.name}") from error


def _misfit(message: str, position: int, field: pa.Field, rows: list[Mapping[str, Any]]) -> InputError:
    conversation = rows[position].get("conversation_id")
    return InputError(message, conversation=conversation, place=f"item {position}, column {field.name}")


def write_table(target: Path, table: pa.Table, schema: pa.Schema) -> None:
    """Write a Parquet file atomically; the same table gives the same bytes.

    Raises:
        pyarrow.ArrowInvalid: If the table does not fit the schema.
    """
    fitting = table if table.schema.equals(schema, check_metadata=True) else table.cast(schema)
    # In one piece: a table has a hundred column parts, and each would be a small write.
    content = pa.BufferOutputStream()
    with pq.ParquetWriter(content, schema, compression="zstd") as writer:
        if fitting.num_rows:  # a row group without rows stops some readers
            writer.write_table(fitting.combine_chunks(), row_group_size=65_536)
    with atomic_path(target) as temporary:
        temporary.write_bytes(content.getvalue())


def read_table(source: Path) -> pa.Table:
    """Read one Parquet file as it was written, with its own schema only.

    Raises:
        InputError: If it is missing or no Parquet file.
    """
    try:
        # Files of a conversation are small: threads cost more than they bring.
        return pq.ParquetFile(source).read(use_threads=False)
    except FileNotFoundError as error:
        msg = "the table is missing"
        raise InputError(msg, file=source, hint="run `rescue build`") from error
    except pa.ArrowInvalid as error:
        msg = f"not a whole Parquet file: {error}"
        raise InputError(msg, file=source, hint="delete it and run `rescue build`") from error


def read_rows(source: Path) -> list[dict[str, Any]]:
    """Read one Parquet file as one dict a row."""
    rows: list[dict[str, Any]] = read_table(source).to_pylist()
    return rows
