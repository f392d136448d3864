"""NodeClassifier: the one shape of every estimator, GDAMN and baselines alike.

scikit-learn's conventions (conventions.py): settings in ``__init__``, ``get_params`` and ``set_params``, ``fit``
returns self, what was learned has a trailing underscore. A fitted estimator answers about the nodes of the graph it was
fitted on, and about new ones where its method learns a function of features (inductive.py).
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, GraphError, TrainingError
from ..fit.callbacks import listeners
from ..fit.checkpoint import seconds_before
from ..graph.graph import Graph
from ..graph.node_ids import check_ids
from ..kernels.threads import one_at_a_time
from ..model.settings import as_seed
from .chosen_epoch import SELECTION, selection_of
from .conventions import PARTED, Conventions, show_settings
from .graph_input import as_graph, check_weights, decisions_record, given_graph, plain_split
from .model_file import FORMAT, read_model
from .predictions import likeliest
from .typed import E, Estimator, P, arguments_of

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from typing_extensions import Self

    from ..fit.domains.ranks.group import Group
    from ..fit.domains.ranks.parts import PartsFit
    from ..fit.training import Progress
    from ..graph.parts import PartitionedGraph
    from ..model.temperature import Temperature
    from .inductive import Answer
    from .suspicious_labels import JudgedLabels

__all__ = ["FORMAT", "SELECTION", "NodeClassifier", "arguments_of", "as_graph", "read_model"]


class NodeClassifier(Conventions):
    """Base of all estimators; a subclass sets ``method``, ``settings_class`` and ``_fit``.

    Every setting is an attribute, too: ``model.hidden``. Other attributes of its own a subclass declares in its body.

    Attributes (after fit):
        settings_: the settings of the fit; ``set_params`` changes ``settings``, which the next fit takes.
        classes_: [C] the classes as ``predict`` names them; n_features_in_: features of a node.
        probabilities_: [N, C] float32.
        history_: one plain record per epoch.
        best_epoch_: the record of the epoch that was chosen.
        edge_weights_: ``hard``, ``soft`` and ``stable`` [E] in the order of the graph's CSR, or None.
        seconds_, epochs_: time and number of epochs of the fit; timings_: seconds of each epoch.
        protocol_: split, selection rule and seed, and what callbacks ended early, as plain data.
        tensors_: everything that ``save`` keeps, by name; state_: those of the arrays that belong to the graph, by
            their meaning (model/fitted_state.py).
        graph_: the graph of the fit; None in a model that was loaded, whose kept_graph_ is what its file has of it.
    """

    weighs_labels = False
    """Whether the method can weigh known labels (``sample_weight``)."""

    graph_: Graph | None
    repeated_on_: Graph
    kept_graph_: Graph | None = None  # these three come from model files
    split_codes_: NDArray[np.uint8] | None = None
    temperature_: Temperature | None = None

    def __init_subclass__(cls) -> None:
        """Show the settings in the signature and the docstring, for help() and editors."""
        show_settings(cls)

    if TYPE_CHECKING:  # type checkers see the fields of settings_class as arguments: GDAMN(hiden=3) is an error

        def __new__(cls: type[Estimator[P, E]], *args: P.args, **settings: P.kwargs) -> E:
            """Settings by name."""

        def set_params(self: Estimator[P, E], *args: P.args, **settings: P.kwargs) -> E:
            """Change settings; what was learned stays until the next fit."""
    else:

        def __init__(self, **settings: Any) -> None:
            self.settings = self.settings_class.make(**settings)

        def set_params(self, **settings: Any) -> Self:
            """Change settings; what was learned stays until the next fit."""
            self.settings = self.settings_class.make(**{**self.get_params(), **as_seed(settings)})
            return self

    def fit(
        self,
        graph: Graph | Data,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        decisions: Any = None,
        callbacks: Iterable[Any] = (),
        verbose: int = 0,
        progress: Progress | None = None,
        group: Any = None,
    ) -> Self:
        """Learn from a graph: its structure, features, training labels, and validation labels to choose the epoch.

        Args:
            graph: a Graph or a PyTorch Geometric Data.
            y: [N] labels in place of the graph's own, by name or number; None, nan or -1 where unknown. Every labelled
                node trains where the graph has no split.
            sample_weight: [N] how much each node's label counts in the loss; only training nodes are read.
            decisions: what a person said of edges and labels: a path, a data frame or Decisions (docs/review.md).
            callbacks: who hears of phases and epochs, and may end the fit (gdamn.fit.callbacks).
            verbose: 1 writes a line per phase to stderr, 2 one per epoch.
            progress: called as ``progress(phase, epoch, epochs, record)`` after every epoch.
            group: ``torch.distributed.group.WORLD`` to train one model with all its ranks (docs/scale.md). Without
                it this process trains alone, also where a process group is initialised.

        One fit at a time runs in a process; in another thread it waits for the first.
        """
        told = listeners(callbacks, verbose, progress)
        if group is not None and callbacks:
            raise ConfigError("Callbacks are for one process; several ranks take progress and verbose.")
        with one_at_a_time():
            g = given_graph(graph, y, sample_weight, decisions)
            check_weights(g, self.method, self.weighs_labels)
            check_ids(g.node_ids)
            start, others = time.perf_counter(), seconds_before()
            self._forget()
            self.settings_, self.graph_ = self.settings, g
            self.tensors_, self.best_epoch_ = {}, {}
            self.history_, self.timings_ = [], []
            if told is not None:
                told.fit_begins()
            if group is None:
                self._fit(g, told)
            else:
                self._fit_together(g, told, group)
            if told is not None:
                told.fit_ends()
            self._check_shape(g)
            self.epochs_ = len(self.history_)
            self.seconds_ = time.perf_counter() - start + seconds_before() - others
            self.class_names_, self.node_ids_, self.num_features_ = g.class_names, g.node_ids, g.num_features
            self.protocol_ = self._protocol(g, [] if told is None else told.ended)
        return self

    def _protocol(self, graph: Graph, ended: list[str]) -> dict[str, Any]:
        """How the fit was made, beside its settings; ``ended`` is what callbacks ended early."""
        return {
            "split": plain_split(graph.meta.get("split", "given masks")),
            "selection": selection_of(self.settings_, self.best_epoch_, bool(graph.val_mask.any())),
            "seed": self.settings_.seed,
            **({"ended_by_callbacks": ended} if ended else {}),
            **({"sample_weight": "given"} if graph.label_weights is not None else {}),
            **decisions_record(graph, self._constrains()),
        }

    def fit_predict(self, graph: Graph | Data, y: ArrayLike | None = None, **how: Any) -> NDArray[Any]:
        """``fit``, with its arguments, then ``predict``: [N] the class of every node."""
        return self.fit(graph, y, **how).predict()

    def _fit(self, graph: Graph, progress: Progress | None) -> None:
        """Train, then set ``tensors_`` (with ``probabilities``), ``history_`` and ``best_epoch_``."""
        raise AssertionError(f"{type(self).__name__} must define _fit")

    def _fit_together(self, graph: Graph, progress: Progress | None, group: Any) -> None:
        """The same by all ranks of a group, for the methods that can."""
        raise ConfigError(f"Method '{self.method}' trains in one process; several ranks train {PARTED}.")

    def fit_parts(
        self, graph: PartitionedGraph, progress: Progress | None, group: Group | None
    ) -> AbstractContextManager[PartsFit]:
        """Learn from a partitioned graph, with the other ranks of a group; within the block this rank has its part."""
        raise ConfigError(f"Method '{self.method}' takes no partitioned graph; {PARTED} do.")

    def _check_shape(self, graph: Graph) -> None:
        """Refuse a result for another graph: a checkpoint may be one that somebody made up."""
        probabilities, shape = self.state_.probabilities, (graph.num_nodes, graph.num_classes)
        if probabilities is not None and probabilities.shape != shape:
            self._forget()
            raise TrainingError(
                f"The fit ended with probabilities of shape {probabilities.shape}, not {shape}; remove its "
                "checkpoints, and start it anew."
            )

    def _forget(self) -> None:
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)

    def as_trained(self) -> Self:
        """A copy whose ``settings`` are those of the fit, except where to compute: device and threads are today's."""
        self._fitted()
        trained = copy.copy(self)
        trained.settings = dataclasses.replace(
            self.settings_, device=self.settings.device, threads=self.settings.threads
        )
        return trained

    def predict(
        self,
        graph: Graph | Data | None = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        fitted_on: Graph | None = None,
        names: bool = True,
    ) -> NDArray[Any]:
        """[N] the class of every node, as ``classes_`` names it.

        Args:
            graph: another graph than that of the fit, all of whose nodes are asked about. A node of the fit is known
                again by its id and features.
            nodes, edges: new nodes alone, and their edges to one another and to nodes of the fit: tables or files where
                the graph of the fit was made of some, else features [M, F] of nodes that are numbered N, N + 1, … and
                edges [2, E] (:meth:`gdamn.Graph.extended`).
            fitted_on: the graph of the fit, where a model file was saved without it.
            names: False gives the numbers of the classes, 0 to C - 1 (int64), in place of their names.
        """
        wanted = {"graph": graph, "nodes": nodes, "edges": edges, "fitted_on": fitted_on}
        numbers = likeliest(self.predict_proba(**{key: value for key, value in wanted.items() if value is not None}))
        return self.classes_[numbers] if names else numbers

    def predict_proba(
        self,
        graph: Graph | Data | None = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        fitted_on: Graph | None = None,
    ) -> NDArray[np.float32]:
        """[N, C] class probabilities of every node, raw as the network gave them; the arguments are ``predict``'s.

        What ``predict_frame``, commands and files call confidence is calibrated on validation nodes.
        """
        if graph is None and nodes is None and edges is None:
            return self.probabilities_.copy()
        from .inductive import asked

        return asked(self, graph, nodes, edges, fitted_on)[1].astype(np.float32)

    def predict_frame(
        self,
        graph: Graph | Data | None = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        fitted_on: Graph | None = None,
    ) -> Any:
        """A table of the nodes: ``node``, ``predicted``, ``confidence`` (calibrated) and ``split``.

        The split is the node's part in the fit, ``new`` for one that it didn't know. A pandas data frame where pandas
        is installed, else an Arrow table. The arguments are those of ``predict``.
        """
        from .frame import frame, frame_columns

        return frame(frame_columns(self, graph, nodes, edges, fitted_on))

    def _answer(self, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
        """What the method says of another graph (inductive.py)."""
        raise GraphError(f"The method '{self.method}' learns no function of features, so it can't predict new nodes.")

    def score(self, mask: str = "test") -> float:
        """Accuracy on a node set: train, val, test, labelled or all (nodes without a label don't count)."""
        if self.graph_ is None:
            raise GraphError("A loaded model doesn't hold the graph's labels; call score_on(graph) with the graph.")
        return self.score_on(self.graph_, mask)

    def score_on(self, graph: Graph | Data, mask: str = "test") -> float:
        """Accuracy on a node set of the graph that the model was fitted on."""
        g = as_graph(graph)
        self._check_nodes(g)
        chosen = g.mask(mask) & (g.labels >= 0)
        if not chosen.any():
            raise GraphError(f"Graph '{g.name}' has no labelled node in the {mask} set, so there is nothing to score.")
        return float((self.predict(names=False)[chosen] == g.labels[chosen]).mean())

    def suspicious_labels(
        self, count: int | None = None, split: str = "train", graph: Graph | Data | None = None
    ) -> dict[str, NDArray[Any]]:
        """The labels that cross-fitted predictions contradict, the most suspicious first, as equally long columns.

        Args:
            count: at most so many; None: all of them.
            split: labels of the training nodes (train) or of the validation nodes (val).
            graph: the graph of the fit, where the model was loaded.
        """
        return self.judged_labels(split, graph).table(count)

    def judged_labels(self, split: str = "train", graph: Graph | Data | None = None) -> JudgedLabels:
        """What models that have not seen a label say of it, for every label (suspicious_labels.py)."""
        from .suspicious_labels import labels_of_fit

        return labels_of_fit(self.graph_ if graph is None else as_graph(graph), split, self.settings_)

    def suggest(
        self, count: int, graph: Graph | Data | None = None, *, rule: str = "diverse"
    ) -> dict[str, NDArray[Any]]:
        """A table of nodes to label next, with reasons (gdamn.estimators.suggestions.suggest).

        Args:
            count: how many nodes.
            graph: the graph of the fit, for a model that was loaded.
            rule: ``diverse``, ``coverage`` or ``uncertainty``.
        """
        from .predictions import of_fit
        from .suggestions import suggest

        self._fitted()
        g = as_graph(graph) if graph is not None else self.graph_
        if g is None:
            raise GraphError("A loaded model doesn't hold its graph; call suggest(count, graph) with the graph.")
        self._check_nodes(g)
        return suggest(of_fit(self, g), count, rule)

    def _check_nodes(self, graph: Graph) -> None:
        """Refuse a graph of another number of nodes."""
        known = len(self.probabilities_)
        if graph.num_nodes != known:
            raise GraphError(f"The model knows {known} nodes, but the graph has {graph.num_nodes}.")

    def save(self, path: str | Path, *, graph: bool = False) -> Path:
        """Write one file of safetensors with JSON in its header; no pickle.

        Args:
            graph: keep what new nodes need of the graph of the fit: its edges and features, and how its tables were
                read, but no label. The logger ``gdamn`` says how many bytes that takes (level INFO).
        """
        from .saving import save

        self._fitted()
        return save(self, Path(path), graph)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that ``save`` wrote."""
        from .saving import load

        return load(cls, Path(path))

    def _repr_html_(self) -> str:
        from .html import model_html

        return model_html(self)
