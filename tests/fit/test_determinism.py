"""The same seed gives the same bits, on any number of threads, and the caller's state is left alone."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gdamn import Graph
from gdamn.data import load
from gdamn.estimators.registry import METHODS, make


def fit(name: str, graph: Graph, seed: int = 0, **settings):
    names = METHODS[name].estimator().settings_class.names()
    wanted = {"epochs": 2, "pretrain_epochs": 2, "em_iterations": 1, "hidden": 8, "projection": 8, **settings}
    return make(name, seed=seed, overrides={k: v for k, v in wanted.items() if k in names}).fit(graph)


def assert_same_bits(a, b) -> None:
    assert a.history_ == b.history_
    assert a.best_epoch_ == b.best_epoch_
    assert a.tensors_.keys() == b.tensors_.keys()
    for name, value in a.tensors_.items():
        assert value.tobytes() == b.tensors_[name].tobytes(), name


@pytest.fixture(scope="module")
def small() -> Graph:
    return load("sbm", num_nodes=150, num_classes=3, degree=6, num_features=8, train_per_class=6, val_per_class=10)


@pytest.fixture(scope="module", params=["dense", "sparse"])
def large(request) -> Graph:
    graph = load("sbm", num_nodes=3000, degree=10, num_features=32)
    if request.param == "dense":
        return graph
    rng = np.random.default_rng(0)
    words = sp.csr_array(np.where(rng.random((3000, 400)) < 0.03, rng.random((3000, 400)), 0), dtype=np.float32)
    sparse = replace(graph, features=words)
    assert sparse.is_sparse
    return sparse


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_bits(small, name):
    assert_same_bits(fit(name, small, seed=3, threads=1), fit(name, small, seed=3, threads=1))


@pytest.mark.parametrize("name", METHODS)
def test_another_seed_differs(small, name):
    a, b = fit(name, small, seed=0, threads=1), fit(name, small, seed=1, threads=1)
    same = name == "lpa"  # nothing of it is random
    assert np.array_equal(a.probabilities_, b.probabilities_) == same


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
@pytest.mark.parametrize("name", ["gdamn", "gcn"])
def test_same_bits_on_one_thread_and_on_two(large, name):
    one = fit(name, large, threads=1)
    for caller in (1, 2):  # nor does it matter how many threads the caller gave torch
        before = torch.get_num_threads()
        torch.set_num_threads(caller)
        try:
            assert_same_bits(one, fit(name, large, threads=2))
        finally:
            torch.set_num_threads(before)


def test_fitting_again_starts_afresh(small):
    model = fit("gdamn", small, threads=1)
    first = model.probabilities_.copy()
    model.fit(small)
    assert np.array_equal(first, model.probabilities_)


def test_the_callers_random_state_neither_matters_nor_moves(small):
    torch.manual_seed(1)
    np.random.seed(1)
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    a = fit("gdamn", small, threads=1, pseudo_labels="sample")
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)
    torch.manual_seed(2)
    assert_same_bits(a, fit("gdamn", small, threads=1, pseudo_labels="sample"))


@pytest.mark.parametrize("threads", [0, 1])
def test_thread_counts_are_given_back(small, threads):
    before = torch.get_num_threads(), numba.get_num_threads()
    fit("gdamn", small, threads=threads)
    assert (torch.get_num_threads(), numba.get_num_threads()) == before

    def stop(*_) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make("gdamn", overrides={"threads": threads}).fit(small, progress=stop)
    assert (torch.get_num_threads(), numba.get_num_threads()) == before


def test_more_threads_than_cores_is_fine(small):
    assert_same_bits(fit("gdamn", small, threads=999), fit("gdamn", small, threads=1))
