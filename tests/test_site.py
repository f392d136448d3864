"""The documentation as a whole: links, navigation, length, the README's numbers, the notebooks."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!\w+:|#)([\w./-]+)(#[\w-]+)?\)")
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
MOST_WORDS = 15_000
"""Words of all guides together, without code."""


def script(name: str) -> ModuleType:
    """A script of docs as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [link[1] for link in LINK.finditer(text) if not (page.parent / link[1]).exists()] == []


def test_every_page_has_its_place() -> None:
    """mkdocs warns of the rest, but only make docs asks it."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE)
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} <= set(named)
    assert len(named) == len(set(named))


def test_guides_are_short() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")]
    prose = [re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL) for text in texts]
    assert 5_000 < sum(len(text.split()) for text in prose) <= MOST_WORDS


def test_the_site_loads_nothing_from_elsewhere() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in text
    assert not re.findall(r"https?://", text + (DOCS / "style.css").read_text(encoding="utf-8"))


README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("| ")]
ROWS = {cells[0]: cells[1:] for cells in TABLE if len(cells) == 4}


def published(dataset: str, method: str) -> str:
    """A mean of table 2, as the README has it."""
    table = json.loads((ROOT / "results" / "reproduce" / "table2.json").read_text(encoding="utf-8"))
    (found,) = (r for r in table["comparisons"][dataset]["results"] if r["method"] == method)
    return f"{100 * found['test_accuracy']['mean']:.1f}"


@pytest.mark.parametrize(
    ("dataset", "best_other"),
    [
        ("cora", "grand-plus"),
        ("citeseer", "grand"),
        ("pubmed", "grand-plus"),
        ("coauthor-cs", "grand-plus"),
        ("coauthor-physics", "grand-plus"),
    ],
)
def test_the_readme_has_the_published_numbers_and_marks_the_best(dataset: str, best_other: str) -> None:
    cells = next(found for name, found in ROWS.items() if name.lower() == dataset)
    shown = [re.search(r"\d+\.\d", cell)[0] for cell in cells]  # type: ignore[index]
    assert [published(dataset, method) for method in ("gcn", best_other, "gdamn-plus")] == shown
    best = max(map(float, shown))
    assert [f"**{value}**" in cell for value, cell in zip(shown, cells, strict=True)] == [
        float(value) == best for value in shown
    ]


def measured(graph: str, variant: str) -> str:
    """A mean of benchmarks/edge_field.json, as the README has it."""
    fits = json.loads((ROOT / "benchmarks" / "edge_field.json").read_text(encoding="utf-8"))["fits"]
    values = [fit["test"] for fit in fits if (fit["graph"], fit["variant"]) == (graph, variant)]
    return f"{100 * sum(values) / len(values):.1f}"


def test_the_readme_has_the_numbers_of_the_noisy_graphs() -> None:
    noisy, attacked = ROWS["Cora, 80 % wrong edges added"], ROWS["Cora, 25 % of the edges changed by an attack"]
    assert [cell.strip("*").split(",")[0] for cell in noisy] == [
        measured("cora + 0.8", name) for name in ("gcn", "stable", "judged")
    ]
    assert attacked[2] == f"**{measured('cora-meta 0.25', 'judged')}**"
    labelled = json.loads((ROOT / "benchmarks" / "few_labels.json").read_text(encoding="utf-8"))["fits"]
    row = ROWS["Cora, 40 % wrong edges added, 5 labels a class"]
    for cell, method in zip(row, ("gcn", "grand", "gdamn"), strict=True):
        chosen = [
            fit for fit in labelled if (fit["graph"], fit["labels"], fit["method"]) == ("cora + noise", 5, method)
        ]
        mean = 100 * sum(fit["accuracy"] for fit in chosen) / len(chosen)
        assert cell.strip("*").split(",")[0] == f"{mean:.1f}"


def test_the_readme_is_read_in_minutes() -> None:
    lines = README.splitlines()
    assert len(lines) < 150
    assert README.count("```console") == 3
    assert all(
        len(line) <= 80 for block in README.split("```console")[1:] for line in block.split("```")[0].splitlines()
    )


notebooks = script("notebooks")


@pytest.mark.parametrize("path", sorted(notebooks.FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_show_what_they_found(path: Path) -> None:
    """make docs runs them; here only what is stored is looked at."""
    cells = [cell for cell in notebooks.read(path)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) >= 4


def test_a_notebook_is_run_as_jupyter_does() -> None:
    sources = ["import math\nx = 2", "print(x)\nmath.sqrt(x * 8)", "y = x + 1"]
    notebook = {"cells": [{"cell_type": "code", "source": [source]} for source in sources]}
    assert notebooks.run(notebook)["y"] == 3
    shown = [cell["outputs"] for cell in notebook["cells"]]
    assert shown[0] == shown[2] == []
    assert shown[1][0]["text"] == ["2\n"]
    assert shown[1][1]["data"]["text/plain"] == ["4.0"]
    assert notebooks.as_markdown(notebook).count("```text") == 2
    with pytest.raises(NameError):
        notebooks.run({"cells": [{"cell_type": "code", "source": ["nowhere"]}]})
