"""Judges against people: figures worked by hand, and files of ratings that are not as they should be."""

from __future__ import annotations

from pathlib import Path

import krippendorff
import pytest
from sklearn.metrics import cohen_kappa_score

from pipeline.errors import InputError
from pipeline.evaluation.agreement import agreement, judge_scores, read_ratings
from tests.evaluation.made import judgement, outcome


def ratings(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_agreement_worked_by_hand(tmp_path: Path) -> None:
    judged = {"a": 5.0, "b": 4.0, "c": 2.0, "d": 1.0, "x": 3.0}
    file = ratings(
        tmp_path / "r.csv", "instance_id,rater,score", "a,p,5", "b,p,5", "c,p,2", "d,p,3", "a,q,5", "d,q,3", "gone,p,1"
    )
    found = agreement(judged, read_ratings(file))
    assert found is not None
    assert (found.instances, found.raters, found.unmatched) == (4, 2, 1)
    assert (found.exact, found.off_by_one, found.mean_absolute_error) == (0.5, 0.25, 0.75)
    assert found.kappa == pytest.approx(cohen_kappa_score([5, 5, 2, 3], [5, 4, 2, 1], weights="quadratic"))
    nan = float("nan")
    data = [[5, 5, 2, 3], [5, nan, nan, 3], [5, 4, 2, 1]]
    assert found.alpha == pytest.approx(krippendorff.alpha(data, level_of_measurement="ordinal"))


def test_no_spread_has_no_kappa_and_no_overlap_no_agreement(tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv", "instance_id,rater,score", "a,p,5", "b,p,5")
    found = agreement({"a": 5.0, "b": 5.0}, read_ratings(file))
    assert found is not None
    assert (found.exact, found.kappa, found.alpha) == (1.0, None, None)
    assert agreement({"z": 5.0}, read_ratings(file)) is None


def test_viewpoints_are_compared_on_the_scale_of_five(tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv", "instance_id,rater,pairing,viewpoint", "vp-0000,p,2,1")
    rows = [outcome("vp", judgements=[judgement(3.0, pairing=1.0, viewpoint=2.0), judgement(None)])]
    scores = judge_scores(rows, "judge/a")
    assert scores == {"vp-0000": 3.0}
    assert judge_scores(rows, "judge/b") == {}
    found = agreement(scores, read_ratings(file))
    assert found is not None
    assert found.mean_absolute_error == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["instance_id,rater,score", "a,p,6"], "line 2, column score"),
        (["instance_id,rater,score", "a,p,"], "either score"),
        (["instance_id,score", "a,4"], "column rater"),
        (["instance_id,rater,score", "a,p,4", "a,p,5"], "twice"),
        (["instance_id,rater,score,pairing,viewpoint", "a,p,4,1,1"], "either score"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_ratings(ratings(tmp_path / "r.csv", *lines))


def test_a_rating_of_zero_counts(tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv", "instance_id,rater,pairing,viewpoint", "a,p,0,0")
    assert read_ratings(file)[0].on_five == 1.0
