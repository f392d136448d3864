"""The tables of the evidence pages that come straight from result files, put between the markers of each page.

python docs/tables.py        # writes docs/evidence/reproduce.md and accuracy.md; a test compares them
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import ttest_rel

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from cross_fitted import RULES, judged, lead
from equal_budget import FIRST, RACED, TRIED, winner

ROOT = Path(__file__).resolve().parents[1]
NAMES = {
    "cora": "Cora",
    "citeseer": "Citeseer",
    "pubmed": "Pubmed",
    "coauthor-cs": "Coauthor-CS",
    "coauthor-physics": "Coauthor-Physics",
}
PARTS = ("gdamn", "gdamn-no-ent", "gdamn-no-hard", "gdamn-no-soft", "gmnn-gat", "gmnn")
Trials = dict[str, dict[str, Any]]


def main() -> None:
    """Write every table into its page."""
    for page, tables in PAGES.items():
        path = ROOT / "docs" / "evidence" / page
        path.write_text(filled(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


def filled(text: str, tables: dict[str, Callable[[], list[str]]]) -> str:
    """A page with the lines of each table between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``."""
    for name, lines in tables.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        assert rest, f"the page has no marker {begin.strip()}"
        assert after or rest.endswith(end), f"the page has no marker {end.strip()}"
        text = before + begin + "\n".join(lines()) + "\n" + end + after
    return text


def reproduced(name: str) -> Callable[[], list[str]]:
    """The rows of a page of results/reproduce."""

    def lines() -> list[str]:
        text = (ROOT / "results" / "reproduce" / name).read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.startswith("|")]

    return lines


def seeds() -> list[str]:
    """Which seeds each row of table 2 has."""
    text = (ROOT / "results" / "reproduce" / "table2.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith(tuple(f"- {name}: " for name in NAMES))]


def read(*names: str) -> Any:
    """A JSON file of the project."""
    return json.loads((ROOT.joinpath(*names)).read_text(encoding="utf-8"))


def budgets() -> list[str]:
    """A line per search of equal_budget.py whose preset has had all its seeds."""
    plus = read("benchmarks", "cross_fitted_plus.json")
    rows = [
        "| data set | method | settings | cross-fitted: preset, best | lead over its preset: all 6 seeds, 4 fresh ones "
        "| gdamn-plus on the same seeds | change |",
        "|---|---|---|---|---|---|---|",
    ]
    searches = {tuple(name.split()): trials for name, trials in read("benchmarks", "equal_budget.json").items()}
    for dataset, method in sorted(searches, key=lambda key: (list(NAMES).index(key[0]), key[1])):
        trials = searches[dataset, method]
        if len(trials["{}"]) == TRIED + RACED:
            rows.append(budget(dataset, method, trials, plus[f"{dataset} gdamn-plus"]["{}"]))
    return rows


def budget(dataset: str, method: str, trials: Trials, plus: dict[str, Any]) -> str:
    """One search: its preset, its winner, and gdamn-plus beside them."""
    change, base = winner(trials), trials["{}"]
    done = trials[json.dumps(change, sort_keys=True)]
    fresh = {seed: fit for seed, fit in done.items() if int(seed) >= FIRST + TRIED}
    leads = ", ".join("{:+.2f} ± {:.2f}".format(*(100 * value for value in lead(part, base))) for part in (done, fresh))
    ours = statistics.fmean(judged(plus[seed]) for seed in base if seed in plus)
    settings = ", ".join(f"`{name}={value}`" for name, value in change.items())
    cells = (
        *(NAMES[dataset], method, str(len(trials)), f"{mean(base)}, {mean(done)}", leads if change else "none"),
        *(f"{100 * ours:.1f}", settings or "the preset"),
    )
    return f"| {' | '.join(cells)} |"


def parts() -> list[str]:
    """GDAMN and what is left without one of its parts: our mean, the paper's, and a paired t-test against GDAMN."""
    table = read("results", "reproduce", "table2.json")
    found = {(name, r["method"]): r for name, c in table["comparisons"].items() for r in c["results"]}
    printed = {row["method"]: (row["name"], row["cells"]) for row in table["rows"]}
    rows = [f"| | {' | '.join(NAMES.values())} |", "|---" * (1 + len(NAMES)) + "|"]
    for method in PARTS:
        name, cells = printed[method]
        line = [name]
        for dataset in NAMES:
            values = found[dataset, method]["test_accuracy"]["per_seed"]
            whole = found[dataset, "gdamn"]["test_accuracy"]["per_seed"][: len(values)]
            test = "" if method == "gdamn" else f", {shown(float(ttest_rel(whole, values).pvalue))}"
            line.append(f"{100 * statistics.fmean(values):.1f} ({cells[dataset]['paper']['test'][0]:.1f}){test}")
        rows.append(f"| {' | '.join(line)} |")
    return rows


