"""Many fits on small random graphs in one process: memory and open files don't grow, and each ends as on its own.

    python tests/load.py --fits 1000 --fresh 20

One process does all fits in order, a second one in reverse order, and some are done by a fresh process each; every
result (probabilities and history, bit for bit) must be the same. That the order doesn't matter shows that a fit leaves
nothing behind that changes another; a fresh process per fit for all of them would take hours of imports. The first two
are forks of one process that has imported gdamn and fitted nothing.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from typing import Any

METHODS = ("gdamn", "gcn", "gat", "mlp", "lpa", "appnp", "graphsage", "gmnn", "gcn-cs", "gdamn-no-hard")
FEW = {"pretrain_epochs": 3, "epochs": 3, "em_iterations": 1}
WARM = 0.2
"""The share of the fits after which memory is measured first: by then every method has been fitted often."""


def fit(number: int) -> str:
    """The fit of this number: a random graph and a method; a hash of what came out."""
    from gdamn.data import load
    from gdamn.estimators import registry as methods

    luck = random.Random(number)
    sizes = {"num_nodes": luck.randint(40, 300), "num_classes": luck.randint(2, 4), "num_features": luck.randint(3, 24)}
    graph = load("sbm", seed=number, noise=luck.choice([0.0, 0.5]), train_per_class=4, val_per_class=4, **sizes)
    name = METHODS[number % len(METHODS)]
    has = methods.method(name).estimator().settings_class.names()
    model = methods.make(name, "sbm", seed=number, overrides={key: FEW[key] for key in FEW if key in has})
    model.fit(graph)
    digest = hashlib.sha256(model.predict_proba().tobytes())
    digest.update(json.dumps(model.history_).encode())
    return digest.hexdigest()[:16]


def work(numbers: list[int]) -> dict[str, Any]:
    """Do these fits in this process; their hashes, and memory (MB) and open files after warm-up and at the end."""
    import psutil

    me, warm = psutil.Process(), max(len(METHODS), round(WARM * len(numbers)))
    found: dict[int, str] = {}
    measured: list[tuple[float, int]] = []
    for at, number in enumerate(numbers, start=1):
        found[number] = fit(number)
        if at in (warm, len(numbers)):
            gc.collect()
            measured.append((me.memory_info().rss / 2**20, me.num_fds()))
    return {"found": found, "measured": measured}


def in_processes(parts: list[list[int]]) -> list[dict[str, Any]]:
    """The same, each part in a process of its own: a fork of one that has imported gdamn and fitted nothing."""
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    words = [sys.executable, __file__, "--work"]
    told = json.dumps(parts)
    done = subprocess.run(words, input=told, capture_output=True, text=True, env=quiet, check=False)
    if done.returncode:
        raise SystemExit(f"The fits {told[:60]} failed:\n{done.stderr}")
    answer: list[dict[str, Any]] = json.loads(done.stdout)
    return answer


def work_by_forks(parts: list[list[int]]) -> list[dict[str, Any]]:
    """A new process for each part."""
    from gdamn.estimators import registry as methods

    for name in METHODS:
        methods.method(name).estimator()
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        return pool.map(work, parts, chunksize=1)


def load_test(fits: int, fresh: int) -> dict[str, Any]:
    """All fits in order, in reverse order, and some on their own: how memory grew, and which results differ."""
    begun = time.monotonic()
    numbers = list(range(fits))
    forth, back = in_processes([numbers, numbers[::-1]])
    seconds = time.monotonic() - begun
    alone: dict[str, str] = {}
    for number in random.Random(fits).sample(numbers, fresh):
        alone |= in_processes([[number]])[0]["found"]
    (before, files_before), (after, files_after) = forth["measured"][0], forth["measured"][-1]
    others = [back["found"], alone]
    return {
        "fits": len(forth["found"]),
        "distinct": len(set(forth["found"].values())),
        "fresh": len(alone),
        "rss_mb": (round(before, 1), round(after, 1)),
        "files": (files_before, files_after),
        "different": sorted({n for other in others for n, told in other.items() if forth["found"][n] != told}, key=int),
        "seconds": round(seconds),
    }


def main() -> int:
    """Entry of ``make load``."""
    reader = argparse.ArgumentParser(description="Many fits in one process: no growth, and results as on their own.")
    reader.add_argument("--fits", type=int, default=1000)
    reader.add_argument("--fresh", type=int, default=20)
    reader.add_argument("--most-mb", type=float, default=20.0, help="growth of memory that counts as a leak")
    reader.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = reader.parse_args()
    if asked.work:
        print(json.dumps(work_by_forks(json.loads(sys.stdin.read()))))
        return 0
    found = load_test(asked.fits, asked.fresh)
    print(json.dumps(found, indent=2))
    (before, after), (files_before, files_after) = found["rss_mb"], found["files"]
    whole = found["fits"] == asked.fits and not found["different"]
    return 0 if whole and after - before <= asked.most_mb and files_after <= files_before else 1


if __name__ == "__main__":
    sys.exit(main())
