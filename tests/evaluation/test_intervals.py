"""Intervals and comparisons equal scipy's within Monte Carlo error, and go by groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pipeline.evaluation.intervals import bootstrap, holm, sign_flip
from pipeline.evaluation.metrics import Metric, metrics
from tests.evaluation.made import outcome, outcomes


def mean_metric(values: list[float]) -> Metric:
    """A mean of values: intensity match, with values from 1 to 5."""
    rows = [
        outcome("er", number, gold_label="x", gold_intensity=0.0, answer_emotion="x", answer_intensity=5 - value)
        for number, value in enumerate(values)
    ]
    return next(metric for metric in metrics(rows) if metric.name == "intensity_match")


@pytest.fixture(scope="module")
def values() -> list[float]:
    return np.random.default_rng(1).uniform(1, 5, size=80).tolist()


def test_with_one_row_a_group_it_is_the_plain_bootstrap(values: list[float]) -> None:
    found = bootstrap(mean_metric(values), [str(number) for number in range(80)])
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.03)


def test_rows_of_a_group_stay_together(values: list[float]) -> None:
    repeated = [value for value in values for _ in range(5)]
    groups = [str(number // 5) for number in range(400)]
    single = bootstrap(mean_metric(values), [str(number) for number in range(80)])
    clustered = bootstrap(mean_metric(repeated), groups)
    assert single is not None
    assert clustered is not None
    # Five copies of a row tell nothing new: the interval must not shrink.
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high), abs=0.03)
    assert clustered.groups == 80


def test_an_interval_of_f1_is_that_of_scipy_on_rows() -> None:
    rows = [row for row in outcomes(each=150) if row["task"] == "itp"]
    f1 = next(metric for metric in metrics(rows) if metric.name == "f1")
    found = bootstrap(f1, [row["instance_id"] for row in rows])
    parts = f1.parts

    def statistic(true: np.ndarray, extra: np.ndarray, lost: np.ndarray, axis: int = -1) -> np.ndarray:
        return 2 * true.sum(axis) / (2 * true.sum(axis) + extra.sum(axis) + lost.sum(axis))

    expected = stats.bootstrap(
        tuple(parts.T), statistic, paired=True, n_resamples=5_000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.015)


def test_seeded_and_few_groups(values: list[float]) -> None:
    metric = mean_metric(values)
    groups = [str(number % 6) for number in range(80)]
    first, again, other = (bootstrap(metric, groups, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    assert first is not None
    assert first.few_groups
    assert bootstrap(metric, ["one"] * 80) is None


@pytest.mark.parametrize("number", [10, 40])
def test_sign_flip_equals_scipy_on_groups(number: int) -> None:
    random = np.random.default_rng(number)
    one = random.uniform(1, 5, size=number)
    two = np.clip(one + random.normal(-0.3, 0.8, size=number), 1, 5)
    found = sign_flip(mean_metric(one.tolist()), mean_metric(two.tolist()), [str(n) for n in range(number)])
    expected = stats.permutation_test(
        (one - two,), np.mean, permutation_type="samples", n_resamples=10_000, rng=np.random.default_rng(5)
    )
    assert found is not None
    assert found.difference == pytest.approx(float(np.mean(one - two)))
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9 if number == 10 else 0.015)


def test_equal_models_do_not_differ_and_failed_instances_are_left_out() -> None:
    rows = [row for row in outcomes() if row["task"] == "itp"]
    worse = [row | {"status": "failed"} if number < 5 else row for number, row in enumerate(rows)]
    f1, other = metrics(rows)[2], metrics(worse)[2]
    found = sign_flip(f1, other, [row["group_id"] for row in rows])
    assert found is not None
    assert (found.difference, found.p, found.instances) == (0.0, 1.0, len(rows) - 5)


def test_holm_worked_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
