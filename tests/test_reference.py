"""The reference pages say what the code does."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", REPOSITORY / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["settings", "commands"])
def test_the_page_is_current(reference: ModuleType, page: str) -> None:
    written = (REPOSITORY / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    assert written == getattr(reference, f"{page}_page")(), "run python scripts/reference.py"
