"""docs/evidence/performance.md: what people wrote stays, what lies between the markers is made from results.json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import summary
from summary import digits, size, time

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics")

INTRO = f"""# Performance

How fast gdamn is, against PyTorch Geometric and against what the machine can do. Every number below is measured by
`benchmarks/run.py` and written by it, marks included; the raw runs are in `benchmarks/results.json`.

    GDAMN_DATA=/path/to/data make bench                             # everything
    python benchmarks/run.py --data-root /path/to/data --only cora   # a part; other results stay
    python benchmarks/run.py --quick                                 # a dry run, written to a temporary folder

## How it is measured

- Each measurement is a process of its own. Ours and theirs take turns (A B A B), so that neither has the quieter
  machine. What other processes and other virtual machines took meanwhile is kept with each run.
- **Our epoch** is a whole one: forward, backward, Adam's step, and where q is trained the evaluation on training and
  validation nodes too. Settings are the data set's preset with a shortened schedule. An epoch of p costs more than one
  of q, so the mean epoch weighs the phases as the paper's schedule does: 200 of pre-training, 2 × (200 M + 200 E).
  Per phase the least mean of the repeats counts; medians are given beside it.
- **Their step** is forward, backward and Adam's step, without any evaluation, on the same graph with dense features and
  two threads: GCN and GAT as in PyTorch Geometric's examples (2 layers of 16; 8 heads of 8), on ogbn-arxiv's graph a
  GCN as in OGB's (3 layers of 128, batch norm), with the graph as an edge list and as a torch CSR matrix. The least
  mean of the repeats counts. OpenMP threads can spin or sleep while they wait, and which is faster depends on how busy
  the machine is, so their repeats use both in turn and the better one counts.
- PyTorch Geometric's examples hold features dense and gdamn holds sparse ones sparse; on Coauthor, where less than 1 in
  100 is not 0, the ratio is one of both: of the method's code and of how features are held.
- A warm-up comes before the clock starts, on both sides; numba's compiled code is in its cache.
- ogbn-arxiv's graph is the real one; its features could not be had, so 128 random ones stand in for them.
- **Bytes** of a product of E entries and H columns are counted twice. *Gathered*: every entry reads its row of H floats
  from memory (4·E·H bytes, plus values, indices and the result), as if there were no cache. *Compulsory*: every array
  moves once, as if the cache held everything. The truth lies between. The copy speed, bytes read plus bytes written,
  is the best of three ways to copy 512 MB, with no more threads, in the same process.
- Memory is the largest resident size of the process from its start (`getrusage`), loading included. GB are 10⁹ bytes.

## Results

