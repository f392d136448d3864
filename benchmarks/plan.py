"""What is measured: every benchmark as a list of jobs, each of which run.py starts in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics")
SBM_EDGES = (1_000_000, 4_000_000, 16_000_000, 64_000_000)
QUICK_EDGES = (10_000, 40_000, 160_000)
STRANGERS = ("steps",)
"""Kinds of job that measure somebody else's code."""


@dataclass(frozen=True)
class Job:
    """One process: what worker.py is asked to do. ``data`` jobs get the data root too."""

    label: str
    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    data: bool = False


@dataclass(frozen=True)
class Benchmark:
    """Jobs that are run in turn, ``repeats`` times over (A B C A B C, never A A B B)."""

    name: str
    jobs: tuple[Job, ...]
    repeats: int


def benchmarks(quick: bool) -> list[Benchmark]:
    """All benchmarks, in order; quick ones only show that everything works."""
    return [
        *(dataset(name, quick) for name in DATASETS),
        arxiv(quick),
        kernels(quick),
        Benchmark("density", (Job("density", "density", {"nodes": 500, "rounds": 1} if quick else {}),), 1),
        sbm(quick),
        memory(quick),
        Benchmark("startup", (Job("startup", "startup", {"count": 1 if quick else 5}),), 1),
    ]


def schedule(pretrain: int, epochs: int, em: int = 2) -> dict[str, int]:
    return {"pretrain_epochs": pretrain, "epochs": epochs, "em_iterations": em}


def dataset(name: str, quick: bool) -> Benchmark:
    """Ours and PyTorch Geometric's on one data set: fewer steps where theirs take seconds."""
    length, steps, warm_up, repeats = {
        "coauthor-cs": (15, 3, 1, 3),
        "coauthor-physics": (8, 2, 1, 2),
    }.get(name, (40, 20, 3, 3))
    if quick:
        length, steps, warm_up, repeats = 3, 1, 0 if "coauthor" in name else 1, 1
    ours = {"dataset": name}
    theirs = {"dataset": name, "count": steps, "warm_up": warm_up}
    return Benchmark(
        name,
        (
            Job("gdamn", "fit", {**ours, "method": "gdamn", "schedule": schedule(length, length)}, data=True),
            Job("pyg-gat", "steps", {**theirs, "model": "gat"}, data=True),
            Job("gmnn", "fit", {**ours, "method": "gmnn", "schedule": schedule(length, length, 1)}, data=True),
            Job("pyg-gcn", "steps", {**theirs, "model": "gcn"}, data=True),
        ),
        repeats,
    )


def arxiv_like(quick: bool) -> dict[str, Any]:
    """ogbn-arxiv's graph; a small made-up one of the same shape for a quick run."""
    if not quick:
        return {"dataset": "arxiv-graph"}
    shape = {"num_nodes": 4000, "degree": 14.0, "num_features": 128, "num_classes": 40}
    return {"dataset": "sbm", "options": shape}


def arxiv(quick: bool) -> Benchmark:
    graph = arxiv_like(quick)
    length = 2 if quick else 3
    ours = {**graph, "preset": "ogbn-arxiv", "schedule": schedule(length, length)}
    theirs = {**graph, "model": "arxiv-gcn", "count": 1 if quick else 2, "warm_up": 1}
    return Benchmark(
        "arxiv",
        (
            Job("gdamn", "fit", ours, data=True),
            Job("pyg-gcn", "steps", theirs, data=True),
            Job("pyg-gcn-csr", "steps", {**theirs, "sparse_adjacency": True}, data=True),
        ),
        1 if quick else 2,
    )


def kernels(quick: bool) -> Benchmark:
    parameters = {**arxiv_like(quick), "width": 128, "rounds": 2 if quick else 7}
    return Benchmark("kernels", (Job("products", "kernels", parameters, data=True),), 1 if quick else 2)


def sbm(quick: bool) -> Benchmark:
    """Degree 20, so a tenth as many nodes as edges."""
    jobs = []
    for edges in QUICK_EDGES if quick else SBM_EDGES:
        options = {"num_nodes": edges // 10, "degree": 20.0, "num_features": 16, "num_classes": 5}
        settings = {"hidden": 16, "projection": 16, "normalize": "none"}
        parameters = {"dataset": "sbm", "options": options, "overrides": settings, "schedule": schedule(3, 3, 1)}
        jobs.append(Job(str(edges), "fit", parameters))
    return Benchmark("sbm", tuple(jobs), 1 if quick else 2)


def memory(quick: bool) -> Benchmark:
    """A whole fit without a warm-up, and one step of theirs, for the memory that each process needs."""
    name = "cora" if quick else "coauthor-physics"
    ours = {"dataset": name, "schedule": schedule(2, 2), "warm_up": False}
    theirs = {"dataset": name, "count": 1, "warm_up": 0}
    return Benchmark(
        "memory",
        (
            Job("gdamn", "fit", ours, data=True),
            Job("pyg-gcn", "steps", {**theirs, "model": "gcn"}, data=True),
            Job("pyg-gat", "steps", {**theirs, "model": "gat"}, data=True),
        ),
        1 if quick else 2,
    )
