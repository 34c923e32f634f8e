"""Pseudonyms for the people of a publication: the same in all conversations of a group, and in the text too.

What this cannot find: nicknames, misspelt names, places, employers, and anything else that tells who someone is. Read
the text before you share it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.conversation import THERAPIST, Scenario
from pipeline.store import write_text

__all__ = ["Pseudonyms", "load_key", "names_in"]

_ROLES = frozenset({THERAPIST, *(scenario.group_label for scenario in Scenario)})
_IDS = {"conversation_id": "conversation", "group_id": "group"}
_NAMES = frozenset(
    {
        "participants",
        "primary_speaker",
        "target",
        "candidates",
        "support_target",
        "machine_participant",
        "speaker",
        "person",
        "initiator",
        "source",
        "provider",
    }
)


_CLOSED = frozenset(
    {
        "task",
        "scenario",
        "split",
        "language",
        "label",
        "strategy",
        "strategy_type",
        "utterance_type",
        "relation_label",
        "relation_pattern",
        "relation_cycle_state",
        "flags",
        "join_flags",
    }
)
"""Columns of a closed vocabulary: a person who is called like a label changes no label."""
_LABELS_TO_CHOOSE = frozenset({"rpp", "ssp"})
"""Tasks whose candidates are labels, not people."""


def load_key(path: Path) -> bytes:
    """The secret that ties ids to their pseudonyms; made on first use and kept with the private data.

    With the key lost, the next publication has other pseudonyms. With the key known, an id can be guessed.
    """
    if not path.exists():
        write_text(path, secrets.token_hex(32) + "\n")
        path.chmod(0o600)
    return bytes.fromhex(path.read_text("ascii").strip())


class Pseudonyms:
    """Replaces ids and names.

    Args:
        key: Secret of `load_key`.
        names: Group id to the names of its people, in a stable order.
        groups: Conversation id to group id, for tables that have no column of the group.
    """

    def __init__(self, key: bytes, names: Mapping[str, Iterable[str]], groups: Mapping[str, str]) -> None:
        self._key = key
        self._groups = groups
        self._names: dict[str, dict[str, str]] = {}
        self._patterns: dict[str, re.Pattern[str] | None] = {}
        self._folded: dict[str, dict[str, str]] = {}
        for group, people in names.items():
            known = [name for name in dict.fromkeys(people) if name not in _ROLES]
            mapping = {name: f"Person {position}" for position, name in enumerate(known, start=1)}
            self._names[group] = mapping
            parts = {part: new for name, new in mapping.items() for part in _parts(name)}
            self._folded[group] = {part.casefold(): new for part, new in parts.items()}
            # As it is written and folded, since one letter can fold to two; the longest first, so that a full name is
            # replaced as one.
            spellings = {spelling for part in parts for spelling in (part, part.casefold())}
            words = "|".join(_pattern(spelling) for spelling in sorted(spellings, key=lambda word: (-len(word), word)))
            self._patterns[group] = re.compile(words, re.IGNORECASE) if words else None

    def id_of(self, kind: str, real: str) -> str:
        """The pseudonym of an id: stable for one key, and not to be guessed without it."""
        digest = hmac.new(self._key, f"{kind}\0{real}".encode(), hashlib.sha256).hexdigest()
        return f"{kind}-{digest[:12]}"

    def name(self, group: str, real: str) -> str:
        """The pseudonym of a person; roles and diarization labels stay."""
        return self._names.get(group, {}).get(real, real)

    def text(self, group: str, real: str) -> str:
        """The text with every known name of the group replaced, however it is capitalised."""
        pattern = self._patterns.get(group)
        if pattern is None:
            return real
        folded = self._folded[group]
        return pattern.sub(lambda match: folded[match[0].casefold()], unicodedata.normalize("NFC", real))

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of any table with ids, names and text replaced, nested values too."""
        group = str(row["group_id"] if "group_id" in row else self._groups[row["conversation_id"]])
        closed = _CLOSED | {"candidates"} if row.get("task") in _LABELS_TO_CHOOSE else _CLOSED
        replaced = {name: value if name in closed else self._value(group, name, value) for name, value in row.items()}
        for column, kind in _IDS.items():
            if row.get(column) is not None:
                replaced[column] = self.id_of(kind, str(row[column]))
        if "instance_id" in row:  # a plain digest of the id: whoever guesses an id could check the guess
            replaced["instance_id"] = self.id_of(str(row["task"]), str(row["instance_id"]))
        return replaced

    def _value(self, group: str, column: str, value: Any) -> Any:
        if isinstance(value, str):
            return self.name(group, value) if column in _NAMES else self.text(group, value)
        if isinstance(value, list):
            return [self._value(group, column, item) for item in value]
        if isinstance(value, dict):
            return {name: item if name in _CLOSED else self._value(group, name, item) for name, item in value.items()}
        return value


def names_in(row: Mapping[str, Any]) -> Iterator[str]:
    """Every name of a person that a row of ``conversations`` or ``rows`` holds, in columns and parts for names."""
    for column, value in row.items():
        yield from _names_of(column, value)


def _names_of(column: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if column in _NAMES:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _names_of(column, item)
    elif isinstance(value, dict):
        yield from names_in(value)


def _pattern(word: str) -> str:
    """A word by itself; in scripts without blanks between words, wherever it stands."""
    escaped = re.escape(word)
    return escaped if any(unicodedata.category(letter) == "Lo" for letter in word) else rf"(?<!\w){escaped}(?!\w)"


def _parts(name: str) -> set[str]:
    """A full name and its parts of at least two letters, since people are called by one of them."""
    whole = unicodedata.normalize("NFC", name)
    return {whole, *(part for part in re.split(r"[\s.]+", whole) if len(part) > 1)}
