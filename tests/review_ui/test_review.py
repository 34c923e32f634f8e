"""The demo reviewed from machine turns to verified rows, once with the mouse and once with the keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import REPOSITORY
from tests.review_ui.hands import control, item, rows_of, saved, show_row, sign_in, until
from tests.review_ui.served import Served

pytestmark = pytest.mark.slow

_TRUE = json.loads((REPOSITORY / "raw_video" / "role_play" / "annotations.json").read_text("utf-8"))["rows"]


def _truth(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the author of the demo wrote for the stretch that a machine turn covers most."""

    def shared(row: dict[str, Any]) -> float:
        return float(min(row["end_time"], fields["end_time"]) - max(row["start_time"], fields["start_time"]))

    found: dict[str, Any] = max(_TRUE, key=shared)
    return found


def _all_verified(page: Page, assignment: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rows_of(page, assignment)
    kept = [row for row in rows if not row["discarded"]]
    assert {row["status"] for row in kept} == {"verified"}
    for row in kept:
        true = _truth(row["fields"])
        assert row["fields"]["primary_speaker"] == true["primary_speaker"]
        assert row["fields"]["target"] == true["target"]
        assert row["fields"]["utterance_type"] == true["utterance_type"]
    return kept


def test_with_the_mouse(role_play: Served, new_page: Callable[..., Page]) -> None:
    assignment = role_play.give("role_play", "mia", source="turns")
    page = new_page()
    sign_in(page, role_play, "mia")
    page.get_by_role("link", name="A couple with a therapist").click()
    expect(page.locator(".row-item").first).to_be_visible()
    count = page.locator(".row-item").count()
    assert count > 40
    # A row without a speaker stays a draft, and the page says why.
    page.get_by_role("button", name="Verify and next").click()
    expect(page.locator(".toast.error")).to_contain_text("nobody speaks")
    expect(page.locator('[data-field="primary_speaker"] .finding.error')).to_be_visible()
    # One row of each voice names the others.
    for number in range(1, count + 1):
        show_row(page, number)
        true = _truth(rows_of(page, assignment)[number - 1]["fields"])  # type: ignore[arg-type]
        speaker = control(page, "primary_speaker")
        if speaker.input_value() != true["primary_speaker"]:
            was_empty = speaker.input_value() == ""
            speaker.select_option(true["primary_speaker"])
            others = page.get_by_role("button", name=f"All are {true['primary_speaker']}")
            if was_empty and number < 8:
                others.click()
        for name in true["target"]:
            page.locator('[data-field="target"]').get_by_label(name, exact=True).check()
        if true["utterance_type"]:
            control(page, "utterance_type").select_option(true["utterance_type"])
        page.get_by_role("button", name="Verify and next").click()
    saved(page)
    expect(page.locator(".rows-head")).to_contain_text(f"{count} of {count} verified")
    _all_verified(page, assignment)
    # Nested lists, labels and the end of a row, by hand.
    show_row(page, 2)
    page.get_by_role("button", name="+ Add emotion").click()
    page.get_by_role("textbox", name="Emotion, emotion 1").fill("hurt and braced for the next blow")
    page.get_by_role("spinbutton", name="Intensity, 0 to 10, emotion 1").fill("6.5")
    page.get_by_role("button", name="Verify and next").click()
    saved(page)
    row = rows_of(page, assignment)[1]
    assert row["status"] == "verified"
    assert row["fields"]["internal_emotion"][0]["intensity"] == 6.5  # type: ignore[index]
    _drag_end(page, 1, -0.4)
    saved(page)
    assert rows_of(page, assignment)[0]["status"] == "draft", "a changed row is verified again"
    page.get_by_role("button", name="Verify and next").click()
    # Split, merged again, and one discarded with its reason.
    show_row(page, 3)
    page.locator(".timeline canvas").click(position=_place(page, 3, 0.5))
    page.get_by_role("button", name="Split").click()
    expect(page.locator(".row-item")).to_have_count(count + 1)
    show_row(page, 3)
    page.get_by_role("button", name="Merge with next").click()
    expect(page.locator(".row-item")).to_have_count(count)
    page.get_by_role("button", name="Verify and next").click()
    show_row(page, count)
    page.locator(".editor-foot").get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="cannot be heard").click()
    expect(page.locator(".row-item")).to_have_count(count - 1)
    saved(page)
    _all_verified(page, assignment)
    page.get_by_role("button", name="I am done").click()
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    expect(page.get_by_text("✓ done")).to_be_visible()


