"""What each of four processes does for test_ranks_equal.py: the same work as 4, as 2 and as 1 rank.

    python ranks_at_work.py FOLDER

Rank 0 writes what came out for each number of ranks; the tests compare. One start of the processes serves all tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import parts_at_work
import torch
import torch.distributed as dist
from torch import Tensor

from gdamn import GDAMN, GDAMNPlus, Graph
from gdamn.data import load
from gdamn.errors import ConfigError, GdamnError
from gdamn.fit import checkpoint, em
from gdamn.fit.domains.ranks.checkpoints import gathered, split
from gdamn.fit.domains.ranks.fitting import laid_out
from gdamn.fit.domains.ranks.group import current
from gdamn.fit.domains.ranks.sharing import SharedProblem
from gdamn.graph import order as ordering
from gdamn.kernels import Key, dropout, gram, relu_dropout, sddmm, spmm, sums, use_kernels
from gdamn.model import attention

WORLDS = (4, 2, 1)
FEW = {"pretrain_epochs": 3, "epochs": 3, "em_iterations": 2, "seed": 3}
SMALL = {**FEW, "em_iterations": 1, "pretrain_epochs": 2, "epochs": 2, "start": "graph", "steps": 2}
WEIGHED = {"class_weight": "balanced", "metric": "balanced_accuracy", "candidates": "all"}
CASES: dict[str, tuple[type[GDAMN], str, dict[str, Any]]] = {
    "sparse features": (
        GDAMN,
        "sparse",
        {**FEW, "start": "auto", "judge_edges": False, "restart_q": True, "candidates": "all"},
    ),
    "dense features": (
        GDAMN,
        "dense",
        {**FEW, "start": "auto", "judge_edges": False, "hidden": 12, "average": 0.9, "kl_per": "edge"},
    ),
    "narrow, propagated first": (GDAMN, "dense", {**SMALL, "hidden": 64, "stable_norm": "row", "e_step": "sums"}),
    "directed and weighted": (GDAMN, "directed", {**FEW, "start": "similar", "symmetric_q": False}),
    "renumbered": (GDAMN, "ring", {**SMALL, "em_iterations": 1}),
    "sharper labels": (GDAMN, "sparse", {**SMALL, "attention_temperature": 0.3}),
    "drawn labels": (GDAMN, "sparse", {**SMALL, "pseudo_labels": "sample", "reweight_samples": 2, "tolerance": 0.1}),
    "several draws": (
        GDAMNPlus,
        "sparse",
        {**SMALL, "draws": 2, "consistency_confidence": 0.3, "beta": 0.3, "diversity": 1.0},
    ),
    "batch norm": (GDAMN, "dense", {**SMALL, "batch_norm": True, "layers": 3, "em_iterations": 0}),
    "class weights": (GDAMN, "directed", {**SMALL, **WEIGHED, "e_step": "sums"}),
    "class weights by name": (GDAMNPlus, "dense", {**SMALL, "class_weight": "0=5,2=0.5", "metric": "macro_f1"}),
    "beta by validation": (GDAMN, "sparse", {**SMALL, "beta": "auto", "pretrain_epochs": 1, "epochs": 1}),
    **{name: (GDAMN, "sparse", {**SMALL, "propagator": name}) for name in ("gat", "sage", "appnp", "gcnii", "dagnn")},
}
BY_FOUR = ("class weights", "sparse features", "dense features", "directed and weighted", "several draws", "batch norm")
"""The cases that four ranks do too; two do all of them."""


def graphs() -> dict[str, Graph]:
    """Karate's identity features are sparse; the others' are dense."""
    luck = np.random.default_rng(5)
    n, edges = 61, luck.integers(0, 61, (2, 260))
    features = np.abs(luck.normal(size=(n, 7))).astype(np.float32)
    labels = luck.integers(0, 3, n)
    sets = {"train_mask": np.arange(0, 24), "val_mask": np.arange(24, 40), "test_mask": np.arange(40, n)}
    directed = Graph.build(edges, features, labels, weights=luck.random(260) + 0.1, directed=True, **sets)
    dense = load("sbm", seed=1, num_nodes=118, num_classes=3, train_per_class=9, val_per_class=9, num_features=16)
    ring = luck.permutation(n)
    renumbered = Graph.build([ring, np.roll(ring, 1)], features, labels, name="ring", **sets)
    weighted = Graph.build(edges, features, labels, weights=luck.random(260) + 0.1, **sets)
    sparse = load("karate", seed=1, noise=0.5)
    return {"sparse": sparse, "dense": dense, "directed": directed, "ring": renumbered, "weighted": weighted}


def rows_of(mine: Tensor, what: str, problem: Any) -> Tensor | None:
    """All ranks' rows (or entries) on rank 0."""
    if not isinstance(problem, SharedProblem):
        return mine.detach()
    assert problem.share is not None
    bounds = problem.share.nodes if what == "nodes" else problem.share.entries
    return problem.share.group.gather(mine, np.diff(bounds).tolist())


