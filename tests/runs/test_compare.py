"""Comparisons: finished fits are kept and not repeated, tests are scipy's, and what is shown is what was measured."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scipy.stats import ttest_rel, wilcoxon
from typer.testing import CliRunner, Result

from gdamn.cli import compare as cli_compare
from gdamn.cli import root as cli
from gdamn.cli.display_compare import CompareView
from gdamn.errors import ConfigError, OutputError, TrainingError
from gdamn.model.settings import BEFORE
from gdamn.report import comparison_files as report
from gdamn.report.comparison_plot import lowest_shown
from gdamn.runs import run as runs
from gdamn.runs.compare import engine
from gdamn.runs.compare.engine import compare, make_specs, method_names
from gdamn.runs.compare.fits import fit_work
from gdamn.runs.compare.paired import holm, paired
from gdamn.runs.compare.verdict import verdict, wilcoxon_note
from gdamn.runs.execution import Execution
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import Store
from gdamn.runs.text import p_text, spread_text

FILES = ["compare.csv", "compare.html", "compare.json", "compare.md", "compare.png", "fits"]
Compared = tuple[Path, Result]
EPOCHS = {"epochs": 100}
"""Enough for a fit to last longer than the time that a signal takes."""
COMPARE = ["compare", "karate", "--methods", "gcn,mlp,lpa", "--seeds", "3", "--set", "epochs=100"]

OWN = '''
from gdamn.baselines.gcn import GCNClassifier


class Mine(GCNClassifier):
    """A GCN under a name of its own; the same random numbers because the method is the same."""
'''


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "gdamn", *args]


def gdamn(*args: str) -> Result:
    """The command within this process, which has torch imported."""
    assert cli_compare.app is cli.app
    return CliRunner().invoke(cli.app, args, env={"COLUMNS": "100", "NO_COLOR": "1"})


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    out = tmp_path_factory.mktemp("compare") / "out"
    done = gdamn(*COMPARE, "--out", str(out))
    assert done.exit_code == 0, done.stderr
    return out, done


def test_every_file_says_the_same(compared: Compared) -> None:
    out, done = compared
    result = json.loads((out / "compare.json").read_text())
    assert sorted(path.name for path in out.iterdir()) == [".gdamn.json", *FILES]
    means = [r["test_accuracy"]["mean"] for r in result["results"]]
    assert means == sorted(means, reverse=True)
    assert result["best"] == result["results"][0]["method"]
    with (out / "compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for r in result["results"]:
        cells = [float(row["test_accuracy"]) for row in rows if row["method"] == r["method"]]
        assert cells == pytest.approx(r["test_accuracy"]["per_seed"], abs=1e-6)
        assert f"| {r['method']} | {spread_text(r['test_accuracy'])} |" in (out / "compare.md").read_text()
        assert spread_text(r["test_accuracy"]) in done.stdout
        assert r["test_accuracy"]["nodes"] == [22, 22, 22]
        assert all(row["test_nodes"] == "22" and row["test_low"] < row["test_accuracy"] for row in rows)
    page = " ".join(re.sub(r"<[^>]*>", " ", (out / "compare.html").read_text()).split())
    assert "Best on test" not in page or "not separated" not in result["verdict"]
    for place in (page, (out / "compare.md").read_text(), done.stdout):  # three seeds
        assert result["verdict"] in place
        assert "at least 6 seeds" in place
        assert "22 test nodes and 8 validation nodes" in place
    assert all(test["wilcoxon_p"] is None for test in result["tests"].values())
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    lines = done.stderr.splitlines()
    assert len(lines) == 9
    assert lines[-1].startswith("karate: lpa seed 2: test ")
    assert lines[-1].endswith("(9 of 9)")


def test_methods_have_the_splits_and_results_of_single_runs(compared: Compared, tmp_path: Path) -> None:
    result = json.loads((compared[0] / "compare.json").read_text())
    assert {r["protocol"]["split"] for r in result["results"]} == {"random: 0, 1, 2"}
    alone = runs.run(RunSpec("karate", "gcn", (0, 1, 2), settings=EPOCHS), tmp_path)
    beside = next(r for r in result["results"] if r["method"] == "gcn")
    assert beside["test_accuracy"] == alone["test_accuracy"]
    assert beside["config"] == alone["config"]


def test_what_is_finished_is_not_repeated(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    out = compared[0]
    specs = make_specs("karate", ["gcn", "mlp", "lpa"], range(3), settings=EPOCHS)
    monkeypatch.setattr(engine, "fit_one", lambda *args: pytest.fail("fitted again"))
    outcome = compare(specs, out)
    assert report.compact_json(outcome.result) == (out / "compare.json").read_text()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_comparison_goes_on_to_the_same_result(compared: Compared, tmp_path: Path) -> None:
    with subprocess.Popen(command(*COMPARE, "--out", str(tmp_path)), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("karate: gcn seed 0: test ")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    kept = sorted(tmp_path.glob("fits/*/seed-*.json"))
    assert 1 <= len(kept) < 9
    assert not (tmp_path / "compare.json").exists()
    changed = {path: path.stat().st_mtime_ns for path in kept}
    done = gdamn(*COMPARE, "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    assert f"{len(kept)} of 9 fits were finished before" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == changed
    assert (tmp_path / "compare.json").read_bytes() == (compared[0] / "compare.json").read_bytes()


def test_methods_and_seeds_can_be_added(compared: Compared) -> None:
    seen: list[Any] = []
    specs = make_specs("karate", ["gcn", "logreg"], range(4), settings=EPOCHS)
    compare(specs, compared[0], watch=engine.Watch(finished=lambda fit, result: seen.append(fit)))
    assert seen == [("logreg", 0), ("logreg", 1), ("logreg", 2), ("gcn", 3), ("logreg", 3)]


def test_a_folder_of_other_data_or_settings_is_refused(
    compared: Compared,
) -> None:
    out = compared[0]
    before = (out / "compare.json").read_bytes()
    with pytest.raises(OutputError, match="comparison on karate, not on karate --noise 1"):
        compare(make_specs("karate", ["sgc"], range(1), noise=1.0), out)
    with pytest.raises(OutputError, match="epochs is 100 there, 6 now"):
        compare(make_specs("karate", ["gcn"], range(1), settings={"epochs": 6}), out)
    assert (out / "compare.json").read_bytes() == before


def test_force_fits_again(tmp_path: Path) -> None:
    for epochs in (2, 3):
        specs = make_specs("karate", ["gcn"], range(1), settings={"epochs": epochs})
        outcome = compare(specs, tmp_path, Execution(force=True))
        assert outcome.result["results"][0]["epochs_per_seed"] == [epochs]


def test_a_damaged_record_is_fitted_again(tmp_path: Path) -> None:
    specs = make_specs("karate", ["lpa"], range(1))
    first = compare(specs, tmp_path).result
    (tmp_path / fit_work(specs[0], 0).path).write_text('{"config": ')
    assert compare(specs, tmp_path).result == first


def test_settings_go_to_the_methods_that_have_them() -> None:
    specs = make_specs("karate", ["gcn", "lpa", "gdamn"], range(1), settings={"hidden": 3, "gcn.epochs": 5, "beta": 1})
    assert [dict(spec.settings) for spec in specs] == [{"hidden": 3, "epochs": 5}, {}, {"hidden": 3, "beta": 1}]
    for wrong, said in (("epoch", "epochs"), ("mlp.epochs", "isn't compared"), ("gcn.beta", "no setting 'beta'")):
        with pytest.raises(ConfigError, match=said):
            make_specs("karate", ["gcn", "gdamn"], range(1), settings={wrong: 1})


def test_all_is_what_the_registry_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.estimators.registry import METHODS

    assert method_names("all") == list(METHODS)
    monkeypatch.setitem(METHODS, "new", METHODS["gcn"])
    assert "new" in method_names("all")
    assert method_names("gcn, mlp,gcn") == ["gcn", "mlp"]
    with pytest.raises(ConfigError, match="did you mean"):
        method_names("gcnn")


def test_an_own_method_stands_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_module.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the command adds the folder to it
    args = ["compare", "karate", "--methods", "own_module:Mine,gcn", "--seeds", "2", "--jobs", "2", "--set", "epochs=3"]
    done = gdamn(*args, "--out", "out", "--json")
    assert done.exit_code == 0, done.stderr
    own, plain = sorted(json.loads(done.stdout)["results"], key=lambda r: r["method"] == "gcn")
    assert own["method"] == "own_module:Mine"
    assert own["test_accuracy"] == plain["test_accuracy"]


def test_a_fit_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = runs.make_estimator

    def breaks(spec: RunSpec, seed: int) -> Any:
        if (spec.method, seed) == ("lpa", 1):
            raise TrainingError("The loss is not finite.")
        return whole(spec, seed)

    monkeypatch.setattr(runs, "make_estimator", breaks)
    outcome = compare(make_specs("karate", ["lpa", "logreg"], range(2), settings={"epochs": 2}), tmp_path)
    assert outcome.result["failed"] == [{"method": "lpa", "seed": 1, "reason": "The loss is not finite."}]
    assert outcome.result["best"] == "logreg"
    assert "lpa, seed 1: The loss is not finite." in report.markdown(outcome)
    monkeypatch.setattr(runs, "make_estimator", whole)
    specs = make_specs("karate", ["lpa", "logreg"], range(2), settings={"epochs": 2})
    assert compare(specs, tmp_path).result["failed"] == []


ERRORS = [
    ("compare karate --methods gcnn --out new", "did you mean gcn"),
    ("compare karate --methods , --out new", "No method is named"),
    ("compare nosuch --methods gcn --out new", "no data set 'nosuch'"),
    ("compare karate --methods gcn --set epoch=3 --out new", "did you mean epochs"),
    ("compare karate --methods gcn --seeds 0 --out new", "--seeds"),
    ("compare karate --methods gcn --jobs 0 --out new", "--jobs"),
    ("compare karate --methods gcn --noise -1 --out new", "0 or more"),
    ("compare karate --methods gcn --out file", "is a file"),
    ("compare karate --methods nowhere:Mine --out new", "nowhere"),
    ("compare karate --methods json:loads --out new", "subclass"),
    ("compare cora --methods gcn --split 1 --out new", "one public split"),
]


@pytest.mark.parametrize(("args", "said"), ERRORS)
def test_errors_are_one_line_and_leave_nothing(
    args: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(sys, "argv", ["gdamn", *args.split()])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert said in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_paired_values_are_those_of_scipy() -> None:
    first = {0: 0.81, 1: 0.83, 2: 0.80, 3: 0.84, 4: 0.79, 9: 0.1}
    second = {4: 0.80, 3: 0.80, 2: 0.79, 1: 0.81, 0: 0.80, 7: 0.2}
    test = paired(first, second)
    a, b = [0.81, 0.83, 0.80, 0.84, 0.79], [0.80, 0.81, 0.79, 0.80, 0.80]
    assert test is not None
    assert test["seeds"] == 5
    assert (test["higher"], test["lower"]) == (4, 1)
    assert test["difference"] == pytest.approx(sum(a) / 5 - sum(b) / 5)
    assert test["t_p"] == pytest.approx(ttest_rel(a, b).pvalue)
    assert test["wilcoxon_p"] is None  # 5 seeds can't reach 0.05
    first, second = {**first, 10: 0.85, 11: 0.84}, {**second, 10: 0.79, 11: 0.81}
    test = paired(first, second)
    assert test is not None
    assert test["seeds"] == 7
    assert test["wilcoxon_p"] == pytest.approx(wilcoxon([*a, 0.85, 0.84], [*b, 0.79, 0.81]).pvalue)


def test_paired_by_hand() -> None:
    """Differences 1, 2, 3: t = 2 / (1 / √3) with 2 degrees of freedom, p = 1 - t / √(t² + 2)."""
    test = paired({0: 2.0, 1: 4.0, 2: 6.0}, {0: 1.0, 1: 2.0, 2: 3.0})
    assert test is not None
    assert test["t_p"] == pytest.approx(1 - (12 / 14) ** 0.5)
    assert test["wilcoxon_p"] is None


@pytest.mark.parametrize("seeds", [2, 3, 4, 5, 6, 7, 11])
def test_wilcoxon_is_told_only_where_it_could_reach_a_twentieth(seeds: int) -> None:
    """All differences of one sign give the smallest p there is, 2/2ⁿ; seeds without a difference don't count."""
    ours, theirs = {s: float(s + 1) for s in range(seeds)}, dict.fromkeys(range(seeds), 0.0)
    for same in (0, 3):
        test = paired(
            {**ours, **{100 + s: 0.5 for s in range(same)}}, {**theirs, **{100 + s: 0.5 for s in range(same)}}
        )
        assert test is not None
        assert (test["wilcoxon_p"] is None) == (2 / 2**seeds >= 0.05), (seeds, same)


