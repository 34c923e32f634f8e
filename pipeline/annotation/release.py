"""The published release as conversations: ``benchmark_191.jsonl``, or a folder of one JSON file a sample.

Every row arrives as it is. Nothing is repaired here: what a row means is decided when the conversation is built, where
each repair is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from pipeline.conversation import CONVERSATION_FILE, Conversation, load_conversation, save_conversation
from pipeline.errors import InputError, RescueError
from pipeline.store import Json, digest_json, read_json, write_json

__all__ = ["ReleaseReport", "import_release"]

_ANNOTATIONS = "annotations.json"


@dataclass
class ReleaseReport:
    """What an import did."""

    added: list[str] = field(default_factory=list)
    changed: dict[str, list[int]] = field(default_factory=dict)
    """Conversation to the row indexes that differ from before, added and removed ones included; none where only what
    the release says of the conversation as a whole differs."""
    unchanged: int = 0
    rows: int = 0
    problems: list[RescueError] = field(default_factory=list)
    """Samples that could not be imported; the others were."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**vars(self), "problems": [str(problem) for problem in self.problems]}


def import_release(files: Iterable[Path], raw_dir: Path) -> ReleaseReport:
    """Make or update one conversation folder a sample.

    Streams: memory does not grow with the release. A second import of the same file changes nothing.

    Args:
        files: ``.jsonl`` files, single samples as ``.json``, or folders of those.
        raw_dir: Where the conversation folders are.

    Raises:
        InputError: If a file is missing.
    """
    report = ReleaseReport()
    seen: set[str] = set()
    for source, place, line in _samples(files):
        try:
            _import_sample(_parsed(line, source, place), source, place, raw_dir, seen, report)
        except RescueError as error:
            report.problems.append(error)
    return report


def _samples(files: Iterable[Path]) -> Iterator[tuple[Path, str | None, bytes]]:
    for file in files:
        if file.is_dir():
            for sample in sorted(file.rglob("*.json")):
                yield sample, None, sample.read_bytes()
        elif not file.is_file():
            msg = "there is no such file"
            raise InputError(msg, file=file, hint="name the release's .jsonl file, or a folder of .json samples")
        elif file.suffix == ".json":
            yield file, None, file.read_bytes()
        else:
            # Split at newlines only: other line separators are legal inside JSON text.
            with file.open("rb") as opened:
                for number, line in enumerate(opened, start=1):
                    if line.strip():
                        yield file, f"line {number}", line


def _parsed(line: bytes, source: Path, place: str | None) -> Mapping[str, Json]:
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or getattr(error, "reason", None) or str(error)
        msg = f"it is not JSON: {reason}"
        raise InputError(msg, file=source, place=place, hint="get the file again") from error
    rows = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        msg = "it is no sample of the release: it has no list of `rows`"
        raise InputError(msg, file=source, place=place)
    found: Mapping[str, Json] = value
    return found


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)


def _import_sample(
    sample: Mapping[str, Json], source: Path, place: str | None, raw_dir: Path, seen: set[str], report: ReleaseReport
) -> None:
    conversation = _conversation(sample, source, place)
    if conversation.id in seen:
        msg = "the sample stands twice"
        raise InputError(msg, conversation=conversation.id, file=source, place=place, hint="keep one of them")
    seen.add(conversation.id)
    report.rows += len(sample["rows"])
    folder = raw_dir / conversation.key
    target = folder / _ANNOTATIONS
    if (folder / CONVERSATION_FILE).exists():
        before = read_json(target) if target.exists() else {"rows": []}
        after = {**sample, "conversation_id": conversation.id}
        if digest_json(before) == digest_json(after):
            report.unchanged += 1
            return
        report.changed[conversation.id] = _differing(before["rows"], sample["rows"])
        # What the user added to the conversation meanwhile, such as its media, stays; what the release says goes in.
        said: dict[str, Json] = {"annotations": _ANNOTATIONS, "scenario": conversation.scenario}
        if before.get("participants") != sample.get("participants"):
            said["participants"] = conversation.participants
        conversation = load_conversation(folder).model_copy(update=said)
    else:
        report.added.append(conversation.id)
    write_json(target, {**sample, "conversation_id": conversation.id})
    save_conversation(folder, conversation)


def _conversation(sample: Mapping[str, Json], source: Path, place: str | None) -> Conversation:
    sample_id = sample.get("sample_id") or (f"{source.parent.name}/{source.stem}" if place is None else None)
    try:
        return Conversation.model_validate(
            {
                "id": sample_id,
                "scenario": sample.get("scenario"),
                "participants": sample.get("participants") or (),
                "annotations": _ANNOTATIONS,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ", ".join(part for part in (place, f"field {first['loc'][0]}") if part)
        raise InputError(first["msg"], conversation=str(sample_id), file=source, place=where) from error


def _differing(before: list[Json], after: list[Json]) -> list[int]:
    """Row indexes whose content differs, or that are only on one side; a repeated index is compared as a list."""
    old, new = _by_index(before), _by_index(after)
    return sorted(index for index in old.keys() | new.keys() if old.get(index) != new.get(index))


def _by_index(rows: list[Json]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for position, row in enumerate(rows, start=1):
        index = row.get("row_index")
        found.setdefault(index if isinstance(index, int) else position, []).append(digest_json(row))
    return found
