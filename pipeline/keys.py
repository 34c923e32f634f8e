"""Conversation ids and their keys.

An id may be any text. Its key names partitions, folders and files, so it uses only ``A-Z a-z 0-9 - _ ~``: safe in
paths, addresses and Dagster's partition selections. The encoding is reversible; a key holds no separator, so none is a
path prefix of another.
"""

from __future__ import annotations

import re

from pipeline.errors import InputError

__all__ = ["MAX_KEY_LENGTH", "id_of", "key_of"]

MAX_KEY_LENGTH = 180
"""File systems allow 255 bytes a name; artifacts add suffixes to the key."""

_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_ESCAPE = re.compile(rb"~([0-9a-f]{2})")
_KEY = re.compile(r"(?:[A-Za-z0-9_-]|~[0-9a-f]{2})+")


def key_of(conversation_id: str) -> str:
    """The key of a conversation id.

    Unsafe bytes of the UTF-8 form become ``~xx``; so does a leading ``-``, which tools read as an option.

    Example:
        >>> key_of("anna-ben/001_s1")
        'anna-ben~2f001_s1'

    Raises:
        InputError: If the id is empty, not valid text, or too long for a file name.
    """
    if not conversation_id.strip():
        msg = "the conversation id is empty"
        raise InputError(msg, hint="give it a name with --id, or `id:` in conversation.yaml")
    try:
        raw = conversation_id.encode()
    except UnicodeEncodeError as error:
        msg = "the conversation id is not valid text"
        raise InputError(msg, conversation=ascii(conversation_id), hint="give it another name") from error
    key = "".join(
        chr(byte) if byte in _SAFE and not (position == 0 and byte == ord("-")) else f"~{byte:02x}"
        for position, byte in enumerate(raw)
    )
    if len(key) > MAX_KEY_LENGTH:
        msg = f"the conversation id needs {len(key)} characters as a file name, at most {MAX_KEY_LENGTH} fit"
        raise InputError(msg, conversation=conversation_id[:40] + "...", hint="give it a shorter id")
    return key


def id_of(key: str) -> str:
    """The conversation id of a key.

    Example:
        >>> id_of("anna-ben~2f001_s1")
        'anna-ben/001_s1'

    Raises:
        InputError: If the text is no key that `key_of` makes.
    """
    if _KEY.fullmatch(key):
        try:
            conversation_id = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), key.encode()).decode()
            if key_of(conversation_id) == key:
                return conversation_id
        except (UnicodeDecodeError, InputError):
            pass
    msg = f"{key!r} is not a key of a conversation"
    raise InputError(msg)
