"""Every method on the operations that a GPU would run: plain torch, and tensors that aren't on the CPU.

Nobody here has a GPU. The CPU stands in for it twice: with plain torch in place of the compiled kernels, and with a
device that only pretends (pretend_device.py), on which tensors of two devices don't mix.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pretend_device
import pytest
import torch

from gdamn import GDAMN, load
from gdamn.data.named.synthetic import BlockModel, sbm
from gdamn.errors import ConfigError
from gdamn.estimators.registry import METHODS
from gdamn.graph.graph import Graph
from gdamn.kernels import torch_path, use_kernels
from gdamn.model import problem

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"epochs": 2, "pretrain_epochs": 2, "em_iterations": 1, "layers": 2, "hidden": 6, "steps": 2, "heads": 2}
SMALL |= {"projection": 6, "batches": 2, "start": "graph", "seed": 1}
ROUNDING = {"deepergcn": 0.05, "rs-gnn": 0.01}
"""Biases before a norm have gradients of rounding alone, of which Adam makes whole steps; an edge whose learned weight
is at the threshold of rs-gnn may fall on either side of it."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(BlockModel(40, 2, train_per_class=5, val_per_class=5))


def fitted(name: str, graph: Graph, **changes: Any) -> Any:
    """Probabilities of a fit of a few epochs."""
    estimator = METHODS[name].estimator()
    known = estimator.settings_class.names()
    settings = {key: value for key, value in {**SMALL, **changes}.items() if key in known}
    return estimator(**settings).fit(graph).probabilities_


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[pretend_device.PretendDevice]:
    """All fits are on the pretended device."""
    for module in [each for name, each in sys.modules.items() if name.startswith("gdamn.")]:
        if hasattr(module, "choose_device"):
            monkeypatch.setattr(module, "choose_device", lambda _: pretend_device.DEVICE)
    monkeypatch.setattr(torch_path, "_csr", pretend_device.Sparse)
    with pretend_device.PretendDevice() as device:
        yield device


@pytest.fixture(scope="module")
def compiled(graph: Graph) -> dict[str, Any]:
    """What the compiled kernels give."""
    return {name: fitted(name, graph) for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
def test_plain_torch_gives_what_the_kernels_do(name: str, graph: Graph, compiled: dict[str, Any]) -> None:
    with use_kernels("torch"):
        np.testing.assert_allclose(fitted(name, graph), compiled[name], atol=ROUNDING.get(name, 1e-4))


@pytest.mark.parametrize("name", METHODS)
def test_on_a_device_that_is_not_the_cpu(
    name: str, graph: Graph, compiled: dict[str, Any], away: pretend_device.PretendDevice
) -> None:
    np.testing.assert_allclose(fitted(name, graph), compiled[name], atol=ROUNDING.get(name, 1e-4))
    assert len(away.operations) > 20


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "auto"},
        {"start": "multihop", "label_noise": "auto"},
        {"batch": "partition"},
        {"batch": "neighbour"},
        {"class_weight": "balanced", "metric": "macro_f1"},
        {"propagator": "pagerank"},
        {"propagator": "gcnii", "p_propagator": "sage"},
    ],
    ids=str,
)
def test_other_ways_to_fit_there(changes: dict[str, Any], request: pytest.FixtureRequest) -> None:
    karate = load("karate")
    wanted = fitted("gdamn", karate, **changes)
    request.getfixturevalue("away")
    np.testing.assert_allclose(fitted("gdamn", karate, **changes), wanted, atol=1e-3)


def test_the_pretended_device_refuses_what_a_gpu_does(away: pretend_device.PretendDevice) -> None:
    there = torch.ones(2, 2).to(pretend_device.DEVICE)
    with pytest.raises(RuntimeError, match="two devices"):
        there + torch.ones(2, 2)
    with pytest.raises((RuntimeError, TypeError)):
        there.numpy()
    assert there.cpu().tolist() == there.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_auto_is_the_cpu_also_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert problem.choose_device("auto") == problem.choose_device("cpu") == torch.device("cpu")


def test_a_gpu_is_told_to_be_untested_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *size, device: zeros(*size))
    problem._warn_untested.cache_clear()
    assert [problem.choose_device("cuda:0").type for _ in range(2)] == ["cuda", "cuda"]
    assert caplog.text.count("gdamn is untested on 'cuda'") == 1


def test_mps_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mps' has no float64"):
        GDAMN(device="mps").fit(load("karate"))
