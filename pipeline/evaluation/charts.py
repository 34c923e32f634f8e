"""The figures of the report as inline SVG.

Each is as wide as a phone, so that a page can put them side by side or one below the other without scaling their text.
Models are told apart by place or by marker as well as by colour (Okabe and Ito). The same scores give the same bytes.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["by_tenth", "forest"]

_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "rescue",
    "svg.fonttype": "none",
    "text.parse_math": False,  # names of models are no formulas
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_WIDTH = 3.7
"""Inches; a phone of 390 pixels has 3.7 between the margins."""


def forest(models: Sequence[str], figures: Sequence[Mapping[str, Any]], label: str, limits: tuple[float, float]) -> str:
    """One line a model: the value as a point, its interval as a bar.

    Args:
        models: Names.
        figures: For each model ``value``, ``low`` and ``high``; ``low`` is None where there is no interval.
        label: Of the axis.
        limits: Of the axis.
    """
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and takes a second to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, 0.75 + 0.36 * len(models)), layout="constrained")
        axes = figure.subplots()
        for place, (name, found) in enumerate(zip(models, figures, strict=True)):
            colour = _PALETTE[0]
            if found["low"] is not None:
                axes.plot([found["low"], found["high"]], [place, place], color=colour, linewidth=2, alpha=0.45)
            axes.plot(found["value"], place, "o", color=colour, markersize=5)
            # The name stands above its line: beside it, long names would leave no room on a phone.
            axes.annotate(
                _short(name), (0, place), (0, 5), ("axes fraction", "data"), "offset points", fontsize=8, va="bottom"
            )
        axes.set_ylim(len(models) - 0.5, -0.9)
        axes.set_yticks([])
        axes.set_xlim(*limits)
        axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(label)
        return _svg(figure, f"{label}: {', '.join(models)}")


def by_tenth(models: Sequence[str], values: Sequence[Sequence[float | None]], label: str) -> str:
    """One curve a model over the ten tenths of the dialogue; at most seven models, more cannot be told apart.

    Args:
        models: Names.
        values: For each model ten values in percent; None where nothing was measured.
        label: Of the axis.
    """
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and takes a second to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        shown = min(len(models), len(_PALETTE))
        figure = Figure(figsize=(_WIDTH, 2.5 + 0.2 * shown), layout="constrained")
        axes = figure.subplots()
        for name, line, colour, marker in zip(models, values, _PALETTE, _MARKERS, strict=False):
            numbers = [float("nan") if value is None else value for value in line]
            axes.plot(range(10), numbers, color=colour, marker=marker, markersize=4, linewidth=1.4, label=_short(name))
        axes.set_xticks(range(10), [str(10 * tenth) for tenth in range(10)])
        axes.set_xlabel("part of the dialogue, from % on")
        axes.set_ylabel(label)
        axes.set_ylim(-3, 103)
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.7)
        figure.legend(loc="outside lower left", frameon=False, fontsize=8)
        return _svg(figure, f"{label} by part of the dialogue")


def _short(name: str) -> str:
    """A name that fits the width: long ones lose their middle."""
    return name if len(name) <= 44 else f"{name[:12]}\u2026{name[-31:]}"


def _svg(figure: Figure, description: str) -> str:
    from markupsafe import escape  # noqa: PLC0415 - comes with jinja2, an extra

    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    # A page holds many: references go to the first of equal ids, and equal ids of matplotlib may differ in content.
    unique = f"f{zlib.crc32(svg.encode()):x}"
    svg = re.sub(r'id="([^"]+)"', rf'id="{unique}-\1"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{unique}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)
