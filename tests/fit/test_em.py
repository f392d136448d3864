"""Algorithm 1 as it shows from outside: order of the phases, variants, and what the chosen epoch leaves behind."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gdamn import GDAMN, Graph
from gdamn.data import load
from gdamn.errors import ConfigError, GdamnError, GraphError
from gdamn.fit import training
from gdamn.fit.domains.domain import STARTS
from gdamn.model.metrics import score_key
from gdamn.model.settings import BETAS

QUICK = {
    "start": "graph",
    "epochs": 3,
    "pretrain_epochs": 4,
    "hidden": 8,
    "projection": 8,
    "threads": 1,
    "candidates": "em",
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("sbm", num_nodes=120, num_classes=3, degree=6, num_features=8, train_per_class=5, val_per_class=8)


def fit(graph: Graph, **settings) -> GDAMN:
    return GDAMN(**{**QUICK, **settings}).fit(graph)


def phases(model: GDAMN) -> list[tuple[str, int]]:
    """Each phase in order, with the number of its epochs."""
    return [(name, len(list(part))) for name, part in itertools.groupby(r["phase"] for r in model.history_)]


def dense(graph: Graph, model: GDAMN, name: str) -> np.ndarray:
    """[N, N] of the weights called so, loops on the diagonal."""
    out = np.diag(model.tensors_[f"loop.{name}"]).astype(np.float64)
    out[graph.rows, graph.indices] = model.tensors_[f"edge.{name}"]
    return out


def test_order_of_algorithm_1(graph):
    model = fit(graph)
    assert phases(model) == [("pre-train", 4), ("M-step 1", 3), ("E-step 1", 3), ("M-step 2", 3), ("E-step 2", 3)]
    for _, part in itertools.groupby(model.history_, key=lambda r: r["phase"]):
        records = list(part)
        assert [r["epoch"] for r in records] == list(range(len(records)))
    assert all(np.isfinite(r["loss"]) for r in model.history_)
    assert all(0 <= r["val_accuracy"] <= 1 for r in model.history_ if not r["phase"].startswith("M"))
    assert model.epochs_ == len(model.history_) == len(model.timings_) == 16


def test_the_best_epoch_is_one_of_the_e_steps(graph):
    model = fit(graph, epochs=6)
    candidates = [r for r in model.history_ if r["phase"].startswith("E")]
    best = max(candidates, key=lambda r: (r["val_accuracy"], -r["val_loss"]))
    assert model.best_epoch_ == best
    chosen = model.predict(names=False)[graph.val_mask] == graph.labels[graph.val_mask]
    assert chosen.mean() == pytest.approx(best["val_accuracy"])


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_a_running_mean_chooses_the_epoch_on_request(graph, metric, monkeypatch):
    """Each epoch's mean with the two before it in its phase, by NumPy; the fit itself is the same."""
    monkeypatch.setattr(training, "SMOOTHED", 3)
    model, plain = (fit(graph, epochs=6, metric=metric, selection=rule) for rule in ("smoothed", "accuracy"))
    assert [{k: v for k, v in r.items() if k != "val_smoothed"} for r in model.history_] == plain.history_
    candidates = []
    for phase in ("E-step 1", "E-step 2"):
        records = [r for r in model.history_ if r["phase"] == phase]
        scores = [r[score_key(metric)] for r in records]
        means = [np.mean(scores[max(0, at - 2) : at + 1]) for at in range(6)]
        assert [r["val_smoothed"] for r in records] == pytest.approx(means)
        candidates += records
    assert model.best_epoch_ == max(candidates, key=lambda r: (r["val_smoothed"], -r["val_loss"]))
    assert "mean over the last 20 epochs" in model.protocol_["selection"]
    assert metric == "accuracy" or "macro F1" in model.protocol_["selection"]


def test_the_lowest_validation_loss_chooses_the_epoch_on_request(graph):
    model = fit(graph, epochs=6, selection="loss")
    losses = [r["val_loss"] for r in model.history_ if r["phase"].startswith("E")]
    assert model.best_epoch_["val_loss"] == min(losses)


