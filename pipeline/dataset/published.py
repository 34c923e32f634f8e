"""The figures of the published benchmark, and how a build compares with them, cell by cell (arXiv 2609.09657)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.store import Json

__all__ = ["Cell", "compare_with_published", "comparison_page"]

_SIZES: Mapping[str, Mapping[str, float]] = {  # Table 3
    "couple": {
        "conversations": 174,
        "minutes": 824.9,
        "rows": 5875,
        "minutes_per_conversation": 4.74,
        "rows_per_conversation": 33.76,
        "speakers_per_conversation": 3.00,
        "therapist_share_of_rows": 0.354,
    },
    "family": {
        "conversations": 17,
        "minutes": 239.9,
        "rows": 1204,
        "minutes_per_conversation": 14.11,
        "rows_per_conversation": 70.82,
        "speakers_per_conversation": 4.06,
        "therapist_share_of_rows": 0.471,
    },
}
_INSTANCES: Mapping[str, Mapping[str, int]] = {  # Table 6
    "couple": {"itp": 2722, "rpp": 1608, "stp": 1290, "ssp": 1290, "er": 844, "vp": 775},
    "family": {"itp": 284, "rpp": 525, "stp": 347, "ssp": 347, "er": 82, "vp": 80},
}
_WITH_INSTANCES: Mapping[str, Mapping[str, int]] = {
    "couple": {"itp": 168, "rpp": 172, "stp": 172, "ssp": 172, "er": 174, "vp": 170},
    "family": {"itp": 16, "rpp": 17, "stp": 17, "ssp": 17, "er": 17, "vp": 17},
}
_ROUNDED = {"minutes": 0.05, "minutes_per_conversation": 0.005, "rows_per_conversation": 0.005}
_ROUNDED |= {"speakers_per_conversation": 0.005, "therapist_share_of_rows": 0.0005}


@dataclass(frozen=True)
class Cell:
    """One published figure beside the built one."""

    figure: str
    scenario: str
    published: float
    built: float | None
    """None where the build has no such conversations."""
    equal: bool
    """Equal to the precision that was published."""


def compare_with_published(statistics: Mapping[str, Json]) -> list[Cell]:
    """Every figure of the published Tables 3 and 6 beside that of ``statistics.json``."""
    return list(_cells(statistics))


def comparison_page(cells: Sequence[Cell]) -> str:
    """The comparison as a page of Markdown."""
    equal = sum(cell.equal for cell in cells)
    lines = [
        "# Published against built",
        "",
        f"{equal} of {len(cells)} figures of Tables 3 and 6 are equal, to the precision that was published.",
        "",
        "| figure | scenario | published | built | |",
        "|---|---|---:|---:|---|",
    ]
    for cell in cells:
        built = "none" if cell.built is None else f"{cell.built:,g}"
        verdict = "equal" if cell.equal else "**differs**"
        lines.append(f"| {cell.figure} | {cell.scenario} | {cell.published:,g} | {built} | {verdict} |")
    return "\n".join(lines) + "\n"


def _cells(statistics: Mapping[str, Json]) -> Iterator[Cell]:
    for scenario, figures in _SIZES.items():
        built = statistics["sizes"].get(scenario, {})
        for name, value in figures.items():
            yield _cell(name.replace("_", " "), scenario, value, built.get(name), _ROUNDED.get(name, 0))
    tables = (("instances", _INSTANCES), ("conversations_with_instances", _WITH_INSTANCES))
    for table, published in tables:
        for scenario, figures in published.items():
            for task, value in figures.items():
                built = statistics[table].get(task, {}).get(scenario)
                yield _cell(f"{task.upper()} {table.replace('_', ' ')}", scenario, value, built, 0)


def _cell(figure: str, scenario: str, published: float, built: float | None, tolerance: float) -> Cell:
    equal = built is not None and abs(built - published) <= tolerance + 1e-9
    return Cell(figure, scenario, published, built, equal)
