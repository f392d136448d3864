"""The tables of the evidence pages are those of the result files, as docs/tables.py writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "docs"))

from tables import PAGES, ROOT, filled


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_tables_of_now(page: str) -> None:
    """When this fails: python docs/tables.py."""
    text = (ROOT / "docs" / "evidence" / page).read_text(encoding="utf-8")
    assert filled(text, PAGES[page]) == text


def test_what_lies_between_the_markers_is_replaced() -> None:
    page = "a\n<!-- one:begin -->\nold\nolder\n<!-- one:end -->\nb\n<!-- two:begin -->\n<!-- two:end -->\n"
    text = filled(page, {"one": lambda: ["new"], "two": lambda: ["x", "y"]})
    assert text == "a\n<!-- one:begin -->\nnew\n<!-- one:end -->\nb\n<!-- two:begin -->\nx\ny\n<!-- two:end -->\n"
    for broken in ("no marker\n", "<!-- one:begin -->\nbut no end\n"):
        with pytest.raises(AssertionError, match="marker"):
            filled(broken, {"one": lambda: ["new"]})


def test_a_cell_of_the_page_is_a_mean_of_the_file() -> None:
    """Table 2's first and last rows, by hand."""
    table = json.loads((ROOT / "results" / "reproduce" / "table2.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "evidence" / "reproduce.md").read_text(encoding="utf-8")
    for dataset, method in (("cora", "mlp"), ("pubmed", "gdamn-plus")):
        (found,) = (r for r in table["comparisons"][dataset]["results"] if r["method"] == method)
        values = found["test_accuracy"]["per_seed"]
        name = next(row["name"] for row in table["rows"] if row["method"] == method)
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert f"{100 * sum(values) / len(values):.1f} ± " in row