def test_paired_where_there_is_little_to_test() -> None:
    assert paired({0: 0.5}, {0: 0.6}) is None
    assert paired({0: 0.5, 1: None}, {0: 0.6, 1: 0.7}) is None
    same = paired({0: 0.5, 1: 0.6}, {0: 0.5, 1: 0.6})
    assert same is not None
    assert (same["t_p"], same["wilcoxon_p"]) == (1.0, None)
    same = paired(dict.fromkeys(range(6), 0.5), dict.fromkeys(range(6), 0.5))
    assert same is not None
    assert (same["t_p"], same["wilcoxon_p"]) == (1.0, 1.0)
    constant = paired({0: 0.5, 1: 0.75}, {0: 0.25, 1: 0.5})
    assert constant is not None
    assert constant["t_p"] is None


def told(*p_values: float | None, wilcoxon_p: float | None = 0.5) -> dict[str, dict[str, Any]]:
    return {name: {"t_p_holm": p, "wilcoxon_p": wilcoxon_p} for name, p in zip("bcdef", p_values, strict=False)}


def test_the_highest_mean_is_called_best_only_where_the_test_separates_it() -> None:
    assert verdict("a", ["b"], told(0.147), False) == (
        "a has the highest mean test accuracy, not separated from b (p = 0.147)."
    )
    assert verdict("a", ["b", "c", "d"], told(0.2, 0.01, 0.05), True) == (
        "a has the highest mean test accuracy of the methods that finished every seed, not separated from b "
        "(p = 0.200) and d (p = 0.050)."
    )
    many = verdict("a", list("bcdef"), told(*[0.3] * 5), False)
    assert many.endswith("from b (p = 0.300), c (p = 0.300), d (p = 0.300) and 2 more.")
    assert verdict("a", ["b", "c"], told(0.0001, 0.049), False) == (
        "a has the highest mean test accuracy, separated from every other method (p = 0.049, t-test with Holm's "
        "correction)."
    )
    assert "separated from b (p < 0.001, t-test" in verdict("a", ["b"], told(1e-9), False)
    assert "not separated from b (too few seeds for a test)." in verdict("a", ["b"], {}, False)
    assert "not separated from b (no test)." in verdict("a", ["b"], told(None), False)
    assert verdict("a", [], {}, False) == "a is the only method."


