"""``rescue eval``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, Steps, err, out, print_json, print_table, progress
from pipeline.evaluation.cost import Price, estimate_tokens, read_prices
from pipeline.evaluation.instances import Selection
from pipeline.evaluation.judging import Graders
from pipeline.evaluation.ledger import INTERRUPTED
from pipeline.evaluation.plan import Call, Plan, plan_run
from pipeline.evaluation.run import RunReport, run
from pipeline.settings import load_settings
from pipeline.store import Json
from pipeline.tasks.render import Mode, RenderOptions

__all__ = ["evaluate"]


def evaluate(
    *,
    model: Annotated[
        list[str],
        typer.Option("--model", "-m", help="provider/model, baseline/NAME, or a name at --base-url; may be repeated."),
    ],
    task: Annotated[list[str], typer.Option("--task", "-t", help="itp, rpp, stp, ssp, er, vp; all without it.")] = [],  # noqa: B006
    mode: Annotated[list[Mode], typer.Option(help="What evidence the model gets; may be repeated.")] = [Mode.DIALOGUE],  # noqa: B006
    limit: Annotated[int | None, typer.Option(min=1, help="Instances of each task at most, an even sample.")] = None,
    conversation: Annotated[list[str], typer.Option(help="Only instances of this conversation; may be repeated.")] = [],  # noqa: B006
    split: Annotated[str | None, typer.Option(help="Only this split.")] = None,
    context_size: Annotated[
        int | None, typer.Option(min=0, help="Rows of context at most; all that an instance allows without it.")
    ] = None,
    include_current: Annotated[bool, typer.Option("--include-current", help="RPP: show the row in question.")] = False,
    recent_emotion: Annotated[bool, typer.Option(help="SSP: tell the target's most recent known emotion.")] = True,
    candidate_order: Annotated[Literal["fixed", "shuffled"], typer.Option(help="Order of the candidates.")] = "fixed",
    seed: Annotated[int, typer.Option(help="Of shuffled candidates and of baseline/random.")] = 0,
    data: Annotated[Path | None, typer.Option(help="The data folder, if not that of the settings.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server; its key in RESCUE_API_KEY.")
    ] = None,
    grader: Annotated[list[str], typer.Option(help="Model that judges ER and VP; may be repeated.")] = [],  # noqa: B006
    grader_repeats: Annotated[int, typer.Option(min=1, help="Judgements of each grader about an answer.")] = 1,
    grader_url: Annotated[
        str | None, typer.Option(help="Address of the graders' server; its key in RESCUE_GRADER_API_KEY.")
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 10,
    max_retries: Annotated[int, typer.Option(min=0, help="Further attempts after a failed request.")] = 8,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds for a request with all its attempts.")] = 300,
    attempt_timeout: Annotated[int, typer.Option(min=1, help="Seconds for one attempt.")] = 120,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of an answer at most.")] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of sampling; left out for models that take none.")] = 0.0,
    reasoning_effort: Annotated[str | None, typer.Option(help="For models that reason: low, medium, high.")] = None,
    structured: Annotated[bool, typer.Option(help="Ask the server to hold answers to their schema.")] = True,
    frames: Annotated[int, typer.Option(min=1, help="Pictures of a clip, in mode clips.")] = 2,
    prices: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML: model to {input, output} a million tokens.")
    ] = None,
    cost_limit: Annotated[float | None, typer.Option(min=0, help="Money for each run; needs --prices.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask everything again, also what is answered.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show three prompts and the tokens; call nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Let language models, or baselines, answer the six tasks. A second call goes on where the first one ended.

    Example: rescue eval --model openai/gpt-4o --task itp --limit 20
    """
    call = Call(
        base_url=base_url,
        max_connections=max_connections,
        max_retries=max_retries,
        timeout=timeout,
        attempt_timeout=attempt_timeout,
        structured=structured,
        max_tokens=max_tokens,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
    )
    folder = data or load_settings().data
    known = read_prices(prices)
    plans = [
        plan_run(
            name,
            folder,
            tasks=task,
            selection=Selection(split, tuple(conversation), limit),
            options=RenderOptions(
                mode=shown,
                context_size=context_size,
                include_current=include_current,
                recent_emotion=recent_emotion,
                candidate_order=candidate_order,
                seed=seed,
            ),
            call=call,
            frames=frames,
        )
        for name in dict.fromkeys(model)
        for shown in dict.fromkeys(mode)
    ]
    if dry_run:
        _show(plans, known, as_json=as_json)
        return
    reports = []
    for plan in plans:
        total = sum(len(requests) for requests in plan.requests.values())
        with progress(total, quiet=as_json) as steps:
            reports.append(
                run(
                    plan,
                    graders=Graders(tuple(dict.fromkeys(grader)), grader_repeats, grader_url, known),
                    prices=known,
                    cost_limit=cost_limit,
                    fresh=fresh,
                    on_finished=_told(steps, plan),
                )
            )
        if reports[-1].stopped == INTERRUPTED:  # the models after it are not asked either
            break
    if as_json:
        print_json({"runs": [report.to_json() for report in reports]})
    else:
        _print(reports)
    if reports[-1].stopped == INTERRUPTED:
        raise typer.Exit(130)
    if not all(report.complete for report in reports):
        raise typer.Exit(1)