def products(problem: Any, dtype: torch.dtype) -> dict[str, Tensor | None]:
    """Every operation that reads rows of other ranks, its gradients, and dropout of all kinds of arrays."""
    whole = torch.Generator().manual_seed(1)
    place, pattern = problem.place, problem.structure.pattern
    nodes, entries = place.rows or pattern.shape[0], place.entries or pattern.num_entries

    def draw(count: int, width: int | None, first: int, own: int) -> Tensor:
        drawn = torch.rand(count, *([] if width is None else [width]), generator=whole, dtype=dtype)
        return drawn[first : first + own].clone().requires_grad_()

    own, mine = pattern.shape[0], pattern.num_entries
    h, g = (draw(nodes, 5, place.first_row, own) for _ in range(2))
    values = draw(entries, None, place.first_entry, mine)
    outer = draw(nodes, 5, place.first_row, own).detach()
    weight = draw(entries, None, place.first_entry, mine).detach()
    found: dict[str, Tensor | None] = {}

    def keep(name: str, out: Tensor, towards: Tensor, of: dict[str, Tensor]) -> None:
        per = "entries" if out.ndim == 1 else "nodes"
        found[name] = rows_of(out, per, problem)
        for which, grad in zip(of, torch.autograd.grad((out * towards).sum(), list(of.values())), strict=True):
            found[f"{name}: gradient of {which}"] = rows_of(grad, "entries" if grad.ndim == 1 else "nodes", problem)

    keep("spmm", spmm(pattern, values, h), outer, {"values": values, "h": h})
    keep("spmm with dropout", spmm(pattern, values, h, None, 0.4, Key(8, place)), outer, {"values": values, "h": h})
    keep("sddmm", sddmm(pattern, g, h), weight, {"g": g, "h": h})
    keep("gram", gram(pattern, h, -0.5), weight, {"h": h})
    keep("dropout of nodes", dropout(h, 0.4, Key(9, place)), outer, {"h": h})
    keep("dropout of entries", dropout(values, 0.4, Key(9, place)), weight, {"values": values})
    keep("relu and dropout", relu_dropout(h - 0.5, 0.4, Key(9, place)), outer, {"h": h})
    rows, columns = sums(pattern, values.detach())
    found["sums of rows"], found["sums of columns"] = (rows_of(x[:, None], "nodes", problem) for x in (rows, columns))
    return found


def samples_of(problem: Any, log: list[Tensor | None]) -> Any:
    """HardAttention.sample that also keeps what it drew."""
    plain = attention.HardAttention.sample

    def sample(self: Any, structure: Any, logits: Tensor, key: Key) -> Tensor:
        drawn = plain(self, structure, logits, key)
        log.append(rows_of(drawn.to(torch.uint8), "entries", problem()))
        return drawn

    return sample


def fit(name: str, all_graphs: dict[str, Graph], out: Path) -> None:
    kind, graph, settings = CASES[name]
    ordering.NODES = 10 if graph == "ring" else 65_536
    assert graph != "ring" or ordering.local_order(all_graphs[graph]) is not None
    log: list[Tensor | None] = []
    problems: list[Any] = []
    plain, made = attention.HardAttention.sample, em.EM.__init__

    def noted(self: Any, domain: Any, *rest: Any) -> None:
        problems[:] = [domain.problem]
        made(self, domain, *rest)

    em.EM.__init__ = noted  # type: ignore[method-assign]
    attention.HardAttention.sample = samples_of(lambda: problems[0], log)  # type: ignore[method-assign]
    try:
        model = kind(**settings).fit(all_graphs[graph], group=current())
    finally:
        em.EM.__init__ = made  # type: ignore[method-assign]
        attention.HardAttention.sample = plain  # type: ignore[method-assign]
    if log and log[0] is not None:
        drawn = np.stack([np.asarray(sample) for sample in log if sample is not None])
        np.savez(out, samples=drawn, **model.tensors_)
    else:
        np.savez(out, **model.tensors_)
    out.with_suffix(".json").write_text(json.dumps([model.history_, model.best_epoch_]))


def refusals(all_graphs: dict[str, Graph]) -> list[str]:
    """What several ranks can't do is said before anything is trained."""
    told = []
    wrong = [{"batch": "partition"}, {"batch_norm": True, "propagator": "sage"}]
    for settings in wrong:
        try:
            GDAMN(**settings).fit(all_graphs["sparse"], group=dist.group.WORLD)
        except ConfigError as problem:
            told.append(str(problem))
    rank = dist.get_rank()
    for other in (Graph.build([[0, 1], [1, 2]], np.eye(4), [0, 1, 0, 1], train_mask=[0, 1]), load("karate", seed=rank)):
        try:
            GDAMN(pretrain_epochs=1, em_iterations=0).fit(other, group=dist.group.WORLD)
        except GdamnError as problem:
            told.append(str(problem))
    return told


