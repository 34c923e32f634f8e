"""The table that a run of a model leaves: one row for every instance that was to be answered, whatever came of it."""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa

from pipeline.schemas import SCHEMA_VERSION, list_of

__all__ = ["OUTCOMES", "ParseStep", "Status"]


class Status(StrEnum):
    """What came of an instance."""

    SCORED = "scored"
    """A valid answer was read; it may be right or wrong."""
    INVALID = "invalid"
    """The model answered, but no valid answer could be read, or it refused: counts as wrong."""
    FAILED = "failed"
    """There is no answer: the request failed or was never made. Not wrong, but the score is incomplete."""


class ParseStep(StrEnum):
    """Which step of reading the answer won."""

    AS_IS = "as_is"
    FENCED = "fenced"
    FIRST_OBJECT = "first_object"
    REPAIRED = "repaired"
    REASKED = "reasked"


_view = pa.struct(
    [("source", pa.string()), ("target", pa.string()), ("viewpoint", pa.string()), ("attitude", pa.string())]
)
_judgement = pa.struct(
    [
        ("judge", pa.string()),  # model name of the judge
        ("repeat", pa.int32()),  # from 0
        ("score", pa.float64()),  # ER 1..5; VP total 0..6
        ("pairing", pa.float64()),  # VP 0..2, else null
        ("viewpoint", pa.float64()),  # VP 0..4, else null
        ("reason", pa.string()),
    ]
)

_REQUIRED = frozenset(
    {
        "model",
        "mode",
        "task",
        "instance_id",
        "conversation_id",
        "group_id",
        "scenario",
        "split",
        "row_index",
        "tenth",
        "status",
    }
)

OUTCOMES = pa.schema(
    [
        pa.field(name, kind, nullable=name not in _REQUIRED)
        for name, kind in (
            ("model", pa.string()),
            ("mode", pa.string()),
            ("task", pa.string()),
            ("instance_id", pa.string()),
            ("conversation_id", pa.string()),
            ("group_id", pa.string()),
            ("scenario", pa.string()),
            ("split", pa.string()),
            ("row_index", pa.int32()),
            ("tenth", pa.int32()),  # 0..9: tenth of the conversation that the row lies in
            ("status", pa.string()),  # Status
            ("reason", pa.string()),  # why invalid or failed; null where scored
            ("parse_step", pa.string()),  # ParseStep; null unless scored
            # The gold, as the task tables hold it.
            ("candidates", list_of(pa.string())),  # RPP, STP, SSP
            ("gold_label", pa.string()),  # ITP yes|no, RPP label, STP target, SSP strategy, ER emotion
            ("gold_intensity", pa.float64()),  # ER 0..10
            ("gold_viewpoints", list_of(_view)),  # VP
            # The answer; null unless scored.
            ("answer_ranking", list_of(pa.string())),  # ITP one of yes|no; RPP, STP, SSP at most 3, best first
            ("answer_emotion", pa.string()),  # ER
            ("answer_intensity", pa.float64()),  # ER
            ("answer_viewpoints", list_of(_view)),  # VP
            ("answer_text", pa.string()),  # the last raw answer; never published
            ("judgements", list_of(_judgement)),  # ER, VP
            # What it cost.
            ("input_tokens", pa.int64()),
            ("output_tokens", pa.int64()),
            ("cost", pa.float64()),  # in the currency of the price file; null where no price is known
            ("seconds", pa.float64()),  # from request to answer
            ("prompt_digest", pa.string()),
        )
    ],
    metadata={"rescue.table": "outcomes", "rescue.schema_version": SCHEMA_VERSION},
)
"""The schema of ``outcomes``. Facts of the whole run (versions, parameters) stand in ``run.json`` beside it."""
