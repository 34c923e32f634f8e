"""``rescue draft``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, err, out, print_json, print_table, progress
from pipeline.drafts.run import (
    DraftOptions,
    DraftReport,
    Estimate,
    Plan,
    draft,
    estimate,
    first_prompt,
    plan_drafts,
)
from pipeline.evaluation.cost import read_prices
from pipeline.evaluation.plan import Call
from pipeline.settings import load_settings

__all__ = ["draft_command"]


def draft_command(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or folder names of built conversations.")],
    *,
    model: Annotated[str, typer.Option("--model", "-m", help="provider/model, or a name at --base-url.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Author of the draft; model:PROVIDER/MODEL without it.")
    ] = None,
    window: Annotated[int, typer.Option(min=1, help="Turns annotated in one request, at most.")] = 40,
    context: Annotated[int, typer.Option(min=0, help="Turns shown before and after them.")] = 8,
    frames: Annotated[int, typer.Option(min=0, help="Pictures of each turn that go with the text.")] = 0,
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server; its key in RESCUE_API_KEY.")
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Conversations at once.")] = 10,
    max_retries: Annotated[int, typer.Option(min=0, help="Further attempts after a failed request.")] = 8,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds for a request with all its attempts.")] = 1800,
    attempt_timeout: Annotated[int, typer.Option(min=1, help="Seconds for one attempt.")] = 600,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of an answer at most.")] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of sampling; left out for models that take none.")] = 0.0,
    reasoning_effort: Annotated[str | None, typer.Option(help="For models that reason: low, medium, high.")] = None,
    structured: Annotated[bool, typer.Option(help="Ask the server to hold answers to their schema.")] = True,
    prices: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML: model to {input, output} a million tokens.")
    ] = None,
    cost_limit: Annotated[float | None, typer.Option(min=0, help="Money for this call; needs --prices.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask everything again, also what is answered.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the windows, the tokens and one prompt; call nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Let a language model draft annotations from what was recognised, for a person to correct.

    The words of the conversations, and pictures with --frames, are sent to the model's provider. The draft becomes one
    more file under annotations/ in the conversation's folder. It never replaces what a person wrote, and it is not used
    until a person takes it over. A second call goes on where the first one ended.

    Example: rescue draft smith/01 --model openai/gpt-4o --dry-run
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
    workspaces = select(find_workspaces(load_settings()).workspaces, ids)
    plan = plan_drafts(workspaces, model, call, DraftOptions(window, context, frames, name))
    known = read_prices(prices)
    expected = estimate(plan, known.get(plan.model), fresh=fresh)
    if dry_run:
        _show(plan, expected, as_json=as_json)
        return
    with progress(expected.windows, quiet=as_json) as steps:
        reports = draft(
            plan,
            prices=known,
            cost_limit=cost_limit,
            fresh=fresh,
            on_open=lambda receiver: _announce(plan, expected, receiver),
            on_window=lambda conversation, number: steps(conversation, f"window {number}"),
        )
    if as_json:
        print_json({"model": plan.model, "drafts": [report.to_json() for report in reports]})
    else:
        _print(reports)
    if not all(report.complete for report in reports):
        raise typer.Exit(1)


def _announce(plan: Plan, expected: Estimate, receiver: str) -> None:
    """Who gets to read what, before anything is sent."""
    what = f"the words of {len(plan.works)} conversation{'' if len(plan.works) == 1 else 's'}"
    pictures = f" and {expected.pictures:,} pictures" if expected.pictures else ""
    text = f"{what}{pictures} go to {receiver}: {_amount(expected)}" if expected.windows else "nothing is to be asked"
    err.print(Text(text), soft_wrap=True)


def _amount(expected: Estimate) -> str:
    cost = "" if expected.cost is None else f", about {expected.cost:.2f} in the currency of the price file"
    return (
        f"{expected.windows:,} windows, about {expected.input_tokens:,} tokens to read and "
        f"{expected.output_tokens:,} to write{cost}; without repairs, thinking and pictures"
    )


def _show(plan: Plan, expected: Estimate, *, as_json: bool) -> None:
    """The windows, one prompt, the tokens and the cost."""
    prompt = first_prompt(plan)
    if as_json:
        windows = {
            work.material.conversation.id: [
                {"window": window.number, "turns": [window.turns[0].index, window.turns[-1].index]}
                for window in work.windows
            ]
            for work in plan.works
        }
        shown = {"system": prompt.system, "user": prompt.user, "schema": prompt.schema}
        print_json(
            {"dry_run": {**vars(expected), "receiver": plan.receiver, "by_conversation": windows, "prompt": shown}}
        )
        return
    out.print(Text("--- first window: system", style="dim"))
    out.print(Text(prompt.system), soft_wrap=True)
    out.print(Text("--- first window: user", style="dim"))
    out.print(Text(prompt.user), soft_wrap=True)
    rows: list[list[str | Text]] = []
    for work in plan.works:
        for window in work.windows:
            span, turns = window.span, f"{window.turns[0].index}-{window.turns[-1].index}"
            rows.append([work.material.conversation.id, str(window.number), turns, f"{span.start:.1f}-{span.end:.1f}"])
    print_table(["conversation", "window", "turns", "seconds"], rows, title="\nwindows")
    out.print(Text(f"\nto ask: {_amount(expected)}"), soft_wrap=True)
    if expected.pictures:
        out.print(Text(f"{expected.pictures:,} pictures go with them"))
    out.print(Text(f"would go to {plan.receiver}; nothing was asked", style="dim"))


def _print(reports: Sequence[DraftReport]) -> None:
    rows: list[list[str | Text]] = [
        [
            report.conversation,
            f"{report.finished} of {report.windows}",
            str(report.answered_before),
            str(report.rows),
            str(report.repairs),
            ", ".join(f"{count} {severity}" for severity, count in report.findings.items() if count) or "none",
        ]
        for report in reports
    ]
    print_table(["conversation", "windows", "answered before", "rows", "repairs", "findings"], rows)
    costs: list[list[str | Text]] = [
        [
            report.conversation,
            f"{report.calls:,}",
            f"{report.input_tokens:,}",
            f"{report.output_tokens:,}",
            "no price" if report.cost is None else f"{report.cost:.4f}",
        ]
        for report in reports
    ]
    print_table(["conversation", "calls", "tokens read", "tokens written", "cost"], costs, title="\nthis call")
    for report in reports:
        _say(report)


def _say(report: DraftReport) -> None:
    """What the tables do not tell."""
    if report.file:
        out.print(Text(f"{report.conversation}: draft in annotations/{report.file}"), soft_wrap=True)
    else:
        detail = f", {report.detail}" if report.detail else ""
        told = f"{report.conversation}: no draft, window {report.finished + 1}: {report.failure}{detail}"
        err.print(Text(told, style="bold red"), soft_wrap=True)
        err.print(Text(f"  try: {_way_out(report)}"), soft_wrap=True)
    for finding in report.listed:
        if finding.severity == "error":
            place = f"row {finding.row}, {finding.field}" if finding.row else finding.field or "rows"
            out.print(Text(f"{report.conversation}: {place}: {finding.message}", style="yellow"), soft_wrap=True)


def _way_out(report: DraftReport) -> str:
    ways = {
        "ran_out_of_tokens": "a larger --max-tokens or a smaller --window",
        "refused": "another model",
        "place_taken": "--as NAME; the answers are kept and not asked again",
        "not_run": "a larger --cost-limit; the same command goes on from here",
        "no_pictures": "leave out --frames",
    }
    return ways.get(report.failure or "", "the same command; it goes on from here")
