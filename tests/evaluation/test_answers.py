"""A right answer in an odd wrapping counts; a non-answer is not guessed into one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evaluation.answers import Expected, Reason, read_answer
from pipeline.evaluation.outcomes import ParseStep

COUPLE = (
    "pursue_withdraw",
    "attack_attack",
    "withdraw_withdraw",
    "repair_softening",
    "constructive_alignment",
    "mixed_transition",
)
RPP = Expected("rpp", COUPLE)
SSP = Expected("ssp", ("track", "reframe", "evoke", "join", "repair"))
STP = Expected("stp", ("Anna", "Ben", "Couple"))
ITP, ER, VP = Expected("itp"), Expected("er"), Expected("vp")
OBJECT = '{"labels": ["repair_softening", "mixed_transition"]}'
RANKING = ("repair_softening", "mixed_transition")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (OBJECT, ParseStep.AS_IS),
        (f"\n  {OBJECT}\n", ParseStep.AS_IS),
        (f"\ufeff{OBJECT}", ParseStep.AS_IS),
        (f"```json\n{OBJECT}\n```", ParseStep.FENCED),
        (f"```\n{OBJECT}\n```", ParseStep.FENCED),
        (f"```JSON {OBJECT}```", ParseStep.FENCED),
        (f"~~~\n{OBJECT}\n~~~", ParseStep.FENCED),
        (f"Here it is:\n```json\n{OBJECT}\n```\nI hope {{this}} helps.", ParseStep.FENCED),
        (f"I choose this. {OBJECT} That is all.", ParseStep.FIRST_OBJECT),
        (f"[{OBJECT}]", ParseStep.FIRST_OBJECT),
        (f"{OBJECT}\n{OBJECT}", ParseStep.FIRST_OBJECT),
        ('The form is {"labels": ["first", "second", "third"]}. So: ' + OBJECT, ParseStep.FIRST_OBJECT),
        ("{'labels': ['repair_softening', 'mixed_transition']}", ParseStep.REPAIRED),
        ('{"labels": ["repair_softening", "mixed_transition",]}', ParseStep.REPAIRED),
        ('{labels: ["repair_softening", "mixed_transition"]}', ParseStep.REPAIRED),
        ('{"labels": ["repair_softening", "mixed_transition"]', ParseStep.REPAIRED),
        ('```json\n{"labels": ["repair_softening" "mixed_transition"]}\n```', ParseStep.REPAIRED),
    ],
)
def test_one_object_in_any_wrapping_is_one_answer(text: str, step: ParseStep) -> None:
    reading = read_answer(text, RPP)
    assert reading.answer is not None, reading
    assert (reading.answer.ranking, reading.step) == (RANKING, step)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.NO_ANSWER),
        (" \n", Reason.NO_ANSWER),
        ("null", Reason.INVALID_FORMAT),
        ("I think they are both tired of it.", Reason.INVALID_FORMAT),
        ("{}", Reason.INVALID_FORMAT),
        ('{"label": "repair_softening"}', Reason.INVALID_FORMAT),
        ('{"labels": []}', Reason.INVALID_FORMAT),
        ('{"labels": [null]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": [["repair_softening"]]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["softening"]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["cooperative_family_alliance"]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["repair_softening", "cooperative_family_alliance"]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["repair_softening or mixed_transition"]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["The answer is not repair_softening but something else"]}', Reason.NOT_A_CANDIDATE),
        ('{"labels": ["repair_softening"]} or rather {"labels": ["mixed_transition"]}', Reason.SEVERAL_ANSWERS),
        ('{"labels": ["repair_softening"], "labels": ["mixed_transition"]}', Reason.INVALID_FORMAT),
        ("repair_softening, mixed_transition", Reason.INVALID_FORMAT),
        ("I'm sorry, but I can't help with conversations of therapy.", Reason.REFUSED),
        ("I'm sorry. The answer is repair_softening.", Reason.REFUSED),
    ],
)
def test_what_is_no_answer_stays_none(text: str, reason: Reason) -> None:
    reading = read_answer(text, RPP)
    assert (reading.answer, reading.reason) == (None, reason)
    assert reading.detail


@pytest.mark.parametrize("wrap", [lambda text: json.dumps({"labels": [text]}), lambda text: text], ids=["json", "bare"])
@pytest.mark.parametrize(
    "text",
    [
        "repair_softening",
        "Repair Softening",
        "**repair_softening**",
        "repair-softening.",
        "The answer is repair_softening because they reach for each other again",
        '"repair_softening"',
    ],
)
def test_a_label_counts_in_any_dress(text: str, wrap: object) -> None:
    reading = read_answer(wrap(text), RPP)  # type: ignore[operator]
    assert reading.answer is not None
    assert reading.answer.ranking == ("repair_softening",)


@pytest.mark.parametrize(
    ("given_", "ranking"),
    [
        (["join"], ("join",)),
        (["join", "track"], ("join", "track")),
        ("join", ("join",)),
        (["join", "join", "track"], ("join", "join", "track")),
        (["join", "track", "evoke", "reframe"], ("join", "track", "evoke")),
    ],
)
def test_a_ranking_is_taken_as_given(given_: object, ranking: tuple[str, ...]) -> None:
    reading = read_answer(json.dumps({"strategies": given_}), SSP)
    assert reading.answer is not None
    assert reading.answer.ranking == ranking


@pytest.mark.parametrize("value", ["rejoin", "re-join", "join_track", "repair rupture", "We join hands and repair it"])
def test_a_name_within_other_words_is_not_that_name(value: str) -> None:
    assert read_answer(json.dumps({"strategies": [value]}), SSP).reason is Reason.NOT_A_CANDIDATE


def test_names_that_differ_by_case_alone_are_told_apart() -> None:
    twins = Expected("stp", ("anna", "Anna"))
    answer = read_answer('{"targets": ["Anna"]}', twins).answer
    assert answer is not None
    assert answer.ranking == ("Anna",)
    assert read_answer('{"targets": ["ANNA"]}', twins).reason is Reason.NOT_A_CANDIDATE


DRAFT = '{"labels": ["attack_attack"]}'


@pytest.mark.parametrize(
    "text",
    [
        f"<think>Maybe {DRAFT}</think>{OBJECT}",
        f"<think>Maybe <think>{DRAFT}</think> no</think>\n```json\n{OBJECT}\n```",
        f"Maybe {DRAFT}\n</think>\n{OBJECT}",
        f"[THINK]{DRAFT}[/THINK]{OBJECT}",
        f"◁think▷{DRAFT}◁/think▷{OBJECT}",
        f'<thinking type="x">{DRAFT}</thinking><reasoning>hm</reasoning> {OBJECT}',
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{OBJECT}",
    ],
)
def test_thoughts_are_not_the_answer(text: str) -> None:
    reading = read_answer(text, RPP)
    assert reading.answer is not None
    assert reading.answer.ranking == RANKING


@pytest.mark.parametrize("text", [f"<think>Perhaps {OBJECT}", f"<|channel|>analysis<|message|>{OBJECT}", ""])
def test_thoughts_that_never_end_are_no_answer(text: str) -> None:
    assert read_answer(text, RPP).reason is Reason.NO_ANSWER
    assert read_answer(text, RPP, truncated=True).reason is Reason.RAN_OUT_OF_TOKENS


def test_a_tag_inside_the_answer_is_text() -> None:
    answer = read_answer('{"emotion": "<think>ing of leaving", "intensity": 4}', ER).answer
    assert answer is not None
    assert answer.emotion == "<think>ing of leaving"


@pytest.mark.parametrize("text", ['{"intensity": 1', '{"emotion": "hurt", "intensity": 1', '```json\n{"emotion": "hu'])
def test_what_a_limit_cut_off_is_not_repaired(text: str) -> None:
    assert read_answer(text, ER, truncated=True).reason is Reason.RAN_OUT_OF_TOKENS


def test_a_whole_answer_before_the_limit_counts() -> None:
    assert read_answer(f"{OBJECT} To explain, I would", RPP, truncated=True).answer is not None


def test_a_refusal_by_the_server_is_one_whatever_the_text() -> None:
    assert read_answer(OBJECT, RPP, refused=True).reason is Reason.REFUSED


@pytest.mark.parametrize(
    ("text", "ranking"),
    [
        ('{"should_speak": true}', ("yes",)),
        ('{"should_speak": "No"}', ("no",)),
        ("Yes.", ("yes",)),
        ("**no**", ("no",)),
        ('{"should_speak": 1}', None),
        ('{"should_speak": null}', None),
        ('{"should_speak": "perhaps"}', None),
        ("No, they are not done, but yes in a while.", None),
    ],
)
def test_a_decision(text: str, ranking: tuple[str, ...] | None) -> None:
    answer = read_answer(text, ITP).answer
    assert (answer.ranking if answer else None) == ranking


@pytest.mark.parametrize(
    ("value", "intensity"),
    [
        (7, 7.0),
        (7.5, 7.5),
        (0, 0.0),
        ("7", 7.0),
        ("7/10", 7.0),
        ("7 out of 10", 7.0),
        ("**7**", 7.0),
        ("4/5", None),
        ("7-8", None),
        ("high", None),
        (11, None),
        (-1, None),
        (True, None),
        (None, None),
        ("There are 2 gaps; 7", None),
    ],
)
def test_an_intensity(value: object, intensity: float | None) -> None:
    answer = read_answer(json.dumps({"emotion": "hurt", "intensity": value}), ER).answer
    assert (answer.intensity if answer else None) == intensity


@pytest.mark.parametrize(
    "text", ['{"emotion": "hurt", "intensity": NaN}', '{"emotion": "hurt", "intensity": Infinity}']
)
def test_an_intensity_is_finite(text: str) -> None:
    assert read_answer(text, ER).answer is None


@pytest.mark.parametrize("emotion", ["", "  ", None, 5])
def test_an_emotion_has_words(emotion: object) -> None:
    assert read_answer(json.dumps({"emotion": emotion, "intensity": 5}), ER).reason is Reason.INVALID_FORMAT


def test_viewpoints_are_kept_as_written() -> None:
    view = {"source": "Anna", "target": "Ben", "viewpoint": "He hides.", "attitude": "bitter"}
    answer = read_answer(json.dumps({"viewpoints": [view]}), VP).answer
    assert answer is not None
    assert answer.viewpoints == (view,)
    assert read_answer('{"viewpoints": []}', VP).answer is not None
    assert read_answer('{"viewpoints": [{"source": "Anna"}]}', VP).reason is Reason.INVALID_FORMAT
    assert read_answer('{"viewpoints": "none"}', VP).reason is Reason.INVALID_FORMAT


def test_the_detail_names_the_place() -> None:
    assert read_answer('{"labels": ["repair_softening", "x"]}', RPP).detail.startswith("labels.1: ")


@given(st.text(max_size=200))
def test_no_text_stops_the_reader(text: str) -> None:
    for expected in (RPP, ITP, ER, VP, STP):
        reading = read_answer(text, expected)
        assert (reading.answer is None) == (reading.reason is not None)


@given(st.text(alphabet='{}[]":,`<>/thinkyes01 \n', max_size=120))
def test_no_brackets_stop_the_reader(text: str) -> None:
    for truncated in (False, True):
        reading = read_answer(text, ER, truncated=truncated)
        assert (reading.answer is None) == (reading.reason is not None)


def test_deep_nesting_does_not_stop_the_reader() -> None:
    assert read_answer('{"a":' * 5000, RPP).answer is None
