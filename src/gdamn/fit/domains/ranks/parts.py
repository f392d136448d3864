"""A fit on a partitioned graph: each rank maps consecutive parts, and nothing has the size of the whole graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ....errors import ConfigError
from ....graph.parts import Part, PartitionedGraph
from ....graph.read_only import as_tensor
from ....kernels import Key
from ....kernels.noise import uniform_torch
from ....model.attention import stable
from ....model.fitted_state import WEIGHTS
from ....model.label_network import LabelNetwork
from ....model.objectives import Counts
from ....model.problem import choose_device
from ....model.setting import Trainable
from ....model.settings import BaseSettings, Settings
from ...checkpoint import name_of
from ...em import EM
from ...training import Watch, reproducible_threads
from ..batched.domain import check_supported
from ..domain import Domain, WholeDomain
from ..lean import FusedLabelNetwork, LeanDomain
from .fitting import own_threads
from .group import Alone, Group
from .part_features import own_features, own_labels
from .part_memory import choose_mode
from .part_rows import own_structure
from .sharing import Share, SharedProblem, check_settings

if TYPE_CHECKING:
    from .shards import ShardedCheckpoint


@dataclass(frozen=True, eq=False)
class PartsProblem(SharedProblem):
    """What a rank has of a partitioned graph: the rows, features and labels of its ``parts``."""

    parts: tuple[Part, ...] = field(default=(), kw_only=True)

    def drawn(self, distribution: Tensor, key: Key) -> Tensor:
        """[n] a class of each of the rank's nodes, by the noise of its number: no rank needs the others' rows."""
        numbers = torch.arange(len(distribution), device=distribution.device) + self.place.first_row
        reached = distribution.cumsum(1) < uniform_torch(key, numbers)[:, None] * distribution.sum(1, keepdim=True)
        return reached.sum(1).clamp_max(distribution.shape[1] - 1)

    def checkpoint(self, folder: Path | None, settings: BaseSettings) -> ShardedCheckpoint | None:  # type: ignore[override]
        """The checkpoint of a fit, of which each rank writes the shards of its parts; None where none is kept."""
        from .shards import ShardedCheckpoint

        assert self.share is not None
        if not self.share.group.tell_word(folder is not None) or folder is None:
            return None
        return ShardedCheckpoint(folder / next(iter(self.share.names.values())), share=self.share, own=self.parts)


class PartsDomain(WholeDomain):
    """The whole graph in every step, each rank with the rows of its parts."""

    starts = ("graph", "features")  # similarity of features would need those of the halo


def part_bounds(graph: PartitionedGraph, ranks: int) -> NDArray[np.int64]:
    """[R + 1] rank r has the parts from ``bounds[r]`` to ``bounds[r + 1]``: consecutive, with about equal work."""
    count = len(graph.parts)
    if count < ranks:
        raise ConfigError(
            f"'{graph.folder}' has {count} parts, too few for {ranks} ranks; partition it into more, or start "
            "fewer ranks."
        )
    work = np.cumsum([0, *(part.work for part in graph.parts)])
    bounds: NDArray[np.int64] = np.searchsorted(work, np.linspace(0, work[-1], ranks + 1) - work[1] / 2).astype(
        np.int64
    )
    bounds[0], bounds[-1] = 0, count
    for rank in range(1, ranks):
        bounds[rank] = min(max(bounds[rank], bounds[rank - 1] + 1), count - (ranks - rank))
    return bounds


def own_parts(graph: PartitionedGraph, group: Group) -> tuple[Part, ...]:
    """The parts of this rank."""
    bounds = part_bounds(graph, group.size)
    return graph.parts[int(bounds[group.rank]) : int(bounds[group.rank + 1])]


def make_share(graph: PartitionedGraph, name: str, group: Group, counts: Counts) -> Share:
    """Which nodes and entries each rank owns, from the name of the fit's checkpoints and the counts of all nodes."""
    first = [part.first_node for part in graph.parts] + [graph.num_nodes]
    entries = [part.first_entry + part.first_node for part in graph.parts] + [graph.num_entries + graph.num_nodes]
    bounds = part_bounds(graph, group.size)
    return Share(group, np.array(first, np.int64)[bounds], np.array(entries, np.int64)[bounds], {0.0: name}, counts)


def parts_problem(
    graph: PartitionedGraph, s: Trainable, device: torch.device, group: Group, method: str, mode: str
) -> PartsProblem:
    """This rank's part of the problem of a method."""
    parts = own_parts(graph, group)
    labels, counts = own_labels(parts, graph, s, device, group)
    name = name_of(method, s, str(device), [graph.digest.encode()])
    share = make_share(graph, name, group, counts)
    return PartsProblem(
        structure=own_structure(parts, graph, share.nodes, group, mode),
        x=own_features(parts, graph, s, device, group),
        device=device,
        share=share,
        parts=parts,
        **labels,
    )


