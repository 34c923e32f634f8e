"""One partition a conversation; its name is the conversation's key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from pipeline.build import Found

__all__ = ["CONVERSATIONS", "Changes", "changes", "register"]

CONVERSATIONS = dg.DynamicPartitionsDefinition(name="conversation")


@dataclass(frozen=True)
class Changes:
    """How the partitions must change so that they are the conversations in the raw folder."""

    added: tuple[str, ...]
    gone: tuple[str, ...]


def changes(known: Iterable[str], found: Found) -> Changes:
    """Compare the partitions that Dagster knows with the conversations that were found.

    While a folder cannot be read nothing counts as gone: its ``conversation.yaml`` may just be under repair.
    """
    before = set(known)
    now = [workspace.conversation.key for workspace in found.workspaces]
    gone = () if found.problems else tuple(sorted(before.difference(now)))
    return Changes(added=tuple(key for key in now if key not in before), gone=gone)


def register(instance: dg.DagsterInstance, found: Found) -> Changes:
    """Make the partitions of an instance the conversations that were found."""
    name = str(CONVERSATIONS.name)
    needed = changes(instance.get_dynamic_partitions(name), found)
    if needed.added:
        instance.add_dynamic_partitions(name, list(needed.added))
    for key in needed.gone:
        instance.delete_dynamic_partition(name, key)
    return needed
