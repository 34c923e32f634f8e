"""Groups stay whole, and adding a conversation moves no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.conversation import Conversation
from pipeline.dataset.splits import assign_splits, group_key
from pipeline.errors import InputError, UsageError
from pipeline.settings import DatasetSettings, SplitScheme

SHARES = {"train": 0.6, "dev": 0.2, "test": 0.2}
SCHEME = DatasetSettings(split="three", schemes={"three": SplitScheme(shares=SHARES)})
NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


def conversations(*groups: str, scenes: int = 3) -> list[Conversation]:
    return [Conversation(id=f"{group}/{scene}", group=group) for group in groups for scene in range(scenes)]


def test_the_published_scheme_puts_everything_into_test() -> None:
    splits = assign_splits(conversations("a", "b"), DatasetSettings())
    assert splits.names == ("test",)
    assert set(splits.of.values()) == {"test"}


@given(st.lists(NAMES, min_size=1, max_size=20, unique=True), NAMES)
def test_groups_are_whole_and_additions_move_nobody(groups: list[str], added: str) -> None:
    before = assign_splits(conversations(*groups), SCHEME)
    for group in groups:
        assert len({before.of[f"{group}/{scene}"] for scene in range(3)}) == 1
    after = assign_splits(conversations(*dict.fromkeys([*groups, added])), SCHEME)
    assert all(after.of[name] == split for name, split in before.of.items())


@pytest.mark.parametrize(
    "variant", ["Smith-Jones", "smith_jones", "SMITH JONES", "Smith\u00a0Jones", "\uff33mithJones"]
)
def test_spellings_of_one_group_are_kept_together_and_told(variant: str) -> None:
    assert group_key(variant) == group_key("Smith Jones")
    mixed = [Conversation(id="1", group="Smith Jones"), Conversation(id="2", group=variant)]
    splits = assign_splits(mixed, SCHEME)
    assert splits.of["1"] == splits.of["2"]
    assert splits.variants == (tuple(sorted({"Smith Jones", variant})),)


def test_shares_hold_roughly() -> None:
    splits = assign_splits(conversations(*(f"g{number}" for number in range(600)), scenes=1), SCHEME)
    counts = {name: list(splits.of.values()).count(name) / 600 for name in SHARES}
    assert counts == pytest.approx(SHARES, abs=0.06)


def test_a_pinned_conversation_takes_its_group_along() -> None:
    for pinned in ({"a/1": "dev"}, {"a": "dev"}, {"A": "dev"}):
        settings = DatasetSettings(split="three", schemes={"three": SplitScheme(shares=SHARES, pinned=pinned)})
        splits = assign_splits(conversations("a", "b"), settings)
        assert {splits.of[f"a/{scene}"] for scene in range(3)} == {"dev"}


def test_a_pin_that_would_part_a_group_is_refused() -> None:
    scheme = SplitScheme(shares=SHARES, pinned={"a/1": "dev", "a/2": "test"})
    with pytest.raises(InputError, match="group 'a' is pinned to dev and test"):
        assign_splits(conversations("a"), DatasetSettings(split="three", schemes={"three": scheme}))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (DatasetSettings(split="four"), "no split scheme 'four'"),
        (DatasetSettings(split="x", schemes={"x": SplitScheme(shares={"a": 0.5, "b": 0.4})}), "sum to 0.9"),
        (DatasetSettings(split="x", schemes={"x": SplitScheme(shares={"a": 1}, pinned={"g": "b"})}), "no split of"),
    ],
)
def test_a_wrong_scheme_is_refused(settings: DatasetSettings, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        assign_splits(conversations("g"), settings)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Smith \u2013 Jones", "smith-jones", True),
        ("O\u2019Brien", "O'Brien", True),
        ("Smith_Jones", "Smith Jones", True),
        ("couple_1-1", "couple_11", False),
        ("couple 1/2", "couple 12", False),
    ],
)
def test_spelling_variants_of_a_group(one: str, other: str, same: bool) -> None:
    assert (group_key(one) == group_key(other)) is same


@pytest.mark.parametrize("name", ["../escape", "a/b", "dev-1", ""])
def test_split_names_become_file_names(name: str) -> None:
    with pytest.raises(ValidationError):
        SplitScheme(shares={name: 0.5, "test": 0.5})
    with pytest.raises(ValidationError):
        SplitScheme(shares={"train": 1.5, "test": -0.5})


def test_a_pin_of_nobody_is_a_slip() -> None:
    scheme = DatasetSettings(split="p", schemes={"p": SplitScheme(shares={"a": 1.0}, pinned={"coupl0000": "a"})})
    with pytest.raises(UsageError, match="coupl0000"):
        assign_splits([Conversation(id="couple0000/1")], scheme)
