"""What a person does on the review page: signing in, opening, reading what it says."""

from __future__ import annotations

import http.cookiejar
import json
import time
import urllib.request
from typing import Any
from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from tests.review_ui.served import PASSWORD, Served

__all__ = ["control", "item", "open_work", "rows_of", "saved", "show_row", "sign_in", "until", "verify_all"]


def sign_in(page: Page, served: Served, name: str, path: str = "/") -> None:
    """Sign in by the form; leads on to where the person wanted to go."""
    page.goto(served.address + path)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(served.address + path)


def open_work(page: Page, served: Served, name: str, assignment: str, view: str = "work") -> None:
    """Sign in and open an assignment; ends once its rows are shown."""
    sign_in(page, served, name, f"/{view}/{assignment}")
    # The libraries of the agreement figures load at the first adjudication.
    expect(page.locator(".row-item").first).to_be_visible(timeout=60_000)
    until(page, "document.querySelector('video, audio').readyState >= 2")


def item(page: Page, number: int) -> Locator:
    """The entry of a row in the list, by its number."""
    return page.locator(".row-item").filter(has=page.locator(f'.row-number:text-is("{number}")'))


def show_row(page: Page, number: int) -> None:
    """Choose a row in the list."""
    item(page, number).click()
    expect(page.locator(".editor-head h2")).to_have_text(f"Row {number}")


def control(page: Page, field: str) -> Locator:
    """The control of a field of the row that is shown."""
    return page.locator(f'[data-field="{field}"]').locator("input, select, textarea").first


def saved(page: Page) -> None:
    """Wait until the page says that all is saved."""
    expect(page.locator(".save-state")).to_have_text("All changes saved")


def rows_of(page: Page, assignment: str) -> list[dict[str, object]]:
    """The rows as the server has them."""
    answer = page.request.get(
        page.url.split("/", 3)[0] + "//" + page.url.split("/")[2] + f"/api/assignments/{assignment}"
    )
    assert answer.ok, answer.text()
    rows: list[dict[str, object]] = answer.json()["rows"]
    return rows


def until(page: Page, condition: str, seconds: float = 20) -> None:
    """Wait until an expression is true in the page. The library's own waiting needs `eval`, which the page forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"not true after {seconds} s: {condition}"
        page.wait_for_timeout(15)


def verify_all(served: Served, name: str, assignment: str) -> None:
    """Verify all rows over the interface; everybody differs in row 4."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def ask(path: str, body: dict[str, Any] | None = None, csrf: str = "") -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-CSRF-Token": csrf}
        request = urllib.request.Request(served.address + path, data, headers)
        answer: dict[str, Any] = json.load(opener.open(request))
        return answer

    csrf = ask("/api/session", {"name": name, "password": PASSWORD})["csrf"]
    rows = ask(f"/api/assignments/{assignment}")["rows"]
    edits = [
        {
            "op": "edit", "row_id": row["row_id"], "base_version": row["version"], "status": "verified",
            "fields": {"tone_of_voice": f"as {name} hears it"} if row["row_index"] == 4 else {},
        }
        for row in rows
    ]  # fmt: skip
    ask(f"/api/assignments/{assignment}/changes", {"change_id": str(uuid4()), "edits": edits}, csrf)
    ask(f"/api/assignments/{assignment}/done", {"done": True}, csrf)
