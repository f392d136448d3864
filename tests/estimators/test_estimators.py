"""The one contract of every estimator: GDAMN, its ablations and the baselines."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import sklearn.utils
import torch
from safetensors.numpy import load_file, save_file
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from gdamn import GDAMN, Graph
from gdamn.data import load
from gdamn.errors import ConfigError, DataError, GraphError, NotFittedError, OutputError, TrainingError
from gdamn.estimators.base import FORMAT
from gdamn.estimators.registry import METHODS, make

WANTED = {"epochs": 4, "pretrain_epochs": 4, "hidden": 8, "projection": 8, "threads": 1}
every = pytest.mark.parametrize("name", METHODS)


def small_graph(**options) -> Graph:
    sizes = {
        "num_nodes": 120,
        "num_classes": 3,
        "degree": 6,
        "num_features": 8,
        "train_per_class": 5,
        "val_per_class": 8,
    }
    return load("sbm", **{**sizes, **options})


@pytest.fixture(scope="module")
def graph() -> Graph:
    return small_graph()


def new(name: str, **settings):
    names = METHODS[name].estimator().settings_class.names()
    return make(name, overrides={**{k: v for k, v in WANTED.items() if k in names}, **settings})


@pytest.fixture(scope="module")
def fitted(graph):
    """Each method fitted once; tests of this file only ask."""
    return {name: new(name).fit(graph) for name in METHODS}


@every
def test_fit_returns_self_and_shapes(graph, name):
    model = new(name)
    assert model.fit(graph) is model
    n, c = graph.num_nodes, graph.num_classes
    assert model.predict().shape == (n,)
    assert model.predict().dtype == np.int64
    assert model.predict_proba().shape == model.probabilities_.shape == (n, c)
    assert model.probabilities_.dtype == np.float32
    np.testing.assert_allclose(model.probabilities_.sum(1), 1, rtol=1e-5)
    assert (model.predict() == model.predict_proba().argmax(1)).all()
    assert model.epochs_ == len(model.history_)
    assert model.seconds_ > 0
    assert model.protocol_["seed"] == 0
    json.dumps([model.history_, model.best_epoch_, model.protocol_])  # plain data


@every
def test_scores(graph, fitted, name):
    model = fitted[name]
    for mask in ("train", "val", "test", "labelled", "all"):
        chosen = graph.mask(mask)
        right = (model.predict()[chosen] == graph.labels[chosen]).mean()
        assert model.score(mask) == model.score_on(graph, mask) == right
        assert 0 <= right <= 1
    with pytest.raises(GraphError, match="no node set 'tset'"):
        model.score("tset")
    with pytest.raises(GraphError, match="120 nodes"):
        model.score_on(small_graph(num_nodes=150))
    with pytest.raises(GraphError, match="nothing to score"):
        model.score_on(graph.with_masks(graph.train_mask, graph.val_mask, []))


@every
def test_answers_are_copies(fitted, name):
    model = fitted[name]
    before = model.predict_proba()
    model.predict_proba()[:] = 7
    assert np.array_equal(before, model.predict_proba())


@every
def test_edge_weights(graph, fitted, name):
    weights = fitted[name].edge_weights_
    if weights is None:
        return
    assert set(weights) == {"hard", "soft", "stable"}
    for value in weights.values():
        assert value.shape == graph.indices.shape
        assert ((value >= 0) & (value <= 1)).all()


@every
def test_parameters_and_clone(name):
    model = new(name)
    copy = clone(model)
    assert type(copy) is type(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(seed=5) is copy
    assert copy.get_params()["seed"] == 5
    assert model.get_params()["seed"] == 0
    with pytest.raises(ConfigError):
        copy.set_params(sed=5)
    assert list(model.get_params()) == model.settings_class.names()


@every
def test_clone_of_a_fitted_model_has_learned_nothing(fitted, name):
    with pytest.raises(NotFittedError):
        clone(fitted[name]).predict()


def test_repr_shows_what_differs_from_the_defaults(fitted):
    assert repr(GDAMN()) == "GDAMN()"
    assert repr(GDAMN(hidden=32, beta="auto", seed=1)) == "GDAMN(seed=1, hidden=32, beta='auto')"
    shown = repr(fitted["mlp"])
    assert shown == "MLPClassifier(threads=1, epochs=4, hidden=8, fitted=[120 nodes, 8 features, 3 classes])"


@every
def test_settings_are_attributes(name):
    model = new(name)
    for setting, value in model.get_params().items():
        assert getattr(model, setting) == value, setting
        assert setting in dir(model)
    model.seed = 3
    assert model.get_params()["seed"] == model.seed == model.random_state == 3
    model.random_state = np.int64(4)
    assert model.settings.seed == 4
    with pytest.raises(ConfigError, match="Setting 'seed' is -1"):
        model.seed = -1
    assert model.seed == 4


@every
def test_unknown_attributes_are_refused_with_a_hint(name):
    model = new(name)
    with pytest.raises(ConfigError, match=r"has no setting or attribute 'thread'; did you mean threads"):
        model.thread = 3
    with pytest.raises(AttributeError, match=r"has no attribute 'thread'; did you mean threads"):
        _ = model.thread
    with pytest.raises(AttributeError, match=r"has no setting or attribute 'xyzzy'\.$"):
        model.xyzzy = 3
    assert not hasattr(model, "xyzzy")


@every
def test_random_state_is_the_seed(name):
    estimator = METHODS[name].estimator()
    assert estimator(random_state=5).get_params() == estimator(seed=5).get_params()
    assert estimator().set_params(random_state=5).seed == 5
    assert make(name, overrides={"random_state": 5}).seed == 5
    with pytest.raises(ConfigError, match="seed=1 and random_state=2 are one setting"):
        estimator(seed=1, random_state=2)
    with pytest.raises(ConfigError, match="Setting 'seed' is None"):
        estimator(random_state=None)


@every
def test_scikit_learn_knows_what_it_is(graph, fitted, name):
    model = fitted[name]
    assert is_classifier(model)
    get_tags = getattr(sklearn.utils, "get_tags", None)
    if get_tags is None:
        pytest.skip("scikit-learn has tags since 1.6")
    tags = get_tags(model)
    assert tags.estimator_type == "classifier"
    assert not tags.target_tags.required
    assert not tags.input_tags.two_d_array
    check_is_fitted(model)
    check_is_fitted(model, ["history_", "classes_"])
    for ask in (lambda: check_is_fitted(new(name)), lambda: new(name).predict(), lambda: new(name).history_):
        with pytest.raises(TheirNotFittedError):
            ask()
    assert model.n_features_in_ == graph.num_features
    assert model.classes_.tolist() == [0, 1, 2]
    for unknown in ("classes_", "n_features_in_", "history_", "graph_"):
        with pytest.raises(NotFittedError, match="call fit"):
            getattr(new(name), unknown)


@every
def test_fit_predict_and_labels_of_its_own(graph, fitted, name):
    """y takes the place of the labels; a graph without any learns the same from it."""
    bare = replace(graph, labels=np.full(graph.num_nodes, -1))
    y = np.where(graph.train_mask | graph.val_mask, graph.labels, -1)
    assert np.array_equal(new(name).fit_predict(bare, y), fitted[name].predict())


@every
def test_weights_of_labels_count_or_are_refused(graph, fitted, name):
    weights = np.where(graph.labels == 0, 50.0, 0.01)
    if not fitted[name].weighs_labels:
        with pytest.raises(ConfigError, match=f"Method '{name}' has no loss that weighs labels"):
            new(name).fit(graph, sample_weight=weights)
        return
    weighed = new(name).fit(graph, sample_weight=weights)
    losses = [[record.get("loss") for record in model.history_] for model in (weighed, fitted[name])]
    assert losses[0] != losses[1]


@every
def test_a_callback_hears_and_ends_every_method(graph, name):
    def stop_at_the_second(event):
        if event.epoch == 1:
            event.stop()

    model = new(name, epochs=3, **({"pretrain_epochs": 3} if "gdamn" in name or name.startswith("gmnn") else {}))
    model.fit(graph, callbacks=[stop_at_the_second])
    epochs = [record["epoch"] for record in model.history_ if record["phase"] != "correct and smooth"]
    assert epochs == ([0, 1, 0] if name == "stable" else [0, 1])  # representations alone predict nothing
    assert model.predict().shape == (graph.num_nodes,)


INDUCTIVE = sorted(set(METHODS) - {"lpa", "gcn-cs", "pro-gnn"})


@pytest.mark.parametrize("name", INDUCTIVE)
def test_a_model_with_its_graph_needs_nothing_else(graph, fitted, tmp_path, name):
    model = fitted[name]
    loaded = type(model).load(model.save(tmp_path / "m", graph=True))
    assert np.allclose(loaded.predict_proba(graph), model.predict_proba(), atol=1e-6)
    assert np.array_equal(model.predict(graph), model.predict())
    assert loaded.predict_frame().equals(model.predict_frame())
    assert loaded.save(tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    if name == "gcn-lpa":
        with pytest.raises(GraphError, match="don't fit another graph"):
            loaded.predict(nodes=np.zeros((1, 8)))
        return
    new_rows = graph.features[[3, 5]]
    first, second = loaded.predict(nodes=new_rows, edges=[[3, 120], [120, 121]]), loaded.predict(nodes=new_rows)
    assert first.shape == second.shape == (2,)


@pytest.mark.parametrize("name", ["lpa", "gcn-cs", "pro-gnn"])
def test_methods_that_can_not_predict_new_nodes_say_so(graph, fitted, name):
    with pytest.raises(GraphError, match=r"can't predict new nodes|new nodes can't be predicted"):
        fitted[name].predict(nodes=graph.features[:2])


@every
def test_the_page_of_a_model(fitted, name):
    page = fitted[name]._repr_html_()
    assert page.count("<svg") == 2
    assert page.count("<table") == 1
    assert f"(method {fitted[name].method})" in page
    assert "not yet" in new(name)._repr_html_()


@every
def test_before_fit_every_question_has_a_clear_answer(tmp_path, name):
    model = new(name)
    questions = [model.predict, model.predict_proba, model.score, lambda: model.save(tmp_path / "x")]
    questions += [lambda: model.probabilities_, lambda: model.edge_weights_]
    if isinstance(model, GDAMN):
        questions += [model.refine, lambda: model.predict_proba("p")]
    for ask in questions:
        with pytest.raises(NotFittedError, match=r"has not been fitted yet; call fit\(graph\) first"):
            ask()


@every
def test_a_fit_that_fails_leaves_no_old_answers(graph, name):
    model = new(name).fit(graph)
    with pytest.raises(TrainingError):
        model.fit(graph.with_masks([], graph.val_mask, graph.test_mask))
    with pytest.raises(NotFittedError):
        model.predict()


@every
def test_save_and_load(graph, fitted, tmp_path, name):
    model = fitted[name]
    path = model.save(tmp_path / "folder" / "model.safetensors")
    loaded = type(model).load(path)
    assert np.array_equal(loaded.predict(), model.predict())
    assert loaded.predict_proba().tobytes() == model.predict_proba().tobytes()
    assert loaded.history_ == model.history_
    assert loaded.best_epoch_ == model.best_epoch_
    assert loaded.protocol_ == model.protocol_
    assert loaded.epochs_ == model.epochs_
    assert loaded.get_params() == model.get_params()
    assert loaded.class_names_ == model.class_names_
    assert np.array_equal(loaded.node_ids_, model.node_ids_)
    assert (loaded.edge_weights_ is None) == (model.edge_weights_ is None)
    for key, value in (model.edge_weights_ or {}).items():
        assert np.array_equal(loaded.edge_weights_[key], value)
    assert loaded.score_on(graph) == model.score()
    with pytest.raises(GraphError, match="score_on"):
        loaded.score()
    again = loaded.save(tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()


def test_names_of_nodes_and_classes_are_saved(graph, tmp_path):
    ids = np.array([f"node {i} ü" for i in range(graph.num_nodes)])
    named = replace(graph, node_ids=ids, class_names=("a", "b", "č"))
    loaded = GDAMN.load(new("gdamn").fit(named).save(tmp_path / "m"))
    assert loaded.class_names_ == ("a", "b", "č")
    assert np.array_equal(loaded.node_ids_, ids)


def test_numeric_node_ids_are_saved(graph, tmp_path):
    named = replace(graph, node_ids=np.arange(graph.num_nodes) * 10 + 7)
    loaded = GDAMN.load(new("gdamn").fit(named).save(tmp_path / "m"))
    assert np.array_equal(loaded.node_ids_, named.node_ids)


def rewritten(path, target, **changes):
    """The model file with parts of its header changed; None takes a part out."""
    header = json.loads(read_header(path))
    header.update(changes)
    save_file(
        load_file(path), target, metadata={"gdamn": json.dumps({k: v for k, v in header.items() if v is not None})}
    )
    return target


def read_header(path) -> str:
    raw = path.read_bytes()
    return json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["gdamn"]


def test_files_that_are_no_model(fitted, tmp_path):
    good = fitted["gdamn"].save(tmp_path / "good")
    raw = good.read_bytes()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(raw[: len(raw) // 2])
    (tmp_path / "header cut").write_bytes(raw[:100])
    save_file({"a": np.zeros(3)}, tmp_path / "foreign")
    save_file({"a": np.zeros(3)}, tmp_path / "no json", metadata={"gdamn": "{"})
    for name in ("text", "empty", "cut", "header cut", "foreign", "no json"):
        with pytest.raises(DataError, match="is not a model that gdamn saved, or it is damaged"):
            GDAMN.load(tmp_path / name)
    with pytest.raises(DataError, match="no model file"):
        GDAMN.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no model file"):
        GDAMN.load(tmp_path)
    with pytest.raises(DataError, match="method 'gcn', not 'gdamn'"):
        GDAMN.load(fitted["gcn"].save(tmp_path / "gcn"))
    with pytest.raises(DataError, match=r"newer gdamn .*upgrade"):
        GDAMN.load(rewritten(good, tmp_path / "newer", format=FORMAT + 1))


@pytest.mark.parametrize("wrong", ["no object", "no method", "no history", "no probabilities"])
def test_files_with_an_incomplete_header(fitted, tmp_path, wrong):
    good, bad = fitted["gdamn"].save(tmp_path / "good"), tmp_path / "bad"
    if wrong == "no object":
        save_file(load_file(good), bad, metadata={"gdamn": "[]"})
    elif wrong == "no probabilities":
        save_file({"a": np.zeros(3)}, bad, metadata={"gdamn": read_header(good)})
    else:
        rewritten(good, bad, **{wrong.split()[1]: None})
    with pytest.raises(DataError):
        GDAMN.load(bad)


def test_a_model_that_can_not_be_written(fitted, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        fitted["gdamn"].save(tmp_path / "file" / "model")


@every
def test_pyg_data_is_accepted(graph, fitted, name):
    data = graph.to_pyg()
    assert isinstance(data, Data)
    model = new(name).fit(data)
    assert np.array_equal(model.probabilities_, fitted[name].probabilities_)
    assert model.score_on(data) == model.score()


def test_a_subclass_of_pyg_data_is_accepted(graph):
    class Mine(Data):
        pass

    new("mlp").fit(Mine(**graph.to_pyg().to_dict()))


def test_other_things_are_not_graphs():
    for thing in (None, 3, np.eye(3), "cora"):
        with pytest.raises(GraphError, match="Expected a gdamn Graph"):
            GDAMN().fit(thing)


@every
def test_settings_that_do_not_exist(name):
    with pytest.raises(ConfigError, match=r"no setting 'epoch'; did you mean epochs"):
        new(name, epoch=1)
    with pytest.raises(ConfigError, match=r"no setting 'xyzzy'; there are seed"):
        new(name, xyzzy=1)


@every
@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("hidden", 0, "at least 1"),
        ("hidden", 2.5, "type int"),
        ("hidden", True, "type int"),
        ("hidden", "16", "type int"),
        ("hidden", None, "type int"),
        ("layers", 65, "between 1 and 64"),
        ("epochs", 0, "at least 1"),
        ("seed", -1, "at least 0"),
        ("dropout_hidden", 1.0, "between 0 and 0.99"),
        ("dropout_hidden", float("nan"), "between 0 and 0.99"),
        ("learning_rate", -0.1, "at least 0"),
        ("learning_rate", "0.1", "type float"),
        ("normalize", "rows", "binary, idf, standard, none"),
        ("batch_norm", 1, "type bool"),
    ],
)
def test_settings_out_of_range_or_of_another_type(name, setting, value, message):
    estimator = METHODS[name].estimator()
    if setting not in estimator.settings_class.names():
        # label propagation has no hidden layers, and so on
        message = f"There is no setting '{setting}'|Setting '{setting}' was removed"
    else:
        message = f"Setting '{setting}' is .*{message}"
    with pytest.raises(ConfigError, match=message):
        estimator(**{setting: value})


@pytest.mark.parametrize("beta", ["best", True, -0.1, None])
def test_beta_is_a_number_or_auto(beta):
    with pytest.raises(ConfigError, match="Setting 'beta'"):
        GDAMN(beta=beta)


def test_a_device_that_is_not_here(graph):
    for device in ("xpu9", "nonsense"):
        with pytest.raises(ConfigError, match=f"Device '{device}' can't be used here"):
            new("gdamn", device=device).fit(graph)


def test_an_unknown_method_has_a_suggestion():
    with pytest.raises(ConfigError, match="no method 'gdam'; did you mean gdamn"):
        make("gdam")


@every
def test_graphs_that_can_not_be_learned_from(graph, name):
    with pytest.raises(TrainingError, match="no training nodes"):
        new(name).fit(graph.with_masks([], graph.val_mask, graph.test_mask))
    with pytest.raises(TrainingError, match="at least two classes"):
        new(name).fit(graph.with_masks(graph.train_mask & (graph.labels == 0), graph.val_mask, graph.test_mask))
    with pytest.raises(TrainingError, match="no features"):
        new(name).fit(replace(graph, features=np.zeros((graph.num_nodes, 0), np.float32)))


def test_a_loss_that_is_not_finite_is_told(graph):
    """Either at once, or through nan in the predictions, but never as a result."""
    wild = replace(graph, features=graph.features * np.float32(1e30))
    with pytest.raises(TrainingError, match=r"(loss is|predictions are not finite) .*epoch .*lower learning_rate"):
        new("gcn", normalize="none").fit(wild)


@every
def test_probabilities_are_finite_or_an_error_is_raised(graph, name):
    """A learning rate without sense must not end in a silent nan."""
    if "learning_rate" not in METHODS[name].estimator().settings_class.names():
        return  # nothing is trained
    try:
        model = new(name, learning_rate=1e30).fit(graph)
    except TrainingError:
        return
    assert np.isfinite(model.probabilities_).all()


@pytest.mark.parametrize("name", ["dagnn", "grand"])
def test_methods_that_choose_their_epoch_by_loss(graph, name):
    """Their publications do; the same fit, with the choice by accuracy on request."""
    by_loss, by_accuracy = (new(name, epochs=12, **s).fit(graph) for s in ({}, {"selection": "accuracy"}))
    assert by_loss.history_ == by_accuracy.history_
    assert by_loss.best_epoch_["val_loss"] == min(r["val_loss"] for r in by_loss.history_)
    assert by_accuracy.best_epoch_["val_accuracy"] == max(r["val_accuracy"] for r in by_loss.history_)
    assert by_loss.protocol_["selection"].startswith("lowest validation loss")
    assert by_accuracy.protocol_["selection"].startswith("highest validation accuracy")
    smoothed = new(name, epochs=12, selection="smoothed").fit(graph)
    assert smoothed.best_epoch_["val_smoothed"] == max(r["val_smoothed"] for r in smoothed.history_)


def test_refine(graph, fitted, tmp_path):
    model = fitted["gdamn"]
    data = model.refine()
    e = len(graph.indices)
    assert isinstance(data, Data)
    assert data.edge_index.shape == (2, e)
    for field in (data.edge_weight, data.hard, data.soft):
        assert field.shape == (e,)
    torch.testing.assert_close(data.edge_weight, data.hard * data.soft)
    assert data.loop_weight.shape == (graph.num_nodes,)
    assert data.x.shape == (graph.num_nodes, graph.num_features)
    assert np.array_equal(data.y.numpy(), graph.labels)
    # the rows of A_soft, which a target collects from its sources, sum to 1 with the loop
    total = torch.zeros(graph.num_nodes).index_add_(0, data.edge_index[1], data.soft)
    loop_soft = torch.as_tensor(model.tensors_["loop.soft"])
    torch.testing.assert_close(total + loop_soft, torch.ones(graph.num_nodes))

    loaded = GDAMN.load(model.save(tmp_path / "m"))
    bare = loaded.refine()
    assert torch.equal(bare.edge_weight, data.edge_weight)
    assert torch.equal(bare.edge_index, data.edge_index)
    assert bare.num_nodes == graph.num_nodes
    assert torch.equal(loaded.refine(graph).x, data.x)


def test_gdamn_predicts_by_p_on_request(graph, fitted):
    p = fitted["gdamn"].predict_proba("p")
    assert p.shape == (graph.num_nodes, graph.num_classes)
    assert not np.array_equal(p, fitted["gdamn"].predict_proba("q"))
    with pytest.raises(GraphError, match="no network 'r'"):
        fitted["gdamn"].predict_proba("r")


def test_preset_with_changes():
    model = GDAMN.preset("cora", seed=4, hidden=3)
    assert model.settings.normalize == "row"
    assert (model.settings.seed, model.settings.hidden) == (4, 3)


def test_gdamn_learns_on_a_noisy_graph_and_finds_the_noise():
    """40 of 100 edges join two classes: the classes are learned, and the hard attention tells the edges apart."""
    graph = load("sbm", num_nodes=600, num_classes=4, degree=12, homophily=0.6, feature_signal=2.0)
    model = GDAMN(epochs=60, pretrain_epochs=60, threads=1).fit(graph)
    assert model.score("test") > 0.8  # chance: 0.25
    inside = graph.labels[graph.rows] == graph.labels[graph.indices]
    assert roc_auc_score(inside, model.edge_weights_["hard"]) > 0.8
    assert graph.inter_class_share(model.edge_weights_["stable"]) < graph.inter_class_share() - 0.02
