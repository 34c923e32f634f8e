"""Cases worked out on paper; every expected value is written down, none is computed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks import oracle

Record = dict[str, Any]
T = "Therapist"


def row(speaker: str, **fields: Any) -> Record:
    return {
        "primary_speaker": speaker,
        "target": [],
        "dialogue_cleaned": "one two three four five",
        "internal_emotion": [],
        "viewpoints_attitudes": [],
        "support_strategy": [],
        "relation_pattern": None,
        "relation_cycle_state": None,
    } | fields


def sample(*rows: Record, scenario: str = "couple", participants: tuple[str, ...] = ("Ann", "Bob")) -> Record:
    return {
        "conversation_id": "c",
        "scenario": scenario,
        "participants": list(participants),
        "rows": [{"row_index": index, **each} for index, each in enumerate(rows, start=1)],
    }


def speakers(text: str) -> Record:
    """A sample from one letter a row."""
    names = {"T": T, "A": "Ann", "B": "Bob", "C": "Couple"}
    return sample(*(row(names[letter]) for letter in text))


def feels(person: str, words: str = "sad", intensity: object = 5) -> Record:
    return {"person": person, "emotion_description": words, "intensity": intensity}


def thinks(source: str, target: str, viewpoint: str = "does not listen") -> Record:
    return {"source": source, "target": target, "viewpoint": viewpoint, "attitude": "angry"}


def supports(*target: str, kind: str = "track") -> list[Record]:
    return [{"provider": T, "target": list(target), "strategy_type": kind, "strategy_content": "x"}]


def indices(instances: list[Record]) -> list[int]:
    return [each["row_index"] for each in instances]


# Thinning


@pytest.mark.parametrize(
    ("m", "k", "kept"),
    [
        (4, 2, [0, 3]),
        (4, 3, [0, 2, 3]),  # 1.5 rounds to 2
        (6, 3, [0, 2, 5]),  # 2.5 rounds to 2, to the even one
        (8, 3, [0, 4, 7]),  # 3.5 rounds to 4
        (7, 5, [0, 2, 3, 4, 6]),  # 0, 1.5, 3, 4.5, 6
        (11, 5, [0, 2, 5, 8, 10]),  # 0, 2.5, 5, 7.5, 10
        (5, 5, [0, 1, 2, 3, 4]),
        (3, 5, [0, 1, 2]),
        (3, 0, []),
    ],
)
def test_thin_uses_python_round(m: int, k: int, kept: list[int]) -> None:
    assert oracle.thin(list(range(m)), k, "middle") == kept


def test_thin_to_one() -> None:
    assert oracle.thin([10, 11, 12], 1, "middle") == [11]
    assert oracle.thin([10, 11, 12, 13], 1, "middle") == [12]
    assert oracle.thin([10, 11, 12], 1, "first") == [10]


def test_duplicates_are_replaced_from_the_front() -> None:
    assert oracle.fill_from_front([0, 2, 2, 4], 4) == [0, 1, 2, 4]
    assert oracle.fill_from_front([2, 2, 2, 5], 4) == [0, 1, 2, 5]


# ITP


def test_itp_keeps_as_many_of_each() -> None:
    # Therapist enters at 4 and 8: boundaries 3 and 7. Client to client: after 1, 2, 5, 6. Two of four: first and last.
    found = oracle.itp(speakers("ABATBABT"))
    assert [(each["row_index"], each["should_speak"]) for each in found] == [
        (1, False),
        (3, True),
        (6, False),
        (7, True),
    ]
    assert [each["context_rows"] for each in found] == [(1, 1), (1, 3), (4, 6), (5, 7)]
    assert [each["context_rows"] for each in oracle.itp(speakers("ABATBABT"), context_size=None)] == [
        (1, 1),
        (1, 3),
        (1, 6),
        (1, 7),
    ]


def test_itp_takes_the_middle_of_the_longer_side() -> None:
    # One positive (after 4); negatives after 1, 2, 3: the middle one.
    assert [(each["row_index"], each["should_speak"]) for each in oracle.itp(speakers("ABABT"))] == [
        (2, False),
        (4, True),
    ]


def test_itp_needs_both_kinds() -> None:
    assert oracle.itp(speakers("ATBTA")) == []
    assert oracle.itp(speakers("TABA")) == []
    assert oracle.itp(speakers("TTT")) == []
    assert oracle.itp(speakers("")) == []


def test_itp_counts_the_group_as_not_the_therapist() -> None:
    assert indices(oracle.itp(speakers("ACT"))) == [1, 2]


# RPP


def test_rpp_label_and_context() -> None:
    annotation = sample(
        row(T, relation_cycle_state="attack_attack"),
        row("Ann", relation_pattern="repair_softening"),
        row(T, relation_cycle_state="", relation_pattern="repair_softening"),
        row(T, relation_cycle_state="pursue_withdraw", relation_pattern="repair_softening"),
        row(T, relation_cycle_state="unheard_of", relation_pattern="repair_softening"),
        row(T, relation_pattern="escalation_conflict"),
        row(T, relation_pattern=""),
    )
    found = oracle.rpp(annotation)
    assert [(each["row_index"], each["label"], each["context_rows"]) for each in found] == [
        (1, "attack_attack", None),
        (3, "repair_softening", (1, 2)),
        (4, "pursue_withdraw", (1, 3)),
    ]
    assert found[0]["candidates"] == [
        "pursue_withdraw",
        "attack_attack",
        "withdraw_withdraw",
        "repair_softening",
        "constructive_alignment",
        "mixed_transition",
    ]
    assert indices(oracle.rpp(annotation, rpp_any_row=True)) == [1, 2, 3, 4]
    assert [each["context_rows"] for each in oracle.rpp(annotation, include_current=True)] == [(1, 1), (1, 3), (1, 4)]
    assert [each["context_rows"] for each in oracle.rpp(annotation, context_size=1)] == [None, (2, 2), (3, 3)]


def test_rpp_family_labels() -> None:
    annotation = sample(
        row(T, relation_pattern="escalation_conflict"), row(T, relation_pattern="attack_attack"), scenario="family"
    )
    assert indices(oracle.rpp(annotation)) == [1]
    assert len(oracle.rpp(annotation)[0]["candidates"]) == 8


# STP


def test_stp_targets() -> None:
    annotation = sample(
        row(T, target=["Bob"], support_strategy=supports("Ann")),
        row(T, target=["Bob"], support_strategy=supports(T)),  # nobody left: the row's target
        row(T, target=["Bob"], support_strategy=supports(T, "Ann")),  # one left
        row(T, support_strategy=supports("Ann", "Bob")),  # several: the group
        row(T, target=[T, "Ann", "Bob"], support_strategy=supports()),
        row(T, target=[T], support_strategy=supports(T)),  # does not resolve
        row(T, target=["Ann"]),  # no strategy
        row(T, target=["Ann"], support_strategy=supports("Ann", kind="")),  # no type
        row("Ann", target=["Bob"], support_strategy=supports("Bob")),  # not the therapist's
        row(T, support_strategy=supports("Couple")),
    )
    found = oracle.stp(annotation)
    assert [(each["row_index"], each["target"]) for each in found] == [
        (1, "Ann"),
        (2, "Bob"),
        (3, "Ann"),
        (4, "Couple"),
        (5, "Couple"),
        (10, "Couple"),
    ]
    assert [each["context_rows"] for each in found] == [None, (1, 1), (1, 2), (1, 3), (2, 4), (7, 9)]


def test_stp_order_of_candidates() -> None:
    annotation = sample(
        row(T, target=["Couple"]),
        row("Carl", target=[T]),  # speaks, not listed
        row(T, target=["Bob"], support_strategy=supports("Ann")),
        row("Dora", target=["Ann"]),
        row(T, target=["Family", "Carl"], support_strategy=supports("Eve")),
        participants=("Zoe", "Ann", "Dora", "Bob"),
    )
    first, last = oracle.stp(annotation)
    assert first["candidates"] == ["Bob", "Ann", "Dora", "Zoe", "Couple", "Family", "Carl", "Eve"]
    assert last["candidates"] == first["candidates"]
    assert last["target"] == "Eve"
    from_rows = oracle.stp(annotation, participants_from_rows=True)[0]["candidates"]
    assert from_rows == ["Carl", "Bob", "Ann", "Dora", "Eve", "Couple", "Family"]


def test_stp_group_of_a_family() -> None:
    annotation = sample(row(T, support_strategy=supports("Ann", "Bob")), scenario="family")
    assert oracle.stp(annotation)[0]["target"] == "Family"
    assert oracle.stp(annotation)[0]["candidates"] == ["Ann", "Bob", "Family"]


# SSP


def test_ssp_strategy_and_recent_emotion() -> None:
    annotation = sample(
        row("Ann", internal_emotion=[feels("Ann", "hurt", 7), feels("Bob", "cold", 3)]),
        row("Bob", internal_emotion=[feels(T, "calm", 1)]),
        row(T, support_strategy=supports("Ann", kind="evoke")),
        row(T, support_strategy=supports("Bob", kind="boundary")),  # a family's
        row(T, support_strategy=supports("Ann", kind="join")),  # row 1 is out of the window
        row("Bob", internal_emotion=[feels("Bob", "", 2), feels("Bob", "shame", None)]),
        row(T, support_strategy=supports("Ann", "Bob", kind="reframe")),
    )
    found = oracle.ssp(annotation)
    assert [(each["row_index"], each["strategy"], each["support_target"]) for each in found] == [
        (3, "evoke", "Ann"),
        (5, "join", "Ann"),
        (7, "reframe", "Couple"),
    ]
    hurt = {"row_index": 1, "person": "Ann", "emotion": "hurt", "intensity": 7}
    shame = {"row_index": 6, "person": "Bob", "emotion": "shame", "intensity": None}
    assert [each["recent_emotion"] for each in found] == [hurt, None, shame]
    assert [each["recent_emotion"] for each in oracle.ssp(annotation, context_size=None)] == [hurt, hurt, shame]
    assert found[0]["candidates"][0] == "track"
    assert len(found[0]["candidates"]) == 10
    assert indices(oracle.stp(annotation)) == [3, 4, 5, 7]


def test_ssp_looks_at_the_first_item_only() -> None:
    annotation = sample(row(T, support_strategy=supports("Ann", kind="hug") + supports("Bob", kind="join")))
    assert oracle.ssp(annotation) == []
    assert [each["target"] for each in oracle.stp(annotation)] == ["Ann"]


# ER


def test_er_early_cut() -> None:
    # ceil(0.3 * 10) = 3 rows go; rows 4 to 10 are seven, of which 0, 2 (1.5), 3, 4 (4.5), 6 stay.
    annotation = sample(*(row("Ann", internal_emotion=[feels("Ann")]) for _ in range(10)))
    found = oracle.er(annotation)
    assert indices(found) == [4, 6, 7, 8, 10]
    assert [each["context_rows"] for each in found] == [(1, 3), (3, 5), (4, 6), (5, 7), (7, 9)]
    assert indices(oracle.er(annotation, max_per_sample=1)) == [4]
    assert indices(oracle.er(annotation, max_per_sample=None)) == [4, 5, 6, 7, 8, 9, 10]
    assert indices(oracle.er(annotation, early_cut=0)) == [1, 3, 5, 8, 10]  # 0, 2.25, 4.5, 6.75, 9 counted from 0
    assert indices(oracle.er(annotation, early_cut=1)) == [10]


def test_er_cuts_at_most_all_but_one() -> None:
    annotation = sample(row("Ann", internal_emotion=[feels("Ann")]))
    assert oracle.er(annotation) == [{"row_index": 1, "context_rows": None, "emotion": "sad", "intensity": 5}]
    assert oracle.er(sample()) == []


def test_er_candidates() -> None:
    annotation = sample(
        row("Ann", internal_emotion=[feels("Bob")]),
        row(T, internal_emotion=[feels(T)]),
        row("Couple", internal_emotion=[feels("Couple")]),
        row("Ann", internal_emotion=[feels("Ann")], dialogue_cleaned="I don't know, really."),  # four words
        row("Ann", internal_emotion=[feels("Ann")], dialogue_cleaned="I don\u2019t know, really."),  # five
        row("Ann", internal_emotion=[feels("Ann", intensity=None)]),
        row("Ann", internal_emotion=[feels("Ann", intensity=10.6)]),
        row("Ann", internal_emotion=[feels("Bob"), feels("Ann", "late", 11), feels("Ann", "tired", 10.4)]),
        row("Ann", internal_emotion=[feels("Ann", " ")]),
    )
    found = oracle.er(annotation, early_cut=0)
    assert [(each["row_index"], each["emotion"], each["intensity"]) for each in found] == [
        (5, "sad", 5),
        (8, "tired", 10.4),
    ]
    assert indices(oracle.er(annotation, early_cut=0, min_words=4)) == [4, 5, 8]


# VP


def test_vp_candidates() -> None:
    annotation = sample(
        row("Ann", viewpoints_attitudes=[thinks("Ann", "Bob"), thinks("Bob", "Ann"), thinks("Ann", T)]),
        row("Ann", viewpoints_attitudes=[thinks("Bob", "Ann")]),
        row("Ann", viewpoints_attitudes=[thinks("Ann", "")]),
        row("Ann", viewpoints_attitudes=[thinks("Ann", "Bob", "")]),
        row(T, viewpoints_attitudes=[thinks(T, "Bob")]),
        row("Bob", viewpoints_attitudes=[thinks("Bob", "Ann")], dialogue_cleaned="No."),
    )
    assert oracle.vp(annotation) == [
        {"row_index": 1, "context_rows": None, "viewpoints": [thinks("Ann", "Bob"), thinks("Ann", T)]},
        {"row_index": 6, "context_rows": (3, 5), "viewpoints": [thinks("Bob", "Ann")]},
    ]


def test_vp_is_thinned_without_early_cut() -> None:
    annotation = sample(*(row("Ann", viewpoints_attitudes=[thinks("Ann", "Bob")]) for _ in range(11)))
    assert indices(oracle.vp(annotation)) == [1, 3, 6, 9, 11]
    assert indices(oracle.vp(annotation, max_per_sample=1)) == [1]


# Counts


def test_counts_and_samples() -> None:
    family = sample(row("Ann", viewpoints_attitudes=[thinks("Ann", "Bob")]), scenario="family")
    annotations = [speakers("ABATBABT"), speakers("ABT"), speakers("T"), family]
    assert oracle.counts(annotations) == {
        "itp": {"couple": 6, "family": 0},
        "rpp": {"couple": 0, "family": 0},
        "stp": {"couple": 0, "family": 0},
        "ssp": {"couple": 0, "family": 0},
        "er": {"couple": 0, "family": 0},
        "vp": {"couple": 0, "family": 1},
    }
    assert oracle.samples(annotations)["itp"] == {"couple": 2, "family": 0}
    assert oracle.samples(annotations)["vp"] == {"couple": 0, "family": 1}


def test_row_index_is_the_rows_own() -> None:
    annotation = speakers("ABT")
    for each in annotation["rows"]:
        each["row_index"] += 10
    assert [(each["row_index"], each["context_rows"]) for each in oracle.itp(annotation)] == [
        (11, (11, 11)),
        (12, (11, 12)),
    ]


def test_absent_lists_are_empty() -> None:
    annotation = sample({"primary_speaker": "Ann", "dialogue_cleaned": None}, {"primary_speaker": T, "target": None})
    assert [build(annotation) for build in oracle.TASKS.values()] == [[], [], [], [], [], []]