def test_the_last_epoch_is_kept_on_request(graph):
    """Validation labels choose nothing then: scrambled, they change no prediction."""
    scrambled = graph.labels.copy()
    scrambled[graph.val_mask] = np.roll(graph.labels[graph.val_mask], 7)
    other = dataclasses.replace(graph, labels=scrambled)
    model, blind = (fit(g, epochs=6, selection="last") for g in (graph, other))
    assert model.best_epoch_ == model.history_[-1]
    assert model.best_epoch_["val_accuracy"] != blind.best_epoch_["val_accuracy"]
    np.testing.assert_array_equal(model.probabilities_, blind.probabilities_)
    assert model.protocol_["selection"] == "last epoch, whatever validation says"
    assert fit(graph, selection="last", metric="macro_f1").protocol_["selection"].startswith("last epoch")


def test_without_validation_nodes_the_last_epoch_is_kept(graph):
    lone = graph.with_masks(graph.train_mask, np.zeros(graph.num_nodes, bool), graph.test_mask)
    model = fit(lone, selection="smoothed")
    assert model.best_epoch_ == model.history_[-1]
    assert model.best_epoch_["val_accuracy"] is None
    assert "last epoch" in model.protocol_["selection"]


def test_progress_is_told_of_every_epoch(graph):
    told = []
    model = GDAMN(**QUICK).fit(graph, progress=lambda *args: told.append(args))
    assert [(phase, epoch) for phase, epoch, _, _ in told] == [(r["phase"], r["epoch"]) for r in model.history_]
    assert {epochs for phase, _, epochs, _ in told if phase == "pre-train"} == {4}


def test_no_em_iterations_is_the_pre_trained_network(graph):
    model = fit(graph, em_iterations=0)
    assert phases(model) == [("pre-train", 4)]
    assert model.edge_weights_ is None
    with pytest.raises(GraphError, match="em_iterations=0"):
        model.refine()
    with pytest.raises(GraphError):
        model.predict_proba("p")


def test_no_epoch_at_all_is_told_in_a_sentence(graph):
    with pytest.raises(GdamnError):
        fit(graph, em_iterations=0, pretrain_epochs=0)


def test_em_without_pre_training(graph):
    assert phases(fit(graph, pretrain_epochs=0, em_iterations=1)) == [("M-step 1", 3), ("E-step 1", 3)]


def test_tolerance_stops_early(graph):
    assert len(phases(fit(graph, em_iterations=4, tolerance=1.0))) == 3
    assert len(phases(fit(graph, em_iterations=3, tolerance=0.0))) == 7


@pytest.mark.parametrize("stable_norm", ["none", "row", "sym"])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_the_chosen_probabilities_are_q_on_the_stable_graph(graph, stable_norm, batch_norm):
    """q by hand, in dense float64: A_stable = Hard_Att ⊙ Soft_Att, normalised, then two layers."""
    model = fit(graph, stable_norm=stable_norm, batch_norm=batch_norm, normalize="none")
    t = {name: value.astype(np.float64) for name, value in model.tensors_.items() if name.startswith("q.")}
    a = dense(graph, model, "hard") * dense(graph, model, "soft")
    np.testing.assert_allclose(dense(graph, model, "stable"), a, rtol=1e-6)
    rows, cols = a.sum(1, keepdims=True), a.sum(0, keepdims=True)
    a = {"none": a, "row": a / rows, "sym": a / np.sqrt(rows * cols)}[stable_norm]
    h = a @ (np.asarray(graph.features, np.float64) @ t["q.first.0"]) + t["q.bias.0"]
    if batch_norm:
        mean, var = t["q.norms.0.running_mean"], t["q.norms.0.running_var"]
        h = (h - mean) / np.sqrt(var + 1e-5) * t["q.norms.0.weight"] + t["q.norms.0.bias"]
    z = a @ (np.maximum(h, 0) @ t["q.later.0"]) + t["q.bias.1"]
    wanted = np.exp(z - z.max(1, keepdims=True))
    np.testing.assert_allclose(model.probabilities_, wanted / wanted.sum(1, keepdims=True), rtol=1e-3, atol=1e-5)


