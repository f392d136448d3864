"""Fits on partitioned graphs for test_parts_equal.py: the same work as 4, as 2 and as 1 rank (ranks_at_work.py)."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from gdamn import GDAMN, Graph
from gdamn.data.partition.layout import Layout
from gdamn.data.partition.write import write_parts
from gdamn.errors import GdamnError
from gdamn.fit import checkpoint
from gdamn.fit.checkpoint_file import numbered
from gdamn.fit.domains.ranks.group import Group
from gdamn.fit.domains.ranks.parts import PartsFit, fit_parts
from gdamn.fit.training import Watch
from gdamn.graph.parts import read_parts
from gdamn.model import attention

PARTS = 6
FEW = {"pretrain_epochs": 3, "epochs": 3, "em_iterations": 2, "seed": 3}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sparse": ("sparse", {**FEW, "start": "auto", "restart_q": True, "batch": "full"}),
    "sparse, fused": ("sparse", {**FEW, "start": "auto", "restart_q": True, "batch": "fused", "normalize": "idf"}),
    "dense": ("dense", {**FEW, "start": "graph", "hidden": 12, "average": 0.9, "kl_per": "edge", "batch": "full"}),
    "dense, fused": ("dense", {**FEW, "start": "graph", "hidden": 12, "average": 0.9, "batch": "fused"}),
    "directed and weighted": ("directed", {**FEW, "start": "features", "class_weight": "balanced"}),
    "drawn labels": ("sparse", {**FEW, "start": "graph", "pseudo_labels": "sample", "batch": "full"}),
    "batches": ("dense", {**FEW, "start": "auto", "batch": "partition", "batch_nodes": 60}),
    "batches, directed": ("directed", {**FEW, "start": "graph", "batch": "partition", "accumulate": True}),
    "weighted, fused": ("weighted", {**FEW, "start": "graph", "batch": "fused", "normalize": "standard"}),
}


def folders(graphs: dict[str, Graph], where: Path) -> None:
    """Write the parts: nodes in an order of their own, parts of unequal sizes."""
    luck = np.random.default_rng(4)
    for name, graph in graphs.items():
        parts = np.minimum(luck.integers(0, PARTS + 2, graph.num_nodes), PARTS - 1).astype(np.int32)
        write_parts(graph, where / name, lambda parts=parts: Layout.make(parts, None, PARTS, "drawn"))


def gathered(fit: PartsFit, mine: Tensor, what: str) -> Tensor | None:
    """All ranks' rows (or entries) on rank 0."""
    share = fit.problem.share
    assert share is not None
    bounds = share.nodes if what == "nodes" else share.entries
    return share.group.gather(mine, np.diff(bounds).tolist())


def fit(folder: Path, settings: dict[str, Any], group: Group | None, out: Path, stop: int | None = None) -> int:
    """One fit with what its epochs drew; returns how many epochs it did before it ended, or was ended."""
    done, drawn, plain = 0, [], attention.HardAttention.sample

    def progress(*_: Any) -> None:
        nonlocal done
        done += 1
        if done == stop:
            raise GdamnError("ended")

    def sample(self: Any, structure: Any, logits: Tensor, key: Any) -> Tensor:
        found = plain(self, structure, logits, key)
        drawn.append(found.detach())
        return found

    watch = Watch(progress)
    attention.HardAttention.sample = sample  # type: ignore[method-assign]
    try:
        with (
            contextlib.suppress(GdamnError if stop else ()),
            fit_parts(read_parts(folder), GDAMN(**settings).settings, watch, group) as fitted,
        ):
            whole = drawn and settings.get("batch") != "partition"  # a batch draws for some of the entries
            arrays = {"samples": [gathered(fitted, x, "entries") for x in drawn]} if whole else {}
            arrays |= {name: gathered(fitted, x, "entries") for name, x in fitted.edge_weights().items()}
            arrays |= {name: gathered(fitted, fitted.state[name], "nodes") for name in ("logits", "posterior")}
            if group is None or group.leads:
                np.savez(out, **{name: np.stack(x) if isinstance(x, list) else x for name, x in arrays.items()})
                out.with_suffix(".json").write_text(json.dumps([watch.history, watch.best, done]))
    finally:
        attention.HardAttention.sample = plain  # type: ignore[method-assign]
    return done


def work(size: int, group: Group | None, parts: Path, where: Path, kept: Path) -> None:
    """All cases, and fits that are ended and go on: by two ranks, then by two again, by one and from an older one."""
    for number, (name, (graph, settings)) in enumerate(CASES.items()):
        if size == 4 and name == "batches":
            try:
                fit(parts / graph, settings, group, where / "never.npz")
            except GdamnError as problem:
                (where / "refused.txt").write_text(str(problem))
            continue
        fit(parts / graph, settings, group, where / f"parts-{number}.npz")
    before = checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS
    checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = 1, 0.0, 0.0
    graph, settings = CASES["sparse, fused"]
    for name in ("again", "one", "damaged"):
        if size == 2:
            with checkpoint.keeping(kept / name):
                fit(parts / graph, settings, group, where / "never.npz", stop=15)
        if size == 2 and name == "damaged" and group is not None:
            if group.leads:
                folder = next((kept / name).iterdir())
                shard = folder / f"{numbered(folder)[0][0]:06d}.part-{PARTS - 1:05d}"
                shard.write_bytes(shard.read_bytes()[:-1] + b"?")
            group.ask_all(None)
        if size == (1 if name == "one" else 2):
            with checkpoint.keeping(kept / name):
                fit(parts / graph, settings, group, where / f"resumed-{name}.npz")
    checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = before
