"""``rescue report`` and ``rescue agreement``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json, print_table
from pipeline.errors import UsageError
from pipeline.settings import load_settings

__all__ = ["agreement", "report"]

_Data = Annotated[Path | None, typer.Option(help="The data folder, if not that of the settings.")]


def report(
    *,
    data: _Data = None,
    target: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the report; evaluation/ if none.")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=0, help="Right and wrong answers to show of each task; they quote the data.")
    ] = 0,
    bertscore: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Folder of a BERT or DistilBERT, for BERTScore.")
    ] = None,
    bertscore_layer: Annotated[int, typer.Option(min=0, help="Layer of its embeddings; published with 5.")] = 5,
    bertscore_name: Annotated[str | None, typer.Option(help="What the backbone is called; its folder's name.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Score all runs and write the report: one HTML page and Markdown, beside the published results.

    Example: rescue report --bertscore models/distilbert-base-uncased
    """
    from pipeline.evaluation.bertscore import BertScorer  # noqa: PLC0415 - scoring takes a second to load
    from pipeline.evaluation.report import write_report  # noqa: PLC0415

    folder = (data or load_settings().data) / "evaluation"
    scorer = BertScorer(bertscore, bertscore_layer, bertscore_name) if bertscore else None
    files = write_report(folder, target or folder, scorer=scorer, examples=examples)
    if as_json:
        print_json({kind: str(file) for kind, file in files.items()})
        return
    for file in files.values():
        out.print(Text(f"wrote {file}"), soft_wrap=True)


def agreement(
    ratings: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV: instance_id, rater, score.")],
    *,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Whose answers the people rated.")] = None,
    mode: Annotated[str | None, typer.Option(help="In which mode they were given.")] = None,
    data: _Data = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every judge with people, task by task. People rated the answers of one run: say which, if there are more.

    Example: rescue agreement ratings.csv --model openai/gpt-4o
    """
    from pipeline.evaluation import agreement as agreeing  # noqa: PLC0415 - scoring takes a second to load
    from pipeline.evaluation.judge import JUDGED  # noqa: PLC0415
    from pipeline.evaluation.scores import read_runs  # noqa: PLC0415

    given = agreeing.read_ratings(ratings)
    rated = {rating.instance_id for rating in given}
    runs = [
        run
        for run in read_runs((data or load_settings().data) / "evaluation")
        if model in (None, run.model)
        and mode in (None, run.record["mode"])
        and any(row["judgements"] and row["instance_id"] in rated for row in run.rows)
    ]
    if len(runs) > 1:
        names = ", ".join(f"{run.model} ({run.record['mode']})" for run in runs)
        msg = f"{len(runs)} runs have judged answers to what was rated: {names}"
        raise UsageError(msg, hint="name the one whose answers people saw, with --model and --mode")
    found = []
    for run in runs:
        for task in JUDGED:
            rows = run.of(task)
            for judge in sorted({one["judge"] for row in rows for one in row["judgements"] or ()}):
                one = agreeing.agreement(agreeing.judge_scores(rows, judge), given)
                if one is not None:
                    found.append({"model": run.model, "mode": run.record["mode"], "task": task, "judge": judge,
                                  **asdict(one)})  # fmt: skip
    if as_json:
        print_json({"agreement": found})
        return
    columns = ("model", "mode", "task", "judge", "instances", "raters", "exact", "off_by_one", "mean_absolute_error",
               "kappa", "alpha")  # fmt: skip
    lines = [[_shown(one[name]) for name in columns] for one in found]
    print_table([name.replace("_", " ") for name in columns], lines)
    if not found:
        out.print(Text("no instance has both a judge's score and a rating"))


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "none" if value is None else str(value)
