"""Does EM earn its place in gdamn-plus? Each setting against a control that trains q as long, without p.

python benchmarks/plus_control.py pubmed --changes '[{"em_iterations": 1}]' --seeds 8 --first 100

A change is laid over the preset. Its control pre-trains q for all epochs that q has in pre-training and in the E-steps,
on the plain graph, and has no EM. Both are judged by cross-fitted validation accuracy (cross_fitted.py) on the same
seeds; no test label is read. Fits are kept in --out and not made again.
"""

from __future__ import annotations

import argparse
import json
import statistics
from operator import itemgetter
from pathlib import Path
from typing import Any

from cross_fitted import fit, judged, lead

from gdamn.estimators.registry import make

HERE = Path(__file__).resolve().parent
JUDGES = (judged, itemgetter("best"), itemgetter("mean"))


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    seeds = [str(seed) for seed in range(arguments.first, arguments.first + arguments.seeds)]
    print("| setting | seeds | cross-fitted: EM | control | lead | best epoch: EM | control | mean: EM | control |")
    print("|---|---|---|---|---|---|---|---|---|")
    for change in json.loads(arguments.changes):
        pair = []
        for settings in (change, {**change, **control(arguments.dataset, change)}):
            done = kept.setdefault(arguments.dataset, {}).setdefault(json.dumps(settings, sort_keys=True), {})
            for seed in seeds:
                if seed not in done:
                    done[seed] = fit(arguments.dataset, "gdamn-plus", settings, int(seed))
                    arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
            pair.append({seed: done[seed] for seed in seeds})
        print(row(change, *pair), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--changes", default="[{}]", help="a JSON list of settings")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--out", type=Path, default=HERE / "plus_control.json")
    return parser.parse_args()


def control(dataset: str, change: dict[str, Any]) -> dict[str, Any]:
    """What a setting's control has: as many epochs of q, and no EM."""
    s = make("gdamn-plus", dataset, overrides=change).get_params()
    return {"em_iterations": 0, "pretrain_epochs": s["pretrain_epochs"] + s["em_iterations"] * s["epochs"]}


def row(change: dict[str, Any], ours: dict[str, Any], base: dict[str, Any]) -> str:
    """A line of the table."""
    means = [[100 * statistics.fmean(map(score, done.values())) for done in (ours, base)] for score in JUDGES]
    ahead, error = lead(ours, base)
    first, *others = [f"{em:.2f} | {other:.2f}" for em, other in means]
    shown = ", ".join(f"{name}={value}" for name, value in change.items()) or "the preset"
    return f"| {shown} | {len(ours)} | {first} | {100 * ahead:+.2f} ± {100 * error:.2f} | {' | '.join(others)} |"


if __name__ == "__main__":
    main()
