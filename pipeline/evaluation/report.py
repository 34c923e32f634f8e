"""The report on all runs: one HTML page that needs no other file, and the same in Markdown.

Nothing of a dialogue is in it, nor an id of a group or an instance. Examples of answers are there only on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.dataset.published import compare_with_published
from pipeline.errors import InputError, PrerequisiteError
from pipeline.evaluation.bertscore import PUBLISHED, BertScorer
from pipeline.evaluation.charts import by_tenth, forest
from pipeline.evaluation.examples import examples_of
from pipeline.evaluation.published import COLUMNS, TABLE
from pipeline.evaluation.scores import HEADLINE, Run, compare, read_runs, score_run, unfinished
from pipeline.schemas import TASKS
from pipeline.store import Json, digest_json, write_text

__all__ = ["Cell", "write_report"]

_NAMES: Mapping[str, str] = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "accuracy": "Acc",
    "recall@1": "Rec",
    "mrr": "MRR",
    "judge": "Judge",
    "intensity_match": "Int",
    "macro_f1": "mF1",
    "er_score": "Score",
    "bertscore_f1": "BERT",
}
_FULL: Mapping[str, str] = {
    "itp": "Intervention timing",
    "rpp": "Relation pattern",
    "stp": "Support target",
    "ssp": "Support strategy",
    "er": "Emotion",
    "vp": "Viewpoint",
}
_FIVE = ("judge", "intensity_match", "er_score")
_BY_JUDGES = ("judge", "er_score", "judge_total", "judge_pairing", "judge_viewpoint")
_RAW: Mapping[str, float] = {"judge_total": 6, "judge_pairing": 2, "judge_viewpoint": 4}
"""Metrics on a scale of their own, with its top."""


@dataclass(frozen=True)
class Cell:
    """A figure as it is shown."""

    text: str
    interval: str = ""
    incomplete: bool = False
    few_groups: bool = False
    best: bool = False


def write_report(
    evaluation: Path, target: Path, *, scorer: BertScorer | None = None, examples: int = 0
) -> dict[str, Path]:
    """Score every run and write ``report.html`` and ``report.md``.

    Args:
        evaluation: The folder of the runs.
        target: The folder of the report.
        scorer: The backbone of BERTScore; without it the report has none.
        examples: Right and wrong answers to show of each task and run; they hold the gold and what models said of it.

    Returns:
        Kind to file.

    Raises:
        InputError: If there is no run, or a run is broken.
        PrerequisiteError: If the extra ``evaluate`` is missing.
    """
    runs = read_runs(evaluation)
    if not runs:
        msg = "there is no run to report on"
        raise InputError(msg, file=evaluation, hint="run `rescue eval --model baseline/majority` first")
    content = _content(runs, [score_run(run, scorer) for run in runs], examples)
    content["unfinished"] = unfinished(evaluation)
    files = {}
    for kind in ("html", "md"):
        files[kind] = target / f"report.{kind}"
        write_text(files[kind], _rendered(kind, content))
    return files


def _rendered(kind: str, content: Mapping[str, Any]) -> str:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "the report needs jinja2"
        raise PrerequisiteError(msg, hint="pip install 'rescue-bench[evaluate]'") from error
    # Markdown passes HTML through, so its names are escaped too.
    environment = Environment(
        autoescape=True, loader=PackageLoader("pipeline.evaluation"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["cell"] = lambda text: " ".join(str(text).translate(_IN_MARKDOWN).split())
    environment.filters["breakable"] = _breakable
    return environment.get_template(f"report.{kind}.j2").render(content)


_IN_MARKDOWN = str.maketrans(
    {"|": "\u2223", "`": "'", "\\": "\\\\", "[": "\\[", "]": "\\]", "<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
"""What a model wrote stays text in a table of Markdown: no cell, tag or link, no picture that a viewer would load."""


def _breakable(name: str) -> Any:
    """A name that may go on in the next line after each slash."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2

    return Markup("/<wbr>").join(escape(part) for part in name.split("/"))


