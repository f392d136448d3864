"""Fits of gdamn's own methods, timed by epoch and phase."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numba
import torch
from graphs import load_graph, sizes
from worker import peak_rss

from gdamn.estimators.registry import make


def fit(
    dataset: str,
    method: str = "gdamn",
    *,
    data_root: str | None = None,
    schedule: dict[str, int],
    options: dict[str, Any] | None = None,
    overrides: dict[str, Any] | None = None,
    preset: str | None = None,
    warm_up: bool = True,
) -> dict[str, Any]:
    """One fit with the data set's preset and a shortened schedule.

    The warm-up is a fit of one epoch per phase on the same graph: it loads the compiled kernels and lays the
    graph out, which a real fit does once in a thousand epochs.
    """
    start = time.perf_counter()
    graph = load_graph(dataset, data_root, options)
    loaded, peak_loaded = time.perf_counter() - start, peak_rss()
    preset = preset or dataset
    chosen = {**(overrides or {}), **schedule, "tolerance": 0.0}
    if warm_up:
        short = {"pretrain_epochs": 1, "epochs": 1, "em_iterations": 1}
        make(method, preset, overrides={**chosen, **short}).fit(graph)
    model = make(method, preset, overrides=chosen)
    threads: dict[str, int] = {}
    model.fit(graph, progress=lambda *_: threads.update(threads_now()))  # called after an epoch's clock has stopped
    return {
        "graph": sizes(graph),
        "threads": threads,
        "settings": model.get_params(),
        "load_seconds": loaded,
        "peak_rss_loaded": peak_loaded,
        "fit_seconds": model.seconds_,
        "outside_epochs_seconds": model.seconds_ - sum(model.timings_),
        "phases": phases(model.history_, model.timings_),
    }


def threads_now() -> dict[str, int]:
    """Threads of torch, and the most that a kernel may use (small loops take one)."""
    return {"torch": torch.get_num_threads(), "kernels": numba.config.NUMBA_NUM_THREADS}


def phases(history: list[dict[str, Any]], timings: list[float]) -> dict[str, dict[str, float]]:
    """Mean, median and best seconds of an epoch for each kind of phase: pre-train, M-step, E-step."""
    found: dict[str, list[float]] = {}
    for record, seconds in zip(history, timings, strict=True):
        found.setdefault(record["phase"].split()[0], []).append(seconds)
    return {
        name: {
            "epochs": len(values),
            "mean": statistics.fmean(values),
            "median": statistics.median(values),
            "best": min(values),
        }
        for name, values in found.items()
    }


def warm() -> dict[str, Any]:
    """Fill the cache of compiled kernels, so that no measurement compiles."""
    short = {"pretrain_epochs": 2, "epochs": 2, "em_iterations": 1}
    start = time.perf_counter()
    for dataset in ("sbm", "karate"):  # dense and sparse features
        graph = load_graph(dataset, None)
        for method in ("gdamn", "gmnn"):
            make(method, None, overrides=short).fit(graph)
    return {"seconds": time.perf_counter() - start}
