"""No change is lost and none is applied twice: two windows, a dropped network, an ended server, a closed page."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.review_ui.hands import control, item, open_work, rows_of, saved, show_row
from tests.review_ui.served import Served

pytestmark = pytest.mark.slow


def _fields(page: Page, assignment: str, number: int) -> dict[str, Any]:
    fields = rows_of(page, assignment)[number - 1]["fields"]
    assert isinstance(fields, dict)
    return fields


def _history(page: Page, assignment: str, number: int, address: str) -> list[dict[str, Any]]:
    row = rows_of(page, assignment)[number - 1]["row_id"]
    entries = page.request.get(f"{address}/api/assignments/{assignment}/rows/{row}/history").json()["entries"]
    assert isinstance(entries, list)
    return entries


@pytest.fixture(scope="module")
def given(numbered: Served) -> str:
    return numbered.give("numbered", "bob", source="annotation")


def test_two_windows_on_different_fields_are_merged(
    numbered: Served, given: str, new_page: Callable[..., Page]
) -> None:
    one, other = new_page(), new_page()
    for page in (one, other):
        open_work(page, numbered, "bob", given)
        show_row(page, 1)
    control(one, "tone_of_voice").fill("flat and low")
    one.keyboard.press("Escape")
    saved(one)
    control(other, "dialogue_cleaned").fill("what was really said")
    other.keyboard.press("Escape")
    saved(other)
    fields = _fields(one, given, 1)
    assert (fields["tone_of_voice"], fields["dialogue_cleaned"]) == ("flat and low", "what was really said")
    expect(control(other, "tone_of_voice")).to_have_value("flat and low")


@pytest.mark.parametrize("choice", ["yours", "theirs"])
def test_two_windows_on_the_same_field_are_shown_side_by_side(
    numbered: Served, given: str, new_page: Callable[..., Page], choice: str
) -> None:
    number = 2 if choice == "yours" else 3
    one, other = new_page(), new_page()
    for page in (one, other):
        open_work(page, numbered, "bob", given)
        show_row(page, number)
    # The second window hears of it by polling only every few seconds: it must not have by then.
    other.route("**/changes?since=*", lambda route: route.abort())
    control(one, "dialogue_cleaned").fill("said in the first window")
    one.keyboard.press("Escape")
    saved(one)
    control(other, "dialogue_cleaned").fill("said in the second window")
    control(other, "tone_of_voice").fill("calm")
    dialog = other.get_by_role("dialog")
    expect(dialog).to_contain_text("said in the first window")
    expect(dialog).to_contain_text("said in the second window")
    dialog.locator(f'input[value="{choice}"]').check()
    dialog.get_by_role("button", name="Save my choice").click()
    other.keyboard.press("Escape")
    saved(other)
    fields = _fields(one, given, number)
    assert fields["dialogue_cleaned"] == f"said in the {'second' if choice == 'yours' else 'first'} window"
    assert fields["tone_of_voice"] == "calm"


def test_changes_wait_for_the_network_and_are_sent_once(
    numbered: Served, given: str, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 4)
    page.context.set_offline(True)
    control(page, "dialogue_cleaned").fill("written on the train")
    page.keyboard.press("Escape")
    expect(page.locator(".save-state")).to_contain_text("waiting for the server")
    show_row(page, 5)
    control(page, "tone_of_voice").fill("also on the train")
    page.keyboard.press("Escape")
    expect(page.locator(".save-state")).to_contain_text("2 changes waiting")
    page.context.set_offline(False)
    saved(page)
    assert _fields(page, given, 4)["dialogue_cleaned"] == "written on the train"
    assert _fields(page, given, 5)["tone_of_voice"] == "also on the train"
    assert [entry["op"] for entry in _history(page, given, 4, numbered.address)] == ["edit", "seed"]


def test_an_answer_that_is_lost_does_not_apply_the_change_twice(
    numbered: Served, given: str, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 6)
    lost: list[int] = []

    def lose_first(route: Any) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)  # the server has it; the page never hears so
            route.abort()
        else:
            route.continue_()

    page.route("**/changes", lose_first)
    control(page, "dialogue_cleaned").fill("heard once")
    page.keyboard.press("Escape")
    saved(page)
    assert lost == [200]
    assert [entry["op"] for entry in _history(page, given, 6, numbered.address)] == ["edit", "seed"]


def test_a_closed_page_sends_what_waited_when_it_is_opened_again(
    numbered: Served, given: str, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 7)
    numbered.stop(signal.SIGKILL)
    control(page, "dialogue_cleaned").fill("typed while the server was down")
    page.keyboard.press("Escape")
    expect(page.locator(".save-state")).to_contain_text("waiting")
    expect(item(page, 7)).to_contain_text("not saved yet")
    page.close(run_before_unload=False)
    numbered.start()
    again = page.context.new_page()
    again.goto(f"{numbered.address}/work/{given}")
    saved(again)
    expect(item(again, 7)).to_contain_text("typed while the server was down")
    assert _fields(again, given, 7)["dialogue_cleaned"] == "typed while the server was down"


def test_a_session_that_ends_loses_nothing(numbered: Served, given: str, new_page: Callable[..., Page]) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 8)
    page.context.clear_cookies()
    control(page, "dialogue_cleaned").fill("typed after the session ended")
    page.keyboard.press("Escape")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("signed out")
    dialog.get_by_label("Password").fill("a long password for tests")
    dialog.get_by_role("button", name="Sign in").click()
    saved(page)
    assert _fields(page, given, 8)["dialogue_cleaned"] == "typed after the session ended"


def test_an_earlier_state_is_looked_at_and_restored(
    numbered: Served, given: str, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 9)
    control(page, "dialogue_cleaned").fill("a mistake")
    page.keyboard.press("Escape")
    saved(page)
    page.keyboard.press("h")
    dialog = page.get_by_role("dialog")
    dialog.locator(".version").last.get_by_role("button", name="Look at it").click()
    dialog.get_by_role("button", name="Restore version 1").click()
    saved(page)
    assert _fields(page, given, 9)["dialogue_cleaned"] == "these are the words of row 9"
    assert [entry["op"] for entry in _history(page, given, 9, numbered.address)] == ["restore", "edit", "seed"]


def test_undo_and_redo_reach_the_server(numbered: Served, given: str, new_page: Callable[..., Page]) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 10)
    before = _fields(page, given, 10)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.evaluate("document.querySelector('video').currentTime = 22.6")
    page.keyboard.press("s")
    saved(page)
    assert len(rows_of(page, given)) == 21
    page.keyboard.press("z")
    saved(page)
    assert _fields(page, given, 10) == before
    page.keyboard.press("y")
    saved(page)
    assert _fields(page, given, 10)["end_time"] == pytest.approx(22.6, abs=0.05)
    page.keyboard.press("z")
    saved(page)


def test_markup_in_every_text_stays_text(numbered: Served, given: str, new_page: Callable[..., Page]) -> None:
    page = new_page()
    open_work(page, numbered, "bob", given)
    show_row(page, 11)
    nasty = "<img src=x onerror=\"window.broken=1\"><script>window.broken=1</script> & 'quoted'"
    for field in ("dialogue_cleaned", "tone_of_voice", "relation_pattern_reason"):
        control(page, field).fill(nasty)
    page.keyboard.press("Escape")
    for key in "123456":
        page.keyboard.press(key)
        page.keyboard.type(nasty)
        page.keyboard.press("Escape")
    saved(page)
    expect(item(page, 11)).to_contain_text("<img src=x")
    page.keyboard.press("h")
    expect(page.get_by_role("dialog")).to_contain_text("<script>")
    page.reload()
    expect(item(page, 11)).to_contain_text("<img src=x")
    assert page.evaluate("window.broken") is None
    assert page.locator("main img, main script").count() == 0
