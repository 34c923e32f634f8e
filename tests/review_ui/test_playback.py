"""Playing a row shows its first frame first and stops within a frame of its last one."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.review_ui.frames import READ_FRAME
from tests.review_ui.hands import open_work, rows_of, show_row, until
from tests.review_ui.served import Served

pytestmark = pytest.mark.slow

_FPS = 25
_WATCH = """() => {
  const video = document.querySelector("video");
  window.shown = [];
  // By their time: reading the picture of every frame would itself delay the page.
  const note = (now, { mediaTime }) => {
    window.shown.push(Math.round(mediaTime * 25));
    video.requestVideoFrameCallback(note);
  };
  video.requestVideoFrameCallback(note);
}"""
_STOPPED = (
    "document.querySelector('video').paused && !document.querySelector('video').seeking && window.shown.length > 3"
)


def test_twenty_rows_play_from_their_first_to_their_last_frame(numbered: Served, new_page: Callable[..., Page]) -> None:
    assignment = numbered.give("numbered", "ann", source="annotation")
    page = new_page()
    page.add_init_script(READ_FRAME)
    open_work(page, numbered, "ann", assignment)
    page.evaluate(_WATCH)
    rows = rows_of(page, assignment)
    assert len(rows) == 20
    wrong = []
    for number, row in enumerate(rows, start=1):
        start, end = row["fields"]["start_time"], row["fields"]["end_time"]  # type: ignore[index]
        first, last = math.floor(start * _FPS + 1e-6), math.ceil(end * _FPS - 1e-6) - 1
        show_row(page, number)
        until(page, f"window.readFrame(document.querySelector('video')) === {first}")
        page.evaluate("window.shown = []")
        page.keyboard.press("r")
        until(page, _STOPPED)
        page.wait_for_timeout(120)
        stood = page.evaluate("window.readFrame(document.querySelector('video'))")
        played = page.evaluate("window.shown")
        if stood != last or min(played) < first or max(played) > last + 1:
            wrong.append((number, first, last, stood, min(played), max(played)))
    assert not wrong, wrong


def test_stepping_shows_the_next_and_the_previous_frame(numbered: Served, new_page: Callable[..., Page]) -> None:
    assignment = numbered.give("numbered", "fay", source="annotation")
    page = new_page()
    page.add_init_script(READ_FRAME)
    open_work(page, numbered, "fay", assignment)
    show_row(page, 3)
    at = page.evaluate("window.readFrame(document.querySelector('video'))")
    for key, wanted in ((".", at + 1), (".", at + 2), (",", at + 1), (",", at), (",", at - 1)):
        page.keyboard.press(key)
        until(page, f"window.readFrame(document.querySelector('video')) === {wanted}")


def test_a_looped_row_begins_again(numbered: Served, new_page: Callable[..., Page]) -> None:
    assignment = numbered.give("numbered", "eve", source="annotation")
    page = new_page()
    open_work(page, numbered, "eve", assignment)
    show_row(page, 2)
    page.keyboard.press("l")
    page.evaluate(
        "window.back = 0; document.querySelector('video').addEventListener('seeked', () => (window.back += 1))"
    )
    page.keyboard.press("r")
    until(page, "window.back >= 3")
    assert not page.evaluate("document.querySelector('video').paused")
    page.keyboard.press("l")
    until(page, "document.querySelector('video').paused")
