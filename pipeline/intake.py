"""Adding a conversation: its folder under ``raw_video``, whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pipeline.conversation import CONVERSATION_FILE, Conversation, load_conversation, save_conversation
from pipeline.errors import InputError

__all__ = ["add_conversation"]


def add_conversation(
    conversation: Conversation, files: Mapping[str, Path], raw_dir: Path, *, link: bool = False
) -> tuple[Conversation, Path]:
    """Make the folder of a new conversation.

    Args:
        conversation: What is known of it, without file names.
        files: Field of `Conversation` that names a file (``media``, ``subtitles``, ``annotations``) to the file.
        raw_dir: Where the folder is made; its name is the conversation's key.
        link: Link the files instead of copying them. A link to a file that is moved later breaks.

    Returns:
        The conversation as stored, and its folder.

    Raises:
        InputError: If a file is missing or the conversation exists already.
    """
    for file in files.values():
        if not file.is_file():
            msg = "there is no such file"
            raise InputError(msg, conversation=conversation.id, file=file, hint="check the path")
    folder = raw_dir / conversation.key
    taken = {path.name.casefold() for path in raw_dir.iterdir()} if raw_dir.is_dir() else set()
    if folder.name.casefold() in taken:
        msg = "a conversation of this name exists already"
        raise InputError(msg, conversation=conversation.id, file=folder, hint="choose another name with --id")
    raw_dir.mkdir(parents=True, exist_ok=True)
    # Made beside its place and renamed at the end: a copy that is cut off leaves no conversation.
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=raw_dir) as temporary:
        building = Path(temporary) / folder.name
        building.mkdir()
        names = {field: _place(file, building, link=link) for field, file in files.items()}
        save_conversation(building, conversation.model_copy(update=names))
        stored = load_conversation(building)
        building.rename(folder)
    return stored, folder


def _place(file: Path, folder: Path, *, link: bool) -> str:
    name = file.name if file.name != CONVERSATION_FILE else f"file-{CONVERSATION_FILE}"
    target = folder / name
    if target.exists():
        target = folder / f"{target.stem}-2{target.suffix}"
    if link:
        target.symlink_to(file.absolute())
    else:
        shutil.copyfile(file, target)
    return target.name
