"""The data set: tables, splits, task tables and statistics, from what the stations made of each conversation."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from pipeline.annotation.model import Annotation
from pipeline.conversation import Conversation
from pipeline.dataset.rows import annotation_from_rows
from pipeline.dataset.splits import Splits, assign_splits
from pipeline.dataset.statistics import Statistics, statistics_json, statistics_rows
from pipeline.errors import InputError, RescueError
from pipeline.provenance import DigestCache, Provenance, package_versions
from pipeline.schemas import (
    CONVERSATIONS,
    ROWS,
    SCHEMA_VERSION,
    STATISTICS,
    TASKS,
    TURNS,
    read_table,
    table_of,
    write_table,
)
from pipeline.settings import Settings
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, digest_file, read_json, write_json
from pipeline.tasks import TASK_BUILDERS

__all__ = ["TABLES", "DatasetReport", "build_dataset", "check_whole"]

VERSION = 4
"""Raised when the same conversations give other tables."""

TABLES: Mapping[str, pa.Schema] = {"conversations": CONVERSATIONS, "turns": TURNS, "rows": ROWS, **TASKS}
"""Every table of the data set; each is a folder with one file a split."""

_MEDIA_STATIONS = ("source", "audio", "words", "speakers", "turns")
_ANNOTATION_STATIONS = ("annotations", "rows")
_STATISTICS_FILES = ("statistics.json", "statistics.parquet")
_ROW_GROUP = 20_000
_PIECE = 2_000
"""Rows that wait as Python objects; many of them slow everything down."""


@dataclass(frozen=True)
class DatasetReport:
    """What the build of the data set did."""

    ran: bool
    """False if everything was current."""
    tables: Mapping[str, int]
    """Table to number of rows over all splits."""
    missing: tuple[str, ...]
    """Conversations that failed or were never built, and were left out."""
    group_variants: tuple[tuple[str, ...], ...]
    """Group ids that differ only by spelling, and were kept on one side."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {
            "ran": self.ran,
            "tables": dict(self.tables),
            "missing": list(self.missing),
            "group_variants": [list(names) for names in self.group_variants],
        }


def build_dataset(
    workspaces: Sequence[Workspace],
    settings: Settings,
    *,
    problems: Sequence[RescueError] = (),
    allow_missing: bool = False,
) -> DatasetReport:
    """Write all tables under ``settings.benchmark_dir``, unless they are current.

    The same conversations give the same bytes. What belongs to a removed conversation is gone afterwards. Memory does
    not grow with the number of conversations.

    Args:
        workspaces: All conversations of the set.
        settings: Split scheme and task options.
        problems: Folders whose ``conversation.yaml`` cannot be read: their conversations are missing too.
        allow_missing: Go on without conversations that failed or were never built.

    Raises:
        InputError: If conversations are missing and that is not allowed, or a group would cross splits.
    """
    settings.data.mkdir(parents=True, exist_ok=True)
    with FileLock(settings.data / ".benchmark.lock"):
        return _build(workspaces, settings, problems, allow_missing=allow_missing)