class KilledError(Exception):
    """In place of a signal."""


def attempt(graph: Graph, folder: Path, stop: int | None) -> tuple[GDAMN | None, int]:
    """A fit that keeps checkpoints and is ended in its epoch of this number; and how many epochs it did."""
    done = 0

    def progress(*_: Any) -> None:
        nonlocal done
        done += 1
        if done == stop:
            raise KilledError

    checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = 1, 0.0, 0.0
    kind, _, settings = CASES["sparse features"]
    model = None
    with checkpoint.keeping(folder), contextlib.suppress(KilledError):
        model = kind(**settings).fit(graph, progress=progress, group=current())
    return model, done


def checkpoints(graph: Graph, size: int, folder: Path, where: Path) -> None:
    """Two ranks go on from their own checkpoints, and one process from theirs, by way of rank 0's files."""
    kept, left = (where / "never",) * 2 if int(os.environ["RANK"]) else (folder / "kept", folder / "left")
    if size == 2:
        attempt(graph, kept, 15)
        attempt(graph, left, 15)
    model, done = attempt(graph, kept if size == 2 else left, None)
    assert model is not None
    np.savez(where / "resumed.npz", **model.tensors_)
    (where / "resumed.json").write_text(json.dumps({"done": done, "history": model.history_}))
    assert not (where / "never").exists()


def tree_round_trip(problem: Any) -> bool:
    """A gathered tree, split again, is this rank's."""
    if not isinstance(problem, SharedProblem):
        return True
    assert problem.share is not None
    own = problem.structure.pattern.shape[0], problem.structure.pattern.num_entries
    opinion, edges = torch.rand(own[0], 3), torch.rand(own[1])
    tree = {"opinion": opinion, "iteration": 2, "weights": {"used": edges}, "tried": [["graph", opinion, {"w": edges}]]}
    whole = gathered(tree, problem.share)
    if not problem.share.group.leads:
        return True
    again = split(whole, problem.share)
    same = torch.equal(again["opinion"], opinion) and torch.equal(again["weights"]["used"], edges)
    return same and torch.equal(again["tried"][0][1], opinion) and again["tried"][0][2]["w"] is edges


def work(size: int, folder: Path) -> None:
    """All of it as one of so many ranks."""
    rank, all_graphs = int(os.environ["RANK"]), graphs()
    where = Path(tempfile.mkdtemp()) if rank else folder / str(size)
    where.mkdir(exist_ok=True)
    for graph, dtype in (("sparse", torch.float32), ("directed", torch.float32), ("directed", torch.float64)):
        model = GDAMN()
        with use_kernels(None), laid_out(all_graphs[graph], model.settings, torch.device("cpu"), current()) as problem:
            found = products(problem, dtype)
            assert tree_round_trip(problem)
        if rank == 0:
            np.savez(
                where / f"products-{graph}-{dtype}.npz".replace("torch.", ""),
                **{k: np.asarray(v) for k, v in found.items()},
            )
    if rank == 0:  # the others don't take part: nobody asked them to
        np.savez(where / "alone.npz", **GDAMN(pretrain_epochs=2, epochs=2).fit(all_graphs["sparse"]).tensors_)
    for number, name in enumerate(CASES):
        if size == 4 and name not in BY_FOUR:
            continue
        fit(name, all_graphs, where / f"fit-{number}.npz")
    group = current()
    if group is not None:
        (where / "refusals.json").write_text(json.dumps(refusals(all_graphs)))
        (where / "sent.json").write_text(json.dumps(group.sent))
    if size < 4:
        checkpoints(all_graphs["sparse"], size, folder, where)
    if size == 4 and rank == 0:
        parts_at_work.folders(all_graphs, folder / "parts")
    if group is not None:
        group.ask_all(None)  # the parts are written
    parts_at_work.work(size, group, folder / "parts", where, folder / "kept-parts")


def main() -> None:
    """Four ranks, forked before anything has run: so torch is imported once."""
    ranks = [start(rank, Path(sys.argv[1])) for rank in range(max(WORLDS))]
    ends = [os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1]) for rank in ranks]
    sys.exit(0 if not any(ends) else f"The ranks ended with {ends}.")


def start(rank: int, folder: Path) -> int:
    """The process of a rank."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.environ["RANK"] = str(rank)
            take_part(rank, folder)
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    return process


def take_part(rank: int, folder: Path) -> None:
    """The work of a rank, in each world that it belongs to."""
    began = time.monotonic()
    for size in WORLDS:
        if rank >= size:
            break
        if size > 1:
            store = dist.FileStore(str(folder / f"store-{size}"), size)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=120))
        work(size, folder)
        if size > 1:
            dist.destroy_process_group()
    print(f"rank {rank}: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
