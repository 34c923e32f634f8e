"""The evaluation report in a real browser: nothing scrolls sideways on a phone, whatever a model is called."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.evaluation.report import write_report
from tests.evaluation.made import outcomes
from tests.evaluation.test_report import a_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [360, 1280])
def test_a_long_name_does_not_widen_the_page(tmp_path: Path, new_page: Callable[..., Page], width: int) -> None:
    for number, name in enumerate(("m" * 60, "local/" + "n" * 60, "baseline/majority")):
        a_run(tmp_path / "evaluation", name, outcomes(number, skill=0.3 * number, model=name))
    written = write_report(tmp_path / "evaluation", tmp_path / "out", examples=2)
    page = new_page({"width": width, "height": 800})
    page.goto(written["html"].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if folder := os.environ.get("RESCUE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/report_{width}.png", full_page=True)
