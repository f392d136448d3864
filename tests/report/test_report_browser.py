"""The pages in a real Chromium, opened from disk with the network off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_runs import FEW, HOSTILE, small_graph, write_large_run, write_run

from gdamn import report
from gdamn.experiments import style
from gdamn.experiments.page import write as write_experiment
from gdamn.experiments.table_page import write as write_table
from gdamn.report.comparison_files import write_all
from gdamn.report.text import visible
from gdamn.runs import run as runs
from gdamn.runs.compare import engine
from gdamn.runs.spec import RunSpec

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: pip install '.[dev]'")

CLASSES = ("cats", "dogs", "birds")
PHONE, DESK = 390, 1280

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> dict[str, Path]:
    """One page of each kind: a run, a hostile one, a large one, one without attention, a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    ids = [f"{HOSTILE[at % len(HOSTILE)]} {at}" for at in range(60)]
    graphs = {"run": small_graph(CLASSES, nodes=36), "hostile": small_graph(HOSTILE, ids)}
    graphs["plain"] = small_graph(CLASSES, nodes=36)
    made = {}
    for name, graph in graphs.items():
        method, settings = ("gcn", {"epochs": 3}) if name == "plain" else ("gdamn", FEW)
        out = folder / (name if name != "hostile" else "<img src=x onerror=alert(1)> \"'&")
        write_run(out, graph, method, (0, 1) if name == "run" else (0,), **settings)
    graphs["large"] = write_large_run(folder / "large", nodes=25_000, classes=50)
    with pytest.MonkeyPatch.context() as patch:
        for name, graph in graphs.items():
            patch.setattr(runs, "load_graph", lambda spec, root, seed, graph=graph: graph)
            out = folder / (name if name != "hostile" else "<img src=x onerror=alert(1)> \"'&")
            made[name] = report.write_run(out)
    made["compare"] = compare_page(folder / "compare")
    made["table"] = table_page(folder / "table")
    made["experiment"] = experiment_page(folder / "experiment")
    return made


def compare_page(out: Path) -> Path:
    """A comparison of made-up fits."""
    specs = [RunSpec("digits", name, (0, 1, 2)).resolved() for name in ("gcn", "mlp", "lpa")]
    records = {}
    for at, spec in enumerate(specs):
        for seed in spec.seeds:
            accuracy = 0.9 - 0.1 * at + 0.01 * seed * (at + 1)
            fit = {"split": seed, "selection": "<i>highest</i>", "test_accuracy": accuracy, "val_accuracy": accuracy}
            fit |= {"seconds": 1.0, "epochs": 3, "peak_rss_mb": 1.0, "noise": None}
            records[spec.method, seed] = {"result": fit, "versions": {"gdamn": "0"}}
    write_all(engine.summarise(specs, records, {("gat", 0): "</script><script>window.broken=1</script>"}), out)
    return out / "compare.html"


def table_page(out: Path) -> Path:
    """A table of the paper with two cells, one of them empty."""
    paper = {"test": [85.4, 0.5], "val": [], "source": "<i>ours</i>", "comparable": False, "note": "a & b"}
    full = {"test": [84.0, 0.5], "val": [80.0, 1.0], "seeds": 2, "difference": -1.4, "near": False, "paper": paper}
    rows = [
        {"name": "GDAMN", "method": "gdamn", "cells": {"cora": full}},
        {"name": "<b>GCN</b>", "method": "gcn", "cells": {"cora": {"empty": "not <u>run</u> yet"}}},
    ]
    content = {"table": "table2", "title": "Test accuracy", "changed_settings": {"epochs": 5}, "not_in_the_paper": []}
    return write_table({**content, "rows": rows, "comparisons": {}}, out)


