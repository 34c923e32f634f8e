"""The instances of a run: read from the task tables, chosen, and made into requests.

A request is everything that decides an answer but the model: the prompt, the form of the answer, the media that go with
it. Its digest is what a resumed run recognises it by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.errors import InputError, UsageError
from pipeline.evaluation.answers import Expected
from pipeline.schemas import TASKS, read_rows
from pipeline.store import Json, digest_file, digest_json, read_json
from pipeline.tasks.render import Prompt, RenderOptions, render

__all__ = ["Benchmark", "Request", "Selection", "requests_of"]


@dataclass(frozen=True)
class Selection:
    """Which instances of a task are to be answered."""

    split: str | None = None
    """One split; all splits without it."""
    conversations: tuple[str, ...] = ()
    """Ids of conversations; all of them if none is named."""
    limit: int | None = None
    """Instances of a task at most: always the same ones, and a larger limit adds to a smaller one's."""


@dataclass(frozen=True)
class Benchmark:
    """A built data set, as the folder that holds its tables."""

    folder: Path

    @property
    def version(self) -> str:
        """The fingerprint of the data; of its files where nothing says what made it."""
        try:
            return str(read_json(self.folder / "provenance.json")["fingerprint"])
        except (FileNotFoundError, KeyError, ValueError):
            files = sorted(path for name in (*TASKS, "rows") for path in (self.folder / name).glob("*.parquet"))
            return digest_json([[str(path.relative_to(self.folder)), digest_file(path)] for path in files])

    def instances(self, task: str, selection: Selection) -> list[dict[str, Any]]:
        """The chosen instances of a task, ordered by id.

        An id is a digest, so the first instances by id are an even sample of the set.

        Raises:
            InputError: If there is no data set.
            UsageError: If the selection names a split or a conversation that is not there.
        """
        found = [row for path in self._files(task, selection.split) for row in read_rows(path)]
        if selection.conversations:
            self._check(selection.conversations)
            wanted = frozenset(selection.conversations)
            found = [row for row in found if row["conversation_id"] in wanted]
        return sorted(found, key=lambda row: str(row["instance_id"]))[: selection.limit]

    def rows(self, conversation_id: str) -> list[dict[str, Any]]:
        """The rows of a conversation, in order.

        Raises:
            InputError: If it has none.
        """
        try:
            return self._rows[conversation_id]
        except KeyError as error:
            msg = "the data set holds no rows of it"
            raise InputError(msg, conversation=conversation_id, hint="build the data set again") from error

    @cached_property
    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for path in self._files("rows", None):
            # Words and what the join adds are the larger part of the table, and no prompt shows them.
            names = [name for name in pq.read_schema(path).names if name != "words" and not name.startswith("machine_")]
            for row in pq.read_table(path, columns=names).to_pylist():
                found.setdefault(row["conversation_id"], []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: int(row["row_index"]))
        return found

    def _files(self, table: str, split: str | None) -> list[Path]:
        files = sorted((self.folder / table).glob("*.parquet"))
        if not files:
            msg = f"there is no table {table!r}"
            raise InputError(
                msg, file=self.folder / table, hint="run `rescue build` first, or name the data with --data"
            )
        if split is None:
            return files
        chosen = [path for path in files if path.stem == split]
        if not chosen:
            msg = f"there is no split {split!r}"
            raise UsageError(msg, hint=f"there are: {', '.join(path.stem for path in files)}")
        return chosen

    def _check(self, conversations: Iterable[str]) -> None:
        for conversation in conversations:
            if conversation not in self._rows:
                msg = f"there is no annotated conversation {conversation!r} in the data set"
                raise UsageError(msg, hint="`rescue status` lists all conversations")


@dataclass(frozen=True)
class Request:
    """One instance with what a model is sent for it."""

    instance: Mapping[str, Any]
    """The row of the task table."""
    prompt: Prompt
    tenth: int
    """0 to 9: the tenth of the conversation that the row lies in."""
    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    """All rows of the conversation; only `pipeline.tasks.render` decides what of them is shown."""
    media: tuple[Path, ...] = ()
    """The clips that go with the text, one for each of ``prompt.clip_rows``."""

    @property
    def id(self) -> str:
        """The id of the instance."""
        return self.prompt.instance_id

    @property
    def task(self) -> str:
        """The task of the instance."""
        return str(self.instance["task"])

    @property
    def expected(self) -> Expected:
        """What a valid answer must fit."""
        return Expected(self.task, tuple(self.instance.get("candidates") or ()))

    def digest(self, parameters: Json, media: Callable[[Path], str]) -> str:
        """SHA-256 over all that decides the answer.

        Args:
            parameters: Those of the model's call.
            media: Gives the digest of a clip.
        """
        shown = [self.prompt.system, self.prompt.user, self.prompt.answer_schema]
        return digest_json([self.id, shown, [media(clip) for clip in self.media], parameters])


def requests_of(
    benchmark: Benchmark,
    task: str,
    selection: Selection,
    options: RenderOptions,
    clip: Callable[[str, int], Path] | None = None,
) -> list[Request]:
    """The requests of the chosen instances of a task, ordered by instance id.

    Args:
        benchmark: The data.
        task: Name of the task.
        selection: Which instances.
        options: How they are shown.
        clip: Gives the clip of a row, for mode ``clips``.

    Raises:
        InputError: If the data set is missing or does not fit together.
        UsageError: If the selection names what is not there.
    """
    found = []
    for instance in benchmark.instances(task, selection):
        rows = benchmark.rows(instance["conversation_id"])
        prompt = render(instance, rows, options)
        media = tuple(clip(instance["conversation_id"], row) for row in prompt.clip_rows) if clip else ()
        position = next(at for at, row in enumerate(rows) if row["row_index"] == instance["row_index"])
        found.append(Request(instance, prompt, position * 10 // len(rows), rows, media))
    return found
