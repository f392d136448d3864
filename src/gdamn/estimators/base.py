"""NodeClassifier: the one shape of every estimator, GDAMN and baselines alike.

scikit-learn's conventions: settings in ``__init__``, ``get_params`` and ``set_params``, ``fit`` returns self,
what was learned has a trailing underscore. A fitted estimator answers about the nodes of the graph it was fitted on.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, DataError, GdamnError, GraphError, NotFittedError, TrainingError
from ..fit.checkpoint import seconds_before
from ..graph.graph import Graph
from ..graph.node_ids import check_ids, id_array
from ..kernels.threads import one_at_a_time
from ..model.fitted_state import FittedState
from ..model.metrics import NAMES
from ..model.settings import BaseSettings
from ..text import safe
from .graph_input import as_graph, plain_split
from .model_file import FORMAT, read_model
from .typed import E, Estimator, P, arguments_of

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from typing_extensions import Self

    from ..fit.training import Progress, Record
    from .suspicious_labels import JudgedLabels

__all__ = ["FORMAT", "SELECTION", "NodeClassifier", "arguments_of", "as_graph", "read_model"]

SELECTION = {
    "accuracy": "highest validation accuracy; a tie goes to the lower validation loss, then the earlier epoch",
    "loss": "lowest validation loss; a tie goes to the higher validation accuracy, then the earlier epoch",
    "smoothed": "highest validation accuracy, as a mean over the last 20 epochs of the phase; a tie goes to the lower "
    "validation loss, then the earlier epoch",
}
"""What the setting ``selection`` means; methods without it choose by accuracy."""


def selection_rule(settings: BaseSettings) -> str:
    """How a fit chooses its epoch, in words; a ``metric`` other than accuracy takes the place of ``selection``."""
    rule = getattr(settings, "selection", "accuracy")
    if settings.metric == "accuracy":
        return SELECTION[rule]
    return SELECTION["smoothed" if rule == "smoothed" else "accuracy"].replace("accuracy", NAMES[settings.metric], 1)


class NodeClassifier:
    """Base of all estimators; a subclass sets ``method``, ``settings_class`` and ``_fit``.

    Attributes (after fit):
        settings_: the settings of the fit; ``set_params`` changes ``settings``, which the next fit takes.
        probabilities_: [N, C] float32.
        history_: one plain record per epoch.
        best_epoch_: the record of the epoch that was chosen.
        edge_weights_: ``hard``, ``soft`` and ``stable`` [E] in the order of the graph's CSR, or None.
        seconds_, epochs_: time and number of epochs of the fit; timings_: seconds of each epoch.
        protocol_: split, selection rule and seed, as plain data.
        tensors_: everything that ``save`` keeps, by name; state_: those of the arrays that belong to the graph, by
            their meaning (model/fitted_state.py).
    """

    method: ClassVar[str] = ""
    settings_class = BaseSettings  # without an annotation, so that a type checker takes a subclass's own

    def __init_subclass__(cls) -> None:
        """Show the settings in the signature and the docstring, for help() and editors."""
        parameters = [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
            for f in dataclasses.fields(cls.settings_class)
        ]
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        if cls.__doc__:
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{cls.settings_class.documentation()}\n"

    if TYPE_CHECKING:  # type checkers see the fields of settings_class as arguments: GDAMN(hiden=3) is an error
        settings: BaseSettings
        settings_: BaseSettings

        def __new__(cls: type[Estimator[P, E]], *args: P.args, **settings: P.kwargs) -> E:
            """Settings by name."""

        def set_params(self: Estimator[P, E], *args: P.args, **settings: P.kwargs) -> E:
            """Change settings; what was learned stays until the next fit."""
    else:

        def __init__(self, **settings: Any) -> None:
            self.settings = self.settings_class.make(**settings)

        def set_params(self, **settings: Any) -> Self:
            """Change settings; what was learned stays until the next fit."""
            self.settings = self.settings_class.make(**{**self.get_params(), **settings})
            return self

    def __repr__(self) -> str:
        changed = [
            f"{f.name}={getattr(self.settings, f.name)!r}"
            for f in dataclasses.fields(self.settings)
            if getattr(self.settings, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings as plain values."""
        return dataclasses.asdict(self.settings)

    def fit(self, graph: Graph | Data, progress: Progress | None = None, *, group: Any = None) -> Self:
        """Learn from a graph: its structure, features, training labels, and validation labels to choose the epoch.

        Args:
            graph: a Graph or a PyTorch Geometric Data.
            progress: called as ``progress(phase, epoch, epochs, record)`` after every epoch.
            group: ``torch.distributed.group.WORLD`` to train one model with all its ranks (docs/scale.md). Without
                it this process trains alone, also where a process group is initialised.

        One fit at a time runs in a process; in another thread it waits for the first.
        """
        with one_at_a_time():
            g = as_graph(graph)
            check_ids(g.node_ids)
            start, others = time.perf_counter(), seconds_before()
            self._forget()
            self.settings_ = self.settings
            self.graph_: Graph | None = g
            self.tensors_: dict[str, NDArray[Any]] = {}
            self.best_epoch_: Record = {}
            self.history_: list[Record] = []
            self.timings_: list[float] = []
            if group is None:
                self._fit(g, progress)
            else:
                self._fit_together(g, progress, group)
            self._check_shape(g)
            self.epochs_ = len(self.history_)
            self.seconds_ = time.perf_counter() - start + seconds_before() - others
            self.class_names_ = g.class_names
            self.node_ids_ = g.node_ids
            self.protocol_ = {
                "split": plain_split(g.meta.get("split", "given masks")),
                "selection": self._selection(g),
                "seed": self.settings_.seed,
            }
        return self

    def _selection(self, graph: Graph) -> str:
        """How the epoch was chosen, in words."""
        undone = self.best_epoch_.get("undone")
        if graph.val_mask.any():
            return selection_rule(self.settings_) + (f", before what was undone ({undone})" if undone else "")
        if undone:
            return f"last epoch before what was undone ({undone}); no validation nodes"
        return "last epoch (no validation nodes)"

    def _fit(self, graph: Graph, progress: Progress | None) -> None:
        """Train, then set ``tensors_`` (with ``probabilities``), ``history_`` and ``best_epoch_``."""
        raise AssertionError(f"{type(self).__name__} must define _fit")

    def _fit_together(self, graph: Graph, progress: Progress | None, group: Any) -> None:
        """The same by all ranks of a group, for the methods that can."""
        raise ConfigError(f"Method '{self.method}' trains in one process; several ranks train gdamn and gdamn-plus.")

    def _check_shape(self, graph: Graph) -> None:
        """Refuse a result for another graph: a checkpoint may be one that somebody made up."""
        probabilities, shape = self.state_.probabilities, (graph.num_nodes, graph.num_classes)
        if probabilities is not None and probabilities.shape != shape:
            self._forget()
            raise TrainingError(
                f"The fit ended with probabilities of shape {probabilities.shape}, not {shape}; remove its "
                "checkpoints, and start it anew."
            )

    def _plain_ids(self) -> bool:
        """Whether the node ids are just 0 to N - 1."""
        ids = self.node_ids_
        return ids.dtype.kind in "iu" and bool(np.array_equal(ids, np.arange(len(ids))))

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

    def _fitted(self) -> None:
        if self.state_.probabilities is None:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted yet; call fit(graph) first.")

    @property
    def state_(self) -> FittedState:
        """What ``tensors_`` means; without any array before the fit."""
        return FittedState.of(getattr(self, "tensors_", {}))

    @property
    def probabilities_(self) -> NDArray[np.float32]:
        """[N, C] class probabilities of every node."""
        self._fitted()
        return cast("NDArray[np.float32]", self.state_.probabilities)

    @property
    def edge_weights_(self) -> dict[str, NDArray[np.float32]] | None:
        """Attention per edge, in the order of the graph's CSR; None for methods without attention."""
        self._fitted()
        return self.state_.attention

    def predict(self) -> NDArray[np.int64]:
        """[N] class number of every node."""
        labels: NDArray[np.int64] = self.predict_proba().argmax(axis=1).astype(np.int64)
        return labels

    def predict_proba(self) -> NDArray[np.float32]:
        """[N, C] class probabilities of every node, raw as the network gave them.

        What commands and files call confidence is calibrated on validation nodes; the way there is
        ``gdamn.estimators.calibration.calibrated(model.predict_proba(), graph)``.
        """
        return self.probabilities_.copy()

    def score(self, mask: str = "test") -> float:
        """Accuracy on a node set: train, val, test, labelled or all (nodes without a label don't count)."""
        self._fitted()
        g = self.graph_
        if g is None:
            raise GraphError("A loaded model doesn't hold the graph's labels; call score_on(graph) with the graph.")
        return self.score_on(g, mask)

    def score_on(self, graph: Graph | Data, mask: str = "test") -> float:
        """Accuracy on a node set of the graph that the model was fitted on."""
        g = as_graph(graph)
        self._check_nodes(g)
        chosen = g.mask(mask) & (g.labels >= 0)
        if not chosen.any():
            raise GraphError(f"Graph '{g.name}' has no labelled node in the {mask} set, so there is nothing to score.")
        return float((self.predict()[chosen] == g.labels[chosen]).mean())

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
        from ..fit.training import reproducible_threads
        from .suspicious_labels import judged_labels

        self._fitted()
        g = self.graph_ if graph is None else as_graph(graph)
        if g is None:
            raise GraphError("A loaded model doesn't hold the graph's labels; give the graph of the fit, too.")
        s = self.settings_
        with reproducible_threads(s.threads):
            return judged_labels(g, split, getattr(s, "normalize", "auto"), s.seed)

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

    def save(self, path: str | Path) -> Path:
        """Write one file of safetensors with JSON in its header; no pickle."""
        from safetensors.numpy import save as to_bytes

        from ..system.io import write_bytes

        self._fitted()
        header = {
            "format": FORMAT,
            "method": self.method,
            "settings": dataclasses.asdict(self.settings_),
            "class_names": list(self.class_names_),
            "node_ids": None if self._plain_ids() else self.node_ids_.tolist(),
            "best_epoch": self.best_epoch_,
            "protocol": self.protocol_,
            "history": self.history_,
        }
        target = Path(path)
        arrays = {name: np.ascontiguousarray(value) for name, value in self.tensors_.items()}
        write_bytes(target, to_bytes(arrays, metadata={"gdamn": json.dumps(header)}))
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that ``save`` wrote."""
        header, tensors = read_model(Path(path))
        if header["method"] != cls.method:
            raise DataError(f"{path} holds a model of method '{safe(header['method'])}', not '{cls.method}'.")
        try:
            model = cls(**header["settings"])
        except (GdamnError, TypeError, OverflowError) as problem:
            raise DataError(f"{path} has settings that this gdamn doesn't know: {safe(problem)}") from None
        model.settings_ = model.settings
        model.tensors_ = tensors
        model.graph_ = None
        model.history_ = header["history"]
        model.best_epoch_ = header["best_epoch"]
        model.protocol_ = header["protocol"]
        model.class_names_ = tuple(header["class_names"])
        ids = header["node_ids"]
        model.node_ids_ = np.arange(len(model.probabilities_)) if ids is None else id_array(ids)
        model.epochs_ = len(model.history_)
        model.seconds_, model.timings_ = float("nan"), []
        return model
