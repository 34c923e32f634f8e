"""Repairs that are certain, each recorded.

Works on raw values as a file holds them, before they become models, because some repairs are about shape: a text where
a list belongs. What is not certain is left for `validate`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from pipeline.annotation.findings import Change
from pipeline.annotation.labels import LabelSet, fold
from pipeline.annotation.model import RECORDS
from pipeline.conversation import THERAPIST, Scenario
from pipeline.store import Json

__all__ = ["NAMED", "normalize_rows"]

_TEXTS = ("dialogue_cleaned", "tone_of_voice", "relation_pattern_reason", "relation_cycle_reason")
NAMED = frozenset({"primary_speaker", "speaker", "person", "initiator", "source", "provider"})
"""Fields, of a row or a record in it, that name one person; ``target`` names one or several."""
# UTF-8 read as Windows-1252, for the marks that typing programs put in.
_MOJIBAKE = {
    "\u00e2\u20ac\u2122": "\u2019",
    "\u00e2\u20ac\u02dc": "\u2018",
    "\u00e2\u20ac\u0153": "\u201c",
    "\u00e2\u20ac\u009d": "\u201d",
    "\u00e2\u20ac\u201c": "\u2013",
    "\u00e2\u20ac\u201d": "\u2014",
    "\u00e2\u20ac\u00a6": "\u2026",
}
_MOJIBAKE_MARK = "\u00e2\u20ac"
_SECONDS = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(?:s|sec|secs|seconds)?\s*", re.IGNORECASE)
_INTENSITY = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(?:/\s*10)?\s*")


def normalize_rows(
    rows: list[Mapping[str, Json]], *, conversation_id: str, labels: LabelSet | None, scenario: Scenario | None
) -> tuple[list[dict[str, Json]], list[Change]]:
    """Repair what is certain.

    Args:
        rows: Rows as read, one mapping each.
        conversation_id: For the record of changes.
        labels: The label sets; labels are left alone without them.
        scenario: Names the group label.

    Returns:
        New rows, and one record for every value that differs.
    """
    return _Normalizer(conversation_id, labels, scenario).rows(rows)


class _Normalizer:
    def __init__(self, conversation_id: str, labels: LabelSet | None, scenario: Scenario | None) -> None:
        self._conversation_id = conversation_id
        self._changes: list[Change] = []
        self._row: int | None = None
        roles = {THERAPIST, *([scenario.group_label] if scenario else [])}
        self._roles = {role.casefold(): role for role in roles}
        patterns, strategies, types = (
            {fold(item.label): item.label for item in items}
            for items in (
                (labels.relation_patterns, labels.support_strategies, labels.utterance_types)
                if labels
                else ((), (), ())
            )
        )
        self._labels: dict[str, dict[str, str]] = {
            "relation_pattern": patterns,
            "relation_cycle_state": patterns,
            "strategy_type": strategies,
            "utterance_type": types,
        }

    def rows(self, rows: list[Mapping[str, Json]]) -> tuple[list[dict[str, Json]], list[Change]]:
        result = []
        for position, row in enumerate(rows, start=1):
            found = row.get("row_index")
            self._row = found if isinstance(found, int) else position
            result.append(self._one(row, position))
        return result, self._changes

    def _one(self, row: Mapping[str, Json], position: int) -> dict[str, Json]:
        fixed = {name: self._value(name, value, name) for name, value in row.items()}
        if fixed.get("row_index") is None:
            fixed["row_index"] = position
        for name in RECORDS:
            value = fixed.get(name)
            if value is None:
                fixed[name] = []
            elif isinstance(value, dict):
                fixed[name] = self._changed(name, value, [value], "one item where a list belongs")
        for name in ("start_time", "end_time"):
            fixed[name] = self._number(name, fixed.get(name), _SECONDS, "a number with its unit")
        if fixed.get("primary_speaker") == THERAPIST and fixed.get("utterance_type") == "":
            fixed["utterance_type"] = None  # both mean that the therapist has none
        return fixed

    def _value(self, name: str, value: Json, path: str) -> Json:
        if isinstance(value, str):
            fixed = self._text(name, value, path)
            # A viewpoint has one target; everywhere else targets are a list.
            if name == "target" and path != "viewpoints_attitudes.target":
                return self._changed(path, fixed, [fixed], "text where a list belongs")
            return fixed
        if isinstance(value, list):
            kept = [item for item in value if item is not None]
            self._changed(path, value, kept, "nothing where an item belongs")
            in_list = f"{path}[]"
            return [
                self._text(name, item, path) if isinstance(item, str) else self._value(name, item, in_list)
                for item in kept
            ]
        if isinstance(value, dict):
            base = path.removesuffix("[]")
            return {key: self._value(key, item, f"{base}.{key}") for key, item in value.items()}
        return value

    def _text(self, name: str, value: str, path: str) -> Json:
        if name == "intensity":
            return self._number(path, value, _INTENSITY, "a number with its scale")
        if name in self._labels:
            known = self._labels[name].get(fold(value))
            return self._changed(path, value, known, "spelling of a label") if known else value
        if name in NAMED or name == "target":
            plain = " ".join((value if value.isascii() else unicodedata.normalize("NFC", value)).split())
            plain = self._roles.get(plain.casefold(), plain)
            return self._changed(path, value, plain, "spelling of a name")
        fixed = value
        if _MOJIBAKE_MARK in value:
            for wrong, right in _MOJIBAKE.items():
                fixed = fixed.replace(wrong, right)
            fixed = self._changed(path, value, fixed, "text in the wrong encoding")
        if name in _TEXTS and fixed != fixed.strip():
            fixed = self._changed(path, fixed, fixed.strip(), "blanks around a text")
        return fixed

    def _number(self, path: str, value: Json, pattern: re.Pattern[str], reason: str) -> Json:
        if not isinstance(value, str):
            return value
        match = pattern.fullmatch(value)
        return self._changed(path, value, float(match[1].replace(",", ".")), reason) if match else value

    def _changed(self, path: str, before: Json, after: Json, reason: str) -> Any:
        if before != after:
            self._changes.append(Change(self._conversation_id, self._row, path, before, after, reason))
        return after
