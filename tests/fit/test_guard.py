"""The guard of EM where validation nodes choose: off as before, on where it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gdamn import GDAMN, Graph
from gdamn.data import load
from gdamn.fit.em import EM

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"start": "graph", "pretrain_epochs": 4, "epochs": 3, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("sbm", num_nodes=120, num_classes=3, degree=6, num_features=8, train_per_class=5, val_per_class=8)


@pytest.fixture
def collapsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every E-step ends with all nodes in one class, in the eyes of the next M-step."""
    honest = EM.e_step

    def e_step(self: EM, *given: Any) -> torch.Tensor:
        opinion = honest(self, *given)
        return torch.eye(3)[torch.zeros(len(opinion), dtype=torch.long)]

    monkeypatch.setattr(EM, "e_step", e_step)


@pytest.mark.parametrize("candidates", ["em", "all"])
def test_a_guard_that_has_nothing_to_do_changes_no_bit(graph: Graph, candidates: str) -> None:
    plain, guarded = (GDAMN(**SHORT, candidates=candidates, guard=guard).fit(graph) for guard in ("auto", "on"))
    assert "undone" not in guarded.best_epoch_
    assert guarded.history_ == plain.history_
    assert guarded.best_epoch_ == plain.best_epoch_
    assert all(np.array_equal(plain.tensors_[name], value) for name, value in guarded.tensors_.items())


@pytest.mark.usefixtures("collapsing")
@pytest.mark.parametrize("candidates", ["em", "all"])
def test_with_validation_nodes_the_first_iteration_can_be_undone(graph: Graph, candidates: str) -> None:
    model = GDAMN(**SHORT, candidates=candidates, guard="on").fit(graph)
    before = [record for record in model.history_ if record["iteration"] == 0]
    best = max(before, key=lambda record: (record["val_accuracy"], -record["val_loss"]))
    assert model.best_epoch_ == best
    assert best["undone"].startswith("EM iteration 1: class")
    assert best["undone"].endswith(" vanished")
    assert "EM iteration 1" in model.protocol_["selection"]
    assert max(record["iteration"] for record in model.history_) == 1  # the second was not begun
    assert model.edge_weights_ is not None  # p's, of the iteration that was undone


@pytest.mark.usefixtures("collapsing")
@pytest.mark.parametrize("guard", ["auto", "off"])
def test_validation_alone_chooses_unless_the_guard_is_on(graph: Graph, guard: str) -> None:
    model = GDAMN(**SHORT, candidates="em", guard=guard).fit(graph)
    assert model.best_epoch_["iteration"] > 0
    assert "undone" not in model.best_epoch_


@pytest.mark.usefixtures("collapsing")
def test_without_validation_nodes_it_can_be_off(graph: Graph) -> None:
    lone = graph.with_masks(graph.train_mask, np.zeros(120, bool), graph.test_mask)
    assert "undone" in GDAMN(**SHORT).fit(lone).best_epoch_
    model = GDAMN(**SHORT, guard="off").fit(lone)
    assert model.best_epoch_["phase"] == "E-step 2"


def test_citeseers_collapsing_seed_is_undone(data_root: Path) -> None:
    """Seed 19 of the preset: after the first E-step two of the six classes are predicted nowhere."""
    citeseer = load("citeseer", data_root=data_root)
    model = GDAMN.preset("citeseer", seed=19, em_iterations=1, guard="on", threads=1).fit(citeseer)
    names = ", ".join(f"'{citeseer.class_names[number]}'" for number in (0, 5))
    assert model.best_epoch_["undone"] == f"EM iteration 1: classes {names} vanished"
    assert np.bincount(model.predict(names=False), minlength=6).min() > 100