def test_hard_and_soft_weights_are_the_papers_equations(graph):
    """From Ŷ, Q, W_proj and s of the chosen epoch, in dense float64."""
    model = fit(graph, normalize="none", pseudo_labels="soft")
    t = {name: value.astype(np.float64) for name, value in model.tensors_.items()}
    exists = graph.to_scipy().toarray() > 0
    hard = exists / (1 + np.exp(-t["pseudo_labels"] @ t["p.hard.Q"] @ t["pseudo_labels"].T)) + np.eye(graph.num_nodes)
    np.testing.assert_allclose(dense(graph, model, "hard"), hard, rtol=1e-4, atol=1e-6)
    h = t["p.soft.s"] * np.maximum(np.asarray(graph.features, np.float64) @ t["p.soft.W_proj"], 0)
    unit = h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-8)
    mass = (exists + np.eye(graph.num_nodes)) * np.exp(-unit @ unit.T)
    np.testing.assert_allclose(dense(graph, model, "soft"), mass / mass.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_hard_attention_and_prior_read_sharper_labels_and_p_the_soft_ones(graph):
    """σ(S Q Sᵀ) and KL(σ(S Sᵀ) ‖ cos) in dense float64, with S = Ŷ^{1/T} over its sum, at the end and at the start."""
    model = fit(graph, attention_temperature=0.2, prior_clamp=0.05, em_iterations=1, normalize="none")
    soft = model.tensors_["pseudo_labels"].astype(np.float64)
    sharp = soft**5 / (soft**5).sum(1, keepdims=True)
    assert sharp.max(1).mean() > soft.max(1).mean() + 0.1
    exists = graph.to_scipy().toarray() > 0
    q = model.tensors_["p.hard.Q"].astype(np.float64)
    hard = exists / (1 + np.exp(-sharp @ (q + q.T) @ sharp.T / 2)) + np.eye(graph.num_nodes)
    np.testing.assert_allclose(dense(graph, model, "hard"), hard, rtol=1e-4, atol=1e-6)

    unit = sharp / np.linalg.norm(sharp, axis=1, keepdims=True)
    a, b = 1 / (1 + np.exp(-sharp @ sharp.T)), np.clip(unit @ unit.T, 0.05, 0.95)
    kl = (a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b)))[exists].sum() / graph.num_nodes
    first = next(record for record in model.history_ if record["phase"] == "M-step 1")
    assert first["kl"] == pytest.approx(kl, rel=1e-4)
    assert first["loss"] == pytest.approx(first["likelihood"] + 0.2 * first["entropy"] + first["kl"], rel=1e-5)


def test_without_hard_attention_no_edge_is_cut(graph):
    model = fit(graph, hard=False)
    assert (model.edge_weights_["hard"] == 1).all()
    assert np.array_equal(model.edge_weights_["stable"], model.edge_weights_["soft"])
    assert "p.hard.Q" not in model.tensors_
    np.testing.assert_allclose(dense(graph, model, "soft").sum(1), 1, rtol=1e-5)


def test_without_soft_attention_edges_count_alike(graph):
    model = fit(graph, soft=False)
    degree = np.diff(graph.indptr)
    np.testing.assert_allclose(model.edge_weights_["soft"], 1 / (degree[graph.rows] + 1), rtol=1e-5)
    assert len(np.unique(model.edge_weights_["hard"])) > 1
    assert "p.soft.W_proj" not in model.tensors_


def test_without_both_there_is_no_attention(graph):
    assert fit(graph, hard=False, soft=False).edge_weights_ is None


def test_weights_of_the_graph_count(graph):
    rng = np.random.default_rng(0)
    half = graph.rows < graph.indices
    weighted = Graph.build(
        np.stack([graph.rows, graph.indices])[:, half],
        graph.features,
        graph.labels,
        weights=rng.uniform(0.1, 3, half.sum()),
        train_mask=graph.train_mask,
        val_mask=graph.val_mask,
    )
    model = fit(weighted, soft=False)
    a = weighted.to_scipy().toarray() + np.eye(graph.num_nodes)
    np.testing.assert_allclose(dense(weighted, model, "soft"), a / a.sum(1, keepdims=True), rtol=1e-4)


def test_reweighting_by_samples(graph):
    model = fit(graph, reweight_samples=3, soft=False)
    averaged = dense(graph, model, "stable")
    np.testing.assert_allclose(averaged.sum(1), 1, rtol=1e-5)  # a mean of rows that sum to 1
    assert not np.allclose(averaged, dense(graph, model, "hard") * dense(graph, model, "soft"))
    assert (averaged[graph.rows, graph.indices] == 0).any()  # cut in all three
    many = fit(graph, reweight_samples=400, em_iterations=1, epochs=1, soft=False)
    kept = dense(graph, many, "stable")[graph.rows, graph.indices] > 0
    assert kept.mean() > 0.99


