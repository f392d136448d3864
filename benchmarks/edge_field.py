"""Noisy graphs with the default settings: what judging edges by belief propagation (judge_edges) is worth.

python benchmarks/edge_field.py                       all that is missing, with GDAMN_DATA set to the data
python benchmarks/edge_field.py --seeds 3 --graphs "cora-meta 0.25"    a part of it
python benchmarks/edge_field.py --variants gcn,grand,gcn:cut    other methods; with :cut after RemoveSpuriousEdges
python benchmarks/edge_field.py --table               the tables of what is there

Each fit is GDAMN() as a user calls it, with the split that the graph comes with: judge_edges on (the default), and off
as the control. Other methods have their preset for the data set. Accuracy is that of test nodes at the epoch that
validation nodes choose. ``auc`` is the area under the curve of the order of suspicious edges against the edges that
were planted, where it is known which these are. Every fit is kept in edge_field.json, and not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import machine
import numpy as np
from numpy.typing import NDArray

from gdamn import GDAMN, Graph, load, spurious_edges
from gdamn.estimators.registry import make
from gdamn.graph.entries import keep_entries
from gdamn.system.io import write_text
from gdamn.using.ranking import pairs, suspects

HERE = Path(__file__).resolve().parent

GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"cora-meta {rate:g}": ("cora-meta", {"rate": rate}) for rate in (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)},
    **{f"cora + {noise:g}": ("cora", {"noise": noise}) for noise in (0.1, 0.4, 0.8)},
    **{f"digits + {noise:g}": ("digits", {"noise": noise}) for noise in (0.1, 0.4, 1.0)},
    **{name: (name, {}) for name in ("cora", "citeseer", "chameleon", "actor", "pubmed")},
}
"""Name in the table: data set and its options. Planted edges and random splits are those of the seed."""

SPLITS = ("actor", "chameleon")
"""Data sets with several public splits, of which a seed takes its own."""

VARIANTS: dict[str, dict[str, Any]] = {"judged": {}, "control": {"judge_edges": False}}


def main() -> None:
    arguments = parse()
    kept = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else {"fits": []}
    done = {(one["graph"], one["seed"], one["variant"]) for one in kept["fits"]}
    for seed in range(0 if arguments.table else arguments.seeds):
        for name in arguments.graphs:
            for variant in arguments.variants:
                if (name, seed, variant) not in done:
                    kept["fits"].append(
                        {"graph": name, "seed": seed, "variant": variant, **measure(name, seed, variant)}
                    )
                    write(arguments.out, kept)
                    print(kept["fits"][-1], flush=True)
    print(table(kept["fits"]))
    print(rivals(kept["fits"]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=list(GRAPHS))
    parser.add_argument("--variants", type=lambda text: text.split(","), default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument("--out", type=Path, default=HERE / "edge_field.json")
    return parser.parse_args()


def measure(name: str, seed: int, variant: str) -> dict[str, Any]:
    """One fit: its accuracies, the start that it chose, its seconds of one processor, and the AUC of planted edges."""
    dataset, options = GRAPHS[name]
    split = {"split": seed} if dataset in SPLITS else {}
    graph = load(dataset, seed=seed, **split, **options)
    begun = time.process_time()
    if variant in VARIANTS:
        model = GDAMN(seed=seed, threads=1, **VARIANTS[variant]).fit(graph)
        more = {name: model.best_epoch_[name] for name in ("start", "phase")} | {"auc": auc(model, graph)}
    else:
        method, _, cut = variant.partition(":")
        model, more = make(method, dataset=dataset, seed=seed, overrides={"threads": 1}), {}
        model.fit(without_spurious(graph) if cut else graph)
    seconds = round(time.process_time() - begun, 1)
    return {"val": round(model.score("val"), 4), "test": round(model.score("test"), 4), **more, "seconds": seconds}


def without_spurious(graph: Graph) -> Graph:
    """The graph without the edges that RemoveSpuriousEdges removes."""
    return keep_entries(graph, ~spurious_edges(graph).cut())


def auc(model: GDAMN, graph: Graph) -> float | None:
    """How well the order of suspicious edges tells planted edges from the graph's own."""
    planted: NDArray[np.bool_] | None = graph.meta.get("planted")
    if planted is None:
        return None
    from sklearn.metrics import roc_auc_score

    ranked = suspects(graph, model.predict_proba(), model.state_, len(pairs(graph)))
    return round(float(roc_auc_score(planted[ranked.at], ranked.suspicion)), 4)


def write(path: Path, kept: dict[str, Any]) -> None:
    """The whole file or none of it; a line for each fit."""
    lines = ",\n".join(f"  {json.dumps(one)}" for one in kept["fits"])
    versions = json.dumps(machine.versions())
    write_text(
        path, f'{{\n "versions": {versions},\n "settings": {json.dumps(VARIANTS)},\n "fits": [\n{lines}\n ]\n}}\n'
    )


def table(fits: list[dict[str, Any]]) -> str:
    """A row for each graph: test accuracy of both variants over the seeds that both have, and the AUC."""
    lines = ["| graph | seeds | judged | control | lead | AUC judged | AUC control |", "|---|---|---|---|---|---|---|"]
    for name in GRAPHS:
        rows = {(one["variant"], one["seed"]): one for one in fits if one["graph"] == name}
        seeds = sorted(seed for variant, seed in rows if variant == "judged" and ("control", seed) in rows)
        if not seeds:
            continue
        judged, control = (np.array([rows[v, s]["test"] for s in seeds]) * 100 for v in VARIANTS)
        lead, error = (
            (judged - control).mean(),
            (judged - control).std(ddof=1) / len(seeds) ** 0.5 if len(seeds) > 1 else 0,
        )
        aucs = [[rows[v, s]["auc"] for s in seeds] for v in VARIANTS]
        shown = [f"{np.mean(each):.3f}" if None not in each else "–" for each in aucs]
        spread = [f"{each.mean():.1f} ± {each.std(ddof=min(1, len(seeds) - 1)):.1f}" for each in (judged, control)]
        lines.append(
            f"| {name} | {len(seeds)} | {' | '.join(spread)} | {lead:+.1f} ± {error:.1f} | {' | '.join(shown)} |"
        )
    return "\n".join(lines)


def rivals(fits: list[dict[str, Any]]) -> str:
    """A row for each method, a column for each graph that a method other than ours was tried on."""
    others = sorted({one["variant"] for one in fits} - VARIANTS.keys())
    graphs = [name for name in GRAPHS if any(one["graph"] == name and one["variant"] in others for one in fits)]
    lines = [f"| method | {' | '.join(graphs)} |", "|---" * (len(graphs) + 1) + "|"]
    for variant in (*VARIANTS, *others):
        cells = []
        for name in graphs:
            mine, ours = (
                {r["seed"]: r["test"] for r in fits if (r["graph"], r["variant"]) == (name, v)}
                for v in (variant, "judged")
            )
            both = sorted(mine.keys() & ours.keys())
            lead = 100 * np.array([ours[seed] - mine[seed] for seed in both])
            error = lead.std(ddof=1) / len(lead) ** 0.5 if len(lead) > 1 else 0.0
            values = 100 * np.array([mine[seed] for seed in both])
            cells.append(f"{values.mean():.1f} ({len(both)}; {lead.mean():+.1f} ± {error:.1f})" if both else "–")
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
