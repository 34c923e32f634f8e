"""The figures about the data set: for each split and over all, as JSON, as a table, as pictures."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.build import find_workspaces
from pipeline.dataset.build import build_dataset
from pipeline.dataset.figures import keep_figures
from pipeline.settings import DatasetSettings, Settings, SplitScheme
from pipeline.store import read_json
from tests.dataset.made import project

SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = project(tmp_path_factory.mktemp("project"), samples=30)
    scheme = DatasetSettings(split="parts", schemes={"parts": SplitScheme(shares=SHARES)})
    settings = settings.model_copy(update={"dataset": scheme})
    build_dataset(find_workspaces(settings).workspaces, settings)
    return settings


def test_the_splits_add_up_to_the_whole_and_to_the_tables(made: Settings) -> None:
    statistics = read_json(made.benchmark_dir / "statistics.json")
    assert set(statistics["splits"]) == set(SHARES)
    for scenario, sizes in statistics["sizes"].items():
        for figure in ("conversations", "rows"):
            parts = [part["sizes"].get(scenario, {}).get(figure, 0) for part in statistics["splits"].values()]
            assert sum(parts) == sizes[figure]
    for split, part in statistics["splits"].items():
        rows = pq.read_metadata(made.benchmark_dir / "rows" / f"{split}.parquet").num_rows
        assert sum(sizes["rows"] for sizes in part["sizes"].values()) == rows
        for task, counts in part["instances"].items():
            stored = pq.read_metadata(made.benchmark_dir / task / f"{split}.parquet").num_rows
            assert sum(counts.values()) == stored, (task, split)


def test_the_table_holds_every_number_of_the_json(made: Settings) -> None:
    statistics = read_json(made.benchmark_dir / "statistics.json")
    table = pq.read_table(made.benchmark_dir / "statistics.parquet")

    def value(split: str | None, figure: str, scenario: str, item: str | None = None, to: str | None = None) -> float:
        wanted = {"split": split, "figure": figure, "scenario": scenario, "item": item, "to": to}
        mask = None
        for column, text in wanted.items():
            here = pc.is_null(table[column]) if text is None else pc.fill_null(pc.equal(table[column], text), False)
            mask = here if mask is None else pc.and_(mask, here)
        (found,) = table.filter(mask)["value"].to_pylist()
        return float(found)

    for split, part in [(None, statistics), *statistics["splits"].items()]:
        for scenario in part["sizes"]:
            assert value(split, "minutes", scenario) == part["sizes"][scenario]["minutes"]
            for label, found in part["labels"][scenario]["relation_patterns"].items():
                assert value(split, "relation_patterns_count", scenario, label) == found["count"]
            for reason, count in part["excluded"]["itp"][scenario].items():
                assert value(split, "excluded", scenario, "itp", reason) == count


def test_every_conversation_is_in_the_distributions(made: Settings) -> None:
    statistics = read_json(made.benchmark_dir / "statistics.json")
    for scenario, sizes in statistics["sizes"].items():
        for figure in ("conversations_by_minutes", "conversations_by_therapist_tenth"):
            assert sum(statistics[figure][scenario].values()) == sizes["conversations"]


def test_figures_are_made_once_and_again_when_the_numbers_change(made: Settings) -> None:
    files = keep_figures(made.benchmark_dir)
    assert files
    assert {file.suffix for file in files} == {".svg", ".png"}
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}
    assert keep_figures(made.benchmark_dir) == files
    assert {file: file.stat().st_mtime_ns for file in files} == {file: when for file, (when, _) in before.items()}
    files[0].unlink()
    again = keep_figures(made.benchmark_dir)
    assert again == files
    assert {file: file.read_bytes() for file in files} == {file: content for file, (_, content) in before.items()}
    assert not any(str(Path.cwd()).encode() in content for _, content in before.values())
