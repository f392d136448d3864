"""Cut and largest halo of every partitioner on graphs with and without locality.

    python benchmarks/cuts.py [--out benchmarks/cuts.json]

Parts have about equal numbers of entries of A + I. METIS has seed 0; sbm has 20,000 nodes of degree 20.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from gdamn.data import load
from gdamn.data.partition.choose import choose

GRAPHS: dict[str, dict[str, Any]] = {
    "pubmed": {},
    "coauthor-physics": {},
    "sbm": {"num_nodes": 20_000, "degree": 20},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("cuts.json"))
    given = parser.parse_args()
    rows: dict[str, Any] = {}
    for name, options in GRAPHS.items():
        graph = load(name, **options)
        for count in (8, 64):
            for how in ("order", "rcm", "stream", "metis"):
                _, ((_, measure),) = choose(graph, count, how)
                found = {"cut": round(measure.cut, 4), "largest_halo": measure.largest_halo}
                rows.setdefault(f"{name}, {count} parts", {})[how] = found
            print(name, count, rows[f"{name}, {count} parts"], flush=True)
    given.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