def test_without_beta_the_loss_is_reconstruction_and_kl(graph):
    plain, sharp = fit(graph, beta=0.0), fit(graph, beta=1.0)
    assert plain.history_ != sharp.history_
    for record in plain.history_:
        assert record["loss"] == pytest.approx(record["likelihood"] + record.get("kl", 0), rel=1e-5)
    for record in sharp.history_:
        if not record["phase"].startswith("E"):
            whole = record["likelihood"] + record.get("kl", 0) + record["entropy"]
            assert record["loss"] == pytest.approx(whole, rel=1e-5)
    assert fit(graph, beta=1.0, beta_pretrain=0.0).history_[:4] == plain.history_[:4]


@pytest.mark.parametrize("kind", ["soft", "argmax", "sample"])
@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_pseudo_labels(graph, kind, temperature):
    model = fit(graph, pseudo_labels=kind, pseudo_temperature=temperature, em_iterations=1)
    labels = model.tensors_["pseudo_labels"]
    np.testing.assert_allclose(labels.sum(1), 1, rtol=1e-5)
    train = graph.train_mask
    for known in (labels[train], model.predict_proba("p")[train]):  # true labels stay
        assert np.array_equal(known, np.eye(3)[graph.labels[train]])
    one_hot = np.isin(labels[~train], (0, 1)).all()
    assert one_hot == (kind != "soft")
    np.testing.assert_allclose(model.predict_proba("p").sum(1), 1, rtol=1e-5)


def test_beta_auto_takes_the_best_of_five_on_validation(graph):
    model = fit(graph, beta="auto", em_iterations=1, epochs=2)
    assert model.best_epoch_["beta"] in BETAS
    accuracies = {b: fit(graph, beta=b, em_iterations=1, epochs=2).best_epoch_["val_accuracy"] for b in BETAS}
    assert model.best_epoch_["val_accuracy"] == max(accuracies.values())
    assert accuracies[model.best_epoch_["beta"]] == max(accuracies.values())
    alone = fit(graph, beta=model.best_epoch_["beta"], em_iterations=1, epochs=2)
    assert np.array_equal(alone.probabilities_, model.probabilities_)


def test_beta_auto_needs_validation_nodes(graph):
    lone = graph.with_masks(graph.train_mask, [], graph.test_mask)
    with pytest.raises(GdamnError, match="validation"):
        fit(lone, beta="auto")


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 1},
        {"layers": 4, "batch_norm": True},
        {"p_input": "labels"},
        {"symmetric_q": False},
        {"restart_q": True},
        {"e_step": "sums", "kl_per": "node"},
        {"decay": "first", "init": "kaiming", "normalize": "standard"},
        {"dropout_input": 0.0, "dropout_hidden": 0.0, "dropout_labels": 0.0, "dropout_attention": 0.0},
        {"samples": 1, "kl_weight": 0.0, "lambda_": 0.0},
        {"annotate_epochs": 4, "pseudo_labels": "soft", "epochs": 6},
        {"annotate_epochs": 2, "pseudo_labels": "soft"},
    ],
    ids=lambda s: ",".join(s),
)
def test_every_variant_runs(graph, settings):
    if not set(settings) <= set(GDAMN.settings_class.names()):
        pytest.skip("there is no such setting any more")
    model = fit(graph, **settings)
    np.testing.assert_allclose(model.probabilities_.sum(1), 1, rtol=1e-5)
    assert phases(model)[-1][0] == "E-step 2"
    assert fit(graph).history_ != model.history_


@pytest.mark.parametrize("kind", ["no edges", "directed", "all labelled", "one class in validation"])
def test_unusual_graphs(graph, kind):
    edges = np.stack([graph.rows, graph.indices])
    masks = {"train_mask": graph.train_mask, "val_mask": graph.val_mask}
    if kind == "no edges":
        edges = edges[:, :0]
    elif kind == "all labelled":
        masks = {"train_mask": np.ones(graph.num_nodes, bool)}
    elif kind == "one class in validation":
        masks["val_mask"] = graph.val_mask & (graph.labels == 0)
    odd = Graph.build(edges, graph.features, graph.labels, directed=kind == "directed", **masks)
    model = fit(odd)
    assert np.isfinite(model.probabilities_).all()
    assert len(model.edge_weights_["stable"]) == len(odd.indices)