def _content(runs: Sequence[Run], scores: Sequence[Mapping[str, Any]], examples: int) -> dict[str, Any]:
    groups: dict[str, list[tuple[Run, Mapping[str, Any]]]] = {}
    settings: dict[str, Mapping[str, Any]] = {}
    for run, found in zip(runs, scores, strict=True):
        for task in found["tasks"].values():
            key = digest_json(task["setting"])
            settings.setdefault(key, task["setting"])
            if (run, found) not in groups.setdefault(key, []):
                groups[key].append((run, found))
    tests = compare(runs)
    blocks = [
        _block(key, setting, groups[key], [test for test in tests if test["setting"] == setting])
        for key, setting in settings.items()
    ]
    return {
        "version": __version__,
        "blocks": sorted(blocks, key=lambda block: (block["mode"], block["title"])),
        "tasks": _FULL,
        "runs": [
            {
                "model": run.model,
                "mode": run.record["mode"],
                "packages": found["run"]["packages"],
                "judges": sorted({judge for task in found["tasks"].values() for judge in task["judges"]}),
                "outcomes": run.record["outcomes_sha256"][:12],
                "call": next(iter(run.record["tasks"].values()))["parameters"].get("call", {}),
            }
            for run, found in zip(runs, scores, strict=True)
        ],
        "bertscore": scores[0]["bertscore"],
        "bootstrap": scores[0]["bootstrap"],
        "examples": [
            {"model": run.model, "mode": run.record["mode"], "tasks": examples_of(run, examples)}
            for run in runs
            if examples
        ],
    }  # fmt: skip


def _block(
    key: str, setting: Mapping[str, Any], found: Sequence[tuple[Run, Mapping[str, Any]]], tests: Sequence[Json]
) -> dict[str, Any]:
    """All that is shown of the runs of one setting."""
    # In the order of the benchmark: scores that were stored come back in another one.
    members = [(run.model, _tasks_of(scores["tasks"], key)) for run, scores in found]
    columns = _columns(members)
    size = setting["options"]["context_size"]
    figures = [
        figure
        for _, tasks in members
        for one in tasks.values()
        for metrics in (one["metrics"], *(part["metrics"] for part in one["slices"] if part["kind"] == "scenario"))
        for figure in metrics.values()
        if figure["value"] is not None
    ]
    return {
        "mode": setting["mode"],
        "title": f"mode {setting['mode']}, data {setting['benchmark'][:10]}, "
        f"{'all earlier rows' if size is None else f'{size} earlier rows'}",
        "setting": {"benchmark": setting["benchmark"], **setting["options"], "frames": setting["frames"]},
        "columns": [(task, _headed(name)) for task, name in columns],
        "spans": _spans(columns),
        "table": _table(members, columns),
        "published": [
            (model, [_published(task, name, dict(zip(COLUMNS, row, strict=True))) for task, name in columns])
            for model, row in TABLE.items()
        ],
        "differences": _differences(setting, members),
        "scenarios": _scenarios(members, columns),
        "figures": _figures(members),
        "coverage": [(model, task, one["coverage"], one["reasons"], one["steps"]) for model, tasks in members
                     for task, one in tasks.items()],
        "costs": [(model, _sum(tasks)) for model, tasks in members],
        "confusion": [(model, task, scenario, one) for model, tasks in members for task, values in tasks.items()
                      if task in ("rpp", "ssp") for scenario, one in values["confusion"].items()],
        "tests": [{**test, "difference": _shown(test["metric"], test["difference"], signed=True)} for test in tests],
        "unequal": _unequal(members),
        "few_groups": any(figure.get("few_groups") for figure in figures),
        "groups": min((figure["groups"] for figure in figures if figure.get("few_groups")), default=0),
    }  # fmt: skip


