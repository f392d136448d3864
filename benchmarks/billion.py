"""A dry run of a billion edges on eight machines: memory and time from shapes alone, and how far such guesses are off.

    python benchmarks/billion.py

Nothing is allocated: parts are described as ``gdamn data partition`` would, and ``rank_bytes``, which decides in a real
run whether a rank has the memory, is asked. Seconds are those of an entry in ranks.json (one thread a rank), bytes of
the halo those of docs/evidence/scale.md. The same guess is made for every run of ranks.json and held against what was
measured. What is found is kept in billion.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ranks import CLASSES, FEATURES, PARTS, SETTINGS

from gdamn import GDAMN
from gdamn.fit.domains.ranks.part_memory import rank_bytes
from gdamn.fit.domains.ranks.parts import part_bounds
from gdamn.graph.parts import Part, PartitionedGraph, Whole, part_arrays

HERE = Path(__file__).parent
PROCESS_GB = 0.35
"""Python with torch, numba and gdamn, before a graph is read."""
NETWORK = 10e9 / 8
"""Bytes a second of a network of 10 Gbit/s."""
EDGES, NODES, MACHINES = 10**9, 10**8, 8
HALOS = {"local": 0.05, "community": 0.5, "random": 7.0}
"""Nodes of a rank's halo for each of its own, on eight ranks: parts of a graph with locality, one whose parts keep most
edges, and one without any, where a rank needs every other node."""


def described(nodes: int, edges: int, halo: float, parts: int) -> PartitionedGraph:
    """A graph of such a size in equal parts, without any file."""
    entries = 2 * edges
    whole = Whole(nodes, entries, CLASSES, FEATURES)
    names = dict.fromkeys(part_arrays(weighted=False, sparse=False), "")
    each = nodes // parts, entries // parts
    described = [
        Part(k, Path(), k * each[0], each[0], k * each[1], each[1], int(halo * each[0]), 0, 0, names, whole)
        for k in range(parts)
    ]
    return PartitionedGraph(
        folder=Path("described"),
        name="described",
        num_nodes=nodes,
        num_entries=entries,
        class_names=tuple(str(k) for k in range(CLASSES)),
        directed=False,
        weighted=False,
        num_features=FEATURES,
        is_sparse=False,
        partitioner="described",
        cut=0.0,
        digest="",
        meta={},
        parts=tuple(described),
    )


def guessed_gb(graph: PartitionedGraph, ranks: int, mode: str) -> float:
    """The most that a rank takes, the process included."""
    settings = GDAMN(**SETTINGS, batch=mode).settings
    bounds = part_bounds(graph, ranks)
    taken = [rank_bytes(graph, settings, graph.parts[bounds[r] : bounds[r + 1]], mode) for r in range(ranks)]
    return PROCESS_GB + max(taken) / 1e9


def sent_bytes(rows: float) -> dict[str, float]:
    """Bytes that a rank sends in an epoch of each phase, for so many rows of its halo."""
    hidden, projection = SETTINGS["hidden"], SETTINGS["projection"]
    of_q = 3 * 4 * rows * (hidden + CLASSES)
    return {
        "pre-train": of_q,
        "M-step 1": 4 * rows * (CLASSES + 2 * projection + 2 * (hidden + CLASSES)),
        "E-step 1": of_q,
    }


def main() -> None:
    measured: dict[str, Any] = json.loads((HERE / "ranks.json").read_text())
    checks = []
    for name, run in measured.items():
        kind, *size = name.split()
        if kind not in ("local", "sbm"):
            continue
        edges, mode, ranks = int(size[0]), size[1], int(size[2])
        halo = {"local": 0.02, "sbm": ranks - 1}[kind]
        guess = guessed_gb(described(edges // 10, edges, halo, PARTS), ranks, mode)
        checks.append({"run": name, "guessed_gb": round(guess, 2), "measured_gb": round(max(run["peak_gb"]), 2)})
    plan = []
    fused = measured["local 10000000 fused 2"]
    for kind, halo in HALOS.items():
        graph, rows = described(NODES, EDGES, halo, PARTS), halo * NODES / MACHINES
        row: dict[str, Any] = {"graph": kind, "halo_rows": int(rows)}
        row |= {f"{mode}_gb": round(guessed_gb(graph, MACHINES, mode), 1) for mode in ("full", "fused")}
        scale = (EDGES / MACHINES) / (10_000_000 / 2) / 2  # two threads a machine in place of one
        computed = {phase: seconds * scale for phase, seconds in fused["epoch_seconds"].items()}
        sent = sent_bytes(rows)
        row["compute_seconds"] = {phase: round(seconds, 1) for phase, seconds in computed.items()}
        row["network_seconds"] = {phase: round(sent[phase] / NETWORK, 1) for phase in computed}
        plan.append(row)
    text = json.dumps({"checks": checks, "plan": plan}, indent=1)
    (HERE / "billion.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
