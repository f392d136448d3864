"""Wrong labels that were planted stand first in the ranking, and no label is read that may not be."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn import GDAMN, Graph, load
from gdamn.errors import ConfigError, GraphError, NotFittedError
from gdamn.estimators.registry import make
from gdamn.estimators.suspicious_labels import judged_labels

SHORT = {"pretrain_epochs": 3, "epochs": 2, "em_iterations": 1, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def clean() -> Graph:
    return load("sbm", num_nodes=300, num_classes=3, feature_signal=2.0, seed=1)


@pytest.fixture(scope="module")
def wrong(clean: Graph) -> np.ndarray:
    """A tenth of the training nodes."""
    return np.random.default_rng(0).choice(np.flatnonzero(clean.train_mask), 6, replace=False)


@pytest.fixture(scope="module")
def planted(clean: Graph, wrong: np.ndarray) -> Graph:
    return relabelled(clean, wrong)


def relabelled(graph: Graph, nodes: np.ndarray) -> Graph:
    """The graph with the next class as label of these nodes."""
    labels = graph.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % graph.num_classes
    return graph.with_labels(labels)


def test_planted_wrong_labels_are_ranked_first(clean, planted, wrong):
    judged = judged_labels(planted)
    first = judged.nodes[judged.ranking()[:9]]
    assert np.isin(wrong, first).sum() >= 5
    assert judged.noise.claimed
    assert 0.05 < judged.noise.rate < 0.2
    assert "% of the training labels seem to be wrong" in judged.summary()
    assert not judged_labels(clean).noise.claimed
    assert "no evidence" in judged_labels(clean).summary()


def test_the_table_names_nodes_classes_and_probabilities(clean, planted, wrong):
    judged = judged_labels(planted)
    table = judged.table()
    number = {node: at for at, node in enumerate(planted.node_ids.tolist())}
    nodes = np.array([number[node] for node in table["node"].tolist()])
    assert planted.train_mask[nodes].all()
    assert (table["label"] == np.array(planted.class_names, object)[planted.labels[nodes]]).all()
    assert (table["label"] != table["suggested"]).all()
    assert (table["label_probability"] <= table["suggested_probability"]).all()
    assert (np.diff(table["label_probability"]) >= 0).all()
    assert set(table["split"]) == {"train"}
    right = np.array(clean.class_names, object)[clean.labels[nodes]]
    assert (table["suggested"] == right)[np.isin(nodes, wrong)].mean() >= 0.8
    assert {name: column[:2].tolist() for name, column in table.items()} == {
        name: column.tolist() for name, column in judged.table(2).items()
    }


def test_validation_labels_are_judged_by_models_that_read_training_labels_alone(clean):
    nodes = np.flatnonzero(clean.val_mask)[[2, 30]]
    judged = judged_labels(relabelled(clean, nodes), "val")
    assert set(judged.nodes[judged.ranking()[:4]]) >= set(nodes)
    assert np.array_equal(judged.probabilities, judged_labels(clean, "val").probabilities)


@pytest.mark.parametrize("how", ["other", "unknown"])
def test_labels_outside_the_set_change_nothing(planted, how):
    others = ~planted.train_mask
    labels = np.where(others, (planted.labels + 1) % 3 if how == "other" else -1, planted.labels)
    masks = {} if how == "other" else {"val_mask": np.zeros_like(others), "test_mask": np.zeros_like(others)}
    blind = (
        Graph.build(
            np.stack([planted.rows, planted.indices]), planted.features, labels, train_mask=planted.train_mask, **masks
        )
        if masks
        else planted.with_labels(labels)
    )
    a, b = judged_labels(planted), judged_labels(blind)
    assert np.array_equal(a.probabilities, b.probabilities)
    assert a.noise.rate == b.noise.rate
    one_training_label = relabelled(planted, np.flatnonzero(planted.train_mask)[:1])
    assert not np.array_equal(a.probabilities, judged_labels(one_training_label).probabilities)  # it can fail


def test_every_estimator_has_it(planted, tmp_path):
    gdamn = GDAMN(**SHORT, seed=0).fit(planted)
    table = gdamn.suspicious_labels(4)
    lpa = make("lpa", overrides={"epochs": 2, "threads": 1}).fit(planted)
    assert lpa.suspicious_labels(4)["node"].tolist() == table["node"].tolist()
    loaded = GDAMN.load(gdamn.save(tmp_path / "model"))
    with pytest.raises(GraphError, match="give the graph of the fit"):
        loaded.suspicious_labels()
    again = loaded.suspicious_labels(4, graph=planted)
    assert all(np.array_equal(column, again[name]) for name, column in table.items())


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_number_that_is_none_of_labels(planted, count):
    model = make("lpa", overrides={"epochs": 2, "threads": 1}).fit(planted)
    with pytest.raises(ConfigError, match="must be 1 or more"):
        model.suspicious_labels(count)


def test_what_cannot_be_judged(clean):
    with pytest.raises(NotFittedError):
        GDAMN().suspicious_labels()
    with pytest.raises(ConfigError, match="'test' can't be judged; choose train or val"):
        judged_labels(clean, "test")
    two = np.zeros_like(clean.train_mask)
    two[[np.flatnonzero(clean.labels == c)[0] for c in (0, 1)]] = True
    few = Graph.build(np.stack([clean.rows, clean.indices]), clean.features, clean.labels, train_mask=two)
    with pytest.raises(GraphError, match="too few training labels"):
        judged_labels(few)
    with pytest.raises(GraphError, match="no validation nodes"):
        judged_labels(few, "val")


def test_few_labels_are_listed_but_nothing_is_claimed():
    graph = load("sbm", num_nodes=150, num_classes=3, train_per_class=5, val_per_class=5, seed=1)
    judged = judged_labels(graph)
    assert not judged.noise.claimed
    assert "too few training labels" in judged.summary()
    assert len(judged.table()["node"]) == len(judged.contradicted())