def _tasks_of(scores: Mapping[str, Any], setting: str) -> dict[str, Any]:
    return {task: scores[task] for task in TASKS if task in scores and digest_json(scores[task]["setting"]) == setting}


def _columns(members: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """The published columns; a BERTScore has a column for each name, so that two scales never share one."""
    names = {
        (task, name)
        for _, tasks in members
        for task, one in tasks.items()
        for name in one["metrics"]
        if name.startswith("bertscore")
    }
    found: list[tuple[str, str]] = []
    for task, name in COLUMNS:
        if name == "bertscore_f1":
            found += sorted({(task, PUBLISHED), *(one for one in names if one[0] == task)})
        else:
            found.append((task, name))
        if (task, name) == ("er", "judge"):
            found += [("er", "intensity_match"), ("er", "er_score")]
    return found


def _headed(name: str) -> tuple[str, str]:
    """A short name, and what else belongs to it: backbone and layer of a BERTScore."""
    plain, _, more = name.partition("[")
    return _NAMES.get(plain, plain), more.rstrip("]")


def _spans(columns: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    return [(task, sum(one == task for one, _ in columns)) for task in dict.fromkeys(task for task, _ in columns)]


def _table(
    members: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[tuple[str, str]]
) -> list[tuple[str, list[Cell]]]:
    def value(tasks: Mapping[str, Any], task: str, name: str) -> Any:
        return tasks.get(task, {}).get("metrics", {}).get(name)

    best = {}
    for column in columns:
        known = [
            one["value"]
            for _, tasks in members
            if (one := value(tasks, *column)) and one["value"] is not None and not one["missing"]
        ]
        fair = len({_scale(tasks[column[0]], column[1]) for _, tasks in members if value(tasks, *column)}) == 1
        best[column] = max(known) if fair and len(known) > 1 and min(known) < max(known) else None
    return [(model, [_cell(column[1], value(tasks, *column), best[column]) for column in columns])
            for model, tasks in members]  # fmt: skip


def _scale(scores: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """What must be equal for one figure to be better than another: the instances, and who judged."""
    return scores["asked"], *(scores["judges"] if name in _BY_JUDGES else ())


def _unequal(members: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Tasks of which the models were not asked the same instances, or were not judged by the same judges."""
    found = []
    for task in _FULL:
        asked = {_scale(tasks[task], "judge") for _, tasks in members if task in tasks}
        found += [task] if len(asked) > 1 else []
    return found


def _cell(name: str, figure: Mapping[str, Any] | None, best: float | None = None) -> Cell:
    if figure is None or figure["value"] is None:
        return Cell("\u2013")
    interval = ""
    if figure.get("low") is not None:
        interval = f"{_shown(name, figure['low'])}\u2013{_shown(name, figure['high'])}"
    return Cell(_shown(name, figure["value"]), interval, figure["missing"] > 0, figure.get("few_groups", False),
                figure["value"] == best and not figure["missing"])  # fmt: skip


def _shown(name: str, value: float, *, signed: bool = False) -> str:
    """Judge scores on their scale, BERTScore with four places, everything else in percent: as published."""
    sign = "+" if signed else ""
    if name.startswith("bertscore"):
        return f"{value:{sign}.4f}"
    return f"{value:{sign}.2f}" if name in _FIVE or name in _RAW else f"{100 * value:{sign}.1f}"


def _published(task: str, name: str, row: Mapping[tuple[str, str], float]) -> str:
    value = row.get((task, "bertscore_f1" if name == PUBLISHED else name))
    if value is None:
        return "\u2013"
    return f"{value:.4f}" if name == PUBLISHED else f"{value:.2f}"


def _differences(setting: Mapping[str, Any], members: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Why figures here cannot be compared with the published ones."""
    found = []
    counts: dict[str, dict[str, int]] = {}
    for _, tasks in members:
        for task, one in tasks.items():
            for part in one["slices"]:
                if part["kind"] == "scenario":
                    of_task = counts.setdefault(task, {})
                    of_task[part["name"]] = max(part["instances"], of_task.get(part["name"], 0))
    statistics = {"sizes": {}, "instances": counts, "conversations_with_instances": {}}
    cells = [cell for cell in compare_with_published(statistics) if cell.figure.endswith(" instances")]
    for task in _FULL:
        mine = [cell for cell in cells if cell.figure == f"{task.upper()} instances"]
        if any(not cell.equal for cell in mine):
            built, published = (sum(int(part or 0) for part in parts) for parts in zip(
                *((cell.built, cell.published) for cell in mine), strict=True))  # fmt: skip
            most = "at most " if task in _unequal(members) else ""
            found.append(f"{task.upper()} has {most}{built:,} instances here, {published:,} there")
    if setting["options"]["context_size"] != 3:
        found.append("ITP, STP and SSP were asked with 3 earlier rows there")
    judges = sorted({judge for _, tasks in members for one in tasks.values() for judge in one["judges"]})
    found.append(f"the judge was GPT-5.4 with another rubric there, {', '.join(judges) or 'none'} here")
    return [*found, "prompts are our own"]


def _scenarios(
    members: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[tuple[str, str]]
) -> list[tuple[str, str, list[Cell]]]:
    found = []
    for model, tasks in members:
        parts = {(task, part["name"]): part["metrics"] for task, one in tasks.items() for part in one["slices"]
                 if part["kind"] == "scenario"}  # fmt: skip
        for scenario in sorted({name for _, name in parts}):
            cells = [_cell(name, parts.get((task, scenario), {}).get(name)) for task, name in columns]
            found.append((model, scenario, cells))
    return found


def _figures(members: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, str]]:
    found = []
    for task, name in HEADLINE.items():
        known = [
            (model, tasks[task]["metrics"][name])
            for model, tasks in members
            if name in tasks.get(task, {}).get("metrics", {}) and tasks[task]["metrics"][name]["value"] is not None
        ]
        if known:
            factor, limits = (1, (0.9, 5.1)) if name in _FIVE else (100, (-2.0, 102.0))
            scaled = [{key: figure[key] and factor * figure[key] for key in ("value", "low", "high")}
                      for _, figure in known]  # fmt: skip
            label = f"{_LABELS.get(name, name)}{'' if name in _FIVE else ', %'}"
            found.append({"title": _FULL[task], "svg": forest([model for model, _ in known], scaled, label, limits)})
    course = []
    for model, tasks in members:
        tenths = {part["name"]: part["metrics"]["accuracy"]["value"] for part in tasks.get("rpp", {}).get("slices", ())
                  if part["kind"] == "tenth"}  # fmt: skip
        if tenths:
            course.append((model, [tenths.get(str(tenth)) for tenth in range(10)]))
    if course:
        values = [[None if one is None else 100 * one for one in line] for _, line in course]
        svg = by_tenth([model for model, _ in course], values, "accuracy, %")
        found.append({"title": "Relation pattern over the dialogue", "svg": svg})
    return found


_LABELS: Mapping[str, str] = {
    "f1": "F1 of yes",
    "accuracy": "accuracy",
    "recall@1": "recall@1",
    "intensity_match": "intensity match, 1 to 5",
    "judge": "judge, 1 to 5",
}


def _sum(tasks: Mapping[str, Any]) -> dict[str, Any]:
    costs = [one["cost"] for one in tasks.values()]
    known = [one["cost"] for one in costs if one["cost"] is not None]
    seconds = [one["mean_seconds"] for one in costs if one["mean_seconds"] is not None]
    return {
        "input_tokens": sum(one["input_tokens"] for one in costs),
        "output_tokens": sum(one["output_tokens"] for one in costs),
        "cost": sum(known) if known else None,
        "without_cost": sum(one["without_cost"] for one in costs) if known else 0,
        "seconds": sum(seconds) / len(seconds) if seconds else None,
    }
