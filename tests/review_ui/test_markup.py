"""Markup, turned text and endless words in everything that people can write: shown as text, in every view and size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.review.made import turn, write_turns
from tests.review_ui.answers import give_answers
from tests.review_ui.frames import make_numbered
from tests.review_ui.hands import control, item, open_work, rows_of, saved, show_row, sign_in, verify_all
from tests.review_ui.served import Served, make_conversation

pytestmark = pytest.mark.slow

_SCRIPT = "<script>window.broken=1</script><img src=x onerror=\"window.broken=1\">\"'><svg onload='window.broken=1'>"
_TURNED = "\u202eesrever\u2066"
NASTY = f"{_SCRIPT} &amp; &lt;b&gt; {{{{7*7}}}} {_TURNED} {'W' * 300}"
PEOPLE = ("<script>window.broken=1</script>", f"<img src=x onerror='window.broken=1'>{_TURNED}{'M' * 60}")
ID = f"<b onmouseover='window.broken=1'>&{_TURNED}{'i' * 50}"
JUDGED = f"{ID} judged"
_SIZES = ({"width": 1440, "height": 900}, {"width": 1024, "height": 768})
_LOOK = r"""() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest("textarea")) texts.push(walker.currentNode.data);
  return {
    ran: window.broken ?? null,
    elements: document.body.querySelectorAll("img, svg, #app script, dialog script, [onerror], [onload], [onmouseover]")
      .length,
    turned: texts.filter((text) => /[\u202a-\u202e\u2066-\u2069]/.test(text)).map((text) => text.slice(0, 80)),
    wide: document.documentElement.scrollWidth - innerWidth,
    out: [...document.querySelectorAll("body *")]
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .filter((one) => !one.closest(".timeline-scroller, .table-frame"))
      .map((one) => one.outerHTML.slice(0, 120)),
    hidden: [...document.querySelectorAll("button, a, input, select, textarea, h1, h2, h3")]
      .filter((one) => one.getClientRects().length && !one.closest(".visually-hidden, .skip"))
      .filter((one) => one.getBoundingClientRect().width < 8)
      .map((one) => one.outerHTML.slice(0, 120)),
  };
}"""
_WHOLE: dict[str, Any] = {"ran": None, "elements": 0, "turned": [], "wide": 0, "out": [], "hidden": []}


def _stays_text(page: Page, name: str) -> None:
    for size in _SIZES:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        page.wait_for_timeout(150)
        if "RESCUE_SHOTS" in os.environ:
            page.screenshot(path=Path(os.environ["RESCUE_SHOTS"]) / f"markup_{name}_{size['width']}.png")
        found = page.evaluate(_LOOK)
        assert {**found, "wide": max(0, found["wide"])} == _WHOLE, (name, size)


def _row(index: int) -> dict[str, Any]:
    one, other = PEOPLE if index % 2 else PEOPLE[::-1]
    described = [{"person": one, "description": NASTY}]
    return {
        "row_index": index,
        "start_time": 2.0 * (index - 1),
        "end_time": 2.0 * index - 0.5,
        "primary_speaker": one,
        "target": [other, NASTY],
        "dialogue_cleaned": NASTY,
        "utterance_type": NASTY,
        "background_dialogue": [{"speaker": other, "target": [one], "content": NASTY}],
        "tone_of_voice": NASTY,
        "body_posture": described,
        "facial_expressions": described,
        "self_directed_behavior": described,
        "interaction_behavior": [{"initiator": one, "target": [other], "description": NASTY}],
        "internal_emotion": [{"person": one, "emotion_description": NASTY, "intensity": 5}],
        "viewpoints_attitudes": [{"source": one, "target": NASTY, "viewpoint": NASTY, "attitude": NASTY}],
        "support_strategy": [{"provider": NASTY, "target": [other], "strategy_type": NASTY, "strategy_content": NASTY}],
        "relation_pattern": NASTY,
        "relation_pattern_reason": NASTY,
        "relation_cycle_state": NASTY,
        "relation_cycle_reason": NASTY,
    }


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A conversation in which everything that people write is an attack."""
    served = Served(tmp_path_factory.mktemp("nasty"))
    clip = served.root / "clip.mp4"
    make_numbered(clip, seconds=12)
    rows = [_row(index) for index in range(1, 6)]
    for name, identity in (("nasty", ID), ("judged", JUDGED)):
        annotation = {"conversation_id": identity, "participants": list(PEOPLE), "scenario": "couple", "rows": rows}
        known = {"id": identity, "title": NASTY, "participants": PEOPLE, "subtitles": "cues.srt"}
        folder = make_conversation(served.settings.raw, name, clip, annotation, **known)
        (folder / "cues.srt").write_text(f"1\n00:00:01,000 --> 00:00:04,000\n{NASTY}\n", "utf-8")
        served.build(identity)
        turns = [turn(number + 1, NASTY[:120], number * 2.0, NASTY) for number in range(5)]
        write_turns(served.workspace(identity), turns)
    broken = served.settings.raw / "nasty" / "annotations"
    broken.mkdir()
    (broken / "<b>broken &amp;.json").write_text("{", "utf-8")
    served.people(
        **{"a" * 40: "annotator"}, bob="annotator", dan="annotator", cleo="adjudicator", rita="reader",
        ada="administrator",
    )  # fmt: skip
    give_answers(served, tmp_path_factory.mktemp("dataset"), NASTY, rater="rita", by="ada")
    served.start()
    yield served
    served.stop()


