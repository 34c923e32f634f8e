"""The figures of the data set: lengths, label shares, transitions, labels over the course of a conversation.

Colours are those of Okabe and Ito and of viridis, which people with any colour vision can tell apart; every bar and
cell carries its number. The same statistics give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from pipeline.store import Json, atomic_path, digest_file, read_json, write_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["keep_figures", "write_figures"]

VERSION = 3
"""Raised when the same statistics give other figures."""


_ORIGIN = "origin.json"
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "rescue",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def keep_figures(benchmark: Path) -> list[Path] | None:
    """Write the figures of a built data set under ``figures``, unless those there are current.

    Args:
        benchmark: The folder of the tables, with ``statistics.json``.

    Returns:
        The files; None if matplotlib, an extra, is not installed.
    """
    if find_spec("matplotlib") is None:
        return None
    folder = benchmark / "figures"
    with FileLock(benchmark.parent / ".benchmark.lock"):
        return _keep(benchmark, folder)


def _keep(benchmark: Path, folder: Path) -> list[Path]:
    origin = {"statistics": digest_file(benchmark / "statistics.json"), "version": VERSION}
    try:
        known = read_json(folder / _ORIGIN)
    except (FileNotFoundError, ValueError):
        known = {}
    if known.get("origin") == origin and all((folder / name).is_file() for name in known["files"]):
        return [folder / name for name in known["files"]]
    files = write_figures(read_json(benchmark / "statistics.json"), folder)
    write_json(folder / _ORIGIN, {"origin": origin, "files": [file.name for file in files]})
    return files


def write_figures(statistics: Mapping[str, Json], folder: Path) -> list[Path]:
    """Write every figure as SVG and PNG and return the files. Needs matplotlib.

    Args:
        statistics: The content of ``statistics.json``.
        folder: Where the files go; figures of scenarios that are no longer there are removed.
    """
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and takes a second to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    written: list[Path] = []
    with mpl.rc_context(_STYLE):
        for scenario in statistics["sizes"]:
            for name, draw in _DRAWINGS.items():
                figure = Figure(figsize=(9, 5), layout="constrained")
                draw(figure, statistics, scenario)
                written += _save(figure, folder / f"{name}_{scenario}")
    for stale in set(folder.glob("*")) - set(written):
        stale.unlink()
    return written


def _save(figure: Figure, base: Path) -> list[Path]:
    files = []
    for suffix, metadata in ((".svg", {"Date": None, "Creator": None}), (".png", {"Software": None})):
        target = base.with_suffix(suffix)
        with atomic_path(target) as temporary:
            figure.savefig(str(temporary), format=suffix[1:], dpi=150, metadata=metadata)
        files.append(target)
    return files


def _conversations(figure: Figure, statistics: Mapping[str, Json], scenario: str) -> None:
    minutes = {int(name): count for name, count in statistics["conversations_by_minutes"][scenario].items()}
    tenths = statistics["conversations_by_therapist_tenth"][scenario]
    left, right = figure.subplots(1, 2)
    bars = left.bar(list(minutes), list(minutes.values()), align="edge", width=0.9, color=_PALETTE[0])
    left.set_xlim(0, max(minutes) + 1)
    left.xaxis.get_major_locator().set_params(integer=True)
    left.set_xlabel("minutes")
    left.set_title("length")
    shares = right.bar(range(10), [tenths.get(str(tenth), 0) for tenth in range(10)], color=_PALETTE[1])
    right.set_xticks(range(10), [f"{10 * tenth}-{10 * tenth + 10}" for tenth in range(10)], fontsize=7)
    right.set_xlabel("% of the rows are the therapist's")
    right.set_title("therapist's share")
    for axes, drawn in ((left, bars), (right, shares)):
        axes.bar_label(drawn, [f"{bar.get_height():.0f}" if bar.get_height() else "" for bar in drawn], fontsize=7)
        axes.set_ylabel("conversations")
        axes.yaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(f"Conversations, {scenario}")


def _labels(figure: Figure, statistics: Mapping[str, Json], scenario: str) -> None:
    titles = {
        "relation_patterns": "relation patterns",
        "support_strategies": "support strategies",
        "utterance_types": "utterance types",
    }
    for axes, (kind, title), colour in zip(figure.subplots(1, 3), titles.items(), _PALETTE, strict=False):
        shares = statistics["labels"][scenario][kind]
        names = [name for name in shares if name != "(outside the set)" or shares[name]["count"]]
        values = [100 * (shares[name]["share"] or 0) for name in names]
        bars = axes.barh(range(len(names)), values, color=colour)
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=7)
        axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
        axes.invert_yaxis()
        axes.margins(x=0.2)
        axes.set_xlabel("% of labels")
        axes.set_title(title)
    figure.suptitle(f"Labels, {scenario}")


def _transitions(figure: Figure, statistics: Mapping[str, Json], scenario: str) -> None:
    matrix = statistics["transitions"][scenario]
    names = list(matrix)
    values = [
        [float("nan") if after == before else 100 * (matrix[before]["to"].get(after) or 0) for after in names]
        for before in names
    ]
    axes: Axes = figure.subplots()
    picture = axes.imshow(values, cmap="viridis", vmin=0, vmax=100)
    shown = [name.replace("_", " ") for name in names]
    axes.set_xticks(range(len(names)), shown, rotation=40, ha="right")
    counts = [f"{label} ({matrix[name]['count']})" for name, label in zip(names, shown, strict=True)]
    axes.set_yticks(range(len(names)), counts)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if row != column:
                axes.text(
                    column, row, f"{value:.0f}", ha="center", va="center", color="white" if value < 60 else "black"
                )
    axes.set_xlabel("next label")
    axes.set_ylabel("label (number of changes)")
    axes.set_title(f"From one relation pattern to the next, % of changes, {scenario}")
    figure.colorbar(picture, ax=axes, label="%")


def _course(figure: Figure, statistics: Mapping[str, Json], scenario: str) -> None:
    tenths = statistics["relation_by_tenth"][scenario]
    names = [name for name in statistics["labels"][scenario]["relation_patterns"] if name != "(outside the set)"]
    axes: Axes = figure.subplots()
    below = [0.0] * len(tenths)
    for name, colour in zip(names, _PALETTE, strict=False):
        totals = [sum(tenth.values()) for tenth in tenths]
        shares = [
            100 * tenth.get(name, 0) / total if total else 0.0 for tenth, total in zip(tenths, totals, strict=True)
        ]
        axes.bar(
            range(len(tenths)), shares, bottom=below, color=colour, edgecolor="white", label=name.replace("_", " ")
        )
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.set_xticks(
        range(len(tenths)), [f"{10 * tenth}-{10 * tenth + 10} %" for tenth in range(len(tenths))], fontsize=7
    )
    axes.set_xlabel("part of the conversation")
    axes.set_ylabel("% of labels")
    axes.set_title(f"Relation patterns over the course of a conversation, {scenario}")
    figure.legend(loc="outside right upper", frameon=False)


_DRAWINGS: Mapping[str, Callable[[Figure, Mapping[str, Json], str], None]] = {
    "conversations": _conversations,
    "labels": _labels,
    "transitions": _transitions,
    "course": _course,
}