def check_parts_settings(s: Trainable, device: torch.device, group: Group) -> None:
    """Refuse what a partitioned graph can't be trained with."""
    check_settings(replace(s, batch="auto") if isinstance(s, Settings) else s, device, group)
    if not isinstance(s, Settings):
        return
    wrong = {
        "batch": s.batch == "neighbour" and s.batch,
        "start": s.start not in ("auto", "graph", "features") and s.start,
        "label_noise": s.label_noise != "none" and s.label_noise,
        "beta": s.beta == "auto" and s.beta,
        "budget": s.budget > 0 and f"{s.budget:g}",
    }
    for name, value in wrong.items():
        if value:
            raise ConfigError(
                f"A partitioned graph can't be trained with {name}={value}; leave it out, or set it anew."
            )
    if s.batch == "partition":
        check_supported(s)


@dataclass(frozen=True, eq=False)
class PartsFit:
    """What a fit leaves on one rank.

    Attributes:
        problem: the rank's part; watch: history and chosen epoch; mode: full or fused.
        p: the label network, where EM has one.
    """

    problem: PartsProblem
    watch: Watch
    mode: str
    p: LabelNetwork | None = None

    @property
    def state(self) -> dict[str, Any]:
        """The state of the chosen epoch: networks, and what the rank's nodes and entries have."""
        return self.watch.best_state or {}

    @property
    def probabilities(self) -> Tensor:
        """[n, C] of the rank's nodes."""
        state = self.state
        found: Tensor = state["probabilities"] if "probabilities" in state else F.softmax(state["logits"], dim=1)
        return found

    @property
    def pseudo_labels(self) -> Tensor | None:
        """[n, C] what p was given for labels in the chosen epoch; None where no attention took part."""
        attends = self.p is not None and (self.p.hard is not None or self.p.soft is not None)
        labels: Tensor | None = self.state["labels"] if attends and "posterior" in self.state else None
        return labels

    @property
    def networks(self) -> dict[str, Tensor]:
        """The parameters of the chosen epoch by their names in a model file."""
        state = self.state
        of_em = {f"{net}.{name}": value for net in ("q", "p") for name, value in (state.get(net) or {}).items()}
        return of_em | {name: value for name, value in state.items() if name.startswith("network.")}

    @property
    def weighs_edges(self) -> bool:
        """Whether p took part in the chosen epoch, and has weights of the edges."""
        known = "hard" in self.state.get("weights", {}) or isinstance(self.p, FusedLabelNetwork)
        return "posterior" in self.state and known

    @torch.no_grad()
    def edge_weights(self) -> dict[str, Tensor]:
        """[E] of the rank's entries of A + I by the names of WEIGHTS; empty where there are none."""
        state, p = self.state, self.p
        if not self.weighs_edges:
            return {}
        if "hard" in state.get("weights", {}):
            return {name: state["weights"][name] for name in WEIGHTS}
        assert isinstance(p, FusedLabelNetwork)
        p.load_state_dict(state["p"])
        hard, soft = p.attentions(state["labels"])
        fused = stable(hard, soft, as_tensor(self.problem.structure.weights), p.s.reweight)
        return {"hard": hard, "soft": soft, "stable": fused, "used": state["weights"]["used"]}


@contextmanager
def laid_out_parts(
    graph: PartitionedGraph, s: Trainable, group: Group | None, method: str
) -> Iterator[tuple[PartsProblem, str]]:
    """Within the block: this rank's part of the problem of a method, and whether it is laid out full or fused."""
    device = choose_device(s.device)
    group = Alone(device) if group is None else group
    check_parts_settings(s, device, group)
    mode = choose_mode(graph, s, device, own_parts(graph, group), group)
    with reproducible_threads(s.threads, sparing=mode != "full"), own_threads(s.threads):
        yield parts_problem(graph, s, device, group, method, mode), mode


@contextmanager
def fit_parts(
    graph: PartitionedGraph, s: Settings, watch: Watch, group: Group | None, method: str = "gdamn"
) -> Iterator[PartsFit]:
    """EM on a partitioned graph by all ranks of a group; within the block each has its part of the result."""
    with laid_out_parts(graph, s, group, method) as (problem, mode):
        em = EM(parts_domain(graph, problem, s, mode), s, watch).run()
        em.p.problem = problem
        yield PartsFit(problem, watch, mode, em.p)


def parts_domain(graph: PartitionedGraph, problem: PartsProblem, s: Settings, mode: str) -> Domain:
    """Where EM runs: on all of the rank's rows in every step, or in batches."""
    from .part_batches import LeanPartBatches, PartBatches, batch_count

    assert problem.share is not None
    if s.batch != "partition":
        return LeanDomain(problem) if mode == "fused" else PartsDomain(problem)
    count = batch_count(graph, s, part_bounds(graph, problem.share.group.size))
    return PartBatches(problem, count) if mode == "full" else LeanPartBatches(problem, count)