def experiment_page(out: Path) -> Path:
    """A figure of the paper with a picture in it, as heat maps have."""

    def draw() -> Any:
        figure, (left, right) = style.panels(2)
        left.plot([1, 2, 3], [80, 82, 81])
        right.imshow([[1, 2], [3, 4]])
        left.set_title("accuracy & <b>epochs</b>")
        return figure

    style.save(draw, out / "fig0")
    protocol = {"datasets": ["cora"], "split": {"cora": "public"}, "seeds": [0, 1], "selection": "best epoch"}
    content = {
        "target": "fig0",
        "title": "A figure <b>again</b>",
        "protocol": {**protocol, "labels": "Test labels are read at the end", "not_in_the_paper": []},
        "changed_settings": {},
        "claims": [{"paper": "it <i>rises</i>", "agrees": False, "ours": "it falls"}],
        "remarks": ["A remark."],
    }
    return write_experiment(content, ("rate", "accuracy"), [("0.1", "83.9 ± 0.6"), ("0.2", "9.1 ± 1.0")], out)


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("name", ["run", "hostile", "large", "plain", "compare", "table", "experiment"])
def test_nothing_overflows(pages: dict[str, Path], visit: Open, name: str, width: int) -> None:
    tab = visit(pages[name], width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    wide = """() => [...document.querySelectorAll("body *")].filter((e) =>
        e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, pre, svg, .skip, .unseen")
    ).map((e) => e.outerHTML.slice(0, 80))"""
    assert tab.evaluate(wide) == []


AXE = [("run", "light"), ("run", "dark"), ("hostile", "dark"), ("plain", "light"), ("compare", "dark")]
AXE += [("table", "light"), ("experiment", "dark")]


@pytest.mark.parametrize(("name", "scheme"), AXE)
def test_axe_finds_nothing(pages: dict[str, Path], visit: Open, name: str, scheme: str) -> None:
    tab = visit(pages[name], scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()
    assert any(rule["id"] == "color-contrast" for rule in found.response["passes"])


CONTRAST = """() => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16));
  const over = (top, ground, alpha) => top.map((v, at) => alpha * v + (1 - alpha) * ground[at]);
  const light = (c) => c.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const found = {};
  for (const ground of ["--paper", "--raised"]) {
    for (const ink of ["--ink", "--soft", "--link", "--first", "--second", "--danger", "--edge"]) {
      found[`${ink} on ${ground}`] = ratio(colour(ink), colour(ground));
    }
  }
  found["--ink on full heat"] = ratio(colour("--ink"), over(colour("--heat"), colour("--raised"), 0.68));
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("toggled", [False, True])
def test_colours_of_both_themes_can_be_told_apart(
    pages: dict[str, Path], visit: Open, scheme: str, toggled: bool
) -> None:
    tab = visit(pages["run"], scheme=scheme)
    before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    if toggled:
        tab.get_by_role("button", name="theme").click()
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != before
    for pair, ratio in tab.evaluate(CONTRAST).items():
        assert ratio >= (3.0 if pair.startswith(("--edge", "--first", "--second")) else 4.5), pair


@pytest.mark.parametrize("name", ["run", "large"])
def test_explorer_finds_a_node_and_draws_it(pages: dict[str, Path], visit: Open, name: str) -> None:
    tab = visit(pages[name])
    data = json.loads(tab.locator("#data").text_content())
    node = 7
    wanted = data["nodes"]["id"][node]
    tab.get_by_label("Node id").fill(wanted)
    tab.keyboard.press("Enter")
    assert tab.locator("#found-title").inner_text() == f"Node {wanted}"
    assert tab.evaluate("document.activeElement.id") == "found-title"
    drawn = tab.locator("#drawings svg")
    assert drawn.count() == 2
    degree = data["nodes"]["degree"][node]
    for at in range(2):
        assert drawn.nth(at).locator(".body").count() == degree + 1
    edges = data["edges"]
    own = [e for e, ends in enumerate(zip(edges["a"], edges["b"], strict=True)) if node in ends]
    back = edges.get("hardBack", edges["hard"])
    cut = [e for e in own if (edges["hard"][e] + (back[e] if back[e] >= 0 else edges["hard"][e])) / 2 < 5000]
    assert drawn.nth(0).locator(".cut").count() == 0
    assert drawn.nth(1).locator(".cut").count() == len(cut)
    assert tab.locator("#neighbours tbody tr").count() == degree
    label = data["classes"][data["nodes"]["label"][node]]
    assert label in tab.locator("#about").inner_text()
    assert len(tab.locator("#bars .share").all()) == data["nodes"]["tops"]


def test_explorer_says_what_it_does_not_know(pages: dict[str, Path], visit: Open) -> None:
    tab = visit(pages["run"])
    tab.get_by_label("Node id").fill("nobody")
    tab.get_by_role("button", name="Show").click()
    assert "No node “nobody” in this graph" in tab.locator("#status").inner_text()


def test_neighbours_can_be_walked_by_keyboard(pages: dict[str, Path], visit: Open) -> None:
    tab = visit(pages["run"])
    first = tab.locator("#neighbours button.node").first
    name = first.inner_text()
    first.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#found-title").inner_text() == f"Node {name}"


@pytest.mark.parametrize("where", ["#doubtful-edges", "#uncertain-nodes", "#classes"])
def test_tables_are_sorted_by_any_column(pages: dict[str, Path], visit: Open, where: str) -> None:
    tab = visit(pages["run"])
    table = tab.locator(f"{where} table[data-sortable], {where} .tall table").first
    for at in range(table.locator("thead th").count()):
        head = table.locator("thead th").nth(at)
        directions = set()
        for _ in range(2):
            head.get_by_role("button").press("Enter")
            directions.add(direction := head.get_attribute("aria-sort"))
            values = table.locator("tbody tr").evaluate_all(f"rows => rows.map((r) => r.cells[{at}].dataset.value)")
            try:
                keys = [float(value) for value in values]
            except ValueError:
                keys = values
            assert keys == sorted(keys, reverse=direction == "descending")
        assert directions == {"ascending", "descending"}


def test_comparison_can_be_sorted(pages: dict[str, Path], visit: Open) -> None:
    tab = visit(pages["compare"])
    tab.get_by_role("button", name="test accuracy").click()
    tab.get_by_role("button", name="test accuracy").click()
    names = tab.locator("tbody tr th").all_inner_texts()
    assert names[:3] == ["lpa", "mlp", "gcn"]


def test_experiment_sorts_by_the_number_that_a_cell_begins_with(pages: dict[str, Path], visit: Open) -> None:
    tab = visit(pages["experiment"])
    tab.get_by_role("button", name="accuracy").click()
    assert tab.locator("tbody tr td").all_inner_texts() == ["83.9 ± 0.6", "9.1 ± 1.0"]
    tab.get_by_role("button", name="accuracy").click()
    assert tab.locator("tbody tr td").all_inner_texts() == ["9.1 ± 1.0", "83.9 ± 0.6"]


def test_hostile_names_do_nothing(pages: dict[str, Path], visit: Open) -> None:
    tab = visit(pages["hostile"])
    for at, name in enumerate(HOSTILE):
        tab.get_by_label("Node id").fill(visible(f"{name} {at}"))
        tab.get_by_role("button", name="Show").click()
        assert tab.locator("#found-title").inner_text().startswith("Node ")
        assert tab.locator("#about dd").first.inner_text() == " ".join(visible(name).split())
    for page in ("hostile", "compare", "table", "experiment"):
        tab = visit(pages[page])
        tab.wait_for_timeout(100)
        assert tab.evaluate("window.broken") is None
        assert tab.locator("img, iframe, object, embed, b").count() == 0
        assert tab.locator("script").count() == 2
