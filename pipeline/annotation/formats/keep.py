"""Keep an imported annotation in its conversation: nothing that is there is lost, and the way in is on record."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pipeline.annotation.formats.mapping import FormatMapping
from pipeline.annotation.formats.transfer import Taken
from pipeline.conversation import load_conversation, save_conversation
from pipeline.errors import InputError
from pipeline.station import Workspace
from pipeline.store import digest_file, digest_json, read_json, write_json

__all__ = ["Kept", "keep"]

_TARGET = "annotations.json"
_REPORT = "annotations.import.json"


class Kept(StrEnum):
    """What an import did."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


def keep(taken: Taken, path: Path, mapping: FormatMapping, workspace: Workspace, *, replace: bool) -> Kept:
    """Write ``annotations.json`` and ``annotations.import.json`` into the conversation's folder.

    With ``replace``, an earlier ``annotations.json`` stays beside the new one under a name of its own.

    Raises:
        InputError: If the conversation has other annotations and ``replace`` is not set.
    """
    conversation = workspace.conversation
    target = workspace.raw / _TARGET
    content = {**taken.content, "conversation_id": conversation.id}
    before = read_json(target) if target.is_file() else None
    if conversation.annotations == _TARGET and before == content:
        return Kept.UNCHANGED
    if (conversation.annotations is not None or before is not None) and not replace:
        msg = f"the conversation has annotations already: {conversation.annotations or _TARGET}"
        hint = "look at both, then import with --replace; the old ones are kept beside the new"
        raise InputError(msg, conversation=conversation.id, hint=hint)
    if before is not None:
        write_json(workspace.raw / f"annotations.{digest_json(before)[:8]}.json", before)
    write_json(target, content)
    write_json(
        workspace.raw / _REPORT,
        {
            **taken.report(),
            "file": path.name,
            "sha256": digest_file(path),
            "mapping": mapping.model_dump(mode="json", exclude_defaults=True),
        },
    )
    if conversation.annotations != _TARGET:
        stored = load_conversation(workspace.raw)
        save_conversation(workspace.raw, stored.model_copy(update={"annotations": _TARGET}))
    return Kept.ADDED if before is None and conversation.annotations is None else Kept.CHANGED
