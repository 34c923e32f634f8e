"""The metrics of the six tasks, as pure functions over the outcomes table.

A metric is kept as additive parts, one line an instance, with the formula that turns their sums into the figure. So the
whole, a scenario, a group of people, a label, a tenth of the dialogue and a bootstrap draw are all computed by the same
few lines.

Rules that hold for all of them:

- ``invalid`` counts as wrong. ITP: as the opposite of the gold; rankings: as nothing ranked; ER: judge 1, intensity
  match 1; VP: judge 0; BERTScore 0.
- ``failed`` counts nowhere and makes the figure incomplete; so does an answer that no judge could be read on.
- Labels come from the scenario's set, never from the data at hand. A label that is neither gold nor predicted is left
  out of macro F1; a prediction outside the set is an error of the gold label, not a label.
- Where there is nothing to measure the value is None, not 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.annotation.labels import label_set
from pipeline.conversation import Scenario
from pipeline.errors import InputError
from pipeline.evaluation.judge import JUDGED, on_five
from pipeline.evaluation.outcomes import Status

__all__ = [
    "NOT_A_LABEL",
    "Coverage",
    "Metric",
    "confusion",
    "coverage",
    "labels_of",
    "metrics",
    "outcome_rows",
    "slices",
]

Row: TypeAlias = Mapping[str, Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Formula: TypeAlias = Callable[[Floats], Floats]

NOT_A_LABEL = "(no valid label)"
"""The column of a confusion matrix for invalid answers and labels outside the set."""


@dataclass(frozen=True)
class Metric:
    """A metric over some instances."""

    name: str
    parts: Floats
    """Shape (instances, parts): what each instance adds to the sums."""
    counted: npt.NDArray[np.bool_]
    """Shape (instances,): whether the instance counts. The parts of one that does not are 0."""
    formula: Formula
    """From sums of shape (..., parts) to values of shape (...), NaN where there is nothing to measure."""

    @property
    def value(self) -> float | None:
        """The figure; None where there is nothing to measure."""
        found = float(self.formula(self.parts.sum(axis=0)))
        return None if np.isnan(found) else found

    @property
    def missing(self) -> int:
        """Instances that should count and do not; the figure is complete only if there are none."""
        return int((~self.counted).sum())

    def of(self, chosen: npt.NDArray[np.bool_]) -> Metric:
        """The same over some of the instances only."""
        return Metric(self.name, self.parts[chosen], self.counted[chosen], self.formula)


@dataclass(frozen=True)
class Coverage:
    """What came of the instances of a run: ``expected == scored + invalid + failed``."""

    expected: int
    scored: int
    invalid: int
    failed: int
    judgements: int = 0
    """Judgements made, on ER and VP."""
    unreadable: int = 0
    """Of these, such as have no score."""

    @property
    def complete(self) -> bool:
        """Whether every instance has an answer, right or wrong."""
        return self.failed == 0


def outcome_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of the outcomes of one run, checked.

    Raises:
        InputError: If the table mixes runs, says an instance twice, or names an unknown status.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for name in ("model", "mode"):
        if len({row[name] for row in rows}) > 1:
            msg = f"the outcomes are of more than one {name}"
            raise InputError(msg, hint="measure one run at a time")
    repeated = [name for name, count in Counter(row["instance_id"] for row in rows).items() if count > 1]
    if repeated:
        msg = f"instance {repeated[0]} is there twice"
        raise InputError(msg, hint="run `rescue eval` again, it writes each instance once")
    for row in rows:
        if row["status"] not in set(Status):
            msg = f"unknown status {row['status']!r}"
            raise InputError(msg, conversation=row["conversation_id"], place=f"instance {row['instance_id']}")
    return rows


def coverage(rows: Iterable[Row]) -> Coverage:
    """Count what came of instances."""
    listed = list(rows)
    found = Counter(Status(row["status"]) for row in listed)
    scores = [one["score"] for row in listed for one in row["judgements"] or ()]
    return Coverage(
        expected=len(listed),
        scored=found[Status.SCORED],
        invalid=found[Status.INVALID],
        failed=found[Status.FAILED],
        judgements=len(scores),
        unreadable=sum(score is None for score in scores),
    )


def metrics(rows: Sequence[Row], bertscore: Mapping[str, Mapping[str, float]] | None = None) -> list[Metric]:
    """The metrics of the rows of one task, in the order of the published table.

    Args:
        rows: Outcomes of one task.
        bertscore: Name with backbone and layer to instance id to F1, as `pipeline.evaluation.bertscore` gives it.

    Raises:
        ValueError: If the rows are of several tasks.
    """
    tasks = {row["task"] for row in rows}
    if len(tasks) > 1:
        msg = f"rows of several tasks: {', '.join(sorted(tasks))}"
        raise ValueError(msg)
    if not tasks:
        return []
    task = tasks.pop()
    found = _TASKS[task](rows)
    if task in JUDGED:
        for name, values in (bertscore or {}).items():
            found.append(_mean(name, rows, partial(_looked_up, values), invalid=0.0))
    return found


def labels_of(task: str, scenario: str) -> tuple[str, ...]:
    """The full label set of a task in a scenario; empty where a task has none of its own."""
    if task == "itp":
        return ("yes", "no")
    known = label_set(Scenario(scenario))
    if task in ("rpp", "ssp"):
        return tuple(label.label for label in (known.relation_patterns if task == "rpp" else known.support_strategies))
    return ()


def confusion(rows: Sequence[Row], labels: Sequence[str]) -> list[list[int]]:
    """Counts of gold label (rows) by first answer (columns), over the full set; the last column is `NOT_A_LABEL`.

    Args:
        rows: Outcomes of ITP, RPP or SSP of one scenario. Failed ones are left out.
        labels: The full label set.
    """
    from sklearn.metrics import confusion_matrix  # noqa: PLC0415 - an extra, takes a second to load

    counted = [row for row in rows if row["status"] != Status.FAILED]
    if not counted:
        return [[0] * (len(labels) + 1) for _ in labels]
    gold = [row["gold_label"] for row in counted]
    first = [_first(row) if _first(row) in labels else NOT_A_LABEL for row in counted]
    matrix: list[list[int]] = confusion_matrix(gold, first, labels=[*labels, NOT_A_LABEL]).tolist()
    return matrix[:-1]


def slices(rows: Sequence[Row]) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
    """Kind and name of a slice to which rows are in it: scenario, group, label and tenth of the dialogue.

    The labels of STP are names of people: there the slices are one person, and the group as a whole.
    """
    found: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}
    for number, row in enumerate(rows):
        for kind, name in _slices_of(row):
            found.setdefault((kind, name), np.zeros(len(rows), dtype=bool))[number] = True
    return dict(sorted(found.items()))


def _slices_of(row: Row) -> list[tuple[str, str]]:
    found = [("scenario", row["scenario"]), ("group", row["group_id"]), ("tenth", str(row["tenth"]))]
    if row["task"] in ("itp", "rpp", "ssp"):
        found.append(("label", row["gold_label"]))
    elif row["task"] == "stp":
        found.append(("label", "the group" if row["gold_label"] in ("Couple", "Family") else "one person"))
    return found


# --- formulas -------------------------------------------------------------------------------------------------------


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


def _mean_of(sums: Floats) -> Floats:
    return _ratio(sums[..., 0], sums[..., 1])


def _precision(sums: Floats) -> Floats:
    """Of true positives, false positives and false negatives; 0 where nothing is predicted but something is true."""
    true, extra, lost = (sums[..., part] for part in range(3))
    return np.where((true + extra == 0) & (lost > 0), 0.0, _ratio(true, true + extra))


def _recall(sums: Floats) -> Floats:
    true, lost = sums[..., 0], sums[..., 2]
    return _ratio(true, true + lost)


def _f1(sums: Floats) -> Floats:
    true, extra, lost = (sums[..., part] for part in range(3))
    return _ratio(2 * true, 2 * true + extra + lost)


def _macro_f1(sums: Floats) -> Floats:
    """The mean of F1 over the labels that are gold or predicted; sums are (labels x 3)."""
    each = _f1(sums.reshape(*sums.shape[:-1], -1, 3))
    there = ~np.isnan(each)
    return _ratio(np.where(there, each, 0.0).sum(axis=-1), there.sum(axis=-1).astype(float))


# --- tasks ----------------------------------------------------------------------------------------------------------


def _looked_up(values: Mapping[str, float], row: Row) -> float:
    return values[row["instance_id"]]


def _first(row: Row) -> str | None:
    return row["answer_ranking"][0] if row["status"] == Status.SCORED and row["answer_ranking"] else None


def _rank(row: Row) -> int | None:
    """From 1, among the first three."""
    ranking = (row["answer_ranking"] or [])[:3]
    return ranking.index(row["gold_label"]) + 1 if row["gold_label"] in ranking else None


def _answered(rows: Sequence[Row]) -> npt.NDArray[np.bool_]:
    return np.array([row["status"] != Status.FAILED for row in rows], dtype=bool)


def _mean(name: str, rows: Sequence[Row], value: Callable[[Row], float | None], *, invalid: float) -> Metric:
    """The mean of a value of each instance; None leaves the instance out."""
    values = [
        None if row["status"] == Status.FAILED else invalid if row["status"] == Status.INVALID else value(row)
        for row in rows
    ]
    counted = np.array([one is not None for one in values], dtype=bool)
    parts = np.array([(one, 1.0) if one is not None else (0.0, 0.0) for one in values], dtype=float).reshape(-1, 2)
    return Metric(name, parts, counted, _mean_of)


def _timing(rows: Sequence[Row]) -> list[Metric]:
    opposite = {"yes": "no", "no": "yes"}
    pairs = [(row["gold_label"], _first(row) or opposite[row["gold_label"]]) for row in rows]
    kinds = [("yes", "yes"), ("no", "yes"), ("yes", "no")]
    counted = _answered(rows)
    parts = np.array([[pair == kind for kind in kinds] for pair in pairs], dtype=float).reshape(-1, 3)
    parts[~counted] = 0
    formulas: dict[str, Formula] = {"precision": _precision, "recall": _recall, "f1": _f1}
    found = [Metric(name, parts, counted, formula) for name, formula in formulas.items()]
    return [*found, _mean("accuracy", rows, lambda row: float(_first(row) == row["gold_label"]), invalid=0.0)]


def _labelled(rows: Sequence[Row]) -> Metric:
    """Macro F1 over the union of the label sets of the scenarios in the rows."""
    scenarios = dict.fromkeys(row["scenario"] for row in rows)
    labels = list(dict.fromkeys(name for scenario in scenarios for name in labels_of(rows[0]["task"], scenario)))
    place = {label: 3 * number for number, label in enumerate(labels)}
    counted = _answered(rows)
    parts = np.zeros((len(rows), 3 * len(labels)))
    for row, line, there in zip(rows, parts, counted, strict=True):
        gold, answer = row["gold_label"], _first(row)
        if gold not in place:
            msg = f"the gold label {gold!r} is not in the label set"
            raise InputError(msg, conversation=row["conversation_id"], place=f"instance {row['instance_id']}")
        if not there:
            continue
        if gold == answer:
            line[place[gold]] = 1
        else:
            line[place[gold] + 2] = 1
            if answer in place:
                line[place[answer] + 1] = 1
    return Metric("macro_f1", parts, counted, _macro_f1)


def _patterns(rows: Sequence[Row]) -> list[Metric]:
    return [
        _mean("accuracy", rows, lambda row: float(_rank(row) == 1), invalid=0.0),
        _labelled(rows),
        _mean("mrr", rows, lambda row: 1 / (_rank(row) or np.inf), invalid=0.0),
    ]


def _ranked(rows: Sequence[Row]) -> list[Metric]:
    def within(places: int) -> Callable[[Row], float]:
        return lambda row: float((_rank(row) or places + 1) <= places)

    found = [_mean(f"recall@{places}", rows, within(places), invalid=0.0) for places in (1, 2, 3)]
    found.insert(1, _mean("mrr", rows, lambda row: 1 / (_rank(row) or np.inf), invalid=0.0))
    return found


def _strategies(rows: Sequence[Row]) -> list[Metric]:
    return [*_ranked(rows), _labelled(rows)]


def _match(row: Row) -> float:
    off: float = abs(row["answer_intensity"] - row["gold_intensity"])
    return max(1.0, 5.0 - off)


def _panel(rows: Sequence[Row]) -> frozenset[str]:
    """The judges that judged anything here: what an answer needs to have a score."""
    return frozenset(one["judge"] for row in rows for one in row["judgements"] or ())


def _judged(row: Row, panel: frozenset[str], part: str = "score") -> float | None:
    """The mean over judges of the mean over their repeats; None unless each judge gave a score.

    Without the strict one of two judges an answer would look better than those that both saw.
    """
    given = [one for one in row["judgements"] or () if one[part] is not None]
    if {one["judge"] for one in given} != panel:
        return None
    by_judge: dict[str, list[float]] = {}
    for one in given:
        by_judge.setdefault(one["judge"], []).append(one[part])
    return fmean(fmean(values) for values in by_judge.values()) if by_judge else None


def _emotions(rows: Sequence[Row]) -> list[Metric]:
    panel = _panel(rows)

    def judge(row: Row) -> float | None:
        return _judged(row, panel)

    def both(row: Row) -> float | None:
        judged = judge(row)
        return None if judged is None else (judged + _match(row)) / 2

    found = [_mean("intensity_match", rows, _match, invalid=1.0)]
    if any(row["judgements"] for row in rows):
        found = [_mean("judge", rows, judge, invalid=1.0), *found, _mean("er_score", rows, both, invalid=1.0)]
    return found


def _viewpoints(rows: Sequence[Row]) -> list[Metric]:
    if not any(row["judgements"] for row in rows):
        return []

    panel = _panel(rows)

    def total_of(row: Row) -> float | None:
        return _judged(row, panel)

    def five(row: Row) -> float | None:
        total = total_of(row)
        return None if total is None else on_five(total)

    def part(name: str) -> Callable[[Row], float | None]:
        return lambda row: _judged(row, panel, name)

    return [
        _mean("judge", rows, five, invalid=1.0),
        _mean("judge_total", rows, total_of, invalid=0.0),
        _mean("judge_pairing", rows, part("pairing"), invalid=0.0),
        _mean("judge_viewpoint", rows, part("viewpoint"), invalid=0.0),
    ]


_TASKS: Mapping[str, Callable[[Sequence[Row]], list[Metric]]] = {
    "itp": _timing,
    "rpp": _patterns,
    "stp": _ranked,
    "ssp": _strategies,
    "er": _emotions,
    "vp": _viewpoints,
}
