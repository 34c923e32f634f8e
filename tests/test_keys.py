"""Keys: reversible, safe in paths and selections, never one inside another."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.keys import MAX_KEY_LENGTH, id_of, key_of

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@given(IDS)
def test_round_trip_over_any_text(conversation_id: str) -> None:
    key = key_of(conversation_id)
    assert id_of(key) == conversation_id
    assert re.fullmatch(r"[A-Za-z0-9_~][A-Za-z0-9_~-]*", key)


@given(IDS, IDS)
def test_different_ids_have_different_keys_of_one_path_part(first: str, second: str) -> None:
    assert (key_of(first) == key_of(second)) == (first == second)
    assert "/" not in key_of(first)


@pytest.mark.parametrize(
    "conversation_id",
    [
        "a,b",
        "a|b",
        "a...b",
        '{"a": [1]}',
        "line\nbreak",
        "anna-ben/001_s1",
        "anna-ben",
        "..",
        ".",
        "-rf",
        "~2f",
        "é",
        "a b",
    ],
)
def test_ids_that_mean_something_to_dagster_or_the_shell(conversation_id: str) -> None:
    assert id_of(key_of(conversation_id)) == conversation_id
    assert not set(key_of(conversation_id)) & set(",|.\"'{}[]/ \n\\")
    assert not key_of(conversation_id).startswith("-")


@pytest.mark.parametrize("conversation_id", ["", "  ", "\n", "\ud800", "x" * (MAX_KEY_LENGTH + 1)])
def test_an_id_that_cannot_be_a_key_is_refused_with_a_way_out(conversation_id: str) -> None:
    with pytest.raises(InputError) as refused:
        key_of(conversation_id)
    assert refused.value.hint


@pytest.mark.parametrize("key", ["", "a/b", "a.b", "~2F", "~zz", "~61", "~", "-a", "a~ff"])
def test_text_that_no_id_encodes_to_is_no_key(key: str) -> None:
    with pytest.raises(InputError):
        id_of(key)
