"""GCNII: which weights decay how much; its layers are tested in tests/model/test_propagators.py."""

from __future__ import annotations

import pytest
import torch

from gdamn.baselines.gcnii import GCNIIClassifier
from gdamn.data import load
from gdamn.model.problem import make_problem
from gdamn.model.propagators import GCNII


@pytest.mark.parametrize(("decay", "last"), [("all", 0.2), ("first", 0.0)])
def test_convolutions_decay_more_and_biases_not_at_all(decay: str, last: float) -> None:
    model = GCNIIClassifier(layers=3, hidden=4, weight_decay=0.2, decay_hidden=0.5, decay=decay)
    problem = make_problem(load("karate"), "auto", 0.0, torch.device("cpu"))
    network, forward = model.build(problem, torch.Generator().manual_seed(0))
    assert isinstance(network, GCNII)
    assert forward(None).shape == (34, 4)
    found = {id(p): group["weight_decay"] for group in model.groups(network) for p in group["params"]}
    assert len(found) == sum(len(group["params"]) for group in model.groups(network)) == len(list(network.parameters()))
    assert [found[id(w)] for w in network.later] == [0.5] * 3
    assert [found[id(w)] for w in (*network.first, network.last, *network.bias)] == [0.2, last, 0.0, 0.0]
