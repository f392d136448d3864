"""Pages in a browser: how soon they can be used, and pictures of them to be looked at.

    python benchmarks/report_page.py runs/cora-gdamn/report.html [--pictures FOLDER] [--large FOLDER]

Each page is opened three times in headless Chromium with the network off. "usable" is when its scripts have run and the
map is drawn. ``--pictures`` takes whole pages, light and dark, 1280 and 390 pixels wide. ``--large`` makes the page of
a made-up run on 100,000 nodes first.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

TIMES = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await drawn();
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const found = { "first paint": paint ? paint.startTime : NaN, usable: performance.now() };
  const time = async (name, act) => {
    const start = performance.now();
    act();
    await drawn();
    found[name] = performance.now() - start;
  };
  const slider = document.getElementById("when");
  if (slider) await time("slider", () => { slider.value = 30; slider.dispatchEvent(new Event("input")); });
  await time("open a node", () => gdamn.show(0, false));
  return found;
}"""


def large_page(folder: Path) -> Path:
    """The page of a made-up run on 100,000 nodes; says how long it takes."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from report_runs import write_large_run

    from gdamn import report
    from gdamn.runs import run as runs

    graph = write_large_run(folder)
    runs.load_graph = lambda *_: graph
    start = time.process_time()
    page = report.write_run(folder)
    print(f"{page}: made in {time.process_time() - start:.1f} s of CPU time")
    return page


def measure(browser: Any, page: Path) -> None:
    """Print what each visit took, in seconds."""
    for _ in range(3):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
        tab = context.new_page()
        tab.goto(page.absolute().as_uri())
        times = ", ".join(f"{name} {value / 1000:.2f} s" for name, value in tab.evaluate(TIMES).items())
        print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, {times}")
        context.close()


def take_pictures(browser: Any, page: Path, folder: Path) -> None:
    """The whole page, four times."""
    folder.mkdir(parents=True, exist_ok=True)
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
            tab = context.new_page()
            tab.goto(page.absolute().as_uri())
            tab.wait_for_timeout(500)
            tab.screenshot(path=str(folder / f"{page.parent.name}-{width}-{scheme}.png"), full_page=True)
            context.close()


def main() -> None:
    """Measure the pages, and take pictures where they are asked for."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--large", type=Path)
    options = parser.parse_args()
    pages = [*options.pages, *([large_page(options.large)] if options.large else [])]
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for page in pages:
            measure(browser, page)
            if options.pictures:
                take_pictures(browser, page, options.pictures)
        browser.close()


if __name__ == "__main__":
    main()