{BEGIN}
{END}
"""


def page(before: str, results: dict[str, Any]) -> str:
    """The page with its generated part renewed; a new page where there was none."""
    text = before if BEGIN in before and END in before else before + ("\n" if before else "") + INTRO
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    return f"{head}{BEGIN}\n{generated(results)}\n{END}{tail}"


def generated(results: dict[str, Any]) -> str:
    if not results:
        return "Nothing has been measured yet."
    marks = {True: " ✓ reached", False: " ✗ missed", None: ""}
    lines = [
        (r.what, r.ours, r.theirs, r.ratio, r.goal + (marks[r.reached] if r.goal and r.ours != "–" else ""))
        for r in summary.rows(results)
    ]
    parts = [
        dry(results),
        table(("what", "ours", "theirs", "ratio", "goal"), lines),
        "A dash means: not measured.\n\n![Epochs, scaling and kernels](performance.png)",
        epochs(results),
        scaling(results),
        products(results),
        densities(results),
        failures(results),
        circumstances(results),
    ]
    return "\n\n".join(part for part in parts if part)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in lines)])


def dry(results: dict[str, Any]) -> str:
    quick = [name for name, found in results.items() if found["quick"]]
    return f"**From a dry run with `--quick`, on little work: no measurement.** ({', '.join(quick)})" if quick else ""


def epochs(results: dict[str, Any]) -> str:
    """Every phase of ours, and every step of theirs."""
    ours, theirs = [], []
    for name in (*DATASETS, "arxiv"):
        for label in ("gdamn", "gmnn"):
            best, median = (summary.phase_seconds(results, name, label, how) for how in ("best", "median"))
            if not best:
                continue
            phases = [f"{time(best[p])} ({time(median[p])})" for p in ("pre-train", "M-step", "E-step")]
            mean, rest = summary.epoch_seconds(results, name, label), summary.rest_seconds(results, name, label)
            middle = summary.epoch_seconds(results, name, label, "median")
            count = sum(summary.WEIGHTS[label].values())
            whole = time(mean * count + rest) if mean is not None and rest is not None and name != "arxiv" else "–"
            ours.append((f"{name}, {label.upper()}", *phases, f"{time(mean)} ({time(middle)})", time(rest), whole))
        for label in ("pyg-gcn", "pyg-gat", "pyg-gcn-csr"):
            values = [summary.step_seconds(results, name, label, how) for how in ("mean", "best", "median")]
            if values[0] is not None:
                theirs.append((f"{name}, {label}", *map(time, values)))
    if not ours and not theirs:
        return ""
    head = ("ours: best (median)", "pre-train", "M-step", "E-step", "mean epoch", "outside epochs", "whole fit")
    note = (
        "GMNN is ours too (`--method gmnn`). *Outside epochs* is what else the shortened fit did: set-up, annotation, "
        "posterior, re-weighting. *Whole fit* adds it to the mean epoch times the full schedule: computed, not run."
    )
    return f"### Epochs\n\n{table(head, ours)}\n\n{note}\n\n" + table(("theirs", "mean", "best", "median"), theirs)


def scaling(results: dict[str, Any]) -> str:
    points = summary.sbm_points(results)
    if not points:
        return ""
    lines = []
    for label in sorted({r["label"] for r in summary.runs(results, "sbm")}, key=int):
        graph = summary.runs(results, "sbm", label)[0]["graph"]
        phases = summary.phase_seconds(results, "sbm", label)
        peak, mean = summary.peak(results, "sbm", label), summary.epoch_seconds(results, "sbm", label)
        times = [time(phases[p]) for p in ("pre-train", "M-step", "E-step")]
        per = f"{mean / graph['edges'] * 1e9:.1f} ns" if mean else "–"
        lines.append((f"{graph['edges']:,}", f"{graph['nodes']:,}", *times, time(mean), per, size(peak)))
    head = ("edges", "nodes", "pre-train", "M-step", "E-step", "mean epoch", "per edge", "peak memory")
    law = summary.power_law(points)
    fitted = f"\n\nLeast squares on logarithms: epoch time grows as edges^{law[0]:.3f}." if law else ""
    return f"### Growing graphs\n\nPlanted classes, mean degree 20, 16 features.\n\n{table(head, lines)}{fitted}"


def products(results: dict[str, Any]) -> str:
    found, speed = summary.runs(results, "kernels"), summary.copy_speed(results)
    if not found or speed is None:
        return ""
    run, lines = found[0], []
    for name, other in (("spmm", "index_add"), ("spmm_t", "index_add"), ("sddmm", "gather")):
        others = [
            time(summary.product_seconds(results, f"{name} {way}")) if f"{name} {way}" in run["seconds"] else "–"
            for way in ("torch csr", other)
        ]
        moved = [
            f"{size(b)}, {time(b / speed[0])}" for b in (run["bytes"][name][w] for w in ("gathered", "compulsory"))
        ]
        lines.append((name, time(summary.product_seconds(results, name)), *others, *moved))
    head = ("product", "ours", "torch CSR", "gather / index_add", "gathered bytes at copy speed", "compulsory bytes")
    size_note = (
        f"{run['entries']:,} entries (loops included) × {run['width']} columns, {run['graph']['nodes']:,} nodes."
    )
    speeds = "; ".join(f"{how}: {s / 1e9:.1f} GB/s" for how, s in sorted(run["copy_bytes_per_second"].items()))
    best = f"Copy speed: {speed[0] / 1e9:.1f} GB/s ({speed[1]}), read plus written. In the first process: {speeds}."
    return f"### Kernels\n\n{size_note} {best}\n\n{table(head, lines)}"


def densities(results: dict[str, Any]) -> str:
    found = summary.runs(results, "density")
    if not found:
        return ""
    run = found[0]
    lines = [(f"{d['density']:.1%}", time(d["sparse"]), time(d["dense"])) for d in run["densities"]]
    title = (
        f"### Sparse or dense features\n\nA first layer and its gradient, {run['nodes']:,} × {run['features']:,} to "
    )
    return f"{title}{run['width']} columns; `graph.SPARSE_BELOW` is the share to be chosen by it.\n\n" + table(
        ("non-zeros", "held sparse", "held dense"), lines
    )


def failures(results: dict[str, Any]) -> str:
    lines = [
        f"- {name}, {run['label']}, repeat {run['repeat'] + 1}: {run['error']}"
        for name, found in results.items()
        for run in found["runs"]
        if "error" in run
    ]
    return "### Failed\n\n" + "\n".join(lines) if lines else ""


def threads(run: dict[str, Any]) -> str:
    who = "theirs: " if run["kind"] == "steps" else "ours: "
    used = [f"{k} {v}" for k, v in sorted(run["threads"].items()) if k != "cores"]
    return who + ", ".join(used) if used else ""


def circumstances(results: dict[str, Any]) -> str:
    """Machine, versions, dates, threads, and how much of the machine others took."""
    lines, facts = [], []
    for name, found in results.items():
        ended = [r for r in found["runs"] if "error" not in r]
        used = "; ".join(dict.fromkeys(filter(None, map(threads, ended)))) or "–"
        shares = [
            max((r[k] for r in ended if r.get(k) is not None), default=math.nan)
            for k in ("others_cores", "stolen_cores")
        ]
        busy = ["–" if math.isnan(s) else digits(s) for s in shares]
        minutes = f"{found['seconds'] / 60:.1f} min"
        commit = found["commit"] or "–"
        lines.append((name, found["date"], commit, str(found["repeats"]), minutes, used, *busy))
        cpu = {**found["machine"], **found["machine"].get("lscpu", {})}
        memory = size(found["machine"]["memory_bytes"])
        machine = ", ".join(f"{k}: {v}" for k, v in cpu.items() if k not in ("lscpu", "memory_bytes"))
        software = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
        facts.append(f"- {machine}, memory: {memory}\n- {software}")
    head = (
        "benchmark",
        "begun",
        "commit",
        "repeats",
        "took",
        "threads",
        "others' cores, at most",
        "stolen cores, at most",
    )
    return "### Machine\n\n" + "\n".join(dict.fromkeys(facts)) + "\n\n" + table(head, lines)
