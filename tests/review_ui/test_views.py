"""Every view, wide and narrow: nothing sticks out, and axe finds no serious fault.

Screenshots go into the folder that RESCUE_SHOTS names, if it does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.review_ui.answers import give_answers
from tests.review_ui.hands import control, item, open_work, rows_of, saved, show_row, sign_in, verify_all
from tests.review_ui.served import PASSWORD, Served

pytestmark = pytest.mark.slow

_AXE = "axe-core@4.10.3"
_SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 1024, "height": 768}}
_STICKS_OUT = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => !one.closest(".timeline-scroller, .table-frame"))
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe, fetched for this run only."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which fetches axe, is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", _AXE]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    if done.returncode:
        pytest.skip("axe could not be fetched: no network?")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def adjudicated(numbered: Served) -> str:
    """An adjudication of two people who differ in one row, and two conversations in an annotator's queue."""
    one = numbered.give("adjudicated", "cat", source="annotation")
    other = numbered.give("adjudicated", "dan", source="annotation")
    for name, assignment in (("cat", one), ("dan", other)):
        verify_all(numbered, name, assignment)
    return numbered.give("adjudicated", "cleo", task="adjudicate")


def _judge(page: Page, axe: str, name: str) -> None:
    page.wait_for_timeout(300)
    if "RESCUE_SHOTS" in os.environ:
        size = page.viewport_size
        assert size is not None
        page.screenshot(path=Path(os.environ["RESCUE_SHOTS"]) / f"{name}_{size['width']}.png")
    assert page.evaluate(_STICKS_OUT) == [], name
    page.evaluate(f"() => {{ {axe}\n; window.axe = axe; }}")
    found = page.evaluate("() => window.axe.run(document, { resultTypes: ['violations'] })")
    bad = [
        (fault["id"], fault["impact"], [node["html"][:160] for node in fault["nodes"][:4]])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert not bad, (name, bad)


@pytest.mark.parametrize("size", _SIZES)
def test_sign_in_and_queue(
    numbered: Served, adjudicated: str, new_page: Callable[..., Page], axe: str, size: str
) -> None:
    page = new_page(_SIZES[size])
    page.goto(numbered.address)
    expect(page.get_by_label("Password")).to_be_visible()
    _judge(page, axe, "sign_in")
    page.get_by_label("Name").fill("cat")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    _judge(page, axe, "sign_in_wrong")
    sign_in(page, numbered, "cat")
    expect(page.locator("table")).to_be_visible()
    _judge(page, axe, "queue")
    page.goto(f"{numbered.address}/rate")
    expect(page.get_by_text("nothing for you to rate")).to_be_visible()
    _judge(page, axe, "rate_empty")
    page.goto(f"{numbered.address}/work/no-such-thing")
    expect(page.get_by_role("alert")).to_contain_text("not here, or it is not assigned to you")
    _judge(page, axe, "not_found")


@pytest.fixture(scope="module")
def desk(numbered: Served) -> str:
    numbered.people(gil="annotator")
    return numbered.give("numbered", "gil", source="annotation")


@pytest.mark.parametrize("size", _SIZES)
def test_the_desk(numbered: Served, desk: str, new_page: Callable[..., Page], axe: str, size: str) -> None:
    page = new_page(_SIZES[size])
    open_work(page, numbered, "gil", desk)
    _judge(page, axe, "work")
    show_row(page, 2)
    for key in "123456":
        page.keyboard.press(key)
        page.keyboard.press("Escape")
    saved(page)
    page.locator(".editor-body").evaluate("(one) => (one.scrollTop = 700)")
    _judge(page, axe, "work_records")
    control(page, "end_time").fill("0:00.1")
    page.keyboard.press("Escape")
    expect(page.locator('[data-field="end_time"] .finding.error')).to_be_visible()
    expect(page.locator(".editor-head")).to_contain_text("cannot be verified")
    _judge(page, axe, "work_error")
    page.keyboard.press("g")
    expect(page.get_by_role("heading", name="Cut the conversation into rows")).to_be_visible()
    _judge(page, axe, "guidelines")
    page.keyboard.press("Escape")
    page.locator('[data-field="utterance_type"]').get_by_role("button", name="Definitions").click()
    expect(page.get_by_role("heading", name="accusation")).to_be_visible()
    _judge(page, axe, "definitions")
    page.keyboard.press("Escape")
    for key, name in (("?", "keys"), ("h", "row_history"), ("x", "discard")):
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        _judge(page, axe, name)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="History", exact=True).click()
    expect(page.locator("dialog .version").first).to_be_visible()
    _judge(page, axe, "history")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("size", _SIZES)
