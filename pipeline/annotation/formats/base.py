"""What every format of annotations shares: reading bytes as text, what an import is, and what a format must do."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pipeline.annotation.findings import Change
from pipeline.annotation.formats.mapping import FormatMapping
from pipeline.annotation.model import Annotation
from pipeline.errors import InputError, RescueError, UsageError
from pipeline.store import Json

__all__ = [
    "MAX_BYTES",
    "Context",
    "Format",
    "Imported",
    "LeftOut",
    "RawRow",
    "Source",
    "foreign",
    "parse_json",
]

MAX_BYTES = 64 * 2**20
"""Largest file that is read. The largest real annotation file we know has 2.5 MB."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Source:
    """An annotation file in memory."""

    path: Path
    data: bytes
    declared: str | None = None
    """The encoding as the user says it."""

    @classmethod
    def read(cls, path: Path, *, encoding: str | None = None) -> Source:
        """Read a file.

        Raises:
            InputError: If it is missing, empty, or larger than `MAX_BYTES`.
        """
        if not path.is_file():
            msg = "there is no such file"
            raise InputError(msg, file=path, hint="check the path")
        size = path.stat().st_size
        if size > MAX_BYTES:
            msg = f"the file has {size // 2**20} MB, at most {MAX_BYTES // 2**20} are read"
            raise InputError(msg, file=path, hint="an annotation file is far smaller; is it the recording?")
        if size == 0:
            msg = "the file is empty"
            raise InputError(msg, file=path, hint="export it again")
        return cls(path, path.read_bytes(), encoding)

    @cached_property
    def encoding(self) -> str:
        """Name of the encoding: by its mark, else as declared, else UTF-16 by its zero bytes, else UTF-8.

        Raises:
            UsageError: If the declared encoding does not exist.
        """
        for mark, name in _MARKS:
            if self.data.startswith(mark):
                return name
        if self.declared:
            try:
                return codecs.lookup(self.declared).name
            except LookupError as error:
                msg = f"there is no encoding {self.declared!r}"
                raise UsageError(msg, hint="for example utf-8, utf-16, cp1252, gb18030") from error
        # Text in UTF-16 without a mark shows as a zero in every other byte; no other text has zeros.
        head = self.data[:4000]
        if len(head) >= 4 and 0 in head:
            zeros = [sum(byte == 0 for byte in head[side::2]) for side in (0, 1)]
            if max(zeros) > len(head) // 4 and min(zeros) * 20 < max(zeros):
                return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
        return "utf-8"

    @cached_property
    def text(self) -> str:
        """The content as text, without a mark; line ends as they are.

        Raises:
            InputError: If it is not text in that encoding.
        """
        try:
            return self.data.decode(self.encoding).removeprefix("\ufeff")
        except (UnicodeError, LookupError) as error:
            msg = f"the file is not {self.encoding.upper()} text"
            hint = "save it as UTF-8, or say what it is with --encoding (for example cp1252, gb18030)"
            raise InputError(msg, file=self.path, hint=hint) from error

    def error(self, message: str, *, place: str | None = None, hint: str | None = None) -> InputError:
        """An error about this file."""
        return InputError(message, file=self.path, place=place, hint=hint)


@dataclass(frozen=True)
class LeftOut:
    """Something in a file that does not become a row or a field of one."""

    place: str
    """Where it stands, for example ``cue 3``."""
    reason: str
    text: str | None = None
    """What it said: nothing is lost unseen."""
    count: int = 1

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return dict(vars(self))


@dataclass(frozen=True)
class RawRow:
    """A row as the file holds it, before normalisation."""

    place: str
    values: dict[str, Json]


@dataclass
class Imported:
    """What a file holds."""

    rows: list[RawRow] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    """What was repaired while reading; normalisation adds its own."""
    facts: dict[str, Json] = field(default_factory=dict)
    """What the file says beside rows: encoding, annotator, or the head of our own JSON."""


@dataclass(frozen=True)
class Context:
    """What is known when a file is read."""

    conversation_id: str
    entities: Sequence[str] = ()
    """The closed set of names; empty if nobody is listed yet."""
    mapping: FormatMapping = field(default_factory=FormatMapping)
    respelt: dict[str, str] = field(default_factory=dict)
    """Names that were taken for a person of the conversation by their spelling; each is recorded as a change."""

    def speaker(self, name: str) -> str:
        """The entity that a name of the file stands for: by the mapping, else by its spelling, else the name itself."""
        plain = " ".join(name.split())
        if plain in self.mapping.speakers:
            return self.mapping.speakers[plain]
        entity = self.known.get(plain.casefold(), plain)
        if entity != plain:
            self.respelt[plain] = entity
        return entity

    @property
    def known(self) -> dict[str, str]:
        """Names that are surely a person here, folded, each with the entity."""
        given = {name.casefold(): entity for name, entity in self.mapping.speakers.items()}
        return {**{name.casefold(): name for name in self.entities}, **given}

    def change(self, row: int | None, name: str, before: Json, after: Json, reason: str) -> Change:
        """The record of a repair."""
        return Change(self.conversation_id, row, name, before, after, reason)


class Format(ABC):
    """One annotation format, both ways."""

    name: ClassVar[str]
    """As the command line calls it."""
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def read(self, source: Source, context: Context) -> Imported:
        """The rows of a file.

        Raises:
            InputError: If the file is damaged, or does not say which of its parts is which.
        """

    @abstractmethod
    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """A file of an annotation; the same annotation gives the same bytes.

        Args:
            annotation: The rows.
            media: Name of the recording, for tools that open it.
        """


@contextmanager
def foreign(source: Source, what: str) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into one clear error.

    None of the libraries says what it raises: on mutated files all of KeyError, IndexError, ValueError, AttributeError,
    AssertionError and bare Exception were seen.
    """
    try:
        yield
    except RescueError:
        raise
    except Exception as error:
        msg = f"the file cannot be read as {what}: {type(error).__name__} {str(error)[:120]}".rstrip()
        raise source.error(msg, hint="open it in the tool that made it and save it again") from error


def parse_json(source: Source) -> Json:
    """The JSON value of a file.

    Raises:
        InputError: If it is no JSON; the place is line and column.
    """
    try:
        return json.loads(source.text)
    except json.JSONDecodeError as error:
        msg = f"the file is not JSON: {error.msg}"
        raise source.error(msg, place=f"line {error.lineno}, column {error.colno}", hint="export it again") from error
    except (ValueError, RecursionError) as error:
        msg = f"the file is JSON beyond reason: {str(error)[:80]}"
        raise source.error(msg, hint="numbers of thousands of digits or thousands of levels are not read") from error
