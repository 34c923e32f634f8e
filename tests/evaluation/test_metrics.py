"""Metrics equal independent ones, and follow the rules on what is invalid, failed, absent or invented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from pipeline.errors import InputError
from pipeline.evaluation.metrics import NOT_A_LABEL, confusion, coverage, labels_of, metrics, outcome_rows, slices
from tests.evaluation.made import judgement, outcome, outcomes, table


def values(rows: Sequence[dict[str, Any]], **bert: Any) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in metrics(rows, **bert)}


def of_task(task: str, seed: int = 0, scenario: str | None = None) -> list[dict[str, Any]]:
    found = [row for row in outcomes(seed, each=300) if row["task"] == task]
    return [row for row in found if scenario in (None, row["scenario"])]


def firsts(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["answer_ranking"][0] if row["answer_ranking"] else NOT_A_LABEL for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_timing_equals_scikit_learn(seed: int) -> None:
    rows = of_task("itp", seed)
    gold = [row["gold_label"] for row in rows]
    opposite = {"yes": "no", "no": "yes"}
    answers = [one if one in opposite else opposite[right] for one, right in zip(firsts(rows), gold, strict=True)]
    expected = precision_recall_fscore_support(gold, answers, pos_label="yes", average="binary")[:3]
    found = values(rows)
    assert [found[name] for name in ("precision", "recall", "f1")] == pytest.approx(expected, abs=1e-12)
    assert found["accuracy"] == pytest.approx(accuracy_score(gold, answers))
    assert any(row["status"] == "invalid" and row["gold_label"] == "no" for row in rows)


@pytest.mark.parametrize("task", ["rpp", "ssp"])
@pytest.mark.parametrize("scenario", ["couple", "family"])
def test_labels_equal_scikit_learn(task: str, scenario: str) -> None:
    rows = of_task(task, scenario=scenario)
    labels = list(labels_of(task, scenario))
    gold, answers = [row["gold_label"] for row in rows], firsts(rows)
    found = values(rows)
    assert found["macro_f1"] == pytest.approx(
        f1_score(gold, answers, labels=labels, average="macro", zero_division=np.nan)
    )
    assert found["accuracy" if task == "rpp" else "recall@1"] == pytest.approx(accuracy_score(gold, answers))
    assert confusion(rows, labels) == confusion_matrix(gold, answers, labels=[*labels, NOT_A_LABEL])[:-1].tolist()


def test_macro_f1_over_both_scenarios_is_over_the_union_of_their_labels() -> None:
    rows = of_task("rpp")
    labels = list(dict.fromkeys((*labels_of("rpp", "couple"), *labels_of("rpp", "family"))))
    gold = [row["gold_label"] for row in rows]
    expected = f1_score(gold, firsts(rows), labels=labels, average="macro", zero_division=np.nan)
    assert values(rows)["macro_f1"] == pytest.approx(expected)


def pattern(gold: str, answer: str, number: int) -> dict[str, Any]:
    return outcome("rpp", number, gold_label=gold, answer_ranking=[answer])


def test_labels_that_are_absent_or_invented() -> None:
    four = labels_of("rpp", "couple")[:4]
    right = [pattern(label, label, number) for number, label in enumerate(four)]
    assert values(right)["macro_f1"] == 1.0
    invented = [*right, pattern(four[0], "avoid_avoid", 9)]
    # F1 of the first label is 2/3, the other three stay at 1; the invented one is no fifth label.
    assert values(invented)["macro_f1"] == pytest.approx((2 / 3 + 3) / 4)
    assert confusion(invented, labels_of("rpp", "couple"))[0] == [1, 0, 0, 0, 0, 0, 1]
    assert metrics([]) == []
    failed = [row | {"status": "failed", "answer_ranking": None} for row in right]
    assert set(values(failed).values()) == {None}


def test_a_gold_label_outside_the_set_is_an_error() -> None:
    with pytest.raises(InputError, match="label set"):
        metrics([pattern("no_such_label", "pursue_withdraw", 0)])


def test_rankings_worked_by_hand() -> None:
    rankings = [["A", "B", "C"], ["B", "A"], ["B", "C", "A"], ["B", "C"], ["B", "C", "D", "A"], ["A", "A", "B"]]
    rows = [outcome("stp", number, gold_label="A", answer_ranking=one) for number, one in enumerate(rankings)]
    rows.append(outcome("stp", 6, gold_label="A", status="invalid", reason="refused"))
    rows.append(outcome("stp", 7, gold_label="A", status="failed", reason="timeout"))
    # Ranks 1, 2, 3, none, none (fourth place), 1, and 0 for the invalid one, over 7: the failed one does not count.
    assert values(rows) == pytest.approx(
        {"recall@1": 2 / 7, "mrr": (1 + 1 / 2 + 1 / 3 + 1) / 7, "recall@2": 3 / 7, "recall@3": 4 / 7}
    )
    assert {metric.missing for metric in metrics(rows)} == {1}


@pytest.mark.parametrize(
    ("gold", "answer", "match"), [(7, 7, 5), (7, 6, 4), (7, 9, 3), (7, 3, 1), (0, 10, 1), (5, 6.5, 3.5)]
)
def test_intensity_match_worked_by_hand(gold: float, answer: float, match: float) -> None:
    row = outcome("er", gold_label="sad", gold_intensity=gold, answer_emotion="sad", answer_intensity=answer)
    assert values([row])["intensity_match"] == match


def test_emotions_and_viewpoints_worked_by_hand() -> None:
    same = {"gold_label": "sad", "gold_intensity": 5.0, "answer_emotion": "low", "answer_intensity": 6.0}
    # Judges a (4, 2: mean 3) and b (5): 4. One judgement without a score counts nowhere.
    judged = [judgement(4), judgement(2, repeat=1), judgement(5, "judge/b"), judgement(None, "judge/b", 1)]
    rows = [
        outcome("er", 0, **same, judgements=judged),
        outcome("er", 1, **same | {"answer_emotion": None, "answer_intensity": None}, status="invalid"),
        outcome("er", 2, **same, judgements=[judgement(None)]),
    ]
    key = "bertscore_f1[made/L1]"
    found = values(rows, bertscore={key: {"er-0000": 0.5, "er-0002": 0.25}})
    assert found == pytest.approx({"judge": 2.5, "intensity_match": 3.0, "er_score": (4 + 4) / 2 / 2 + 0.5, key: 0.25})
    missing = {metric.name: metric.missing for metric in metrics(rows)}
    assert missing == {"judge": 1, "intensity_match": 0, "er_score": 1}
    view = [{"source": "A", "target": "B", "viewpoint": "x", "attitude": None}]
    parts = judgement(3.0, pairing=1.0, viewpoint=2.0)
    views = [outcome("vp", 0, gold_viewpoints=view, answer_viewpoints=view, judgements=[parts])]
    assert values(views) == pytest.approx(
        {"judge": 3.0, "judge_total": 3.0, "judge_pairing": 1.0, "judge_viewpoint": 2.0}
    )
    assert values([row | {"judgements": None} for row in views]) == {}


def test_an_answer_that_one_of_two_judges_missed_has_no_score() -> None:
    kind, strict = judgement(5, "judge/kind"), judgement(1, "judge/strict")
    same = {"gold_label": "sad", "gold_intensity": 5.0, "answer_emotion": "low", "answer_intensity": 5.0}
    rows = [outcome("er", 0, **same, judgements=[kind, strict]), outcome("er", 1, **same, judgements=[kind])]
    (judge,) = [metric for metric in metrics(rows) if metric.name == "judge"]
    assert (judge.value, judge.missing) == (3.0, 1)


def test_coverage_sums_match() -> None:
    rows = [row for row in outcomes(3) if row["task"] == "er"]
    rows[0] |= {"status": "failed", "judgements": None}
    rows[1] |= {"status": "scored", "judgements": [judgement(None)]}
    found = coverage(rows)
    assert found.expected == len(rows) == found.scored + found.invalid + found.failed
    assert (found.failed, found.unreadable, found.complete) == (1, 1, False)


def test_slices_cover_every_row_once_a_kind() -> None:
    rows = of_task("rpp")
    found = slices(rows)
    for kind in ("scenario", "group", "tenth", "label"):
        masks = [mask for (one, _), mask in found.items() if one == kind]
        assert (np.sum(masks, axis=0) == 1).all()
    metric = metrics(rows)[0]
    for (kind, name), mask in found.items():
        if kind == "scenario":
            assert metric.of(mask).value == values(of_task("rpp", scenario=name))["accuracy"]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = of_task("ssp")
    assert values(rows[::-1]) == pytest.approx(values(rows))


def test_bad_tables_are_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        outcome_rows(table([outcome("itp"), outcome("itp")]))
    with pytest.raises(InputError, match="more than one model"):
        outcome_rows(table([outcome("itp"), outcome("itp", 1, model="other/model")]))
    with pytest.raises(InputError, match="unknown status"):
        outcome_rows(table([outcome("itp", status="fine")]))
    with pytest.raises(ValueError, match="several tasks"):
        metrics([outcome("itp"), outcome("rpp")])
