"""The page of a review in a real Chromium: keys alone, two tabs, both themes, a desk and a phone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdamn.graph.decisions import Decisions
from gdamn.review.session import Session

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install '.[dev]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install '.[dev]'")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")
PHONE, DESK = 390, 1280

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium of the system, or the one that ``GDAMN_BROWSER`` names."""
    path = os.environ.get("GDAMN_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium here: install it (make browser), or set GDAMN_BROWSER to one")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any, session: Session, serving: Callable[..., Any]) -> Iterator[Open]:
    """Opens the page; fails where it asks another server, or writes to the console."""
    server, contexts, noise, expected = serving(session), [], [], ["net::ERR_FAILED"]

    def go(width: int = DESK, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: noise.append(message.text))
        tab.on("pageerror", lambda error: noise.append(str(error)))
        tab.on("request", lambda r: None if r.url.startswith(server.address) else noise.append(r.url))
        tab.goto(server.address)
        tab.wait_for_selector(".end")
        return tab

    yield go
    for context in contexts:
        context.close()
    assert [text for text in noise if not any(each in text for each in expected)] == []


def press(tab: Any, key: str) -> str:
    """Press a key, wait for the next item, and return its question."""
    before = tab.inner_text("#question")
    tab.keyboard.press(key)
    tab.wait_for_function("(before) => document.getElementById('question').textContent !== before", arg=before)
    return str(tab.inner_text("#question"))


def test_a_review_by_keys_alone(session: Session, visit: Open) -> None:
    tab = visit()
    first = tab.inner_text("#question")
    press(tab, "w")
    press(tab, "r")
    third = press(tab, "u")
    assert tab.inner_text("#count").startswith("3 of 20")
    assert "50 %" in tab.inner_text("#tiles")
    press(tab, "z")
    assert press(tab, "r") == third
    assert tab.inner_text("#status") == "Right: written."
    assert press(tab, "q").startswith("Is ")
    press(tab, "2")
    assert press(tab, "q").startswith("What is ")
    press(tab, "3")
    rows = [(row.kind, row.verdict) for row in Decisions.read(session.path).rows]
    assert rows[:5] == [("edge", v) for v in ("wrong", "right", "unsure", "undo", "right")]
    assert [kind for kind, _ in rows[5:]] == ["label", "node"]
    last = Decisions.read(session.path).rows
    assert last[-1].label == session.graph.class_names[2]
    assert "–" in first


def test_the_buttons_are_reached_and_pressed_by_the_keyboard(session: Session, visit: Open) -> None:
    tab = visit()
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "WWrong":
            break
    press(tab, "Enter")
    assert tab.evaluate("document.activeElement.textContent") == "WWrong"  # the focus stays where one works
    assert [row.verdict for row in Decisions.read(session.path).rows] == ["wrong"]


def test_a_second_tab_sees_what_the_first_decided(session: Session, visit: Open) -> None:
    one, two = visit(), visit()
    asked = one.inner_text("#question")
    assert two.inner_text("#question") == asked
    after = press(one, "w")
    two.wait_for_function("(before) => document.getElementById('question').textContent !== before", arg=asked)
    assert two.inner_text("#question") == after
    assert len(Decisions.read(session.path)) == 1


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark")])
def test_axe_finds_nothing_and_nothing_overflows(visit: Open, width: int, scheme: str) -> None:
    tab = visit(width, scheme)
    for queue in ("edges", "labels", "nodes"):
        found = axe.Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if queue != "nodes":
            press(tab, "q")


def test_names_stay_names_and_a_server_that_is_gone_is_told(session: Session, visit: Open, tmp_path: Path) -> None:
    tab = visit()
    assert tab.locator("main b, main i:not(.track i)").count() == 0
    tab.context.set_offline(True)
    tab.route("**/*", lambda route: route.abort())
    tab.keyboard.press("w")
    tab.wait_for_function("() => document.getElementById('status').textContent.startsWith('No answer')")
    assert not session.path.exists()
    tab.unroute_all(behavior="ignoreErrors")