def test_a_hopeless_wilcoxon_has_a_footnote() -> None:
    assert wilcoxon_note(told(0.1)) is None
    note = wilcoxon_note(told(0.1, wilcoxon_p=None))
    assert note is not None
    assert "at least 6 seeds" in note


def test_holm_by_hand() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_compact_json_is_the_same_json() -> None:
    content = {"a": [1, 2.5, None], "b": [[1, 2], [3]], "c": ["x, y", "[\n z]"], "d": [{"e": []}], "f": "a\n[ b ]"}
    text = report.compact_json(content)
    assert json.loads(text) == content
    assert '"a": [1, 2.5, null]' in text


def test_the_live_table_fills_as_fits_end() -> None:
    view = CompareView()
    fit = {"test_accuracy": 0.8, "val_accuracy": 0.7, "seconds": 1.5}
    specs = make_specs("karate", ["gcn", "mlp", "lpa"], range(2))
    view.start(specs, {("mlp", 0): {**fit, "test_accuracy": 0.5}})
    view.progress(("gcn", 1), "train", 9, 200, {})
    assert "seed 1 · train 10/200" in drawn(view)
    view.finished(("gcn", 0), fit)
    view.finished(("gcn", 1), {**fit, "test_accuracy": 0.9})
    view.finished(("lpa", 0), {"failed": "no edges"})
    lines = drawn(view).splitlines()
    assert "3 of 6 fits" in lines[0]
    rows = [line.split() for line in lines if line.split()[:1] in (["gcn"], ["mlp"], ["lpa"])]
    assert [row[:2] for row in rows] == [["gcn", "2/2"], ["mlp", "1/2"], ["lpa", "0/2"]]
    assert rows[0][2:5] == ["85.0", "±", "7.1"]
    assert rows[2][-2:] == ["no", "edges"]


