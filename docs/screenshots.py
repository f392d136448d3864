"""Pictures of the site, of the README as rendered and of the terminal at 80 columns, to look at; axe looks too.

make docs                      # first: the pages are those of build/site
python docs/screenshots.py     # writes build/screenshots; or a part of them: site, readme, terminal

The exit code is 1 where axe finds something, a page is too wide, or asks for something from elsewhere.

It needs Chromium (``make browser``) and the extras dev and docs.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
SITE, OUT = ROOT / "build" / "site", ROOT / "build" / "screenshots"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGES = ("index", "own-graph", "few-labels", "method", "glossary", "sample", "settings", "api/estimators")
PAGES += ("notebooks/own-graph-from-pandas", "evidence/results", "sample/report")
"""One of each kind."""

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
COLUMNS = 80
COMMANDS = (
    "train digits --noise 1 --set start=features --set epochs=15 --set em_iterations=1 --out run",
    "edges run --suspicious 5",
    "explain run 1553 --most 5",
    "refine run --keep hard>0.5 -o refined.csv",
    "predict run -o labels.csv",
    "labels run --suspicious 5",
    "inspect karate",
    "compare karate --methods gcn,mlp,sgc --seeds 3 --out compared",
    "doctor",
)
STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
img { max-width: 100% } pre { background: #f3f4f6; padding: 1rem; overflow: auto } table { border-collapse: collapse }
td, th { border: 1px solid #d0d7de; padding: .3rem .8rem }"""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """No line a request."""


def main() -> int:
    """Make all pictures; 1 where something is to mend."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = os.environ.get("GDAMN_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        parts = {"site": site, "readme": readme, "terminal": terminal}
        problems = [problem for name in sys.argv[1:] or parts for problem in parts[name](browser)]
        browser.close()
    print(*problems or ["axe finds nothing, and no page is too wide"], sep="\n")
    return 1 if problems else 0


def site(browser: Browser) -> Iterator[str]:
    """Every kind of page, light and dark, on a desk and on a phone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, scheme, (size, shape) in product(PAGES, ("light", "dark"), SIZES.items()):
        picture = f"{name.replace('/', '-')}-{scheme}-{size}.png"
        for problem in shot(browser, f"http://127.0.0.1:{server.server_port}/{name}.html", picture, shape, scheme):
            yield f"{name}, {scheme}, {shape[0]} px: {problem}"
    server.shutdown()


def shot(browser: Browser, page: str, picture: str, size: tuple[int, int], scheme: str = "light") -> Iterator[str]:
    """The top of a page as a picture, and what is wrong with the page; nothing may come from the network."""
    view = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=view, color_scheme=scheme)  # type: ignore[arg-type]
    asked: list[str] = []
    elsewhere = re.compile(r"^https?://(?!127\.0\.0\.1:)")
    context.route(elsewhere, lambda route: (asked.append(route.request.url), route.abort())[1])
    tab = context.new_page()
    tab.goto(page)
    tab.wait_for_timeout(300)
    tab.screenshot(path=OUT / picture)
    yield from (f"asks for {url}" for url in asked)
    wide = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if wide > 0:
        yield f"is {wide} pixels too wide"
    found: dict[str, Any] = Axe().run(tab).response
    for rule in found["violations"]:
        where = rule["nodes"][0]["target"]
        yield f"axe: {rule['id']} ({rule['impact']}, {len(rule['nodes'])} places, such as {where})"
    context.close()


def readme(browser: Browser) -> list[str]:
    """The README as rendered; relative pictures are found."""
    text = MarkdownIt("commonmark").enable("table").render((ROOT / "README.md").read_text(encoding="utf-8"))
    text = text.replace('src="docs/', f'src="{(ROOT / "docs").as_uri()}/')
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "readme.html"
        head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>README</title><style>{STYLE}</style>'
        page.write_text(f"{head}</head><body>{text}</body></html>", encoding="utf-8")
        for name, size in SIZES.items():
            list(shot(browser, page.as_uri(), f"readme-{name}.png", (size[0], 2600)))  # its style is GitHub's, not ours
    return []


def terminal(browser: Browser) -> list[str]:
    """What the commands show at 80 columns, with colours; of the bar, one moment."""
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(COMMANDS):
            said = on_terminal(command.split(), Path(folder))
            name = f"terminal-{number}-{command.split()[0]}"
            bars = [line for line in re.split(r"[\r\n]", said) if "━" in line and "step" in line]
            moment = bars[len(bars) // 2 : len(bars) // 2 + 1]
            draw(browser, f"$ gdamn {command}", [*moment, *screen(said)], OUT / f"{name}.png")
    return []


def screen(said: str) -> list[str]:
    """The lines that stand at the end, as a terminal has them: what was erased or written over is gone."""
    lines, row, fresh = [""], 0, False
    for piece in re.split(r"(\r\n|\n|\r|\x1b\[\d*A|\x1b\[2K)", said):
        if piece.endswith("\n"):
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece.endswith("A") and piece.startswith("\x1b["):
            row = max(0, row - int(piece[2:-1] or 1))
        elif piece in ("\r", "\x1b[2K"):
            lines[row] = "" if piece != "\r" else lines[row]
            fresh = piece == "\r"
        elif piece:
            lines[row] = piece if fresh else lines[row] + piece
            fresh = False
    return [line for line in lines if not re.search("[━⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", line)]


def on_terminal(words: list[str], folder: Path) -> str:
    """What a command writes to a terminal of 80 columns."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "gdamn", *words]
    running = subprocess.Popen(command, cwd=folder, env=environment, stdout=follower, stderr=follower)
    os.close(follower)
    said = b""
    try:
        while piece := os.read(leader, 65536):
            said += piece
    except OSError:  # the other end is closed
        pass
    running.wait()
    os.close(leader)
    return said.decode()


def draw(browser: Browser, title: str, lines: list[str], path: Path) -> None:
    """Lines with their colours as a picture."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123 - to the end
    text = re.sub(r"\x1b\[\??[0-9;]*[A-HJKSTfhl]", "", "\n".join(lines))
    console.print(Text(title, style="bold"))
    console.print(Text.from_ansi(text))
    tab = browser.new_page(viewport={"width": 1060, "height": 700})
    tab.set_content(console.export_svg(title="80 columns"))
    tab.locator("svg").first.screenshot(path=path)
    tab.close()


if __name__ == "__main__":
    sys.exit(main())
