"""What people hand to fit by mistake: every mistake has one sentence of ours, and what can be read is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from gdamn import GDAMN, Graph, RefineGraph, load
from gdamn.errors import ConfigError, GdamnError
from gdamn.estimators import registry as methods

pytestmark = pytest.mark.usefixtures("one_thread")
N = 8
SHORT = {"pretrain_epochs": 2, "epochs": 1, "em_iterations": 1, "threads": 1}


def data(**parts: Any) -> Data:
    """A ring of eight nodes, with some parts changed; None leaves one out."""
    ring = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
    x = torch.arange(3 * N).reshape(N, 3) % 7 / 7
    whole = {"x": x, "edge_index": ring, "y": torch.arange(N) % 2, "train_mask": torch.arange(N) < 6, **parts}
    return Data(**{name: value for name, value in whole.items() if value is not None})


NAN = torch.full((N, 3), float("nan"))
MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "not NoneType"),
    "a name": (lambda: "cora", r'not str; gdamn\.load\("cora"\)'),
    "a list": (lambda: [1, 2], "not list"),
    "an array": (lambda: np.eye(3), "not ndarray"),
    "several kinds of nodes": (HeteroData, "to_homogeneous"),
    "an empty Data": (Data, "no edge_index"),
    "no edges": (lambda: data(edge_index=None), "no edge_index"),
    "no features": (lambda: data(x=None), "no features"),
    "no labels": (lambda: data(y=None), "no label"),
    "no training nodes": (lambda: data(train_mask=None), "no training nodes"),
    "features of nan": (lambda: data(x=NAN), "Feature 0 of node 0"),
    "bfloat16 of nan": (lambda: data(x=NAN.bfloat16()), "Feature 0 of node 0"),
    "features beyond float32": (lambda: data(x=torch.full((N, 3), 1e39, dtype=torch.float64)), "finite"),
    "complex features": (lambda: data(x=torch.ones(N, 3) + 1j), "Features must be real"),
    "text as features": (lambda: data(x="abc"), "The x of the data is of type str"),
    "ragged features": (lambda: data(x=[[1.0], [1.0, 2.0]]), "The x of the data is of type list"),
    "features in three dimensions": (lambda: data(x=torch.ones(N, 3, 2)), "two dimensions"),
    "too few features": (lambda: data(x=torch.ones(5, 3)), "one number per node"),
    "features without numbers": (lambda: data(x=torch.ones(N, 3, device="meta")), "can't be taken as numbers"),
    "labels in two columns": (lambda: data(y=torch.eye(N)[:, :2]), "one number per node"),
    "labels between numbers": (lambda: data(y=torch.arange(N) / 3), "not a whole number"),
    "complex labels": (lambda: data(y=torch.ones(N) + 1j), "Labels must be real"),
    "labels as texts": (lambda: data(y=["a", "b"] * 4), "class numbers"),
    "labels without end": (lambda: data(y=torch.arange(N) * 10**9), "too large"),
    "labels too short": (lambda: data(y=torch.zeros(3, dtype=torch.long)), "one number per node"),
    "one class": (lambda: data(y=torch.zeros(N, dtype=torch.long)), "at least two classes"),
    "edges between numbers": (lambda: data(edge_index=torch.rand(2, 4)), "integer array"),
    "edges in rows": (lambda: data(edge_index=torch.zeros(4, 2, dtype=torch.long)), r"shape \[2, edges\]"),
    "an edge out of the graph": (lambda: data(edge_index=torch.tensor([[0], [99]])), r"Edge 0 is \(0, 99\)"),
    "an edge below 0": (lambda: data(edge_index=torch.tensor([[0], [-1]])), r"Edge 0 is \(0, -1\)"),
    "a mask of floats": (lambda: data(train_mask=torch.ones(N)), "boolean mask"),
    "a mask too short": (lambda: data(train_mask=torch.ones(3, dtype=torch.bool)), "train mask has shape"),
    "a mask of no split": (lambda: data(train_mask=torch.ones(N, 0, dtype=torch.bool)), "train mask has shape"),
    "a mask as text": (lambda: data(train_mask="all"), "train_mask of the data is of type str"),
    "weights below 0": (lambda: data(edge_weight=-torch.ones(N)), "greater than 0"),
    "weights of nan": (lambda: data(edge_weight=torch.full((N,), float("nan"))), "weight of edge 0 is nan"),
    "weights as text": (lambda: data(edge_weight="x"), "edge_weight of the data is of type str"),
    "complex weights": (lambda: data(edge_weight=torch.ones(N) + 1j), "Edge weights must be real"),
    "too few weights": (lambda: data(edge_weight=torch.ones(3)), "3 edge weights for 8 edges"),
    "a number as ids": (lambda: data(node_ids=5), "one id per node"),
    "a tensor of one id": (lambda: data(node_ids=torch.tensor(3)), "one id per node"),
    "ids in a table": (lambda: data(node_ids=np.zeros((N, 2))), "one id per node"),
    "an id twice": (lambda: data(node_ids=["a"] * N), "must be unique"),
    "ids as tuples": (lambda: data(node_ids=[(i, i) for i in range(N)]), "of type tuple"),
    "a number as class names": (lambda: data(class_names=5), "list of texts, not int"),
    "too few class names": (lambda: data(class_names=["a"]), "1 class names"),
    "less than no nodes": (lambda: data(x=None, y=None, train_mask=None, num_nodes=-1), "at least one"),
}


@pytest.mark.parametrize("case", list(MISTAKES))
def test_a_mistake_has_one_sentence(case: str) -> None:
    make, said = MISTAKES[case]
    for method in ("gdamn", "lpa") if case != "no features" else ("gdamn",):
        with pytest.raises(GdamnError, match=said) as found:
            methods.method(method).estimator()(threads=1).fit(make())
        assert "\n" not in str(found.value)
        assert str(found.value).endswith(".")


@pytest.mark.parametrize(
    "parts",
    [
        {"x": torch.rand(N, 3).bfloat16()},
        {"x": torch.rand(N, 3).half()},
        {"x": torch.rand(N, 3).to(torch.float8_e4m3fn)},
        {"x": torch.eye(N).bfloat16().to_sparse()},
        {"x": torch.eye(N).to_sparse_csc()},
        {"x": torch.rand(N, 3).numpy()},
        {"x": [[1.0, 2.0]] * 4 + [[2.0, 1.0]] * 4},
        {"x": torch.rand(N)},
        {"x": torch.rand(N, 3).requires_grad_()},
        {"y": (torch.arange(N) % 2).bfloat16()},
        {"y": (torch.arange(N) % 2).float()[:, None]},
        {"y": [0, 1] * 4},
        {"train_mask": [True] * 6 + [False] * 2},
        {"train_mask": np.arange(N) < 6},
        {"train_mask": torch.arange(6)},
        {"edge_weight": torch.rand(N).bfloat16() + 1},
        {"edge_attr": [1.0] * N},
        {"edge_attr": "not read"},
        {"edge_index": [[0, 1], [1, 2]]},
        {"node_ids": np.arange(N).astype("M8[D]")},
        {"node_ids": torch.arange(N) * 2},
        {"class_names": np.array(["a", "b"])},
    ],
)
def test_what_can_be_read_is_read(parts: dict[str, Any]) -> None:
    model = GDAMN(**SHORT).fit(data(**parts))
    assert model.predict().shape == (N,)
    assert model.score_on(data(**parts), "all") >= 0
    if not isinstance(parts.get("edge_index"), list):  # the transform filters a tensor
        assert model.refine(data(**parts)).num_edges == N


def test_bfloat16_are_the_numbers_that_they_are() -> None:
    x = torch.rand(N, 3).bfloat16()
    assert np.array_equal(Graph.from_pyg(data(x=x)).features, x.float().numpy())
    wide = torch.eye(N).bfloat16() * 0.3
    assert np.array_equal(Graph.from_pyg(data(x=wide.to_sparse())).features.toarray(), wide.float().numpy())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"top": "two"}, "top is 'two'; it must be a whole number"),
        ({"top": True}, "whole number"),
        ({"top": 0}, "at least 1"),
        ({"keep": 5}, "keep is 5; write a condition"),
        ({"keep": "hard"}, "can't be read"),
        ({"weight": "used"}, "choose hard, soft, stable or None"),
        ({"keep": "hard>0", "top": 2}, "only one"),
    ],
)
def test_mistakes_with_the_transform(arguments: dict[str, Any], said: str) -> None:
    model = GDAMN(**SHORT).fit(load("karate"))
    with pytest.raises(ConfigError, match=said):
        RefineGraph(model, **arguments)
    with pytest.raises(ConfigError, match=r"takes a fitted model .*, not NoneType"):
        RefineGraph(None, **arguments)  # type: ignore[arg-type]