class Largest(TorchDispatchMode):
    """Remembers the number of elements of the largest tensor that any operation made."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in out if isinstance(out, tuple | list) else (out,):
            if isinstance(t, torch.Tensor):
                self.elements = max(self.elements, t.numel())
        return out


def test_no_array_of_n_by_n_is_made():
    n = 20_000
    graph = load("sbm", num_nodes=n, degree=4, num_features=16)
    small = load("sbm", num_nodes=400, degree=4, num_features=16)
    with Largest():  # loads the kernels and what torch needs to watch them, which isn't what is measured
        fit(small, epochs=1, pretrain_epochs=1, em_iterations=1)
    tracemalloc.start()
    try:
        with Largest() as largest:
            fit(graph, epochs=1, pretrain_epochs=1, em_iterations=1)
        _, peak = tracemalloc.get_traced_memory()  # NumPy's arrays
    finally:
        tracemalloc.stop()
    entries = len(graph.structure.weights)
    assert n <= largest.elements <= max(entries, n * 16) * 2
    assert peak < n * n * 4 / 50


PROPAGATORS = ["gcn", "gat", "sage", "appnp", "gcnii", "dagnn", "random"]


@pytest.mark.parametrize("name", PROPAGATORS)
def test_every_propagator_can_be_q_and_p(graph, name):
    model = fit(graph, propagator=name, p_propagator=name, steps=2, heads=2, em_iterations=1)
    assert model.probabilities_.shape == (120, 3)
    assert len(np.unique(model.edge_weights_["hard"])) > 1
    assert any(key.startswith("p.decoder") for key in model.tensors_)


def test_pagerank_is_a_q_that_learns_in_mini_batches(graph):
    few = {"labelled_batch": 3, "unlabelled_batch": 20, "batches": 4, "layers": 1, "batch_norm": True, "clip": 0.1}
    model = fit(graph, propagator="pagerank", draws=2, stable_norm="row", decay="every", agreement=0.4, **few)
    q = [record for record in model.history_ if not record["phase"].startswith("M")]
    assert all("consistency" in record for record in q)
    assert model.best_epoch_["val_accuracy"] > 0.5
    assert len(np.unique(model.edge_weights_["hard"])) > 1
    with pytest.raises(ConfigError, match="p_propagator"):
        fit(graph, p_propagator="pagerank")


def test_consistency_between_passes(graph):
    model = fit(graph, draws=3, consistency=2.0, beta=0.3, beta_e_step=0.1, consistency_warmup=2)
    for record in model.history_:
        if record["phase"].startswith("M"):
            assert "consistency" not in record
            continue
        pre = record["phase"] == "pre-train"
        weight = 2.0 * (min(1, (record["epoch"] + 1) / 2) if pre else 1)
        beta = 0.3 if pre else 0.1
        whole = record["likelihood"] + beta * record["entropy"] + weight * record["consistency"]
        assert record["loss"] == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("q", [{}, {"propagator": "pagerank", "batches": 4, "unlabelled_batch": 40}])
def test_diversity_keeps_every_class_in_use(graph, q):
    """A strong entropy term alone predicts few classes; with the entropy of the mean prediction all stay."""
    unvalidated = dataclasses.replace(graph, val_mask=np.zeros_like(graph.val_mask))  # the last epoch is taken
    strong = {"beta": 20.0, "pretrain_epochs": 40, "em_iterations": 0, "draws": 2, "learning_rate": 0.05, **q}
    alone, diverse = fit(unvalidated, **strong), fit(unvalidated, diversity=1.0, **strong)
    fewest = [np.bincount(model.predict(names=False), minlength=3).min() for model in (alone, diverse)]
    assert fewest[0] < 12 < fewest[1]  # of 40 that each class has
    assert all(0 <= record["marginal"] <= np.log(3) + 1e-6 for record in diverse.history_)
    assert "marginal" not in alone.history_[0]


def test_average_of_the_weights(graph):
    """What is saved and predicts is the moving average, which the last weights alone don't give."""
    plain, mean = fit(graph, em_iterations=0), fit(graph, em_iterations=0, average=0.9)
    losses = [[r["loss"] for r in model.history_] for model in (plain, mean)]
    assert losses[0] == losses[1]  # training is the same
    assert not np.array_equal(plain.probabilities_, mean.probabilities_)


