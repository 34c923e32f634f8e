"""Data sets for runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.dataset.build import build_dataset
from tests.dataset.made import project, run


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with eight made conversations of several groups, read only."""
    settings = project(tmp_path_factory.mktemp("project"))
    build_dataset(run(settings), settings)
    return settings.data


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    """The same data with no run in it."""
    (tmp_path / "benchmark").symlink_to(built / "benchmark")
    return tmp_path
