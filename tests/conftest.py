"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.privacy import go_offline

REPOSITORY = Path(__file__).resolve().parent.parent

# No library may look for models on the network or send usage data during tests.
go_offline()


@pytest.fixture(scope="session")
def media() -> Path:
    """The folder of shared recordings beside the checkout; the test is skipped where it is missing."""
    folder = Path(os.environ.get("RESCUE_TEST_MEDIA", REPOSITORY.parent / "shared" / "media"))
    if not folder.is_dir():
        pytest.skip("no shared recordings beside the checkout (RESCUE_TEST_MEDIA names another folder)")
    return folder