def test_the_queue_and_the_desk(nasty: Served, new_page: Callable[..., Page]) -> None:
    name = "a" * 40
    assignment = nasty.give(ID, name, source="annotation")
    page = new_page()
    sign_in(page, nasty, name)
    expect(page.locator("table")).to_contain_text("<script>window.broken")
    _stays_text(page, "queue")
    page.get_by_role("link", name="<script>").click()
    expect(page.locator(".row-item")).to_have_count(5)
    _stays_text(page, "desk")
    show_row(page, 2)
    for share in (0.3, 0.6, 1):
        page.locator(".editor-body").evaluate("(one, share) => (one.scrollTop = share * one.scrollHeight)", share)
        _stays_text(page, f"fields_{share}")
    control(page, "tone_of_voice").fill(f"{NASTY} again")
    page.keyboard.press("Escape")
    saved(page)
    # Discarded with a reason of one's own, which is seen in the list, the history of the row, and that of all.
    page.keyboard.press("x")
    page.get_by_role("dialog").get_by_role("textbox").fill(NASTY)
    _stays_text(page, "discard")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    expect(page.locator(".row-item")).to_have_count(4)
    saved(page)
    page.get_by_label("Which rows are shown").select_option("discarded")
    expect(page.locator(".row-item")).to_contain_text("<img src=x")
    page.locator(".row-item").click()
    _stays_text(page, "discarded")
    page.keyboard.press("h")
    expect(page.get_by_role("dialog").locator("ol")).to_contain_text("<script>")
    page.get_by_role("button", name="Look at it").last.click()
    _stays_text(page, "row_history")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="History", exact=True).click()
    expect(page.locator("dialog .version").first).to_contain_text("<script>")
    _stays_text(page, "history")
    page.keyboard.press("Escape")
    page.get_by_label("Which rows are shown").select_option("all")
    # What the page says of itself: names in findings, errors and offers.
    show_row(page, 2)  # of the first person again; the next one is the other's
    page.get_by_role("button", name="Merge with next").click()
    expect(page.get_by_role("dialog")).to_contain_text("Two speakers")
    _stays_text(page, "two_speakers")
    page.keyboard.press("Escape")
    control(page, "primary_speaker").select_option(PEOPLE[1])
    saved(page)
    _stays_text(page, "offer")
    control(page, "end_time").fill("0:00.0")
    page.keyboard.press("Escape")
    saved(page)
    page.get_by_role("button", name="Verify and next").click()
    _stays_text(page, "error")
    # A conflict, side by side.
    other = new_page()
    open_work(other, nasty, name, assignment)
    for one in (page, other):
        one.route("**/changes?since=*", lambda route: route.abort())
        show_row(one, 3)
    control(other, "dialogue_cleaned").fill(f"{NASTY} theirs")
    other.keyboard.press("Escape")
    saved(other)
    control(page, "dialogue_cleaned").fill(f"{NASTY} mine")
    expect(page.get_by_role("dialog")).to_contain_text("theirs")
    _stays_text(page, "conflict")


def test_adjudication_reading_and_administration(nasty: Served, new_page: Callable[..., Page]) -> None:
    for name in ("bob", "dan"):
        verify_all(nasty, name, nasty.give(JUDGED, name, source="annotation"))
    judged = nasty.give(JUDGED, "cleo", task="adjudicate")
    page = new_page()
    open_work(page, nasty, "cleo", judged, "adjudicate")
    show_row(page, 4)
    _stays_text(page, "adjudicate")
    page.get_by_role("button", name="Agreement").click()
    _stays_text(page, "agreement")

    reading = nasty.give(JUDGED, "rita", task="read")
    page = new_page()
    open_work(page, nasty, "rita", reading)
    expect(item(page, 1)).to_contain_text("<script>")
    assert rows_of(page, reading)[0]["fields"]["dialogue_cleaned"] == NASTY  # type: ignore[index]
    _stays_text(page, "read")
    page.goto(f"{nasty.address}/rate")
    expect(page.locator("table")).to_contain_text("<script>")
    _stays_text(page, "batches")
    page.get_by_role("link", name="<script>").click()
    for number in range(1, 5):
        expect(page.get_by_text(f"Answer {number} of 4")).to_be_visible()
        _stays_text(page, f"rate_{number}")
        page.keyboard.press("n")

    page = new_page()
    sign_in(page, nasty, "ada", "/admin")
    expect(page.get_by_text("cannot be read").or_(page.get_by_text("broken &amp;.json"))).to_be_visible()
    _stays_text(page, "admin_conversations")
    page.get_by_role("button", name="Export annotations").and_(page.locator(":enabled")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Exported")
    _stays_text(page, "exported")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Take", exact=False).first.click()
    _stays_text(page, "take_away")
    page.keyboard.press("Escape")
    for tab, wanted in (("People", "Last seen"), ("Ratings", "<script>"), ("Audit log", "When")):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel")).to_contain_text(wanted)
        _stays_text(page, f"admin_{tab.split()[0].lower()}")
    page.get_by_role("tab", name="People").click()
    page.get_by_label("Name").fill(NASTY[:200])
    page.get_by_role("button", name="Add a person").click()
    expect(page.locator(".toast.error")).to_contain_text("is no name for an account")
    _stays_text(page, "no_name")