def shown(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.005 else f"p = {p:.2f}"


def rules() -> list[str]:
    """What each rule of choice is worth, on the fits of each data set whose scores by all three were kept."""
    rows = [
        "| | the preset: fits, by the best accuracy | smoothed | loss "
        "| all settings: fits | smoothed | loss | the best epoch flatters by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kept = [read("benchmarks", name) for name in ("cross_fitted_attention.json", "cross_fitted_plus.json")]
    for method in ("gdamn", "gdamn-plus"):
        for dataset, name in NAMES.items():
            key = dataset if method == "gdamn" else f"{dataset} {method}"
            searches = [(change, trial) for content in kept for change, trial in content.get(key, {}).items()]
            every = scored([trial for _, trial in searches])
            preset = scored([trial for change, trial in searches if change == "{}"])
            by_accuracy = f"{100 * statistics.fmean(fit['cross_fitted'] for fit in preset):.2f}"
            flatters = 100 * statistics.fmean(fit["best"] - fit["cross_fitted"] for fit in every)
            cells = (
                *(f"{name}, {method}", f"{len(preset)}, {by_accuracy}", *over(preset)),
                *(str(len(every)), *over(every), f"{flatters:.1f}"),
            )
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def scored(trials: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fits that have a score by each rule."""
    return [fit for trial in trials for fit in trial.values() if set(RULES.values()) <= set(fit)]


def over(fits: Sequence[dict[str, Any]]) -> list[str]:
    """What a running mean and the loss have over the best accuracy: mean and standard error, in points."""
    apart = [[100 * (fit[rule] - fit["cross_fitted"]) for fit in fits] for rule in ("smoothed", "by_loss")]
    return [f"{statistics.fmean(a):+.2f} ± {statistics.stdev(a) / len(a) ** 0.5:.2f}" for a in apart]


def mean(fits: dict[str, Any]) -> str:
    """The mean of what the judge says of some fits, in per cent."""
    return f"{100 * statistics.fmean(map(judged, fits.values())):.1f}"


def tuned() -> list[str]:
    """The winners on the published seeds, beside their presets and gdamn-plus."""
    rows = ["| data set | method | test | its preset | gdamn-plus |", "|---|---|---|---|---|"]
    table = read("results", "reproduce", "table2.json")["comparisons"]
    paths = sorted((ROOT / "results" / "variants").glob("*-tuned.json"))
    contents = sorted(
        (read("results", "variants", p.name) for p in paths), key=lambda c: list(NAMES).index(c["dataset"])
    )
    for content in contents:
        dataset, method = content["dataset"], content["method"]
        found = content["test_accuracy"]["per_seed"]
        ours = read("results", f"{dataset}-gdamn-plus.json")["test_accuracy"]["per_seed"][: len(found)]
        presets = [r for r in table[dataset]["results"] if r["method"] == method]
        preset = f"{100 * presets[0]['test_accuracy']['mean']:.1f}" if presets else "–"
        spread = f"{100 * statistics.fmean(found):.1f} ± {100 * statistics.stdev(found):.1f}"
        against = f"{100 * statistics.fmean(ours):.1f} ({shown(float(ttest_rel(ours, found).pvalue))})"
        rows.append(f"| {NAMES[dataset]} | {method} | {spread} ({len(found)}) | {preset} | {against} |")
    return rows


PAGES: dict[str, dict[str, Callable[[], list[str]]]] = {
    "reproduce.md": {"table2": reproduced("table2.md"), "seeds": seeds, "table3": reproduced("table3.md")},
    "accuracy.md": {"rules": rules, "budgets": budgets, "tuned": tuned, "parts": parts},
}

if __name__ == "__main__":
    main()
