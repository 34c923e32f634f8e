"""A long conversation opens quickly: 300 rows over an hour."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.review_ui.frames import make_numbered
from tests.review_ui.hands import control, item, open_work, saved
from tests.review_ui.served import Served, make_conversation

pytestmark = pytest.mark.slow

_ROWS = 300
_READY = """() => performance.getEntriesByName("rows-shown")[0]?.startTime ?? null"""
_MARK = """
new MutationObserver((_, observer) => {
  if (document.querySelectorAll(".row-item").length < 300) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("rows-shown")));
}).observe(document, { childList: true, subtree: true });
"""


@pytest.fixture
def long(tmp_path: Path) -> Served:
    served = Served(tmp_path)
    clip = tmp_path / "hour.mp4"
    make_numbered(clip, seconds=3600, fps=1)
    rows = [
        {
            "row_index": index, "start_time": 12.0 * (index - 1) + 0.5, "end_time": 12.0 * index - 1,
            "primary_speaker": ("Anna", "Ben", "Therapist")[index % 3], "target": ["Couple"],
            "dialogue_cleaned": f"row {index}: " + "what is said in it goes on for a while " * 3,
            "utterance_type": None if index % 3 == 2 else "other",
            "internal_emotion": [{"person": "Anna", "emotion_description": "hurt", "intensity": 5}],
        }
        for index in range(1, _ROWS + 1)
    ]  # fmt: skip
    annotation = {"conversation_id": "hour", "participants": ["Anna", "Ben"], "scenario": "couple", "rows": rows}
    make_conversation(served.settings.raw, "hour", clip, annotation)
    served.build("hour")
    served.people(ann="annotator")
    return served


def test_an_hour_of_300_rows_opens_in_a_second(long: Served, new_page: Callable[..., Page]) -> None:
    assignment = long.give("hour", "ann", source="annotation")
    long.start()
    try:
        page = new_page()
        page.add_init_script(_MARK)
        open_work(page, long, "ann", assignment)
        times = []
        for _ in range(5):
            page.reload()
            expect(page.locator(".row-item")).to_have_count(_ROWS)
            page.wait_for_timeout(200)
            times.append(page.evaluate(_READY))
        # The median, and twice the promise: the machine does other things too. The benchmark holds the promise itself.
        assert statistics.median(times) < 2000, times
        item(page, 200).click()
        expect(page.locator(".editor-head h2")).to_have_text("Row 200")
        control(page, "tone_of_voice").fill("quick")
        page.keyboard.press("Escape")
        saved(page)
    finally:
        long.stop()
