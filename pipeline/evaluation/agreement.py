"""How far a judge agrees with people.

Ratings of people come as a CSV file with the columns ``instance_id``, ``rater`` and ``score``: ER 1 to 5, VP 1 to 5 too
(the judge's 0 to 6 is put on that scale), or VP with ``pairing`` and ``viewpoint`` in place of ``score``. Several
people may rate an instance; their mean, rounded half up, is what the judge is compared with, as the judge's own mean
is. Ordinal alpha takes every rating as it is, and the judge as one more rater.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import InputError
from pipeline.evaluation.judge import JUDGED, on_five

__all__ = ["Agreement", "Rating", "agreement", "judge_scores", "read_ratings"]

_Empty = BeforeValidator(lambda value: value or None)


class Rating(BaseModel):
    """What one person said of one answer."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    instance_id: str = Field(min_length=1)
    rater: str = Field(min_length=1)
    score: Annotated[float | None, _Empty] = Field(default=None, ge=1, le=5)
    pairing: Annotated[float | None, _Empty] = Field(default=None, ge=0, le=2)
    viewpoint: Annotated[float | None, _Empty] = Field(default=None, ge=0, le=4)

    @model_validator(mode="after")
    def _one_way(self) -> Rating:
        parts = (self.pairing, self.viewpoint)
        if (self.score is None) == (None in parts) or (self.score is not None and parts != (None, None)):
            msg = "give either score, or pairing and viewpoint"
            raise ValueError(msg)
        return self

    @property
    def on_five(self) -> float:
        """On the scale of 1 to 5."""
        if self.score is not None:
            return self.score
        assert self.pairing is not None
        assert self.viewpoint is not None
        return on_five(self.pairing + self.viewpoint)


@dataclass(frozen=True)
class Agreement:
    """How far the judge and people agree on instances that both scored, on the scale of 1 to 5."""

    instances: int
    raters: int
    exact: float
    """Share of instances with the same whole score."""
    off_by_one: float
    """Share of instances with whole scores one apart."""
    mean_absolute_error: float
    """Between the means, not rounded."""
    kappa: float | None
    """Cohen's kappa with quadratic weights over whole scores; None where all scores are the same."""
    alpha: float | None
    """Krippendorff's ordinal alpha over all raters and the judge; None where all scores are the same."""
    unmatched: int
    """Ratings of people on instances that the judge has no score for; they are left out."""


def read_ratings(path: Path) -> list[Rating]:
    """Read what people said.

    Raises:
        InputError: If a column is missing, a value is off its scale, or a person rates an instance twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            lines = list(reader)
            names = reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        msg = f"the ratings cannot be read: {error.__class__.__name__}"
        raise InputError(msg, file=path, hint="give a CSV file in UTF-8") from error
    if not lines:
        msg = "there is no rating in the file"
        raise InputError(msg, file=path, hint=_COLUMNS)
    if len(set(names)) < len(names):
        msg = "a column is there twice"
        raise InputError(msg, file=path, place="line 1", hint=_COLUMNS)
    ratings: dict[tuple[str, str], Rating] = {}
    for number, line in enumerate(lines, 2):
        try:
            rating = Rating.model_validate(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ", ".join([f"line {number}", *(f"column {part}" for part in first["loc"])])
            raise InputError(first["msg"], file=path, place=place, hint=_COLUMNS) from error
        if (rating.instance_id, rating.rater) in ratings:
            msg = f"{rating.rater} rates {rating.instance_id} twice"
            raise InputError(msg, file=path, place=f"line {number}", hint="leave one line of the two")
        ratings[rating.instance_id, rating.rater] = rating
    return list(ratings.values())


_COLUMNS = "columns: instance_id, rater, score (1 to 5); or pairing (0 to 2) and viewpoint (0 to 4) in place of score"


def judge_scores(rows: Iterable[Mapping[str, Any]], judge: str | None = None) -> dict[str, float]:
    """Instance id to the mean score of a judge on 1 to 5; of all judges if none is named."""
    found: dict[str, float] = {}
    for row in rows:
        scores = [
            on_five(one["score"]) if row["task"] == "vp" else one["score"]
            for one in row["judgements"] or ()
            if one["score"] is not None and judge in (None, one["judge"])
        ]
        if row["task"] in JUDGED and scores:
            found[row["instance_id"]] = fmean(scores)
    return found


def agreement(scores: Mapping[str, float], ratings: Sequence[Rating]) -> Agreement | None:
    """Compare a judge with people.

    Args:
        scores: Instance id to the judge's score on 1 to 5.
        ratings: What people said.

    Returns:
        None where no instance has both.
    """
    people: dict[str, dict[str, float]] = {}
    for rating in ratings:
        if rating.instance_id in scores:
            people.setdefault(rating.instance_id, {})[rating.rater] = rating.on_five
    if not people:
        return None
    ids = sorted(people)
    human = np.array([fmean(people[name].values()) for name in ids])
    judged = np.array([scores[name] for name in ids])
    apart = np.abs(_whole(human) - _whole(judged))
    raters = sorted({rater for given in people.values() for rater in given})
    given = [[people[name].get(rater, math.nan) for name in ids] for rater in raters]
    return Agreement(
        instances=len(ids),
        raters=len(raters),
        exact=float((apart == 0).mean()),
        off_by_one=float((apart == 1).mean()),
        mean_absolute_error=float(np.abs(human - judged).mean()),
        kappa=_kappa(_whole(human).tolist(), _whole(judged).tolist()),
        alpha=_alpha([*given, judged.tolist()]),
        unmatched=sum(rating.instance_id not in scores for rating in ratings),
    )


def _whole(values: Any) -> Any:
    """Rounded half up, as people round."""
    return np.floor(values + 0.5).astype(int)


def _kappa(human: list[int], judged: list[int]) -> float | None:
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415 - an extra, takes a second to load

    if len({*human, *judged}) < 2:
        return None
    return float(cohen_kappa_score(human, judged, labels=[1, 2, 3, 4, 5], weights="quadratic"))


def _alpha(given: list[list[float]]) -> float | None:
    import krippendorff  # noqa: PLC0415 - an extra

    if len({value for line in given for value in line if not math.isnan(value)}) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=given, level_of_measurement="ordinal"))
