"""Every method by its name on the command line; the classes are imported only when a method is made."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..model.presets import preset
from ..model.settings import Setting, as_seed

if TYPE_CHECKING:
    from .base import NodeClassifier


@dataclass(frozen=True)
class Method:
    """How a method is called, what it is, and how it is made.

    Attributes:
        where: module and class.
        fixed: settings that make it this method, on top of the data set's preset.
        presets: the method whose presets it takes (``presets.toml``); its own where empty.
    """

    name: str
    summary: str
    reference: str
    where: tuple[str, str]
    fixed: dict[str, Setting] = field(default_factory=dict)
    presets: str = ""

    def settings(self, dataset: str | None) -> dict[str, Setting]:
        """The method's settings for a data set."""
        return {**preset(dataset, self.presets or self.name), **self.fixed}

    def estimator(self) -> type[NodeClassifier]:
        """The estimator's class."""
        module, name = self.where
        estimator_class: type[NodeClassifier] = getattr(importlib.import_module(module, __package__), name)
        return estimator_class


_PAPER = "Chen et al., Graph Decoupling Attention Markov Networks, TNNLS 2022"
_GDAMN = ("gdamn.estimators.gdamn", "GDAMN")
_GMNN: dict[str, Setting] = {
    "start": "graph",
    "judge_edges": False,
    "hard": False,
    "soft": False,
    "p_input": "labels",
    "dropout_labels": 0.5,  # all that p reads: a preset may drop more where p reads features, too
    "beta": 0.0,
    "beta_pretrain": 0.0,
    "lambda_": 1.0,
    "em_iterations": 1,
    "pseudo_labels": "sample",
    "pseudo_temperature": 0.1,
    "dropout_attention": 0.0,
}

