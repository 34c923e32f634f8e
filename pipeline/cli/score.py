"""``rescue score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.build import find_workspaces, select
from pipeline.cli.console import JsonOption, out, print_json, print_table
from pipeline.offsets import TimeOffsets
from pipeline.quality import Quality, score_conversation
from pipeline.scoring import DiarizationErrors, WordErrors
from pipeline.settings import load_settings

__all__ = ["figure_rows", "score"]

_NAMES = {
    "der": "DER",
    "der_single": "DER without overlap",
    "wer": "WER",
    "cpwer": "cpWER",
    "turn_starts": "turn starts",
    "word_starts": "word starts",
}


def score(
    conversation: Annotated[str, typer.Argument(metavar="ID", help="The conversation; it must be built.")],
    *,
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            help="RTTM, STM, CTM, EAF, TextGrid, VTT, SRT or JSON (ours or of whisperx); repeat for several. Default: "
            "those of its folder."
        ),
    ] = None,
    uem: Annotated[Path | None, typer.Option(help="UEM file of the parts that count. Default: everything.")] = None,
    collar: Annotated[
        float, typer.Option(min=0, help="Seconds around each border of the reference speech that do not count for DER.")
    ] = 0.0,
    recording: Annotated[str | None, typer.Option(help="Which recording of a file that holds several.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the turns of a conversation with a reference: error rates of voices and words, and how far times are off.

    Who speaks when is taken from an RTTM file if there is one, else from the text. A figure that the reference cannot
    tell is left out, and said. Nothing is written.

    Example: rescue score phone_call --reference sample.rttm --reference sample.stm --collar 0.25
    """
    (workspace,) = select(find_workspaces(load_settings()).workspaces, [conversation])
    found = score_conversation(workspace, reference or (), uem=uem, collar=collar, recording=recording)
    if as_json:
        print_json({"conversation": workspace.conversation.id, **found.to_json()})
        return
    out.print(Text(f"{workspace.conversation.id} against {', '.join(found.files)}, collar {collar:g} s"))
    print_table(["figure", "value", "of what"], figure_rows(found))
    if found.turn_starts or found.word_starts:
        out.print(Text("starts: machine less reference, positive where the machine is late", style="dim"))


def figure_rows(found: Quality) -> list[list[str]]:
    """One row a figure: its name, its value, and what it is counted over, or why it is absent."""
    rows = []
    for name, title in _NAMES.items():
        value = getattr(found, name)
        if value is None:
            reason = found.absent.get(name) or found.absent.get(name.removesuffix("_single"), "")
            rows.append([title, "-", reason])
        else:
            rows.append([title, *_cells(value)])
    return rows


def _cells(value: DiarizationErrors | WordErrors | TimeOffsets) -> tuple[str, str]:
    if isinstance(value, TimeOffsets):
        shown = f"median {value.median:+.3f} s, bias {value.bias:+.3f} s, nine of ten within {value.p90:.3f} s"
        return shown, f"{value.compared} of {value.of} starts found"
    rate = "-" if value.rate is None else f"{100 * value.rate:.1f} %"
    if isinstance(value, DiarizationErrors):
        parts = f"missed {value.missed:.2f}, false alarm {value.false_alarm:.2f}, confusion {value.confusion:.2f}"
        return rate, f"{value.total:.2f} s of speech: {parts}"
    kinds = f"{value.substitutions} other, {value.deletions} missing, {value.insertions} too many"
    return rate, f"{value.length} words: {kinds}"
