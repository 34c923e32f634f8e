"""Which split a conversation is in. All conversations of a couple or family are on one side.

A group's split follows from a hash of its own name, so adding a conversation moves no other. Shares hold in
expectation, for each scenario alike.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.conversation import Conversation
from pipeline.errors import InputError, UsageError
from pipeline.settings import DatasetSettings, SplitScheme

__all__ = ["PUBLISHED", "Splits", "assign_splits", "group_key"]

PUBLISHED = "published"
"""The scheme of the published benchmark: everything is test."""


@dataclass(frozen=True)
class Splits:
    """Who is where."""

    names: tuple[str, ...]
    """All splits of the scheme; a split can be empty."""
    of: Mapping[str, str]
    """Conversation id to split."""
    variants: tuple[tuple[str, ...], ...]
    """Group ids that differ only by spelling, and were kept together."""


def group_key(group_id: str) -> str:
    """A group id without what spelling varies: case, accents' composition, blanks, dashes, underscores, apostrophes.

    A mark between two digits stays: ``couple_1-1`` and ``couple_11`` are two couples.

    Example:
        >>> group_key("Smith - Jones") == group_key("smith_jones")
        True
    """
    plain = unicodedata.normalize("NFKC", group_id).casefold()
    between_digits = re.sub(r"(?<=\d)[\W_]+(?=\d)", "-", plain)
    return re.sub(r"(?<!\d)[\W_]+|[\W_]+(?!\d)", "", between_digits) or plain


def assign_splits(conversations: Iterable[Conversation], settings: DatasetSettings) -> Splits:
    """The split of every conversation, under the scheme in force.

    Raises:
        UsageError: If the scheme does not exist or its shares do not sum to 1.
        InputError: If pinned conversations would put one group on two sides; the message names the group.
    """
    members: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        members[group_key(conversation.group_id)].append(conversation)
    spellings = (sorted({item.group_id for item in group}) for group in members.values())
    variants = tuple(sorted(tuple(names) for names in spellings if len(names) > 1))
    if settings.split == PUBLISHED:
        everything = {item.id: "test" for group in members.values() for item in group}
        return Splits(("test",), everything, variants)
    scheme = _scheme(settings)
    pinned = {group_key(name): split for name, split in scheme.pinned.items()}
    known = {item.id for group in members.values() for item in group}
    lost = sorted(name for name in scheme.pinned if name not in known and group_key(name) not in members)
    if lost:
        msg = f"the split scheme {settings.split!r} pins {lost[0]!r}, which is no conversation and no group"
        raise UsageError(msg, hint="correct or remove it under `pinned`")
    found: dict[str, str] = {}
    for key, group in members.items():
        asked = {scheme.pinned.get(item.id) or pinned.get(key) for item in group} - {None}
        if len(asked) > 1:
            msg = f"the group {group[0].group_id!r} is pinned to {' and '.join(sorted(map(str, asked)))}"
            raise InputError(msg, hint="pin a group to one split: all its conversations stay together")
        split = asked.pop() if asked else _by_hash(key, scheme, settings.split)
        found |= {item.id: str(split) for item in group}
    splits = Splits(tuple(scheme.shares), found, variants)
    check_groups(splits, members)
    return splits


def check_groups(splits: Splits, members: Mapping[str, Iterable[Conversation]]) -> None:
    """Make sure that no group crosses.

    Raises:
        InputError: If one does.
    """
    for group in members.values():
        sides = {splits.of[item.id]: item.group_id for item in group}
        if len(sides) > 1:
            msg = f"the group {next(iter(sides.values()))!r} is in {' and '.join(sorted(sides))}"
            raise InputError(msg, hint="this is a fault of the split scheme; nothing was written")


def _scheme(settings: DatasetSettings) -> SplitScheme:
    scheme = settings.schemes.get(settings.split)
    if scheme is None:
        known = ", ".join([PUBLISHED, *settings.schemes])
        msg = f"there is no split scheme {settings.split!r}"
        raise UsageError(msg, hint=f"known are {known}; add one under dataset.schemes in rescue.yaml")
    if not scheme.shares or not math.isclose(sum(scheme.shares.values()), 1, abs_tol=1e-6):
        msg = f"the shares of the split scheme {settings.split!r} sum to {sum(scheme.shares.values()):g}, not to 1"
        raise UsageError(msg)
    unknown = sorted(set(scheme.pinned.values()) - set(scheme.shares))
    if unknown:
        msg = f"conversations are pinned to {unknown[0]!r}, which is no split of {settings.split!r}"
        raise UsageError(msg, hint=f"splits are {', '.join(scheme.shares)}")
    return scheme


def _by_hash(key: str, scheme: SplitScheme, name: str) -> str:
    digest = hashlib.sha256(f"{name}\0{key}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    edge = 0.0
    for split, share in scheme.shares.items():
        edge += share
        if place < edge:
            return split
    return list(scheme.shares)[-1]