_ALL = [
    Method("gdamn", "hard attention on labels, soft attention on features, EM of two networks", _PAPER, _GDAMN),
    Method(
        "gdamn-plus",
        "GDAMN beyond the paper: stronger propagators, consistency between noisy passes",
        "docs/method.md, after Chen et al. 2022 and Feng et al. 2020",
        ("gdamn.estimators.gdamn", "GDAMNPlus"),
    ),
    Method(
        "gdamn-no-ent",
        "GDAMN without the mutual-information term",
        _PAPER,
        _GDAMN,
        {"beta": 0.0, "beta_pretrain": 0.0},
        presets="gdamn",
    ),
    Method(
        "gdamn-no-hard",
        "GDAMN without hard attention: no edge is cut",
        _PAPER,
        _GDAMN,
        {"hard": False},
        presets="gdamn",
    ),
    Method(
        "gdamn-no-soft",
        "GDAMN without soft attention: kept edges count alike",
        _PAPER,
        _GDAMN,
        {"soft": False},
        presets="gdamn",
    ),
    Method(
        "gmnn",
        "EM of a label and a feature network on the plain graph",
        "Qu, Bengio & Tang, GMNN, ICML 2019",
        _GDAMN,
        _GMNN,
        presets="gdamn",
    ),
    Method(
        "gcn",
        "graph convolutions on the plain graph",
        "Kipf & Welling, Semi-supervised classification with GCNs, ICLR 2017",
        ("gdamn.baselines.gcn", "GCNClassifier"),
    ),
    Method("mlp", "features alone, no graph", "multilayer perceptron", ("gdamn.baselines.mlp", "MLPClassifier")),
    Method(
        "logreg",
        "features alone, one linear layer",
        "logistic regression",
        ("gdamn.baselines.logreg", "LogRegClassifier"),
    ),
    Method(
        "lpa",
        "labels spread over the edges, no features",
        "Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian fields, ICML 2003",
        ("gdamn.baselines.lpa", "LPAClassifier"),
    ),
    Method(
        "gat",
        "attention over neighbours",
        "Veličković et al., Graph attention networks, ICLR 2018",
        ("gdamn.baselines.gat", "GATClassifier"),
    ),
    Method(
        "sgc",
        "a linear model of smoothed features",
        "Wu et al., Simplifying graph convolutional networks, ICML 2019",
        ("gdamn.baselines.sgc", "SGCClassifier"),
    ),
    Method(
        "appnp",
        "predict, then propagate by personalised PageRank",
        "Klicpera, Bojchevski & Günnemann, Predict then propagate, ICLR 2019",
        ("gdamn.baselines.appnp", "APPNPClassifier"),
    ),
    Method(
        "graphsage",
        "a node and the mean of its neighbours, each with its weights",
        "Hamilton, Ying & Leskovec, Inductive representation learning on large graphs, NeurIPS 2017",
        ("gdamn.baselines.graphsage", "SAGEClassifier"),
    ),
    Method(
        "dagnn",
        "predict, propagate, and weigh the depths node by node",
        "Liu, Gao & Ji, Towards deeper graph neural networks, KDD 2020",
        ("gdamn.baselines.dagnn", "DAGNNClassifier"),
    ),
    Method(
        "gcnii",
        "deep convolutions that keep a share of the first layer",
        "Chen et al., Simple and deep graph convolutional networks, ICML 2020",
        ("gdamn.baselines.gcnii", "GCNIIClassifier"),
    ),
    Method(
        "gcn-cs",
        "a GCN whose answers are corrected and smoothed",
        "Huang et al., Combining label propagation and simple models, ICLR 2021",
        ("gdamn.baselines.gcn_cs", "GCNCSClassifier"),
    ),
    Method(
        "gcn-lpa",
        "a GCN over free edge weights that label propagation regularises",
        "Wang & Leskovec, Unifying GCNs and label propagation, 2020",
        ("gdamn.baselines.gcn_lpa", "GCNLPAClassifier"),
    ),
    Method(
        "grand",
        "random propagation of whole nodes, and consistency of the predictions",
        "Feng et al., Graph random neural networks, NeurIPS 2020",
        ("gdamn.baselines.grand", "GRANDClassifier"),
    ),
    Method(
        "grand-plus",
        "random propagation by rows of a PageRank matrix, in mini-batches",
        "Feng et al., GRAND+: scalable graph random neural networks, WWW 2022",
        ("gdamn.baselines.grand_plus", "GRANDPlusClassifier"),
    ),
    Method(
        "gcn-jaccard",
        "a GCN without the edges whose ends have next to no feature in common",
        "Wu et al., Adversarial examples for graph data: deep insights into attack and defense, IJCAI 2019",
        ("gdamn.baselines.gcn_jaccard", "GCNJaccardClassifier"),
    ),
    Method(
        "gcn-svd",
        "a GCN on the nearest graph of low rank",
        "Entezari et al., All you need is low (rank): defending against adversarial attacks on graphs, WSDM 2020",
        ("gdamn.baselines.gcn_svd", "GCNSVDClassifier"),
    ),
    Method(
        "elastic-gnn",
        "predict, then smooth with room for jumps between neighbours",
        "Liu et al., Elastic graph neural networks, ICML 2021",
        ("gdamn.baselines.elastic_gnn", "ElasticGNNClassifier"),
    ),
    Method(
        "gnnguard",
        "a GCN whose layers prune and weigh edges by the likeness of their ends",
        "Zhang & Zitnik, GNNGuard: defending graph neural networks against adversarial attacks, NeurIPS 2020",
        ("gdamn.baselines.gnnguard", "GNNGuardClassifier"),
    ),
    Method(
        "simp-gcn",
        "the graph and a graph of similar features, mixed node by node",
        "Jin et al., Node similarity preserving graph convolutional networks, WSDM 2021",
        ("gdamn.baselines.simp_gcn", "SimPGCNClassifier"),
    ),
    Method(
        "pro-gnn",
        "a GCN and its graph, learned in turn: near the given one, sparse, of low rank",
        "Jin et al., Graph structure learning for robust graph neural networks, KDD 2020",
        ("gdamn.baselines.pro_gnn", "ProGNNClassifier"),
    ),
    Method(
        "rs-gnn",
        "a GCN on the edges of a link predictor that learns from the given ones",
        "Dai et al., Towards robust graph neural networks for noisy graphs with sparse labels, WSDM 2022",
        ("gdamn.baselines.rs_gnn", "RSGNNClassifier"),
    ),
    Method(
        "stable",
        "a GCN on edges that representations without labels have pruned and added",
        "Li et al., Reliable representations make a stronger defender, KDD 2022",
        ("gdamn.baselines.stable", "StableClassifier"),
    ),
    Method(
        "gmnn-gat",
        "GMNN whose label network is a GAT; propagator=gat makes the feature network one, too",
        "a baseline of Chen et al. 2022 after Qu, Bengio & Tang, GMNN, ICML 2019",
        _GDAMN,
        {**_GMNN, "p_propagator": "gat", "dropout_attention": 0.2},
        presets="gdamn",
    ),
    Method(
        "cs-gnn",
        "attention by what a neighbour adds, and a cut of the least of it",
        "Hou et al., Measuring and improving the use of graph information in GNNs, ICLR 2020",
        ("gdamn.baselines.cs_gnn", "CSGNNClassifier"),
    ),
    Method(
        "deepergcn",
        "many layers, residual, neighbours weighed by a softmax of each channel",
        "Li et al., DeeperGCN: all you need to train deeper GCNs, 2020",
        ("gdamn.baselines.deepergcn", "DeeperGCNClassifier"),
    ),
    Method(
        "alagcn",
        "graph convolutions that each node ends by itself",
        "Xie et al., When do GNNs work: understanding and improving neighborhood aggregation, IJCAI 2020",
        ("gdamn.baselines.alagcn", "ALaGCNClassifier"),
    ),
    Method(
        "alagat",
        "attention that each node ends by itself, head by head",
        "Xie et al., When do GNNs work: understanding and improving neighborhood aggregation, IJCAI 2020",
        ("gdamn.baselines.alagat", "ALaGATClassifier"),
    ),
]

METHODS: dict[str, Method] = {m.name: m for m in _ALL}


def method(name: str) -> Method:
    """The method called so, or an error with the names that are close."""
    if name not in METHODS:
        close = difflib.get_close_matches(name, METHODS, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(METHODS)}."
        raise ConfigError(f"There is no method '{name}'; {hint}")
    return METHODS[name]


def make(
    name: str, dataset: str | None = None, *, seed: int = 0, overrides: dict[str, Any] | None = None
) -> NodeClassifier:
    """A fresh estimator with the method's settings for the data set, and these on top."""
    chosen = method(name)
    return chosen.estimator()(**{**chosen.settings(dataset), "seed": seed, **as_seed(overrides or {})})