def _told(steps: Steps, plan: Plan) -> Callable[[str], None]:
    def told(instance_id: str) -> None:
        steps(plan.model, instance_id.partition("-")[0])

    return told


def _show(plans: Sequence[Plan], prices: Mapping[str, Price], *, as_json: bool) -> None:
    """The first three prompts of each run, the tokens, and what they would cost."""
    shown: list[Json] = []
    for plan in plans:
        requests = [request for found in plan.requests.values() for request in found]
        read, written = estimate_tokens(requests)
        price = prices.get(plan.model)
        # One of each task before a second of any.
        first = [found[0] for found in plan.requests.values() if found] + [
            request for found in plan.requests.values() for request in islice(found, 1, 3)
        ]
        shown.append(
            {
                "model": plan.model,
                "mode": plan.options.mode.value,
                "requests": {name: len(found) for name, found in plan.requests.items()},
                "clips": sum(len(request.media) for request in requests),
                "estimated_input_tokens": read,
                "estimated_output_tokens": written,
                "estimated_cost": price.cost(read, written) if price else None,
                "prompts": [
                    {"instance_id": one.id, "system": one.prompt.system, "user": one.prompt.user} for one in first[:3]
                ],
            }
        )
    if as_json:
        print_json({"dry_run": shown})
        return
    for one in shown:
        out.print(Text(f"{one['model']}, mode {one['mode']}", style="bold"))
        for prompt in one["prompts"]:
            out.print(Text(f"\n--- {prompt['instance_id']}: system", style="dim"))
            out.print(Text(prompt["system"]), soft_wrap=True)
            out.print(Text(f"--- {prompt['instance_id']}: user", style="dim"))
            out.print(Text(prompt["user"]), soft_wrap=True)
        counts = ", ".join(f"{name} {count:,}" for name, count in one["requests"].items())
        out.print(Text(f"\n{counts}: about {one['estimated_input_tokens']:,} tokens to read and "
                       f"{one['estimated_output_tokens']:,} to write, without thinking and media"))  # fmt: skip
        if one["clips"]:
            out.print(Text(f"{one['clips']:,} clips go with them"))
        if one["estimated_cost"] is not None:
            out.print(Text(f"about {one['estimated_cost']:.2f} in the currency of the price file"))
    out.print(Text("nothing was asked", style="dim"))


def _print(reports: Sequence[RunReport]) -> None:
    rows: list[list[str | Text]] = []
    for report in reports:
        for task, count in report.counts.items():
            numbers = [f"{count[name]:,}" for name in ("planned", "scored", "invalid", "failed", "answered_before")]
            cells = [Text(number) for number in numbers]
            if count["failed"]:
                cells[3].stylize("bold red")
            rows.append([report.model, report.mode, task, *cells])
    print_table(["model", "mode", "task", "planned", "scored", "invalid", "failed", "answered before"], rows)
    costs: list[list[str | Text]] = []
    for report in reports:
        costs.append(_cost(report.model, report.mode, report.input_tokens, report.output_tokens, report.cost))
        for judge, told in report.judges.items():
            costs.append(
                _cost(f"  judge {judge}", report.mode, told["input_tokens"], told["output_tokens"], told["cost"])
            )
    print_table(["model", "mode", "tokens read", "tokens written", "cost"], costs, title="\nthis run")
    for report in reports:
        _say(report)


def _say(report: RunReport) -> None:
    """What the tables do not tell."""
    for judge, told in report.judges.items():
        asked = ", ".join(f"{name} {told[name]:,}" for name in ("asked", "failed", "unreadable"))
        out.print(Text(f"judge {judge}: {asked}"))
    if report.reasons:
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in report.reasons.items())
        out.print(Text(f"{report.model}, {report.mode}: {reasons}"))
    if report.stopped:
        err.print(Text(f"{report.model}: stopped, {report.stopped}; the rest was not asked", style="bold red"))
    if not report.complete:
        err.print(Text("the scores are incomplete; the same command asks the failed ones again", style="yellow"))


def _cost(name: str, mode: str, read: int, written: int, cost: float | None) -> list[str | Text]:
    return [name, mode, f"{read:,}", f"{written:,}", "no price" if cost is None else f"{cost:.4f}"]
