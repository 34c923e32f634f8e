"""A headless Chromium and projects with a running server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY
from tests.review_ui.frames import make_numbered
from tests.review_ui.served import Served, make_conversation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE = {"width": 1440, "height": 900}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", "--mute-audio"]
        browser = driver.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page of a person of their own; fails the test on any error that a script throws."""
    contexts = []
    thrown: list[str] = []

    def make(size: Mapping[str, int] = WIDE) -> Page:
        context = chromium.new_context(viewport={"width": size["width"], "height": size["height"]})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: thrown.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert not thrown, thrown


@pytest.fixture(scope="session")
def role_play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo with machine turns, recognised for real."""
    served = Served(tmp_path_factory.mktemp("role_play"))
    shutil.copytree(REPOSITORY / "raw_video" / "role_play", served.settings.raw / "role_play")
    served.build("role_play", ("source", "audio", "words", "speakers", "turns"))
    served.people(mia="annotator", kim="annotator", ada="administrator")
    served.start()
    yield served
    served.stop()


def _row(index: int, start: float, end: float) -> dict[str, object]:
    client = index % 3 != 0
    return {
        "row_index": index,
        "start_time": start,
        "end_time": end,
        "primary_speaker": ("Therapist", "Anna", "Ben")[index % 3],
        "target": ["Couple" if not client else ("", "Ben", "Anna")[index % 3]],
        "dialogue_cleaned": f"these are the words of row {index}",
        "utterance_type": "other" if client else None,
    }


@pytest.fixture(scope="session")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A recording whose frames carry their number, with 20 annotated rows at odd times."""
    served = Served(tmp_path_factory.mktemp("numbered"))
    clip = served.root / "numbered.mp4"
    make_numbered(clip, seconds=50)
    rows = [
        _row(index, round(0.4 + 2.393 * (index - 1), 3), round(1.9 + 2.371 * (index - 1), 3)) for index in range(1, 21)
    ]
    annotation = {"conversation_id": "numbered", "participants": ["Anna", "Ben"], "scenario": "couple", "rows": rows}
    for name in ("numbered", "adjudicated"):
        make_conversation(served.settings.raw, name, clip, {**annotation, "conversation_id": name})
        served.build(name)
    served.people(
        ann="annotator", bob="annotator", cat="annotator", dan="annotator", eve="annotator", fay="annotator",
        cleo="adjudicator", ada="administrator",
    )  # fmt: skip
    served.start()
    yield served
    served.stop()
