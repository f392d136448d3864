"""Chromium for the tests of the pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium of the system, or the one that ``GDAMN_BROWSER`` names."""
    named = os.environ.get("GDAMN_BROWSER")
    path = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium here: install it (make browser), or set GDAMN_BROWSER to one")
    reason = "Playwright is not installed: pip install '.[dev]'"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Opens a page from disk, offline; fails where it asks for anything else or writes to the console."""
    contexts, noise = [], []

    def go(page: Path, width: int = 1280, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: noise.append(message.text))
        tab.on("pageerror", lambda error: noise.append(str(error)))
        tab.on("request", lambda request: None if request.url == page.as_uri() else noise.append(request.url))
        tab.goto(page.as_uri())
        return tab

    yield go
    for context in contexts:
        context.close()
    assert noise == []
