"""Memory and time of what comes after training on a partitioned graph: predict, refine, edges, report, another graph.

    python benchmarks/streamed.py --edges 1000000,4000000 --work FOLDER

The graphs are those of ranks.py (``local``) in parts of about 62,500 edges; gcn and gdamn train for two epochs each.
The peak is the resident memory of the command, with the packages that it imports and the pages of the files that it
maps. What is measured is kept in streamed.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ranks import make_local

EDGES_OF_PART = 62_500
FEW = {"epochs": 2, "hidden": 16, "normalize": "none"}
EM = {**FEW, "projection": 16, "start": "graph", "em_iterations": 1, "pretrain_epochs": 2, "candidates": "em"}


def gdamn(*words: object) -> dict[str, float]:
    """Run a command; its seconds and its peak in MiB."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "gdamn", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return {"seconds": time.perf_counter() - started, "peak_mib": used.ru_maxrss / 1024}


def train(parts: Path, method: str, settings: dict[str, Any], out: Path) -> None:
    """A run, unless it is there."""
    if not (out / "summary.json").exists():
        chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        gdamn("train", parts, "--method", method, *chosen, "--out", out)


def measure(edges: int, work: Path) -> dict[str, dict[str, float]]:
    """All commands on one graph."""
    folder, parts = work / f"local-{edges}.graph", work / f"local-{edges}-parts"
    if not (parts / "parts.json").exists():
        if not (folder / "graph.json").exists():
            make_local(edges, folder)
        gdamn("data", "partition", folder, parts, "--parts", edges // EDGES_OF_PART, "--partitioner", "order")
    gcn, em, out = work / f"gcn-{edges}", work / f"gdamn-{edges}", ["-o", work / "out.parquet", "--force"]
    train(parts, "gcn", FEW, gcn)
    train(parts, "gdamn", {**EM, "batch": "fused"}, em)
    return {
        "predict": gdamn("predict", em, *out),
        "refine --top 5": gdamn("refine", em, "--top", 5, *out),
        "edges --suspicious 1000": gdamn("edges", em, "--suspicious", 1000, *out),
        "report": gdamn("report", em),
        "predict --parts, gcn": gdamn("predict", gcn, "--parts", parts, *out),
        "predict --parts, gdamn": gdamn("predict", em, "--parts", parts, *out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", default="1000000,4000000")
    parser.add_argument("--work", type=Path, required=True, help="folder for graphs and runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "streamed.json")
    arguments = parser.parse_args()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for edges in map(int, arguments.edges.split(",")):
        kept[str(edges)] = measure(edges, arguments.work)
        arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
        for name, found in kept[str(edges)].items():
            print(f"{edges:,} {name}: {found['seconds']:.1f} s, {found['peak_mib']:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
