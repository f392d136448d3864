"""Every setting of GDAMN: its type, default, range and meaning, in this one place.

Names follow the paper where it has one. Each silence of the paper is a setting here, so that measurement decides;
docs/method.md names the choices and what was measured.
"""

from __future__ import annotations

import dataclasses
import difflib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .class_weights import as_text
from .metrics import METRICS
from .removed_settings import ever_removed, refuse_removed, without_removed
from .setting import checked, kind_text, kinds_of
from .setting import setting as setting

if TYPE_CHECKING:
    from typing_extensions import Self

Setting = int | float | str | bool


@dataclass(frozen=True, kw_only=True)
class BaseSettings:
    """Settings that every estimator has."""

    seed: int = setting(0, "Seed of the initial weights and of all noise; random_state means the same.", low=0)
    device: str = setting(
        "auto", "Where to compute: cpu (auto is the same), or a device of torch such as cuda:0; GPUs are untested."
    )
    threads: int = setting(0, "Threads of the kernels; 0 takes all cores. The result doesn't depend on it.", low=0)
    metric: str = setting(
        "accuracy",
        "The validation score that chooses the epoch; one other than accuracy does so where selection is loss, too.",
        METRICS,
    )
    if TYPE_CHECKING:
        random_state: int = 0  # an argument of estimators
    else:

        @property
        def random_state(self) -> int:
            """The seed, by scikit-learn's name."""
            return self.seed

    @classmethod
    def names(cls) -> list[str]:
        """All setting names."""
        return [f.name for f in dataclasses.fields(cls)]

    @classmethod
    def documentation(cls) -> str:
        """Type, default and meaning of every setting, as the ``Args`` of a docstring."""
        lines: list[str] = []
        for spec in dataclasses.fields(cls):
            text = f"{spec.name} ({kind_text(spec)}, default {spec.default!r}): {spec.metadata.get('doc', '')}"
            lines += textwrap.wrap(text, 112, subsequent_indent="    ", break_on_hyphens=False)
        return "Args:\n" + textwrap.indent("\n".join(lines), "    ")

    @classmethod
    def make(cls, **values: Any) -> Self:
        """The same as the constructor, but ``random_state`` may stand for ``seed``.

        For files of older versions a removed setting may have its old default.
        """
        return cls(**without_removed(cls, as_seed(values)))

    def __new__(cls, *_: Any, **values: Any) -> Self:
        """Refuse names that are no setting; ``__init__`` would raise a TypeError without a hint."""
        names = cls.names()
        for name in values:
            if name not in names:
                refuse_removed(cls, name)
                close = difflib.get_close_matches(name, names, n=3)
                hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}."
                raise ConfigError(f"There is no setting '{name}'; {hint}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check every value that is not the default; fields that :func:`setting` didn't make are not checked."""
        for spec in dataclasses.fields(self):
            value = getattr(self, spec.name)
            if spec.metadata and value is not spec.default:
                kinds = kinds_of(type(self))  # type: ignore[arg-type]  # mypy misses that a class has a hash
                object.__setattr__(self, spec.name, checked(spec, value, kinds[spec.name]))


def as_seed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, with ``random_state``, as scikit-learn calls it, as ``seed``."""
    named = dict(values)
    if "random_state" in named:
        seed = named.pop("random_state")
        if named.setdefault("seed", seed) != seed:
            raise ConfigError(f"seed={named['seed']!r} and random_state={seed!r} are one setting; give one of them.")
    return named


SELECTIONS = ("accuracy", "loss", "smoothed", "last")
"""The rules that choose an epoch (estimators/chosen_epoch.py)."""

P_PROPAGATORS = ("gcn", "gat", "sage", "appnp", "gcnii", "dagnn", "random")
"""The networks that p can be (propagators/)."""

PROPAGATORS = (*P_PROPAGATORS, "pagerank")
"""The networks that q can be: one more, which learns in mini-batches and can't learn weights of edges."""


@dataclass(frozen=True, kw_only=True)
class TrainedSettings(BaseSettings):
    """Settings of every estimator that learns the known labels by gradient."""

    class_weight: str | Mapping[str, float] = setting(
        "none",
        "How much the known labels of a class count: all alike (none), each class alike (balanced), or by class name, "
        "spam=3,ham=1; in Python also {'spam': 3, 'ham': 1}. A class that isn't named counts 1.",
        parse=as_text,
    )


@dataclass(frozen=True, kw_only=True)
class Settings(TrainedSettings):
    """The settings of GDAMN. Equation names are those of docs/method.md.

    The defaults are for a graph that nobody has tuned for (docs/evidence/accuracy.md); the presets of the paper's data
    sets have the paper's settings where it states them.
    """

    propagator: str = setting("gcn", "The network of q; the paper's is gcn.", PROPAGATORS)
    p_propagator: str = setting("gcn", "The network of p; the paper's is gcn.", P_PROPAGATORS)
    hidden: int = setting(64, "Hidden units of p and q.", low=1)
    layers: int = setting(2, "Layers of p and q.", low=1, high=64)
    projection: int = setting(64, "m, the size of the projection that the soft attention compares.", low=1)
    batch_norm: bool = setting(False, "Batch normalisation between the layers (the paper's 3-layer networks).")
    heads: int = setting(8, "Attention heads of the propagator gat.", low=1)
    steps: int = setting(8, "Propagation steps of appnp, dagnn, random and pagerank; convolutions of gcnii.", low=0)
    teleport: float = setting(0.1, "Share of the start in every step of appnp, gcnii and pagerank.", low=0, high=1)
    drop_node: float = setting(
        0.5, "Probability that random leaves out a node's features, or pagerank an entry of a row.", low=0, high=0.99
    )
    top_k: int = setting(16, "Entries that pagerank keeps in each row of its matrix.", low=1)
    push_threshold: float = setting(
        1e-4, "pagerank doesn't walk on from a node where at most this much per neighbour would come of it.", low=0
    )
    batches: int = setting(10, "Mini-batches, each a step of Adam, in an epoch of q where it is pagerank.", low=1)
    labelled_batch: int = setting(5, "Labelled nodes in each of them.", low=1)
    unlabelled_batch: int = setting(100, "Other nodes in each of them.", low=1)
    clip: float = setting(0.0, "Length that the gradients of these steps are cut to; 0: as they are.", low=0)
    init: str = setting("xavier", "Start of the weights.", ("xavier", "kaiming"))
    normalize: str = setting(
        "auto",
        "Features: each row divided by its sum (row), the same of what isn't 0 (binary) or of words that weigh the "
        "more the fewer nodes have them (idf), columns standardised (standard), as they are (none); auto: standard "
        "where they are dense measurements as they were taken, else row where none is negative, else none.",
        ("auto", "row", "binary", "idf", "standard", "none"),
    )

    start: str = setting(
        "auto",
        "Pre-train q on the graph (the paper), on the graph whose edges weigh as their ends' features agree (similar), "
        "without edges (features), on the graph whose edges weigh as belief propagation trusts them (evidence), "
        "or on the graph with the opinion of cross-fitted regressions on multi-hop features (multihop). auto: multihop "
        "without validation nodes; else each of the others, and EM goes on with the one of the highest validation "
        "accuracy.",
        ("graph", "similar", "features", "evidence", "multihop", "auto"),
    )
    judge_edges: bool = setting(
        True,
        "Cut edges that look as if they were drawn by lot, and judge the others by belief propagation: start=auto "
        "tries the graph that it trusts, too, and it lists suspicious edges.",
    )
    candidates: str = setting(
        "all", "Epochs that validation may choose: those of EM, or those of pre-training too (all).", ("em", "all")
    )
    selection: str = setting(
        "accuracy",
        "The epoch of the highest validation accuracy (the paper's rule), of the lowest validation loss, or where the "
        "mean validation accuracy of the last 20 epochs is highest (smoothed), or the last one, where validation nodes "
        "are too few or too unlike the graph to choose (last).",
        SELECTIONS,
    )
    label_noise: str = setting(
        "none",
        "Known labels are right (none), or weigh less where cross-fitted predictions contradict them, if these show "
        "that some are wrong (auto).",
        ("none", "auto"),
    )
    guard: str = setting(
        "auto",
        "Undo an EM iteration that collapses (fit/guard.py): on, off; auto: on without validation nodes.",
        ("auto", "on", "off"),
    )
    isolated: str = setting(
        "auto",
        "Unlabelled nodes without edges count in the means of the losses (count) or not (leave); auto: leave where "
        "start is auto or multihop.",
        ("auto", "count", "leave"),
    )
    budget: float = setting(
        0.0, "Seconds that the fit may take; epochs that have no time left are left out. 0: as many as it takes.", low=0
    )
    pretrain_epochs: int = setting(200, "Epochs of q before EM.", low=0)
    epochs: int = setting(200, "Epochs of p in each M-step and of q in each E-step.", low=1)
    em_iterations: int = setting(2, "EM iterations, at most.", low=0)
    tolerance: float = setting(
        0.0, "Stop EM when an iteration changes the label of at most this share of nodes; 0 never stops early.", low=0
    )
    learning_rate: float = setting(0.01, "Adam's learning rate.", low=0)
    weight_decay: float = setting(5e-4, "L2 on the weight matrices until the first EM iteration ends.", low=0)
    weight_decay_later: float = setting(1e-4, "The same after the first EM iteration.", low=0)
    decay_labels: int = setting(
        1000, "Training labels up to which both count in full; with more they fall as 1/labels. 0: never.", low=0
    )
    decay: str = setting(
        "first",
        "What decays: all weight matrices, only those of the first layer, or every parameter, biases and norms too.",
        ("all", "first", "every"),
    )
    average: float = setting(
        0.0,
        "q predicts with a moving average of its weights that keeps this share per epoch; 0: the weights.",
        low=0,
        high=0.9999,
    )
    restart_q: bool = setting(False, "Start q afresh in each E-step instead of going on with its weights.")

    dropout_input: float = setting(0.5, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.5, "Dropout of hidden layers.", low=0, high=0.99)
    dropout_labels: float = setting(
        0.5, "Dropout of the label input of p, lest it copy through the self-loop.", low=0, high=0.99
    )
    dropout_attention: float = setting(0.2, "Dropout of aggregation weights in training.", low=0, high=0.99)

    beta: float | str = setting(
        0.2,
        "β, weight of the entropy term; 'auto' takes the best of 0.2, 0.4, 0.6, 0.8, 1 on validation.",
        ("auto",),
        low=0,
    )
    beta_pretrain: float = setting(-1.0, "β while q is pre-trained; -1: the same as beta.", low=-1)
    beta_e_step: float = setting(0.0, "β in the E-step; the paper has none.", low=0)
    diversity: float = setting(
        0.0,
        "Weight of the entropy of q's mean prediction in β's term, which keeps every class in use: 1 makes the term "
        "the mutual information of node and label; 0 is the paper's.",
        low=0,
    )
    draws: int = setting(1, "Noisy passes of q in each epoch, which the consistency compares.", low=1)
    consistency: float = setting(1.0, "Weight of the consistency between q's passes, where draws > 1.", low=0)
    consistency_temperature: float = setting(0.5, "Sharpening of the passes' mean.", low=1e-3)
    consistency_confidence: float = setting(
        0.0, "Nodes whose mean prediction is less sure than this stay out of the consistency.", low=0, high=1
    )
    consistency_warmup: int = setting(0, "Epochs of pre-training over which the consistency's weight rises.", low=0)
    lambda_: float = setting(0.8, "λ, weight of the unlabelled nodes in the E-step.", low=0)
    e_step: str = setting(
        "means", "E-step: mean over L plus λ times mean over U, or their sums over N.", ("means", "sums")
    )
    agreement: float = setting(
        0.0,
        "Above 0, the E-step asks p only of nodes where p and q name the same class, each this sure of it.",
        low=0,
        high=1,
    )
    kl_weight: float = setting(1.0, "Weight of the KL between hard attention and prior.", low=0)
    kl_per: str = setting("node", "The KL as a mean over edges, or as a sum divided by N.", ("edge", "node"))
    prior_clamp: float = setting(1e-4, "The prior cos(ŷi, ŷj) is kept this far from 0 and 1.", low=1e-7, high=0.49)

    hard: bool = setting(True, "Hard attention on labels; False is the paper's 'w/o Hard'.")
    soft: bool = setting(True, "Soft attention on features; False is the paper's 'w/o Soft'.")
    hard_temperature: float = setting(0.5, "Temperature of the binary concrete sample.", low=1e-3)
    attention_temperature: float = setting(
        1.0, "Temperature of Ŷ where hard attention and prior read it; p reads and predicts Ŷ itself.", low=1e-3
    )
    symmetric_q: bool = setting(True, "Use (Q + Qᵀ)/2 in place of Q.")
    pseudo_labels: str = setting(
        "soft", "Ŷ of unlabelled nodes: q's distribution, its arg-max, or a draw.", ("soft", "argmax", "sample")
    )
    pseudo_temperature: float = setting(1.0, "Temperature of q's distribution when Ŷ is made from it.", low=1e-3)
    annotate_epochs: int = setting(50, "q's distribution is its mean over this many last epochs of a phase.", low=1)
    p_input: str = setting("both", "What p sees: labels and features [Ŷ‖X], or labels only (GMNN).", ("both", "labels"))
    samples: int = setting(5, "S, sampled structures for p's posterior.", low=1)
    reweight_samples: int = setting(
        0, "Structures averaged to re-weight q's graph in place of A_stable; 0 uses A_stable.", low=0
    )
    reweight: str = setting(
        "stable", "q's graph in the E-step: A_stable, or the hard attention alone.", ("stable", "hard")
    )
    stable_norm: str = setting("sym", "Normalisation of that graph.", ("none", "row", "sym"))

    batch: str = setting(
        "auto",
        "What a step sees: the whole graph (full), the same with the least memory (fused), a part of it with its halo "
        "(partition), some nodes with sampled neighbours (neighbour); auto: the first of these that memory allows.",
        ("auto", "full", "fused", "partition", "neighbour"),
    )
    batch_nodes: int = setting(0, "Nodes of a batch that its losses count; 0: about two million entries.", low=0)
    halo: int = setting(1, "Hops of halo around a part; -1: as many as layers, which is exact.", low=-1)
    fanout: int = setting(10, "Neighbours sampled per node and hop where batch is neighbour.", low=1)
    accumulate: bool = setting(False, "One step of Adam per epoch, on the gradients of all batches.")
    partitioner: str = setting(
        "auto", "How parts are found: metis, stream, order of the nodes.", ("auto", "metis", "stream", "order")
    )
    memory: float = setting(0.0, "GB that auto may count on; 0: what is free.", low=0)


BEFORE: dict[str, Setting] = {
    "batch": "auto",
    "batch_nodes": 0,
    "halo": 1,
    "fanout": 10,
    "accumulate": False,
    "partitioner": "auto",
    "memory": 0.0,
    "metric": "accuracy",
    "class_weight": "none",
    "label_noise": "none",
    "guard": "auto",
    "isolated": "auto",
    "budget": 0.0,
    "attention_temperature": 1.0,
    "selection": "accuracy",
    "top_k": 16,
    "push_threshold": 1e-4,
    "batches": 10,
    "labelled_batch": 5,
    "unlabelled_batch": 100,
    "clip": 0.0,
    "agreement": 0.0,
    "judge_edges": False,
    "decay_labels": 0,
    "diversity": 0.0,
}
"""Settings that older results don't name, with the values that do what was done then."""


def completed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an older result, with what they did not name then and the new ones do, without removed ones."""
    named = {key: value for key, value in old.items() if key in new or not ever_removed(key, value)}
    return {**{key: value for key, value in BEFORE.items() if key in new}, **named}


BETAS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""The values that beta='auto' tries: the paper's."""
