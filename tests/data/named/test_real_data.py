"""A short fit on a real graph, where the benchmark files are there."""

from __future__ import annotations

import pytest

from gdamn import GDAMN, load


@pytest.mark.data
def test_cora(data_root):
    graph = load("cora", data_root=data_root)
    model = GDAMN.preset("cora", seed=0, pretrain_epochs=60, epochs=30, em_iterations=1).fit(graph)
    assert model.score("test") > 0.78
    assert model.epochs_ == 120
    kept = model.edge_weights_["stable"]
    assert graph.inter_class_share(kept) < graph.inter_class_share()
