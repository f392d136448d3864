"""The paper's tables: its numbers as printed, ours beside them, and what is empty with its reason."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gdamn.cli import root as cli
from gdamn.errors import ConfigError, NothingFinishedError
from gdamn.experiments import table_report, tables
from gdamn.experiments.paper import printed, table
from gdamn.experiments.tables import assemble, make_plan, make_specs, reproduce
from gdamn.runs.compare import engine


def compared(accuracies: dict[str, list[float]], dataset: str = "cora") -> dict:
    from gdamn.runs.run import spread

    results = [
        {
            "dataset": dataset,
            "method": name,
            "protocol": {"split": "public", "seeds": list(range(len(values)))},
            "test_accuracy": spread(values),
            "val_accuracy": spread(values),
        }
        for name, values in accuracies.items()
    ]
    return {"results": results, "failed": [], "tests": {}}


def test_the_numbers_are_the_printed_ones() -> None:
    main, arxiv = table("table2"), table("table3")
    assert (len(main.rows), sum(len(row.cells) for row in main.rows)) == (18, 88)
    assert (len(arxiv.rows), sum(len(row.cells) for row in arxiv.rows)) == (10, 10)
    best = {name: max(row.cells[name].test[0] for row in main.rows if name in row.cells) for name in main.datasets}
    assert list(best.values()) == [85.4, 74.4, 81.4, 92.2, 94.3]
    assert arxiv.rows[-1].cells["ogbn-arxiv"].test == (72.35, 0.18)
    assert arxiv.rows[-1].cells["ogbn-arxiv"].val == (73.48, 0.10)
    sgc, gcn = printed("cora", "sgc"), printed("cora", "gcn")
    assert sgc is not None
    assert gcn is not None
    assert (sgc.comparable, gcn.comparable) == (False, True)
    assert printed("digits", "gcn") is None


def test_a_cell_has_ours_the_paper_s_and_the_difference() -> None:
    plan = make_plan(table("table2"), ["cora"], ["gcn", "mlp", "gdamn", "grand"], seeds=2)
    found = compared({"gcn": [0.81, 0.82], "mlp": [0.55, 0.56], "gdamn": [0.84, 0.84], "grand": [0.85, 0.85]})
    done = assemble(plan, {"cora": found})
    cells = {row["name"]: row["cells"]["cora"] for row in done["rows"]}
    assert [row["name"] for row in done["rows"]] == ["MLP", "GCN", "GDAMN", "grand"]
    assert cells["GCN"]["difference"] == 0.0
    assert cells["GDAMN"]["difference"] == -1.4
    assert table_report.cell_text(cells["GCN"]) == "81.5 ± 0.7 (81.5, 0.0)"
    assert table_report.cell_text(cells["GDAMN"]) == "84.0 ± 0.0 (85.4, -1.4 ▼)"
    assert table_report.cell_text(cells["MLP"]) == "55.5 ± 0.7 (58.2 †, -2.7 ▼)"
    assert table_report.cell_text(cells["grand"]) == "85.0 ± 0.0"
    assert table_report.short_text(cells["GDAMN"]) == "84.0 -1.4 ▼"


def test_empty_cells_have_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.estimators.registry import METHODS

    monkeypatch.setitem(METHODS, "cs-gnn", METHODS["gcn"])
    monkeypatch.delitem(METHODS, "gat")
    plan = make_plan(table("table2"), ["coauthor-cs"], ["cs-gnn", "gat", "gcn"])
    done = assemble(plan, {"coauthor-cs": compared({"gcn": [0.9]})})
    page = table_report.markdown(done)
    assert "- CS-GNN on coauthor-cs: the paper prints no number here" in page
    assert "- GAT on coauthor-cs: this version has no method 'gat'" in page
    assert "| GAT | – (90.5) |" in page
    assert [spec.method for spec in make_specs(plan, "coauthor-cs")] == ["gcn"]
    with pytest.raises(ConfigError, match="nothing to run"):
        make_plan(table("table2"), [], ["gat"])


def test_seeds_of_the_coauthor_graphs() -> None:
    plan = make_plan(table("table2"), ["cora", "coauthor-cs"], ["gcn", "gdamn"], seeds=20, coauthor_seeds=5)
    counts = {(s.method, s.dataset): len(s.seeds) for d in plan.datasets for s in make_specs(plan, d)}
    assert list(counts.values()) == [20, 20, 5, 20]
    assert counts["gdamn", "coauthor-cs"] == 20


def test_another_graph_is_never_mixed_with_the_paper_s(tmp_path: Path) -> None:
    plan = make_plan(table("table3"), ["karate"], ["gcn", "mlp", "logreg"], seeds=2)
    done = reproduce(replace(plan, settings={"epochs": 2}), tmp_path)
    assert done["not_in_the_paper"] == ["karate"]
    assert all("paper" not in row["cells"]["karate"] for row in done["rows"])
    page = (tmp_path / "table3.md").read_text()
    assert "On karate, which is not the paper's graph" in page
    assert "not on the paper's data" in page.splitlines()[0]
    assert "71.7" not in page
    assert "Not with the presets: epochs = 2" in page
    assert "karate (validation) | karate (test)" in page
    assert json.loads((tmp_path / "table3.json").read_text()) == done
    with (tmp_path / "table3.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["mlp", "gcn", "logreg"]
    assert rows[0]["paper_test"] == ""
    assert float(rows[0]["test"]) == done["rows"][0]["cells"]["karate"]["test"][0]
    assert (tmp_path / "karate" / "compare.json").exists()


def test_what_is_finished_is_shown_and_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"epochs": 2}
    reproduce(replace(make_plan(table("table2"), ["karate"], ["mlp", "lpa"], seeds=1), settings=few), tmp_path)
    reproduce(replace(make_plan(table("table2"), ["karate"], ["lpa"], seeds=3), settings=few), tmp_path)
    monkeypatch.setattr(engine, "fit_one", lambda *args: pytest.fail("a fit was run"))
    plan = make_plan(table("table2"), ["karate", "wine"], ["mlp", "lpa", "gcn"], seeds=5)
    done = reproduce(replace(plan, settings=few), tmp_path, finished=True)
    cells = {row["method"]: row["cells"] for row in done["rows"]}
    assert {name: cells[name]["karate"].get("seeds") for name in cells} == {"mlp": 1, "lpa": 3, "gcn": None}
    assert cells["mlp"]["wine"] == {"empty": "not run yet"}
    with pytest.raises(NothingFinishedError, match="leave --finished out"):
        reproduce(replace(plan, settings={"epochs": 3}), tmp_path, finished=True)


def test_a_table_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(table("table2"), ["karate", "wine"], ["mlp", "lpa"], seeds=1)
    whole = engine.fit_one

    def stops(out, specs, data_root, fit, progress):  # type: ignore[no-untyped-def]
        if specs["lpa"].dataset == "wine":
            raise KeyboardInterrupt
        return whole(out, specs, data_root, fit, progress)

    monkeypatch.setattr(engine, "fit_one", stops)
    with pytest.raises(KeyboardInterrupt):
        reproduce(replace(plan, settings={"epochs": 2}), tmp_path / "out")
    half = json.loads((tmp_path / "out" / "table2.json").read_text())
    assert half["rows"][0]["cells"]["wine"] == {"empty": "not run yet"}
    fitted: list[object] = []
    monkeypatch.setattr(engine, "fit_one", lambda *args: fitted.append(args[3]) or whole(*args))
    reproduce(replace(plan, settings={"epochs": 2}), tmp_path / "out")
    assert fitted == [("mlp", 0), ("lpa", 0)]
    reproduce(replace(plan, settings={"epochs": 2}), tmp_path / "again")
    assert (tmp_path / "out" / "table2.json").read_bytes() == (tmp_path / "again" / "table2.json").read_bytes()


def test_published_fits_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"epochs": 2}
    first = replace(make_plan(table("table2"), ["karate"], ["mlp", "lpa"], seeds=2), settings=few)
    before = reproduce(first, tmp_path / "first")
    older = json.loads((tmp_path / "first" / "table2.json").read_text())
    for result in older["comparisons"]["karate"]["results"]:  # as tables were before they told the nodes
        for part in ("test_accuracy", "val_accuracy"):
            result[part] = {name: result[part][name] for name in ("mean", "std", "per_seed")}
    (tmp_path / "older.json").write_text(json.dumps(older))
    published = (tmp_path / "older.json",)
    fitted: list[object] = []
    whole = engine.fit_one
    monkeypatch.setattr(engine, "fit_one", lambda *args: fitted.append(args[3]) or whole(*args))
    same = reproduce(replace(first, published=published), tmp_path / "same")
    assert fitted == []
    assert [row["cells"] for row in same["rows"]] == [row["cells"] for row in before["rows"]]
    more = replace(make_plan(table("table2"), ["karate"], ["mlp", "lpa", "gcn"], seeds=3), settings=few)
    grown = reproduce(replace(more, published=published), tmp_path / "more")
    assert sorted(fitted) == [("gcn", 0), ("gcn", 1), ("gcn", 2), ("lpa", 2), ("mlp", 2)]
    assert all(row["cells"]["karate"]["seeds"] == 3 for row in grown["rows"])
    fitted.clear()
    reproduce(replace(first, published=published, settings={"epochs": 3}), tmp_path / "other")
    assert len(fitted) == 4


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("table2 --published none.json --out new", "none.json"),
        ("fig1a --published none.json --out new", "--published are options of table2 and table3"),
        ("table9 --out new", "There is no target 'table9'"),
        ("table2 --methods gcnn --out new", "did you mean"),
        ("table2 --datasets cora,nosuch --methods gcn --out new", "nosuch"),
        ("table2 --seeds 0 --out new", "--seeds"),
        ("table2 --datasets karate --methods gcn --set epoch=1 --out new", "epochs"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    args: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gdamn", "reproduce", *args.split()])
    monkeypatch.setattr(tables, "check_data", lambda names, root: [cli_load(name) for name in names])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert said in shown.err
    assert list(tmp_path.iterdir()) == []


def cli_load(name: str) -> object:
    from gdamn import data

    return data.load(name) if name not in table("table2").datasets else None