def drawn(view: CompareView) -> str:
    console = Console(width=120, record=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    console.print(view.table())
    return console.export_text()


def test_a_method_far_behind_does_not_press_the_plot() -> None:
    assert lowest_shown([84.0, 83.0, 82.0, 40.0]) == 74.0
    assert lowest_shown([84.0, 60.0, 40.0]) == 12.0
    assert lowest_shown([50.0]) == 40.0


def test_ranges_and_small_p_values() -> None:
    assert report.ranges([0, 1, 2, 5, 7, 8]) == "0–2, 5, 7–8"
    assert [p_text(p) for p in (None, 0.0001, 0.0123)] == ["–", "<0.001", "0.012"]


def test_fits_from_before_a_setting_existed_are_used_again(tmp_path: Path) -> None:
    """What is new in config.py must not send published fits to be made again, unless it is set to something else."""
    spec = make_specs("karate", ["gdamn"], [0])[0].resolved()
    store = Store(tmp_path)
    store.save(fit_work(spec, 0), {"test_accuracy": 0.5})
    path = tmp_path / fit_work(spec, 0).path
    record = json.loads(path.read_text())
    settings = record["config"]["settings"]
    same = [name for name in BEFORE if settings[name] == BEFORE[name]]
    changed = [name for name in BEFORE if name not in same]
    assert changed == ["judge_edges", "decay_labels"]  # their defaults have changed what is done
    for name in same:
        del settings[name]
    path.write_text(json.dumps(record))
    assert store.find(fit_work(spec, 0)) is not None
    del settings["judge_edges"]
    path.write_text(json.dumps(record))
    with pytest.raises(OutputError, match="judge_edges is False there, True now"):
        store.find(fit_work(spec, 0))
    settings["judge_edges"] = True
    path.write_text(json.dumps(record))
    other = make_specs("karate", ["gdamn"], [0], settings={"batch": "partition"})[0].resolved()
    with pytest.raises(OutputError, match="batch is auto there, partition now"):
        store.find(fit_work(other, 0))
