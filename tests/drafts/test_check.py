"""Whatever a model writes becomes rows or findings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.annotation.model import Row
from pipeline.drafts.check import check_reply
from pipeline.drafts.prompt import render_window
from pipeline.drafts.window import windows_of
from pipeline.evaluation.ledger import Reply
from tests.drafts.test_prompts import material, rows

_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=8),
    st.sampled_from(["Mara", " mara ", "Therapist", "Couple", "3,5 s", "8/10", "\ud83d"]),
)
_NAMES = st.sampled_from(["person", "speaker", "target", "content", "description", "emotion_description", "intensity"])
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=6
)
_ROWS = st.lists(
    st.dictionaries(st.sampled_from([*Row.model_fields, "other"]), _VALUES, max_size=6).map(
        lambda some: {"start_time": 5, "end_time": 9, "primary_speaker": "Mara", "dialogue_cleaned": "Yes."} | some
    ),
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(answer=_ROWS)
def test_any_answer_becomes_rows_or_findings(answer: list[dict[str, Any]]) -> None:
    made = material()
    window = windows_of(made, size=40, context=0)[0]
    checked = check_reply(Reply(text=json.dumps({"rows": answer})), made, window, rows())
    assert checked.unread is None
    assert [row.row_index for row in checked.rows] == list(range(3, 3 + len(checked.rows)))
    left_out = {one.row for one in checked.findings if one.rule == "shape"}
    assert len(checked.rows) + len(left_out) == len(answer)
    for row in checked.rows:
        row.model_dump_json()


def test_the_draft_so_far_is_shown_in_part() -> None:
    made = material(count=60)
    many = tuple(rows()[0].model_copy(update={"row_index": at, "start_time": at * 5.0}) for at in range(1, 31))
    text = render_window(made, windows_of(made, size=30, context=0)[1], many).user
    assert "row 30," in text
    assert "row 19," in text
    assert "row 18," not in text


def test_a_voice_is_who_it_was_for_most_of_the_time() -> None:
    made = material(count=12)
    said = [("Mara", 5.0, 5.5), ("Mara", 5.5, 6.0), ("Therapist", 6.0, 9.0)]
    some = tuple(
        rows()[0].model_copy(update={"row_index": at, "primary_speaker": name, "start_time": start, "end_time": end})
        for at, (name, start, end) in enumerate(said, start=1)
    )
    text = render_window(made, windows_of(made, size=6, context=0)[1], some).user
    assert "In the rows so far SPEAKER_00 was mostly Therapist." in text