def _build(
    workspaces: Sequence[Workspace], settings: Settings, problems: Sequence[RescueError], *, allow_missing: bool
) -> DatasetReport:
    ordered = sorted(workspaces, key=lambda workspace: workspace.conversation.id)
    missing = {workspace.conversation.id: reason for workspace in ordered if (reason := _missing(workspace))}
    missing |= {problem.conversation or str(problem.file): problem.message for problem in problems}
    if missing and not allow_missing:
        listed = "; ".join(f"{name} ({reason})" for name, reason in missing.items())
        msg = f"the data set is not built, {len(missing)} conversations are missing: {listed}"
        raise InputError(msg, hint="repair them, or go on without them with --allow-missing")
    present = [workspace for workspace in ordered if workspace.conversation.id not in missing]
    splits = assign_splits((workspace.conversation for workspace in present), settings.dataset)
    provenance = _provenance(present, missing, splits, settings)
    target = settings.benchmark_dir
    digests = DigestCache(settings.data / ".digests.json")
    known = _current(target, provenance, digests)
    if known is not None:
        return DatasetReport(ran=False, tables=known, missing=tuple(missing), group_variants=splits.variants)
    staged = settings.data / ".benchmark.new"
    shutil.rmtree(staged, ignore_errors=True)
    try:
        counts, statistics = _write(present, splits, settings, staged)
        statistics["missing_conversations"] = dict(missing)
        write_json(staged / "statistics.json", statistics)
        write_table(staged / "statistics.parquet", table_of(statistics_rows(statistics), STATISTICS), STATISTICS)
        _replace(staged, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    files = [path for path in _made(splits.names) if (target / path).is_file()]
    write_json(
        target / "provenance.json",
        {
            "fingerprint": provenance.fingerprint,
            "provenance": provenance.to_json(),
            "tables": counts,
            "files": {path: digests.digest(target / path) for path in files},
        },
    )
    digests.save()
    return DatasetReport(ran=True, tables=counts, missing=tuple(missing), group_variants=splits.variants)


def check_whole(benchmark: Path) -> None:
    """Make sure that a built data set is all of one build.

    Raises:
        InputError: If nothing was built, or a build was cut short or a file changed since.
    """
    try:
        files = read_json(benchmark / "provenance.json")["files"]
    except (FileNotFoundError, ValueError, KeyError) as error:
        built = (benchmark / "statistics.json").exists()
        msg = "the build of the data set was cut short" if built else "there is no built data set"
        raise InputError(msg, hint="run `rescue build` first") from error
    for name, digest in files.items():
        if not (benchmark / name).is_file() or digest_file(benchmark / name) != digest:
            msg = "the file is gone or changed since the data set was built"
            raise InputError(msg, file=benchmark / name, hint="run `rescue build` first")


def _missing(workspace: Workspace) -> str | None:
    """Why a conversation cannot be part of the set; None if it can."""
    conversation = workspace.conversation
    needed = (_MEDIA_STATIONS if conversation.media else ()) + (
        _ANNOTATION_STATIONS if conversation.annotations else ()
    )
    for station in needed:
        record = Record.read(workspace.record(station))
        if record.state is State.FAILED:
            return f"{station} failed: {record.reason}"
        if record.state is State.MISSING:
            return f"{station} was never run"
        if record.state is State.SKIPPED and station in _ANNOTATION_STATIONS:
            return f"{station} was skipped: {record.reason}"
    return None


def _provenance(
    present: Sequence[Workspace], missing: Mapping[str, str], splits: Splits, settings: Settings
) -> Provenance:
    inputs = {}
    for workspace in present:
        for station in ("source", "turns", "words", "speakers", "annotations", "rows"):
            for name, digest in (Record.read(workspace.record(station)).outputs or {}).items():
                inputs[f"{workspace.conversation.key}/{name}"] = digest
    return Provenance(
        station="dataset",
        version=VERSION,
        inputs=inputs,
        parameters={
            "conversations": [workspace.conversation.model_dump(mode="json") for workspace in present],
            "missing": dict(missing),
            "splits": dict(splits.of),
            "names": list(splits.names),
            "tasks": settings.tasks.model_dump(mode="json"),
            "schema": SCHEMA_VERSION,
        },
        packages=package_versions(("pyarrow",)),
    )


def _made(splits: Iterable[str]) -> list[str]:
    return [*(f"{table}/{split}.parquet" for table in TABLES for split in splits), *_STATISTICS_FILES]


def _current(target: Path, provenance: Provenance, digests: DigestCache) -> dict[str, int] | None:
    """The stored table sizes, if what is there is what would be made now."""
    try:
        stored = read_json(target / "provenance.json")
    except (FileNotFoundError, ValueError):
        return None
    if stored["fingerprint"] != provenance.fingerprint:
        return None
    for path, digest in stored["files"].items():
        if not (target / path).is_file() or digests.digest(target / path) != digest:
            return None
    tables: dict[str, int] = stored["tables"]
    return tables


class _Sink:
    """Writes one table of one split as rows come in."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._tables: list[pa.Table] = []
        self._rows: list[dict[str, Any]] = []
        self._count = 0
        self.total = 0

    def add(self, table: pa.Table) -> None:
        """Rows in the table's own schema."""
        if table.num_rows:
            self._tables.append(table)
        self._counted(table.num_rows)

    def add_rows(self, rows: Sequence[dict[str, Any]]) -> None:
        """Rows as mappings; made into a table many at a time, which is much faster than one conversation at a time."""
        self._rows += rows
        if len(self._rows) >= _PIECE:
            self._settle()
        self._counted(len(rows))

    def _counted(self, rows: int) -> None:
        self._count += rows
        self.total += rows
        if self._count >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        """Write what waits and finish the file."""
        self._flush()
        self._writer.close()

    def _settle(self) -> None:
        if self._rows:
            self._tables.append(table_of(self._rows, self._schema))
            self._rows = []

    def _flush(self) -> None:
        self._settle()
        if self._tables:
            self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables, self._count = [], 0


def _write(
    present: Sequence[Workspace], splits: Splits, settings: Settings, staged: Path
) -> tuple[dict[str, int], dict[str, Json]]:
    sinks = {
        (table, split): _Sink(staged / table / f"{split}.parquet", schema)
        for table, schema in TABLES.items()
        for split in splits.names
    }
    statistics = {split: Statistics() for split in splits.names}
    try:
        for workspace in present:
            split = splits.of[workspace.conversation.id]
            _add(workspace, split, settings, sinks, statistics[split])
    finally:
        for sink in sinks.values():
            sink.close()
    counts = {table: sum(sinks[table, split].total for split in splits.names) for table in TABLES}
    return counts, statistics_json(statistics)


def _add(
    workspace: Workspace,
    split: str,
    settings: Settings,
    sinks: Mapping[tuple[str, str], _Sink],
    statistics: Statistics,
) -> None:
    conversation = workspace.conversation
    rows = _table(workspace, "rows", "rows.parquet", ROWS)
    turns = _table(workspace, "turns", "turns.parquet", TURNS)
    source = _source(workspace)
    annotation = annotation_from_rows(conversation, rows.to_pylist(), _participants(workspace))
    seconds = source.get("duration") or (max(row.end_time for row in annotation.rows) if annotation else None)
    sinks["rows", split].add(rows)
    sinks["turns", split].add(turns)
    facts = _facts(workspace, source, seconds, rows, turns, annotation)
    sinks["conversations", split].add_rows([facts])
    if annotation is None:
        statistics.add_media_only()
        return
    statistics.add(annotation, seconds or 0.0)
    statistics.add_ratings(read_json(workspace.artifact("agreement.json"))["values"])
    for task, build in TASK_BUILDERS.items():
        built = build(annotation, settings.tasks)
        statistics.add_task(task, annotation.scenario, built)
        placed = [{**item, "group_id": conversation.group_id, "split": split} for item in built.instances]
        sinks[task, split].add_rows(placed)


def _table(workspace: Workspace, station: str, name: str, schema: pa.Schema) -> pa.Table:
    if Record.read(workspace.record(station)).state is not State.DONE:
        return schema.empty_table()
    table = read_table(workspace.artifact(name))
    return table if table.schema.equals(schema, check_metadata=True) else table.cast(schema)


def _participants(workspace: Workspace) -> tuple[str, ...]:
    """Of the conversation, or else of its annotation."""
    if workspace.conversation.participants or Record.read(workspace.record("annotations")).state is not State.DONE:
        return workspace.conversation.participants
    return tuple(read_json(workspace.artifact("annotations.json"))["participants"])


def _source(workspace: Workspace) -> dict[str, Json]:
    if Record.read(workspace.record("source")).state is not State.DONE:
        return {}
    found: dict[str, Json] = read_json(workspace.artifact("source.json"))
    return found


def _facts(
    workspace: Workspace,
    source: Mapping[str, Json],
    seconds: float | None,
    rows: pa.Table,
    turns: pa.Table,
    annotation: Annotation | None,
) -> dict[str, Any]:
    conversation: Conversation = workspace.conversation
    labels = set(turns["speaker"].to_pylist()) - {"unknown"}
    built = Record.read(workspace.record("turns")).state is State.DONE
    annotated = Record.read(workspace.record("annotations"))
    return {
        "conversation_id": conversation.id,
        "group_id": conversation.group_id,
        "scenario": conversation.scenario.value if conversation.scenario else None,
        "title": conversation.title,
        "language": conversation.language or workspace.settings.recognition.language,
        "participants": list(annotation.participants if annotation else conversation.participants),
        "has_therapist": conversation.has_therapist,
        "duration": seconds,
        "has_audio": source.get("has_audio", False),
        "has_video": source.get("has_video", False),
        "speaker_count": len(labels) if built else None,
        "turn_count": turns.num_rows if built else None,
        "word_count": sum(turns["word_count"].to_pylist()) if built else None,
        "row_count": rows.num_rows,
        "media_sha256": source.get("sha256"),
        "annotations_sha256": (annotated.outputs or {}).get("annotations.json"),
    }


def _replace(staged: Path, target: Path) -> None:
    """Move the new files over the old ones, then remove what is no longer part of the set."""
    target.mkdir(parents=True, exist_ok=True)
    # While files change hands, nothing may look current.
    (target / "provenance.json").unlink(missing_ok=True)
    new = sorted(path.relative_to(staged) for path in staged.rglob("*") if path.is_file())
    for path in new:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).replace(target / path)
    for table in TABLES:
        for file in (target / table).glob("*.parquet"):
            if file.relative_to(target) not in new:
                file.unlink()
