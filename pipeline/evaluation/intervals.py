"""How sure a figure is: intervals and comparisons that resample groups of people, not rows.

The rows of one couple or family resemble each other, so that rows are no independent trials; groups are. Everything is
seeded: the same outcomes give the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.evaluation.metrics import Floats, Metric

__all__ = ["FEW_GROUPS", "Comparison", "Interval", "bootstrap", "holm", "sign_flip"]

FEW_GROUPS = 6
"""With so few groups, or fewer, an interval says little."""
_EXHAUSTIVE = 14
"""Up to so many groups every way of flipping is tried."""
_AT_ONCE = 2_000
"""Draws in memory at a time."""

Names: TypeAlias = Sequence[str]


@dataclass(frozen=True)
class Interval:
    """A percentile interval."""

    low: float
    high: float
    groups: int
    draws: int
    """Draws in which there was something to measure."""

    @property
    def few_groups(self) -> bool:
        """Whether the interval rests on too few groups to be trusted."""
        return self.groups <= FEW_GROUPS


@dataclass(frozen=True)
class Comparison:
    """Two models on the same instances."""

    difference: float
    """First minus second."""
    p: float
    """Two-sided, not corrected."""
    instances: int
    groups: int

    @property
    def few_groups(self) -> bool:
        """Whether there are too few groups: with 6 of them no p is below 0.031."""
        return self.groups <= FEW_GROUPS


def bootstrap(
    metric: Metric, groups: Names, *, draws: int = 10_000, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """The percentile interval of a metric under resampling of groups (cluster bootstrap, Davison & Hinkley 1997, 3.8).

    Args:
        metric: The metric.
        groups: The group of each instance.
        draws: How often to resample.
        level: The part of the draws that lies inside.
        seed: Of the draws.

    Returns:
        None where there is nothing to measure, or only one group.
    """
    sums = _by_group(metric.parts[metric.counted], np.asarray(groups)[metric.counted])
    number = len(sums)
    if number < 2:
        return None
    random = np.random.default_rng(seed)
    values = []
    for start in range(0, draws, _AT_ONCE):
        weights = random.multinomial(number, np.full(number, 1 / number), size=min(_AT_ONCE, draws - start))
        values.append(metric.formula(weights @ sums))
    found = np.concatenate(values)
    found = found[~np.isnan(found)]
    if not len(found):
        return None
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), number, len(found))


def sign_flip(first: Metric, second: Metric, groups: Names, *, draws: int = 10_000, seed: int = 0) -> Comparison | None:
    """Whether two models differ: a paired permutation test over groups.

    If they did not differ, it would not matter which of the two gave the answers of a group; so the answers of whole
    groups change sides, at random or, with few groups, in every way there is. For a mean this is the sign-flip test on
    the differences of the groups. Instances that do not count in both are left out.

    Args:
        first: The metric of one model.
        second: The same metric of the other, over the same instances in the same order.
        groups: The group of each instance.
        draws: How often to flip, where not every way is tried.
        seed: Of the draws.

    Returns:
        None where there is nothing to compare.

    Raises:
        ValueError: If the two are not over equally many instances.
    """
    if first.name != second.name or first.parts.shape != second.parts.shape:
        msg = "the two metrics are not the same over the same instances"
        raise ValueError(msg)
    both = first.counted & second.counted
    names = np.asarray(groups)[both]
    one, other = _by_group(first.parts[both], names), _by_group(second.parts[both], names)
    if not len(one):
        return None

    def difference(left: Floats, right: Floats) -> Floats:
        return first.formula(left) - first.formula(right)

    observed = float(difference(one.sum(axis=0), other.sum(axis=0)))
    if np.isnan(observed):
        return None
    flips, exact = _flips(len(one), draws, seed)
    change = other - one
    moved = flips @ change
    found = np.abs(difference(one.sum(axis=0) + moved, other.sum(axis=0) - moved))
    # Rounding must not decide whether a draw is as far out as what was seen.
    extreme = int((~(found < abs(observed) - 1e-12)).sum())
    p = extreme / len(flips) if exact else (extreme + 1) / (len(flips) + 1)
    return Comparison(observed, p, int(both.sum()), len(one))


def holm(values: Sequence[float]) -> list[float]:
    """P values corrected for their number, step down (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected


def _by_group(parts: Floats, groups: npt.NDArray[np.str_]) -> Floats:
    """Shape (groups, parts), groups in order of name, so that the order of rows does not matter."""
    names, place = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), parts.shape[1]))
    np.add.at(sums, place, parts)
    return sums


def _flips(number: int, draws: int, seed: int) -> tuple[Floats, bool]:
    """Which groups change sides, one line a draw, and whether that is every way there is."""
    if number <= _EXHAUSTIVE:
        ways = np.arange(2**number)[:, None] >> np.arange(number)
        return (ways & 1).astype(float), True
    return np.random.default_rng(seed).integers(0, 2, size=(draws, number)).astype(float), False
