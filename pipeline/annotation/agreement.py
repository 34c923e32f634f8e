"""How far annotators agree, field by field, and where they set the borders of rows.

- Labels and names: Krippendorff's alpha, nominal; for each pair of annotators Cohen's kappa.
- Strengths and times: alpha, interval.
- Sets of names: alpha with the MASI distance (Passonneau, 2006), which gives part credit to overlapping sets.
- Borders: WindowDiff (Pevzner and Hearst, 2002) on a grid of a tenth of a second, mean over pairs; 0 is perfect.

Krippendorff, Content Analysis (2004), chapter 11. Values come from krippendorff, NLTK and scikit-learn. A stretch in
which nobody filled a field in is no unit of that field; where one did and another did not, that is a disagreement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

from pipeline.annotation.model import Annotation, Row
from pipeline.annotation.versions import Unit
from pipeline.errors import PrerequisiteError
from pipeline.store import Json
from pipeline.times import Seconds

__all__ = ["FIELDS", "FieldAgreement", "agreement", "values_of", "window_diff"]

Kind = Literal["nominal", "interval", "set"]
Value = str | float | Sequence[str] | None
Ratings = Sequence[Mapping[str, Value]]
"""One mapping a unit: author to value."""

_NONE = "(none)"
_STEP: Seconds = 0.1


def _own_intensity(row: Row) -> float | None:
    return next((felt.intensity for felt in row.internal_emotion if felt.person == row.primary_speaker), None)


def _strategy(row: Row) -> str | None:
    return row.support_strategy[0].strategy_type if row.support_strategy else None


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


FIELDS: Mapping[str, tuple[Kind, Callable[[Row], Value]]] = {
    "primary_speaker": ("nominal", lambda row: row.primary_speaker),
    "utterance_type": ("nominal", lambda row: row.utterance_type or None),
    "relation_label": ("nominal", lambda row: row.relation_label),
    "support_strategy": ("nominal", _strategy),
    "intensity": ("interval", _own_intensity),
    "start_time": ("interval", lambda row: row.start_time),
    "end_time": ("interval", lambda row: row.end_time),
    "target": ("set", lambda row: _names(row.target)),
    "emotion_persons": ("set", lambda row: _names([felt.person for felt in row.internal_emotion])),
    "viewpoint_pairs": (
        "set",
        lambda row: _names([f"{view.source} > {view.target}" for view in row.viewpoints_attitudes]),
    ),
}
"""Field to its kind of value and how it is taken from a row."""


@dataclass(frozen=True)
class FieldAgreement:
    """Agreement on one field."""

    field: str
    kind: Kind
    units: int
    """Stretches that at least two annotators rated, one of them with a value."""
    alpha: float | None
    """Krippendorff's alpha; None where it is not defined: too few units, or one and the same value everywhere."""
    same: float | None
    """Share of units in which all who rated it gave the same value."""
    kappa: Mapping[str, float | None]
    """Cohen's kappa by pair of authors, for labels and names."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return asdict(self)


def values_of(units: Sequence[Unit]) -> dict[str, list[dict[str, Value]]]:
    """Field to its ratings: what `agreement` works on, and what pools over conversations by joining the lists."""
    return {
        field: [{author: value(row) for author, row in unit.items()} for unit in units if len(unit) > 1]
        for field, (_, value) in FIELDS.items()
    }


def agreement(values: Mapping[str, Ratings]) -> list[FieldAgreement]:
    """Agreement on every field.

    Raises:
        PrerequisiteError: If krippendorff, NLTK or scikit-learn is missing.
    """
    try:
        return [_field(field, kind, values.get(field, ())) for field, (kind, _) in FIELDS.items()]
    except ImportError as error:
        msg = f"agreement statistics are not installed: {error}"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[publish]'") from error


def _field(field: str, kind: Kind, ratings: Ratings) -> FieldAgreement:
    rated = [
        dict(unit) for unit in ratings if any(value is not None and value not in ((), []) for value in unit.values())
    ]
    if kind == "interval":  # a missing number has no distance: that unit counts for those who gave one
        rated = [{author: value for author, value in unit.items() if value is not None} for unit in rated]
        rated = [unit for unit in rated if len(unit) > 1]
    distinct = {_label(value) for unit in rated for value in unit.values()}
    alpha = None if len(distinct) < 2 else _interval(rated) if kind == "interval" else _labels(rated, kind)
    same = sum(len({_label(value) for value in unit.values()}) == 1 for unit in rated) / len(rated) if rated else None
    kappa = _kappa(rated) if kind == "nominal" else {}
    return FieldAgreement(field, kind, len(rated), _rounded(alpha), _rounded(same), kappa)


def _interval(rated: Ratings) -> float:
    import krippendorff  # noqa: PLC0415 - an extra

    authors = sorted({author for unit in rated for author in unit})
    table: Any = [[unit.get(author, float("nan")) for unit in rated] for author in authors]
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="interval"))


def _labels(rated: Ratings, kind: Kind) -> float:
    from nltk.metrics import binary_distance, masi_distance  # noqa: PLC0415 - an extra
    from nltk.metrics.agreement import AnnotationTask  # noqa: PLC0415

    data = [(author, unit, _label(value)) for unit, given in enumerate(rated) for author, value in given.items()]
    task = AnnotationTask(data, distance=_masi(masi_distance) if kind == "set" else binary_distance)
    return float(task.alpha())


def _masi(distance: Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    def between(one: frozenset[str], other: frozenset[str]) -> float:
        return 0.0 if one == other else distance(one, other)  # two empty sets agree

    return between


def _kappa(rated: Ratings) -> dict[str, float | None]:
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415 - an extra

    found: dict[str, float | None] = {}
    for one, other in combinations(sorted({author for unit in rated for author in unit}), 2):
        both = [(_label(unit[one]), _label(unit[other])) for unit in rated if one in unit and other in unit]
        distinct = {label for pair in both for label in pair}
        pair = f"{one}, {other}"
        found[pair] = _rounded(float(cohen_kappa_score(*zip(*both, strict=True)))) if len(distinct) > 1 else None
    return found


def _label(value: Value) -> Hashable:
    if isinstance(value, tuple | list):  # lists where they come out of JSON
        return frozenset(value)
    return _NONE if value is None else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def window_diff(annotations: Sequence[Annotation]) -> float | None:
    """Disagreement about the borders of rows: 0 is none; mean over pairs of annotators; None for fewer than two.

    The window is half the mean length of a row, as its authors advise.

    Raises:
        PrerequisiteError: If NLTK is missing.
    """
    if len(annotations) < 2:
        return None
    try:
        from nltk.metrics.segmentation import windowdiff  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = f"agreement statistics are not installed: {error}"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[publish]'") from error
    length = max((row.end_time for annotation in annotations for row in annotation.rows), default=0.0)
    grids = [_borders(annotation, length) for annotation in annotations]
    rows = sum(len(annotation.rows) for annotation in annotations) / len(annotations)
    window = max(2, round(len(grids[0]) / rows / 2)) if rows else 2
    found = [windowdiff(one, other, window) for one, other in combinations(grids, 2) if len(one) > window]
    return _rounded(sum(found) / len(found)) if found else None


def _borders(annotation: Annotation, length: Seconds) -> str:
    marks = ["0"] * (int(length / _STEP) + 1)
    for row in annotation.rows:
        marks[min(len(marks) - 1, max(0, int(row.start_time / _STEP)))] = "1"
    return "".join(marks)
