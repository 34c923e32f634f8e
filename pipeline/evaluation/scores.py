"""From the outcomes of runs to their scores: figures with intervals, slices, confusion, cost, and comparisons.

Figures of two runs stand in one table only if the runs share their setting: data, mode, and how instances are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, compress
from pathlib import Path
from statistics import fmean
from typing import Any

from pipeline.errors import InputError
from pipeline.evaluation.bertscore import BertScorer
from pipeline.evaluation.intervals import bootstrap, holm, sign_flip
from pipeline.evaluation.judge import JUDGED, rubric_digest
from pipeline.evaluation.metrics import Metric, confusion, coverage, labels_of, metrics, outcome_rows, slices
from pipeline.keys import id_of
from pipeline.provenance import package_versions
from pipeline.schemas import read_table
from pipeline.store import Json, digest_file, digest_json, read_json, write_json
from pipeline.tasks import TASK_BUILDERS

__all__ = ["HEADLINE", "Run", "compare", "leaderboard", "read_runs", "score", "score_run", "setting_of", "unfinished"]

HEADLINE: Mapping[str, str] = {
    "itp": "f1",
    "rpp": "accuracy",
    "stp": "recall@1",
    "ssp": "recall@1",
    "er": "intensity_match",
    "vp": "judge",
}
"""Task to the metric by which models are compared and drawn."""

_VERSION = 2
"""Raised when the same outcomes give other scores."""
_PACKAGES = ("krippendorff", "numpy", "rescue-bench", "safetensors", "scikit-learn", "tokenizers")


@dataclass(frozen=True)
class Run:
    """One model in one mode, as `rescue eval` left it."""

    folder: Path
    record: Mapping[str, Any]
    """The content of ``run.json``."""
    rows: Sequence[Mapping[str, Any]]

    @property
    def model(self) -> str:
        """Its full name."""
        return str(self.record["model"])

    def of(self, task: str) -> list[Mapping[str, Any]]:
        """The outcomes of a task, in order of instance."""
        return sorted((row for row in self.rows if row["task"] == task), key=lambda row: str(row["instance_id"]))


def read_runs(folder: Path) -> list[Run]:
    """Every run under ``evaluation``, in order of model and mode, without those that are `unfinished`.

    Raises:
        InputError: If a run's record was written for other outcomes.
    """
    found = []
    for outcomes in sorted(folder.glob("*/*/outcomes.parquet")):
        record = _record(outcomes)
        if record is None:
            continue
        if record["outcomes_sha256"] != digest_file(outcomes):
            msg = f"the record of {record['model']}, {record['mode']}, is of other outcomes"
            raise InputError(msg, file="run.json", hint="run `rescue eval` again; it asks only what is missing")
        found.append(Run(outcomes.parent, record, outcome_rows(read_table(outcomes))))
    return found


def unfinished(folder: Path) -> list[str]:
    """Model and mode of the runs without a record: they ended before it was written."""
    paths = sorted(folder.glob("*/*/outcomes.parquet"))
    return [f"{id_of(path.parent.parent.name)}, {path.parent.name}" for path in paths if _record(path) is None]


def _record(outcomes: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = read_json(outcomes.with_name("run.json"))
    except (FileNotFoundError, ValueError):
        return None
    return found


def setting_of(run: Run, task: str) -> dict[str, Json]:
    """What must be equal for figures of two runs to stand in one table."""
    parameters = run.record["tasks"][task]["parameters"]
    return {"mode": run.record["mode"], **{name: parameters.get(name) for name in ("benchmark", "options", "frames")}}


def score(run: Run, scorer: BertScorer | None = None, *, draws: int = 10_000, seed: int = 0) -> dict[str, Json]:
    """The scores of a run, with all that they rest on.

    Args:
        run: The run.
        scorer: The backbone of BERTScore; without it there is none.
        draws: Of each bootstrap.
        seed: Of the bootstraps.
    """
    tasks = {}
    for task in TASK_BUILDERS:
        rows = run.of(task)
        if not rows:
            continue
        bert = {scorer.name: scorer.outcomes(rows)} if scorer and task in JUDGED else {}
        found = metrics(rows, bert)
        cut = slices(rows)
        tasks[task] = {
            "setting": setting_of(run, task),
            "asked": digest_json(sorted(row["instance_id"] for row in rows)),
            "coverage": asdict(coverage(rows)),
            "reasons": dict(sorted(Counter(row["reason"] for row in rows if row["reason"]).items())),
            "steps": dict(sorted(Counter(row["parse_step"] for row in rows if row["parse_step"]).items())),
            "judges": sorted({one["judge"] for row in rows for one in row["judgements"] or ()}),
            "metrics": {one.name: _figure(one, rows, draws, seed) for one in found},
            "slices": [
                {
                    "kind": kind,
                    "name": name,
                    "instances": int(mask.sum()),
                    "metrics": {
                        one.name: _figure(one.of(mask), list(compress(rows, mask)), draws, seed)
                        if kind == "scenario"
                        else {"value": one.of(mask).value, "missing": one.of(mask).missing}
                        for one in found
                    },
                }
                for (kind, name), mask in cut.items()
            ],
            "confusion": {
                scenario: {
                    "labels": list(labels),
                    "counts": confusion([row for row in rows if row["scenario"] == scenario], labels),
                }
                for scenario in sorted({row["scenario"] for row in rows})
                if (labels := labels_of(task, scenario))
            },
            "cost": _cost(rows),
        }
    return {
        "run": dict(run.record),
        "tasks": tasks,
        "bootstrap": {"draws": draws, "seed": seed, "level": 0.95, "resampled": "groups"},
        "bertscore": {"name": scorer.name, "weights_sha256": scorer.weights_sha256} if scorer else None,
        "rubrics": {task: rubric_digest(task) for task in JUDGED},
        "packages": package_versions(_PACKAGES),
    }


def score_run(run: Run, scorer: BertScorer | None = None) -> dict[str, Json]:
    """Score a run and write ``scores.json`` beside its outcomes. Scores of the same outcomes are not made again."""
    key = {
        "version": _VERSION,
        "outcomes": run.record["outcomes_sha256"],
        "record": digest_json(run.record),
        "bertscore": [scorer.name, scorer.weights_sha256] if scorer else None,
        "packages": package_versions(_PACKAGES),
    }
    path = run.folder / "scores.json"
    try:
        known: dict[str, Json] = read_json(path)
    except (FileNotFoundError, ValueError):
        known = {}
    if known.get("key") == key:
        return known
    found = {"key": key, **score(run, scorer)}
    write_json(path, found)
    return found


def leaderboard(folder: Path) -> list[dict[str, Json]]:
    """One line a run: model, mode, and each task's headline metric as ``itp_f1``; None where there is no figure.

    Args:
        folder: The folder of the runs.

    Raises:
        InputError: As `read_runs`.
    """
    lines: list[dict[str, Json]] = []
    for run in read_runs(folder):
        tasks = score_run(run)["tasks"]
        line: dict[str, Json] = {"model": run.model, "mode": run.record["mode"]}
        for task, name in HEADLINE.items():
            line[f"{task}_{name}"] = tasks.get(task, {}).get("metrics", {}).get(name, {}).get("value")
        line["failed"] = sum(one["coverage"]["failed"] for one in tasks.values())
        lines.append(line)
    return lines


def compare(runs: Sequence[Run], *, draws: int = 10_000, seed: int = 0) -> list[dict[str, Json]]:
    """Every two runs of one setting on the instances that both were asked, by the headline metric of each task.

    P values are corrected by Holm over all comparisons of the setting.
    """
    by_setting: dict[str, list[dict[str, Json]]] = {}
    for task, name in HEADLINE.items():
        for one, other in combinations(runs, 2):
            if not (one.of(task) and other.of(task)) or setting_of(one, task) != setting_of(other, task):
                continue
            if name == "judge" and _judges(one, task) != _judges(other, task):
                continue  # two judges are two scales
            shared = {row["instance_id"] for row in one.of(task)} & {row["instance_id"] for row in other.of(task)}
            pair = [[row for row in run.of(task) if row["instance_id"] in shared] for run in (one, other)]
            first, second = (_named(metrics(rows), name) for rows in pair)
            if first is None or second is None:
                continue
            found = sign_flip(first, second, [row["group_id"] for row in pair[0]], draws=draws, seed=seed)
            if found is not None:
                by_setting.setdefault(digest_json(setting_of(one, task)), []).append(
                    {"task": task, "metric": name, "first": one.model, "second": other.model,
                     "setting": setting_of(one, task), **asdict(found), "few_groups": found.few_groups}
                )  # fmt: skip
    for tests in by_setting.values():
        for test, corrected in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = corrected
    return [test for tests in by_setting.values() for test in tests]


def _judges(run: Run, task: str) -> frozenset[str]:
    return frozenset(one["judge"] for row in run.of(task) for one in row["judgements"] or ())


def _named(found: Sequence[Metric], name: str) -> Metric | None:
    return next((metric for metric in found if metric.name == name), None)


def _figure(metric: Metric, rows: Sequence[Mapping[str, Any]], draws: int, seed: int) -> dict[str, Json]:
    interval = bootstrap(metric, [row["group_id"] for row in rows], draws=draws, seed=seed)
    return {
        "value": metric.value,
        "counted": int(metric.counted.sum()),
        "missing": metric.missing,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "groups": len({row["group_id"] for row in rows}),
        "few_groups": interval is None or interval.few_groups,
    }


def _cost(rows: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    def given(name: str) -> list[Any]:
        return [row[name] for row in rows if row[name] is not None]

    return {
        "input_tokens": sum(given("input_tokens")),
        "output_tokens": sum(given("output_tokens")),
        "cost": sum(given("cost")) if given("cost") else None,
        "without_cost": len(rows) - len(given("cost")),
        "mean_seconds": fmean(given("seconds")) if given("seconds") else None,
    }
