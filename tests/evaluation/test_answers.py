"""A right answer in an odd wrapping counts; a non-answer is not guessed into one."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import ModelOutput

from pipeline.evaluation.answers import Expected, Reason, json_objects, read_answer
from pipeline.evaluation.outcomes import ParseStep
from pipeline.evaluation.replies import reply_of

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
        ("Unfortunately, I am not able to judge that.", Reason.REFUSED),
        ("As an AI I cannot help here.", Reason.REFUSED),
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
        "The pattern is: **repair_softening**.",
        "Label: repair_softening",
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There is no doubt that the therapist should speak.", ITP),
        ("There is no reason to stay silent; the therapist should speak now.", ITP),
        ("The answer should not be no", ITP),
        ("The answer is not yes.", ITP),
        ("The answer is yes, or perhaps not.", ITP),
        ("I would not choose join here.", SSP),
        ("Do not pick reframe.", SSP),
        ("It might be track or reframe.", SSP),
        ("Client: join me! I have no idea.", SSP),
        ("I don't think the strategy is join.", SSP),
        ("The strategy is join, not track.", SSP),
        ("The strategy is join?", SSP),
        ("The target is Anna or Ben", STP),
        ("The target is Anna's husband.", STP),
        ("The target is Anna Maria", STP),
        ("I would not choose attack_attack", RPP),
        ("I can't be sure, but the pattern is pursue_withdraw.", RPP),
    ],
)
def test_nothing_is_guessed_from_prose(text: str, expected: Expected) -> None:
    assert read_answer(text, expected).reason is Reason.INVALID_FORMAT
    keys = {"rpp": "labels", "stp": "targets", "ssp": "strategies", "itp": "should_speak"}
    assert read_answer(json.dumps({keys[expected.task]: [text]}), expected).answer is None


YES, NO = '{"should_speak": true}', '{"should_speak": false}'
BROKEN_YES, BROKEN_NO = YES.replace("}", ",}"), NO.replace("}", ",}")


@pytest.mark.parametrize(
    "text",
    [
        f"First:\n```json\n{NO}\n```\nOn reflection that is wrong. Final answer: {YES}",
        f"Draft: {NO}. Final:\n```json\n{YES}\n```",
        f"```json\n{NO}\n```\n```json\n{YES}\n```",
        f"{BROKEN_YES} or {BROKEN_NO}",
        f"{YES} or {BROKEN_NO}",
        f"{BROKEN_NO} or {YES}",
        f"```json\n{BROKEN_NO}\n```\nNo: {YES}",
    ],
)
def test_two_different_answers_are_none_whatever_their_wrapping(text: str) -> None:
    assert read_answer(text, ITP).reason is Reason.SEVERAL_ANSWERS


@pytest.mark.parametrize(
    "text",
    [
        "{'should_speak': true, 'should_speak': false}",
        "{should_speak: true, should_speak: false}",
        "{\"should_speak\": true, 'should_speak': false,}",
        '{"should_speak": true, "should\\u005fspeak": false,}',
        '{"should_speak": true, or {"should_speak": false}',
        '{"should_speak": true, {"should_speak": false}',
        "{'a': {'should_speak': true, 'should_speak': false}, 'should_speak': true}",
        f"{YES} or {{'should_speak': true, 'should_speak': false}}",
    ],
)
def test_repair_does_not_choose_between_two_values(text: str) -> None:
    assert read_answer(text, ITP).reason is Reason.INVALID_FORMAT


def test_keys_that_two_inner_objects_share_are_no_repeat() -> None:
    view = "{'source': 'Anna', 'target': 'Ben', 'viewpoint': 'He hides.'}"
    answer = read_answer(f"{{'viewpoints': [{view}, {view},]}}", VP).answer
    assert answer is not None
    assert answer.viewpoints is not None
    assert len(answer.viewpoints) == 2


def test_an_object_inside_a_broken_one_is_not_the_answer() -> None:
    whole = read_answer('{"rejected": {"should_speak": false}, reasoning: "it is time", "should_speak": true}', ITP)
    assert whole.answer is not None
    assert (whole.answer.ranking, whole.step) == (("yes",), ParseStep.REPAIRED)
    options = '{"options": [{"emotion": "angry", "intensity": 9}], "emotion": "hurt", "intensity": 4,, }'
    answer = read_answer(options, ER).answer
    assert answer is None or answer.emotion == "hurt"
    assert list(json_objects('{"kept": {"score": 1}, broken: 2} {"score": 3}')) == [{"score": 3}]


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (
            'The client says "I can\'t take it any more". {"emotion": "x", "intensity": "high"}',
            ER,
            Reason.INVALID_FORMAT,
        ),
        ('"I can\'t take it any more", says Anna.', ER, Reason.INVALID_FORMAT),
        ("He says I cannot go on.", ER, Reason.INVALID_FORMAT),
        ("I cannot decide between attack_attack and pursue_withdraw.", RPP, Reason.INVALID_FORMAT),
        ('I cannot rank them. {"labels": ["pursue withdraw", "x"]}', RPP, Reason.NOT_A_CANDIDATE),
        ("I cannot help with this.", ER, Reason.REFUSED),
    ],
)
def test_talk_about_the_conversation_is_no_refusal(text: str, expected: Expected, reason: Reason) -> None:
    assert read_answer(text, expected).reason is reason


def test_an_apology_before_an_answer_is_no_refusal() -> None:
    answer = read_answer("I'm sorry. The answer is repair_softening.", RPP).answer
    assert answer is not None
    assert answer.ranking == ("repair_softening",)


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


@pytest.mark.parametrize(
    ("text", "emotion"),
    [
        ('```json\n{"emotion": "he <think>s", "intensity": 3}\n```', "he <think>s"),
        ('So: {"emotion": "a <think> b </think> c", "intensity": 3}', "a <think> b </think> c"),
        ('<think>{"emotion": "no", "intensity": 1}</think>So: {"emotion": "a </think>", "intensity": 3}', "a </think>"),
    ],
)
def test_a_tag_inside_an_object_in_a_text_is_text(text: str, emotion: str) -> None:
    answer = read_answer(text, ER).answer
    assert answer is not None
    assert answer.emotion == emotion


def test_braces_in_thoughts_do_not_hide_a_bare_answer() -> None:
    answer = read_answer(f"<think>Perhaps {DRAFT}</think>repair_softening", RPP).answer
    assert answer is not None
    assert answer.ranking == ("repair_softening",)


@pytest.mark.parametrize("text", ['{"intensity": 1', '{"emotion": "hurt", "intensity": 1', '```json\n{"emotion": "hu'])
def test_what_a_limit_cut_off_is_not_repaired(text: str) -> None:
    assert read_answer(text, ER, truncated=True).reason is Reason.RAN_OUT_OF_TOKENS


def test_a_whole_answer_before_the_limit_counts() -> None:
    assert read_answer(f"{OBJECT} To explain, I would", RPP, truncated=True).answer is not None


def test_an_answer_before_another_that_the_limit_cut_off_is_none() -> None:
    text = '{"labels": ["repair_softening"]} {"labels": ["attack'
    assert read_answer(text, RPP, truncated=True).reason is Reason.RAN_OUT_OF_TOKENS


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


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 5000, "-" + "9" * 400])
def test_an_intensity_of_hundreds_of_digits_is_invalid(digits: str) -> None:
    assert read_answer(f'{{"emotion": "hurt", "intensity": {digits}}}', ER).reason is Reason.INVALID_FORMAT


def test_control_characters_are_no_part_of_an_answer() -> None:
    found = read_answer(json.dumps({"emotion": "hurt\x00 and\n\tlonely\x1b", "intensity": 4}), ER)
    assert found.answer is not None
    assert found.answer.emotion == "hurt and lonely"


def test_half_a_surrogate_pair_is_no_answer() -> None:
    assert read_answer('{"emotion": "sad \\ud83d", "intensity": 5}', ER).reason is Reason.INVALID_FORMAT
    view = '{"source": "Anna", "target": "Ben", "viewpoint": "He hides.", "attitude": "bitter \\ud83d"}'
    assert read_answer(f'{{"viewpoints": [{view}]}}', VP).reason is Reason.INVALID_FORMAT
    assert read_answer('{"emotion": "sad \\ud83d\\ude22", "intensity": 5}', ER).answer is not None


def test_what_a_model_writes_can_be_kept() -> None:
    reply = reply_of(ModelOutput.from_content("m", '{"emotion": "sad \ud83d", "intensity": 5}'))
    assert reply.text == '{"emotion": "sad ?", "intensity": 5}'
    reply.model_dump_json().encode("utf-8")


@pytest.mark.parametrize("emotion", ["", "  ", "\u200b", "\0", "\ufeff \u2060", None, 5])
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


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        '{"a":' * 50_000,
        "{a:1}" * 50_000,
        '{"' + '\\"' * 100_000,
        "```{" * 20_000,
        "```" * 60_000,
        "".join(f'{{"emotion": "e{number}", "intensity": 3}}' for number in range(8000)),
        "{" + "".join(f'"k{number}": 1 ' for number in range(8000)),
        '{"emotion": "' + 'sad, "so" ' * 4_500,
        "<think></think>" * 5_000,
        "answer is " * 20_000,
        "sorry " * 20_000,
        "<think " * 30_000,
    ],
    ids=range(13),
)
def test_degenerate_text_is_read_at_once(text: str) -> None:
    started = time.monotonic()
    assert read_answer(text, ER).answer is None
    assert read_answer(text, RPP).answer is None
    assert time.monotonic() - started < 5


def test_deep_nesting_does_not_stop_the_reader() -> None:
    assert read_answer('{"a":' * 5000, RPP).answer is None
