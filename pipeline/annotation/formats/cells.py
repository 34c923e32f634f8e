"""Fields of a row as text, for the formats whose smallest piece is text: tiers, columns, text areas.

A field without a value is no cell at all, so ``""`` (two quotation marks) stands for text that is empty: the release
tells a relation pattern that was found to be none from one that nobody looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pipeline.annotation.model import RECORDS, Row
from pipeline.conversation import THERAPIST
from pipeline.store import Json

__all__ = ["FIELDS", "NAMES", "NUMBERS", "TIMES", "cell_of", "clean_xml", "in_row", "value_of"]

TIMES = ("start_time", "end_time")
NAMES = ("target",)
NUMBERS = ("relation_pattern_evidence_rows", "relation_cycle_evidence_rows")
FIELDS = tuple(Row.model_fields)
"""Every field of a row, in order; those that are in none of the groups above are text, but ``row_index``."""

_PLAIN_NAME = re.compile(r"[^\s;\[\"][^;]*(?<!\s)")
_ILLEGAL_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def cell_of(field: str, value: Json) -> str | None:
    """The text of a value as `Row` holds it in JSON form; None where there is nothing to write.

    Example:
        >>> cell_of("target", ["Anna", "Ben"])
        'Anna; Ben'
    """
    if value is None:
        return None
    if field in RECORDS:
        return json.dumps(value, ensure_ascii=False) if value else None
    if field in NAMES:
        if all(_PLAIN_NAME.fullmatch(name) for name in value):
            return "; ".join(value) or None
        return json.dumps(value, ensure_ascii=False)
    if field in NUMBERS:
        return ", ".join(map(str, value)) or "[]"
    text = str(value)
    return f'{text}""' if _only_pairs(text) else text


def value_of(field: str, cell: str, *, separator: str = ";") -> Json:
    """The value of a cell, as a file of ours would hold it.

    A plain text where records belong stands for what it can only mean in a row of one speaker: `in_row` completes it.

    Raises:
        ValueError: If the cell cannot be a value of the field.
    """
    if field in RECORDS:
        if not cell.lstrip().startswith(("[", "{")):
            if field not in _SHORT_FORMS:
                msg = f"{field} needs records as JSON"
                raise ValueError(msg)
            return [cell]
        return _json(field, cell)
    if field in NAMES:
        if cell.lstrip().startswith("["):
            return _json(field, cell)
        return [name.strip() for name in cell.split(separator) if name.strip()]
    if field in NUMBERS:
        parts = [part for part in re.split(r"[\s,;\[\]]+", cell) if part]
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            msg = f"{field} needs row numbers like 3, 4"
            raise ValueError(msg)
        return [int(part) for part in parts]
    return cell[:-2] if cell and _only_pairs(cell) else cell


def in_row(values: Mapping[str, Json]) -> dict[str, Json]:
    """A row whose short forms are written out: a posture without a person is the speaker's."""
    result = dict(values)
    for field in _SHORT_FORMS.keys() & result.keys():
        if isinstance(result[field], list):
            result[field] = [_record(field, part, result) if isinstance(part, str) else part for part in result[field]]
    return result


def clean_xml(text: str) -> str:
    """Text without what XML cannot hold: control characters and halves of characters become U+FFFD."""
    return _ILLEGAL_IN_XML.sub("\ufffd", text)


_SHORT_FORMS: Mapping[str, Sequence[str]] = {
    "body_posture": ("person", "description"),
    "facial_expressions": ("person", "description"),
    "self_directed_behavior": ("person", "description"),
    "internal_emotion": ("person", "emotion_description"),
    "support_strategy": ("provider", "strategy_type"),
}


def _record(field: str, text: str, row: Mapping[str, Json]) -> dict[str, Json]:
    actor, said = _SHORT_FORMS[field]
    if field == "support_strategy":
        return {"provider": THERAPIST, "target": row.get("target") or [], said: text, "strategy_content": ""}
    return {actor: row.get("primary_speaker"), said: text}


def _only_pairs(text: str) -> bool:
    return len(text) % 2 == 0 and not text.strip('"')


def _json(field: str, cell: str) -> Json:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError) as error:
        msg = f"{field} is not JSON: {str(error)[:60]}"
        raise ValueError(msg) from error
