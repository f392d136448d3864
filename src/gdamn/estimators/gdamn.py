"""GDAMN, the estimator: fit, predict, refine, save, load. The method itself is in em.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional as F

from ..errors import ConfigError, GraphError, TrainingError
from ..fit.budget import Budget
from ..fit.domains.domain import WholeDomain
from ..fit.domains.memory import choose_mode
from ..fit.domains.ranks.fitting import laid_out, whole_state
from ..fit.domains.ranks.group import Group, joined
from ..fit.domains.ranks.parts import PartsFit, fit_parts
from ..fit.em import EM
from ..fit.label_noise import corrected
from ..fit.training import Progress, Record, Watch, reproducible_threads
from ..graph.graph import Graph
from ..graph.order import local_order, renumbered
from ..graph.parts import PartitionedGraph
from ..kernels import first_use
from ..model.fitted_state import WEIGHTS, FittedState, edge_arrays, edge_index, put_back
from ..model.metrics import score_key
from ..model.plus_settings import PlusSettings
from ..model.presets import preset
from ..model.problem import Problem, choose_device, without_isolated
from ..model.settings import BETAS, Settings
from .base import NodeClassifier, arguments_of, as_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch_geometric.data import Data
    from typing_extensions import Self

    from .inductive import Answer


@dataclass(frozen=True, kw_only=True)
class PresetArguments(Settings):
    """The arguments of :meth:`GDAMN.preset`, for type checkers."""

    dataset: str = field(kw_only=False)


class GDAMN(NodeClassifier):
    """Graph Decoupling Attention Markov Network.

    >>> model = GDAMN.preset("cora", seed=0).fit(load("cora"))
    >>> model.predict(), model.score("test"), model.refine()
    """

    method = "gdamn"
    settings_class = Settings
    settings: Settings
    settings_: Settings
    weighs_labels = True

    @classmethod
    @arguments_of(PresetArguments)
    def preset(cls, /, dataset: str, **settings: Any) -> Self:
        """With the settings chosen for a data set (on validation accuracy), and these on top."""
        return cls(**{**preset(dataset, cls.method), **settings})

    def _fit(self, graph: Graph, progress: Progress | None, group: Group | None = None) -> None:
        """On the whole graph at once, alone or with the other ranks of a group; or with less memory."""
        s = self.settings
        device = choose_device(s.device)
        if group is None and device.type == "cpu":
            first_use.prepare(s.threads)
        mode = "full" if group is not None else choose_mode(graph, s, device)
        if mode != "full":
            self._fit_sparing(graph, mode, device, progress)
            return
        watch = self.watch(progress)
        if s.label_noise == "auto" and group is not None:
            raise ConfigError("label_noise='auto' judges labels in one process; several ranks need label_noise=none.")
        if s.budget and group is not None:
            raise ConfigError("A budget is kept to by one process; several ranks need budget=0.")
        order = local_order(graph)
        moved, entries = (graph, None) if order is None else renumbered(graph, order)
        with reproducible_threads(s.threads), laid_out(moved, s, device, group) as problem:
            problem, label_noise = (problem, None) if s.label_noise == "none" else corrected(problem, s.seed)
            problem = without_isolated(problem, s.start, s.isolated)
            if s.beta == "auto":
                watch = self._choose_beta(problem, progress)
            else:
                EM(WholeDomain(problem), s, watch).run()
            best_state = whole_state(problem, watch.best_state)
        best = chosen(watch)
        self._keep_history(watch, best)
        if label_noise is not None:
            self.best_epoch_ = {**best, "label_noise": label_noise}
        if graph.confirmed is not None and group is not None:
            self.best_epoch_ = {**self.best_epoch_, "unconstrained": True}
        if best_state is None:
            return  # rank 0 has the result
        self.tensors_ = _tensors(moved, best_state)
        if order is not None and entries is not None:
            self.tensors_ = put_back(self.tensors_, graph, order, entries)
            self.best_epoch_ = _put_back_marks(self.best_epoch_, order[moved.train_mask])

    def _fit_together(self, graph: Graph, progress: Progress | None, group: Any) -> None:
        """By all ranks of torch's default group; rank 0 gets the result."""
        self._fit(graph, progress, joined(group))

    @contextmanager
    def fit_parts(self, graph: PartitionedGraph, progress: Progress | None, group: Group | None) -> Iterator[PartsFit]:
        """EM on the parts of a graph, each rank with its own."""
        watch = self.watch(progress)
        with fit_parts(graph, self.settings, watch, group, self.method) as fit:
            chosen(watch)
            yield fit

    def _fit_sparing(self, graph: Graph, mode: str, device: torch.device, progress: Progress | None) -> None:
        """The same for graphs that don't fit the full batch: with less memory, or in mini-batches (scale/)."""
        from ..fit.domains import lean
        from ..fit.domains.batched.domain import fit_batched
        from ..fit.domains.batched.large import make_large

        s, watch = self.settings, self.watch(progress)
        if s.label_noise == "auto":
            raise ConfigError(f"label_noise='auto' needs batch=full, not {mode}; set label_noise to none.")
        if s.beta == "auto":
            raise ConfigError(f"beta='auto' fits five times and needs batch=full, not {mode}; set beta to a number.")
        with reproducible_threads(s.threads, sparing=True):
            if mode == "fused":
                edges = lean.fit_lean(graph, s, watch, device)
            else:
                problem = make_large(graph, s.normalize, s.dropout_input, device, str(s.class_weight))
                edges = fit_batched(problem, s, watch, mode)
        best = chosen(watch)
        self._keep_history(watch, best)
        if graph.confirmed is not None:
            self.best_epoch_ = {**self.best_epoch_, "unconstrained": True}
        self.tensors_ = {**_tensors(graph, watch.best_state or {}), **edges}

    def _constrains(self) -> bool:
        """Where there is a hard attention, and the whole graph in one process."""
        return bool(self.settings_.hard) and not self.best_epoch_.get("unconstrained")

    def watch(self, progress: Progress | None, fits: int = 1) -> Watch:
        """The watch of one of so many fits, which share the budget; its time begins now."""
        s = self.settings
        return Watch(progress, selection=s.selection, metric=s.metric, budget=Budget(s.budget / fits))

    def _keep_history(self, watch: Watch, best: Record) -> None:
        """The history of the fit, its chosen epoch, and the network that q was where the fit chose it."""
        self.history_, self.best_epoch_, self.timings_ = watch.history, best, watch.timings
        self.settings_ = replace(self.settings_, propagator=best.get("propagator", self.settings_.propagator))

    def _choose_beta(self, problem: Problem, progress: Progress | None) -> Watch:
        """β from the paper's five values, by the validation score of a whole fit each."""
        if problem.counts.val == 0:
            raise GraphError("beta='auto' chooses on validation nodes, and the graph has none; set beta to a number.")
        best: Watch | None = None
        chosen_by = score_key(self.settings.metric)
        for beta in BETAS:
            watch = (
                EM(
                    WholeDomain(problem),
                    replace(self.settings, beta=beta),
                    self.watch(progress, len(BETAS)),
                )
                .run()
                .watch
            )
            assert watch.best is not None
            watch.best["beta"] = beta
            if best is None or best.best is None or watch.best[chosen_by] > best.best[chosen_by]:
                best = watch
            if watch.stopped:
                break
        assert best is not None
        return best

    def predict_proba(
        self,
        graph: Graph | Data | str | None = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        fitted_on: Graph | None = None,
        network: str = "q",
    ) -> NDArray[np.float32]:
        """[N, C] class probabilities by q (the paper's choice), or by p on request, for the nodes of the fit.

        ``predict_proba("p")`` is ``predict_proba(network="p")``; the other arguments are ``predict``'s.
        """
        network, other = (graph, None) if isinstance(graph, str) else (network, graph)
        if network == "q":
            return super().predict_proba(other, nodes=nodes, edges=edges, fitted_on=fitted_on)
        self._fitted()
        probabilities = self.state_.p_probabilities
        if network != "p" or probabilities is None:
            raise GraphError(f"There is no network '{network}' here; choose q, or p where EM ran.")
        if other is not None or nodes is not None:
            raise GraphError("New nodes are predicted by q; p tells of those of the fit alone.")
        return probabilities.copy()

    def _answer(self, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
        """q on the graph of its chosen epoch, or on the one that p's attention refines."""
        from .gdamn_inductive import on_graph

        return on_graph(self, graph, fitted_on, known, rounds)

    def refine(self, graph: Graph | Data | None = None) -> Data:
        """The refined graph as a PyTorch Geometric Data.

        ``edge_weight`` is A_stable, with ``hard``, ``soft`` and ``stable`` beside it, one value per directed entry;
        ``loop_weight`` [N] is A_stable on the self-loops, which are not in ``edge_index``. All entries stay, those that
        the attention has cut with a weight of 0.

        Args:
            graph: the graph of the fit, where features and labels are wanted of a model that was loaded. The result
                of a Data has that Data's own edges in their order, and everything that it holds (RefineGraph).
        """
        from torch_geometric.data import Data

        from .transforms import RefineGraph
        from .weighted_edges import check_same_edges, put_on, weigh

        self._fitted()
        edges = weigh(self)
        if isinstance(graph, Data):
            refined = RefineGraph(self)(graph)
            refined.loop_weight = torch.from_numpy(edges.loops["stable"].copy()).to(refined.edge_index.device)
            return refined
        g = as_graph(graph) if graph is not None else self.graph_
        if g is None:
            return put_on(Data(num_nodes=len(self.probabilities_)), edges)
        check_same_edges(self, g)
        return put_on(g.to_pyg(), edges)


class GDAMNPlus(GDAMN):
    """GDAMN beyond the paper: a stronger q, consistent under noise, that EM and the hard attention refine gently.

    The same EM (em.py); what differs are the settings that :class:`gdamn.model.plus_settings.PlusSettings` starts from.
    """

    method = "gdamn-plus"
    settings_class = PlusSettings
    settings: PlusSettings
    settings_: PlusSettings


def chosen(watch: Watch) -> Record:
    """The record of the epoch that a fit chose."""
    if watch.best is not None and watch.best_state is not None:
        return watch.best
    if watch.stopped:
        raise TrainingError("A callback ended the fit before q was trained, so there is nothing to predict with.")
    raise ConfigError("pretrain_epochs and em_iterations are both 0, so there is nothing to train.")


def _put_back_marks(best: Record, nodes: NDArray[np.int64]) -> Record:
    """The record of a fit on renumbered nodes, its marks of labels [L] in the order of the given graph.

    Args:
        nodes: [L] what each labelled node was called before.
    """
    known = best.get("cross_fitted", {})
    if "right" not in known:
        return best
    right = "".join(known["right"][at] for at in np.argsort(nodes))
    return {**best, "cross_fitted": {**known, "right": right}}


def _tensors(graph: Graph, state: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """What the chosen epoch leaves behind, as arrays."""
    parameters = {
        f"{network}.{name}": value.cpu().numpy()
        for network in ("q", "p")
        for name, value in (state.get(network) or {}).items()
    }
    judged = {name: values[graph.structure.free] for name, values in (state.get("judged") or {}).items()}
    index = edge_index(graph) if judged else None
    probabilities = F.softmax(state["logits"], dim=1).cpu().numpy()
    fitted = FittedState(probabilities=probabilities, edge_index=index, edge_weights=judged)
    if state.get("posterior") is None:
        return {**fitted.named(), **parameters}
    posterior, labels = state["posterior"].cpu().numpy(), state["labels"].cpu().numpy()
    fitted = replace(fitted, p_probabilities=posterior, pseudo_labels=labels)
    if "hard" not in state.get("weights", {}):  # a method without attention, or a fit in batches
        return {**fitted.named(), **parameters}
    weights = {name: state["weights"][name].cpu().numpy() for name in WEIGHTS}
    return {**fitted.named(), **edge_arrays(graph, weights, graph.structure), **parameters}