def _edge(page: Page, number: int, field: str) -> tuple[float, float]:
    """Where an edge of a row stands on the timeline's canvas: x, and the middle of its lane."""
    found = page.evaluate(
        """([number, field]) => {
          const rows = [...document.querySelectorAll(".row-item")];
          rows[number - 1].click();
          return new Promise((resolve) => setTimeout(() => {
            const text = document.querySelector(`[data-field="${field}"] input`).value.split(":");
            const time = text.reduce((sum, part) => sum * 60 + Number(part), 0);
            const speaker = document.querySelector('[data-field="primary_speaker"] select').value;
            const scroller = document.querySelector(".timeline-scroller");
            const space = document.querySelector(".timeline-space");
            const labels = [...document.querySelectorAll(".lane-label.person")];
            const label = labels.find((one) => one.textContent === speaker);
            const lane = label.offsetTop + label.offsetHeight / 2 - label.parentElement.offsetTop;
            return resolve([time, space.offsetWidth, scroller.scrollLeft, lane]);
          }, 300));
        }""",
        [number, field],
    )
    time, width, left, lane = found
    duration = page.evaluate("document.querySelector('video').duration")
    return time * width / duration - left, lane


def _place(page: Page, number: int, share: float) -> Any:
    start, _ = _edge(page, number, "start_time")
    end, _ = _edge(page, number, "end_time")
    return {"x": start + share * (end - start), "y": 40}


def _drag_end(page: Page, number: int, seconds: float) -> None:
    x, lane = _edge(page, number, "end_time")
    start, _ = _edge(page, number, "start_time")
    times = [control(page, field).input_value().split(":")[-1] for field in ("start_time", "end_time")]
    scale = (x - start) / (float(times[1]) - float(times[0]))
    box = page.locator(".timeline canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + lane)
    page.mouse.down()
    page.mouse.move(box["x"] + x + seconds * scale, box["y"] + lane, steps=6)
    page.mouse.up()
    expect(control(page, "end_time")).not_to_have_value(":".join(["0", times[1]]))


def _pick(page: Page, wanted: str) -> None:
    """Choose in the list that has the focus, by arrows."""
    at = page.evaluate(
        "(wanted) => [...document.activeElement.options].findIndex((one) => one.value === wanted)", wanted
    )
    page.keyboard.press("Home")
    for _ in range(at):
        page.keyboard.press("ArrowDown")


def test_with_the_keyboard(role_play: Served, new_page: Callable[..., Page]) -> None:
    assignment = role_play.give("role_play", "kim", source="turns")
    page = new_page()
    page.goto(role_play.address)
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("kim")
    page.keyboard.press("Tab")
    page.keyboard.type("a long password for tests")
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="A couple with a therapist")
    expect(link).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        if link.evaluate("(element) => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".row-item").first).to_be_visible()
    page.mouse.move(0, 0)
    count = page.locator(".row-item").count()
    names = ["Nora", "Daniel", "Therapist", "Couple"]
    for number in range(1, count + 1):
        expect(page.locator(".editor-head h2")).to_have_text(f"Row {number}")
        true = _truth(rows_of(page, assignment)[number - 1]["fields"])  # type: ignore[arg-type]
        page.keyboard.press("w")
        _pick(page, true["primary_speaker"])
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        for at, name in enumerate(names):
            if name in true["target"]:
                page.keyboard.press("Space")
            if at < len(names) - 1:
                page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        if true["utterance_type"]:
            page.keyboard.press("q")
            _pick(page, true["utterance_type"])
            page.keyboard.press("Escape")
        page.keyboard.press("v")
    saved(page)
    _all_verified(page, assignment)
    # Again with what a row can hold besides, and cutting.
    for _ in range(count):
        page.keyboard.press("k")
    expect(page.locator(".editor-head h2")).to_have_text("Row 1")
    page.keyboard.press("j")
    page.keyboard.press("1")
    page.keyboard.type("hurt")
    page.keyboard.press("F8")
    saved(page)
    row = rows_of(page, assignment)[1]
    assert row["status"] == "verified"
    assert row["fields"]["internal_emotion"][0]["emotion_description"] == "hurt"  # type: ignore[index]
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    until(page, "!document.querySelector('video').paused")
    until(page, "document.querySelector('video').paused")
    page.keyboard.press("k")
    page.keyboard.press("j")
    for _ in range(4):  # into the row, frame by frame
        page.keyboard.press(".")
        until(page, "!document.querySelector('video').seeking")
    page.keyboard.press("s")
    expect(page.locator(".row-item")).to_have_count(count + 1)
    page.keyboard.press("z")
    expect(page.locator(".row-item")).to_have_count(count)
    expect(page.get_by_text("Undone:").first).to_be_visible()
    saved(page)
    page.keyboard.press("x")
    page.keyboard.type("cannot be heard")
    page.keyboard.press("Enter")
    expect(page.locator(".row-item")).to_have_count(count - 1)
    page.keyboard.press("z")
    saved(page)
    expect(item(page, count)).to_be_attached()
    _all_verified(page, assignment)