def test_adjudication(numbered: Served, adjudicated: str, new_page: Callable[..., Page], axe: str, size: str) -> None:
    page = new_page(_SIZES[size])
    open_work(page, numbered, "cleo", adjudicated, "adjudicate")
    show_row(page, 4)
    differing = page.locator(".differences")
    if size == "wide":
        expect(differing).to_contain_text("1 field differs")
        expect(item(page, 4)).to_contain_text("1 differ")
        expect(differing).to_contain_text("open: the rule does not decide")
    _judge(page, axe, "adjudicate")
    wanted = "dan" if size == "wide" else "cat"
    differing.get_by_label(f"as {wanted} hears it").check()
    saved(page)
    assert rows_of(page, adjudicated)[3]["fields"]["tone_of_voice"] == f"as {wanted} hears it"  # type: ignore[index]
    page.get_by_role("button", name="Agreement").click()
    expect(page.get_by_role("dialog").locator("table")).to_be_visible()
    _judge(page, axe, "agreement")
    page.keyboard.press("Escape")
    show_row(page, 5)
    expect(differing).to_contain_text("All agree on this row")


@pytest.mark.parametrize("size", _SIZES)
def test_administration(numbered: Served, new_page: Callable[..., Page], axe: str, size: str) -> None:
    page = new_page(_SIZES[size])
    sign_in(page, numbered, "ada", "/admin")
    expect(page.get_by_role("heading", name="numbered")).to_be_visible()
    _judge(page, axe, "admin_conversations")
    for tab, wanted in (("People", "Last seen"), ("Ratings", "answers"), ("Audit log", "When")):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel")).to_contain_text(wanted)
        _judge(page, axe, f"admin_{tab.split()[0].lower()}")
    page.get_by_role("tab", name="People").click()
    page.get_by_label("Name").fill(f"new-{size}")
    page.get_by_role("button", name="Add a person").click()
    dialog = page.get_by_role("dialog")
    password = dialog.locator(".secret").inner_text()
    _judge(page, axe, "password_once")
    dialog.get_by_role("button", name="Noted").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="rescue review")).to_be_visible()
    page.get_by_label("Name").fill(f"new-{size}")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Password you were given").fill(password)
    page.get_by_label("New password").fill("a password of my own")
    _judge(page, axe, "own_password")
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_text("No conversation is assigned to you yet")).to_be_visible()
    _judge(page, axe, "queue_empty")


@pytest.mark.parametrize("size", _SIZES)
def test_rating(numbered: Served, answers: None, new_page: Callable[..., Page], axe: str, size: str) -> None:
    del answers
    page = new_page(_SIZES[size])
    sign_in(page, numbered, "rita", "/rate")
    expect(page.locator("table")).to_contain_text("hurt and lonely")
    _judge(page, axe, "rate_sets")
    page.get_by_role("link", name="hurt and lonely").click()
    expect(page.get_by_text("Answer 1 of 4").or_(page.get_by_text("Answer 4 of 4"))).to_be_visible()
    _judge(page, axe, "rate")
    for _ in range(4):
        page.keyboard.press("2")
        page.keyboard.press("2")
        expect(page.get_by_text("✓ saved")).to_be_visible()
        page.keyboard.press("n")
    expect(page.get_by_text("4 rated")).to_be_visible()
    _judge(page, axe, "rate_done")
    page = new_page(_SIZES[size])
    sign_in(page, numbered, "ada", "/admin")
    page.get_by_role("tab", name="Ratings").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("New set")
    _judge(page, axe, "admin_sets")


@pytest.fixture(scope="module")
def answers(numbered: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    numbered.people(rita="reader")
    give_answers(numbered, tmp_path_factory.mktemp("dataset"), "hurt and lonely", rater="rita", by="ada")


@pytest.mark.parametrize(
    "wanted", ["/.//evil.example/x", "/..//evil.example", "//evil.example", "https://evil.example"]
)
def test_signing_in_leads_to_no_other_server(numbered: Served, new_page: Callable[..., Page], wanted: str) -> None:
    page = new_page(_SIZES["wide"])
    page.goto(f"{numbered.address}/sign-in?next={wanted}")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "sign-in" not in url)
    assert page.url.startswith(f"{numbered.address}/")
