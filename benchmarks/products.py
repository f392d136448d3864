"""The sparse products alone, at ogbn-arxiv's size, against torch and against the copy speed of this machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from graphs import load_graph, sizes

from gdamn.graph.order import local_order, renumbered
from gdamn.kernels import torch_path as plain
from gdamn.kernels.numba import sparse


def products(
    dataset: str,
    *,
    data_root: str | None = None,
    width: int = 128,
    rounds: int = 5,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Best and median seconds of each product, each round taking all in turn; bytes; copy speed."""
    threads = numba.config.NUMBA_NUM_THREADS
    torch.set_num_threads(threads)
    graph = load_graph(dataset, data_root, options)
    order = local_order(graph)
    graph = graph if order is None else renumbered(graph, order)[0]  # as a fit does; for theirs as well
    pattern = graph.structure.pattern
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(pattern.num_entries, generator=generator)
    dense = torch.rand(pattern.shape[1], width, generator=generator)
    grad = torch.rand(pattern.shape[0], width, generator=generator)
    ways = {**_ours(pattern, values, dense, grad), **_theirs(pattern, values, dense, grad)}
    agreement = _agreement(ways)
    times: dict[str, list[float]] = {name: [] for name in ways}
    copies: list[dict[str, float]] = []
    for _ in range(rounds):
        copies.append(_copy_speed(threads))
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {
        "graph": sizes(graph),
        "renumbered": order is not None,
        "width": width,
        "entries": pattern.num_entries,
        "rounds": rounds,
        "copy_bytes_per_second": {name: max(c[name] for c in copies) for name in copies[0]},
        "bytes": _bytes(pattern, width),
        "seconds": {name: {"best": min(t), "median": statistics.median(t)} for name, t in times.items()},
        "largest_relative_difference": agreement,
    }


def _ours(p: Any, values: torch.Tensor, dense: torch.Tensor, grad: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """Our kernels as autograd calls them: the product, and its gradients on the dense side and on the values."""
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    v, d, g = values.numpy(), dense.numpy(), grad.numpy()
    width = d.shape[1]
    out, out_t = np.empty((p.shape[0], width), np.float32), np.empty((p.shape[1], width), np.float32)
    out_e, bias = np.empty(p.num_entries, np.float32), np.zeros(width, np.float32)

    def spmm() -> Any:
        sparse.spmm(p.indptr, p.indices, v, d, bias, out, p.blocks)
        return out

    def spmm_t() -> Any:
        sparse.spmm_permuted(p.t_indptr, p.t_indices, p.t_perm, v, g, out_t, p.t_blocks)
        return out_t

    def sddmm() -> Any:
        sparse.sddmm(p.indptr, p.indices, g, d, out_e, p.blocks)
        return out_e

    return {"spmm": spmm, "spmm_t": spmm_t, "sddmm": sddmm}


def _theirs(p: Any, values: torch.Tensor, dense: torch.Tensor, grad: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """The same by torch: its CSR product, and gather with index_add as message passing on an edge list does it."""
    device = dense.device
    rows, cols = p.tensor("rows", device), p.tensor("indices", device)
    return {
        "spmm torch csr": lambda: plain.spmm(p, values, dense),
        "spmm_t torch csr": lambda: plain.spmm_transposed(p, values, grad),
        "spmm index_add": lambda: torch.zeros_like(grad).index_add_(0, rows, dense[cols] * values[:, None]),
        "spmm_t index_add": lambda: torch.zeros_like(dense).index_add_(0, cols, grad[rows] * values[:, None]),
        "sddmm gather": lambda: (grad[rows] * dense[cols]).sum(1),
    }


def _agreement(ways: dict[str, Callable[[], Any]]) -> float:
    """Run everything once, as a warm-up too; the largest difference from ours, relative to the largest value."""
    worst, mine = 0.0, {}
    for name, run in ways.items():
        out = np.asarray(run())
        kind = name.split()[0]
        if name == kind:
            mine[kind] = out
        else:
            worst = max(worst, float(np.abs(out - mine[kind]).max() / np.abs(mine[kind]).max()))
    if worst > 1e-3:
        raise SystemExit(f"the products disagree by {worst}: nothing to compare")
    return worst


@numba.njit(parallel=True)
def _copy(source: Any, target: Any) -> None:
    for i in numba.prange(len(source)):
        target[i] = source[i]


_source = np.ones(1 << 27, np.float32)
_target = np.empty_like(_source)
_target.fill(0)


def _copy_speed(threads: int) -> dict[str, float]:
    """Bytes read plus written per second by three ways to copy 512 MB, with as many threads as the kernels."""
    source, target = torch.from_numpy(_source), torch.from_numpy(_target)
    ways: dict[str, Callable[[], Any]] = {
        f"numba, {threads} threads": lambda: _copy(_source, _target),
        f"torch, {threads} threads": lambda: target.copy_(source),
        "memcpy, 1 thread": lambda: np.copyto(_target, _source),
    }
    speeds = {}
    for name, run in ways.items():
        run()
        start = time.perf_counter()
        run()
        speeds[name] = 2 * _source.nbytes / (time.perf_counter() - start)
    return speeds


def _bytes(p: Any, width: int) -> dict[str, dict[str, int]]:
    """Bytes that each product moves, counted in two ways.

    gathered: every entry reads its row of ``width`` floats from memory, as if no cache held any.
    compulsory: every array is read or written once, as if the cache held all.
    """
    (n, k), e, row = p.shape, p.num_entries, 4 * width
    index, pointers = 4 * e, 8 * (n + 1)
    return {
        "spmm": {
            "gathered": e * row + 4 * e + index + pointers + n * row,
            "compulsory": k * row + 4 * e + index + pointers + n * row,
        },
        "spmm_t": {
            "gathered": e * row + 4 * e + 2 * index + 8 * (k + 1) + k * row,
            "compulsory": n * row + 4 * e + 2 * index + 8 * (k + 1) + k * row,
        },
        "sddmm": {
            "gathered": e * row + n * row + index + pointers + 4 * e,
            "compulsory": k * row + n * row + index + pointers + 4 * e,
        },
    }
