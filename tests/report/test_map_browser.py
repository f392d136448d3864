"""The map and the lists of a page in a real Chromium: pointer, keyboard, search, filter, files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_runs import FEW, HOSTILE, small_graph, write_run

from gdamn import report
from gdamn.report import run as report_run
from gdamn.report.node_names import NodeNames
from gdamn.runs import run as runs

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> Path:
    """A run with hostile classes, ids and names, some labels unknown, and a picture per node."""
    folder = tmp_path_factory.mktemp("map") / "run"
    ids = [f"{HOSTILE[at % len(HOSTILE)][:60]} {at}" for at in range(48)]
    graph = small_graph(HOSTILE[:4], ids, nodes=48)
    some = np.flatnonzero(graph.test_mask)[:8]
    labels = graph.labels.copy()
    labels[some] = -1
    test = graph.test_mask.copy()
    test[some] = False
    graph = graph.with_labels(labels).with_masks(graph.train_mask, graph.val_mask, test)
    names = {name: f'Name "{number}", {HOSTILE[number % len(HOSTILE)]}' for number, name in enumerate(ids)}
    write_run(folder, graph, "gdamn", (0,), **FEW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
        patch.setattr(report_run, "node_names", lambda run, column: NodeNames(names, (2, 2)))
        return report.write_run(folder)


def data_of(tab: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tab.locator("#data").text_content())
    return found


def place_of(tab: Any, at: int) -> tuple[float, float]:
    """Where a node of the map lies on the screen, as map.js has it without zoom."""
    drawn = data_of(tab)["map"]
    tab.locator("#canvas").scroll_into_view_if_needed()
    box = tab.locator("#canvas").bounding_box()
    scale = 0.46 * min(box["width"], box["height"])
    x, y = (drawn[axis][at] / 1000 * scale for axis in "xy")
    return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y


def picture(tab: Any) -> str:
    tab.wait_for_timeout(250)
    found: str = tab.evaluate("document.getElementById('canvas').toDataURL()")
    return found


def shown(tab: Any) -> str:
    title: str = tab.locator("#found-title").inner_text()
    return title


def test_click_on_the_map_opens_the_node(page: Path, visit: Open) -> None:
    tab = visit(page)
    data = data_of(tab)
    places = np.array([data["map"]["x"], data["map"]["y"]]).T
    apart = [np.sort(np.hypot(*(places - place).T))[1] for place in places]
    at = int(np.argmax(apart))  # the node that lies most alone
    tab.mouse.click(*place_of(tab, at))
    wanted = data["nodes"]["id"][data["map"]["node"][at]]
    assert shown(tab) == f"Node {' '.join(wanted.split())}"
    assert tab.evaluate("document.activeElement.id") == "found-title"


def test_map_is_used_by_keyboard(page: Path, visit: Open) -> None:
    tab = visit(page)
    data = data_of(tab)
    tab.locator("#canvas").focus()
    before = picture(tab)
    for keys in (("+",), ("ArrowLeft", "ArrowUp")):
        for key in keys:
            tab.keyboard.press(key)
        assert picture(tab) != before
    tab.keyboard.press("0")
    tab.keyboard.press("n")
    tab.keyboard.press("n")
    tab.keyboard.press("p")
    status = tab.locator("#map-status").inner_text()
    node = data["map"]["node"][0]
    assert " ".join(data["nodes"]["id"][node].split()) in status
    tab.keyboard.press("Enter")
    assert shown(tab) == f"Node {' '.join(data['nodes']['id'][node].split())}"


def test_search_on_the_map_knows_ids_and_names(page: Path, visit: Open) -> None:
    tab = visit(page)
    data = data_of(tab)
    for text in (data["nodes"]["id"][7], 'name "7",'):
        tab.locator("#map-node").fill(text)
        tab.locator("#map-node").press("Enter")
        assert f"Node {' '.join(data['nodes']['id'][7].split())}" in tab.locator("#map-status").inner_text()
        assert tab.evaluate("document.activeElement.id") == "canvas"
    tab.locator("#map-node").fill("nobody at all")
    tab.locator("#map-node").press("Enter")
    assert "No node “nobody at all” on this map" in tab.locator("#map-status").inner_text()
    tab.get_by_label("Node id or name").fill(data["nodes"]["id"][1])
    tab.get_by_role("button", name="Show").click()
    assert tab.locator("#about dd").first.inner_text() == " ".join(data["nodes"]["name"][1].split())
    assert tab.evaluate("window.broken") is None
    assert tab.locator("img, iframe, object, embed, b").count() == 0


def test_slider_goes_from_before_to_after_and_words_say_the_same(page: Path, visit: Open) -> None:
    tab = visit(page)
    data = data_of(tab)
    after = picture(tab)
    tab.locator("#when").focus()
    tab.keyboard.press("Home")
    assert picture(tab) != after
    assert tab.locator("#when").get_attribute("aria-valuetext") == "before"
    tab.keyboard.press("End")
    assert picture(tab) == after
    wrong = [each > 50 for each in data["edges"]["wrong"]]
    kept = [each > 0 for each in data["map"]["after"]]
    both = sum(w and k for w, k in zip(wrong, kept, strict=True))
    said = (
        f"48 nodes and {len(wrong)} edges before, {sum(wrong)} of which look wrong; {sum(kept)} edges after, {both} of"
    )
    assert tab.locator("#map-text").inner_text().startswith(said)
    legend = tab.locator("#map-legend li").all_inner_texts()
    assert len(legend) == 4 + 3
    assert "edge that looks wrong" in legend
    tab.get_by_role("button", name="theme").click()
    assert picture(tab) != after
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save PNG").click()
    assert download.value.suggested_filename == "map.png"
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_list_is_filtered_and_saved_as_it_is_shown(page: Path, visit: Open, tmp_path: Path) -> None:
    tab = visit(page)
    data = data_of(tab)
    card = tab.locator("#uncertain-nodes")
    rows = card.locator("tbody tr")
    total = rows.count()
    card.get_by_role("button", name="confidence").click()
    card.get_by_label("Filter").fill("bold")
    left = card.locator("tbody tr:visible").count()
    assert 0 < left < total
    assert card.get_by_role("status").inner_text() == f"{left} of {total} rows"
    with tab.expect_download() as download:
        card.get_by_role("button", name="Save CSV").click()
    assert download.value.suggested_filename == "uncertain-nodes.csv"
    download.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(encoding="utf-8", newline="") as file:
        saved = list(csv.DictReader(file))
    assert len(saved) == left
    shares = [float(row["confidence"]) for row in saved]
    assert shares == sorted(shares, reverse=True)
    by_id = dict(zip(data["nodes"]["id"], data["nodes"]["name"], strict=True))
    assert all(row["name"] == by_id[row["node"]] for row in saved)
    assert all("bold" in f"{row}" for row in saved)


def test_phone_shows_what_decides_first_and_that_there_is_more(page: Path, visit: Open) -> None:
    tab = visit(page, 390)
    region = tab.locator("#doubtful-edges .scroll")
    heads = region.locator("thead th").all_inner_texts()
    assert [head.split()[0] for head in heads[:3]] == ["wrong", "one", "other"]
    region.scroll_into_view_if_needed()
    tab.wait_for_timeout(100)
    assert "more-right" in (region.get_attribute("class") or "")
    region.evaluate("(region) => { region.scrollLeft = region.scrollWidth; }")
    tab.wait_for_timeout(100)
    assert (region.get_attribute("class") or "").split()[-1] == "more-left"
    assert region.locator("canvas.picture").count() > 0