def test_hard_attention_alone_can_weigh_the_graph(graph):
    model = fit(graph, reweight="hard")
    np.testing.assert_array_equal(model.edge_weights_["stable"], model.edge_weights_["hard"])


def test_pre_training_epochs_can_be_candidates(graph):
    model = fit(graph, candidates="all", pretrain_epochs=30, epochs=1)
    scored = [r for r in model.history_ if not r["phase"].startswith("M")]
    best = max(scored, key=lambda r: (r["val_accuracy"], -r["val_loss"]))
    assert model.best_epoch_ == best
    assert best["phase"] == "pre-train"
    assert model.refine().edge_weight.shape == (len(graph.rows),)  # the refined graph is there all the same
    assert model.predict_proba("p").shape == (120, 3)


def test_start_without_the_edges(graph):
    """Pre-training on features alone is that on the graph without edges."""
    lone = Graph.build(
        np.zeros((2, 0), int), graph.features, graph.labels, train_mask=graph.train_mask, val_mask=graph.val_mask
    )
    a = fit(graph, start="features", em_iterations=0)
    b = fit(lone, start="features", em_iterations=0)
    np.testing.assert_allclose(a.probabilities_, b.probabilities_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_auto_start_is_the_one_that_validates_better(graph, noise):
    from gdamn.data.noise import plant

    given = plant(graph, noise, seed=0) if noise else graph
    models = {s: fit(given, start=s, pretrain_epochs=20, judge_edges=False) for s in (*STARTS, "auto")}
    reached = {s: max(r["val_accuracy"] for r in models[s].history_[:20]) for s in STARTS}
    better = max(STARTS, key=lambda s: reached[s])  # a tie goes to the first
    names = ("pre-train", "pre-train (similar)", "pre-train (features)")
    assert phases(models["auto"])[:3] == [(name, 20) for name in names]
    assert models["auto"].history_[60:] == models[better].history_[20:]


@pytest.mark.parametrize("sparse", [False, True])
def test_similar_start_is_a_fit_on_the_graph_weighed_by_cosines(graph, sparse):
    rng = np.random.default_rng(0)
    features = np.abs(rng.normal(size=(graph.num_nodes, 40))) * (rng.random((graph.num_nodes, 40)) < 0.2)
    features = features.astype(np.float32) if sparse else features.astype(np.float32) + 0.01
    given = Graph.build(
        np.stack([graph.rows, graph.indices]),
        features,
        graph.labels,
        train_mask=graph.train_mask,
        val_mask=graph.val_mask,
        test_mask=graph.test_mask,
    )
    assert given.is_sparse == sparse
    length = np.maximum(np.linalg.norm(features, axis=1), 1e-12)
    cosines = (features[given.rows] * features[given.indices]).sum(1) / length[given.rows] / length[given.indices]
    by_hand = dataclasses.replace(given, weights=(cosines / cosines.mean()).astype(np.float32))
    no_noise = {f"dropout_{what}": 0.0 for what in ("input", "hidden", "labels", "attention")} | {"normalize": "row"}
    ours, theirs = fit(given, start="similar", **no_noise), fit(by_hand, **no_noise)
    assert [r["loss"] for r in ours.history_] == pytest.approx([r["loss"] for r in theirs.history_], rel=1e-3)
    for name in ("probabilities", "edge.hard", "edge.soft", "edge.used"):
        assert np.allclose(ours.tensors_[name], theirs.tensors_[name], atol=1e-3), name
    assert not np.allclose(ours.tensors_["edge.soft"], fit(given, **no_noise).tensors_["edge.soft"], atol=1e-3)


def test_weight_decay_counts_in_full_with_few_labels_and_falls_with_many(graph: Graph) -> None:
    labels = int(graph.train_mask.sum())
    decays = {"weight_decay": 0.1, "weight_decay_later": 0.02, "em_iterations": 2}
    full = fit(graph, **decays, decay_labels=0).probabilities_
    assert np.array_equal(fit(graph, **decays, decay_labels=labels).probabilities_, full)
    less = fit(graph, **decays, decay_labels=labels // 3).probabilities_
    third = {"weight_decay": 0.1 / 3, "weight_decay_later": 0.02 / 3, "em_iterations": 2}
    assert not np.array_equal(less, full)
    np.testing.assert_allclose(less, fit(graph, **third, decay_labels=0).probabilities_, atol=1e-6)
