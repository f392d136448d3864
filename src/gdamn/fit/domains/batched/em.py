"""Algorithm 1 in mini-batches: the steps of em.py, each on a view; what the phases exchange is of the nodes' size.

An epoch goes over all batches. A batch's loss is its own nodes' share of the full batch's loss, so the losses of all
batches add up to it: one step per batch takes the share times the number of batches, and with ``accumulate`` one
step per epoch takes the sum.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ....errors import ConfigError
from ....kernels import Key, sddmm
from ....model.adjacency import Adjacency, scales
from ....model.label_network import LabelNetwork
from ....model.objectives import e_step_target, m_step_target, p_loss, pretrain_target, q_loss, structure_prior
from ....model.problem import Problem
from ....model.propagators.gcn import GCN
from ....model.settings import Settings
from ... import checkpoint
from ...checkpoint import Checkpoint, Part, part_of
from ...checkpoint_file import Tree
from ...em import EM
from ...training import Record, Watch, copy_state, decayed, evaluate, follow, make_generator, run_epochs
from ..memory import edges_fit
from . import exact
from .batches import Batches, make_batches
from .large import LargeProblem
from .views import View, Viewer

ViewWeights = Callable[[View], Tensor]
"""The weights [e] of a view's entries, which q propagates on."""

Losses = Callable[[View, Key], dict[str, Tensor]]
"""A view's share of the losses of the full batch."""


def check_supported(s: Settings) -> None:
    """Refuse what only the full batch can do."""
    wrong = {
        "propagator": s.propagator != "gcn" and s.propagator,
        "p_propagator": s.p_propagator != "gcn" and s.p_propagator,
        "draws": s.draws > 1 and s.draws,
        "reweight_samples": s.reweight_samples > 0 and s.reweight_samples,
        "start": s.start == "similar" and s.start,
    }
    for name, value in wrong.items():
        if value:
            raise ConfigError(f"batch={s.batch} can't be used with {name}={value}; set batch=full, or leave it out.")


class BatchedEM(EM):
    """One fit on a large graph."""

    def __init__(self, problem: LargeProblem, s: Settings, watch: Watch, mode: str, kept: Checkpoint | None) -> None:
        self.large = problem
        self.batches: Batches = make_batches(problem, s, mode)
        super().__init__(cast(Problem, problem), s, watch, kept)

    @cached_property
    def viewer(self) -> Viewer:
        """Makes the views of the batches."""
        return Viewer(self.large)

    def starts(self) -> tuple[str, ...]:
        """What ``start=auto`` tries: similarity of features is not weighed in batches."""
        return ("graph", "features")

    def new_p(self) -> LabelNetwork:
        """p without a structure: each view brings its own."""
        p = LabelNetwork(self.problem, self.s, make_generator(self.root.fold("start p")))
        p.weighted = self.large.weighted or self.batches.weighs
        return p.to(self.large.device)

    def pretrain_on(self, name: str) -> Tensor:
        """Line 3 on the graph, or on every node alone."""
        s, self.start = self.s, name
        beta = s.beta_pretrain if s.beta_pretrain >= 0 else float(s.beta)
        target = pretrain_target(self.large.labels, self.large.counts)
        found: dict[str, Any] | None = {} if s.em_iterations == 0 or s.candidates == "all" else None
        weigh = exact.loop_weights if name == "features" else exact.gcn_weights(self.large)
        on_view = self.loops_on if name == "features" else self.gcn_on
        key = self.root.fold("pre-train").fold(name)
        return self.train_q_on(weigh, on_view, target, beta, s.pretrain_epochs, 0, found, key, 0.0)

    def gcn_on(self, view: View) -> Tensor:
        """D^{-1/2} (A + I) D^{-1/2} on a view, with the degrees of the whole graph."""
        structure = view.problem.structure
        rows, columns = self.large.degrees
        left, right = scales(rows[view.nodes], columns[view.nodes], "sym")
        weights = structure.tensor("weights", self.large.device)
        return weights * sddmm(structure.pattern, left[:, None], right[:, None])

    def loops_on(self, view: View) -> Tensor:
        """I on a view."""
        return 1 - view.problem.structure.tensor("free", self.large.device).float()

    def m_step(self, labels: Tensor, iteration: int, key: Key) -> None:
        """Lines 7 to 11 on views."""
        s, p = self.s, self.p
        target = m_step_target(labels, self.large.counts)
        count = self.large.num_edges if s.kl_per == "edge" else self.large.num_nodes
        p.train()

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            p.problem, known = view.problem, labels[view.nodes]
            logits = p.hard_logits(known)
            weights = p.sampled_weights(logits, p.soft_scores(), step.fold("structure"))
            kl = None
            if logits is not None:
                prior = structure_prior(view.problem.structure, known, s.prior_clamp)
                kl = weighed_kl(logits, prior, view.counted) / max(count, 1)
            own = p(known, weights, step)[view.own], target[view.nodes[view.own]]
            return p_loss(*own, kl, float(s.beta), s.kl_weight, self.large.num_nodes)

        def after(epoch: int, values: Record, started: float) -> None:
            record = {"phase": f"M-step {iteration}", "iteration": iteration, "epoch": epoch, **values}
            self.watch.record(record, s.epochs, started)

        groups = decayed(p, self.decay(iteration), s.decay, never=("Q",))
        self.run_batches(groups, s.epochs, losses, after, key, part_of(p))
        p.problem = self.problem

    def improve(self, labels: Tensor, iteration: int, key: Key) -> Tensor:
        """Lines 13 to 16: the posterior and the stable weights exactly, then q on views."""
        s, large = self.s, self.large
        attention = exact.Attention(self.p, large, s, labels)
        posterior = attention.posterior(s.samples, key.fold("posterior"))
        if s.restart_q:
            self.q = self.new_q(key.fold("E").fold("start q"))
        target = e_step_target(large, posterior, s.lambda_, s.e_step)
        weigh, on_view = self.stable_weights(attention)
        self.found = {"labels": labels, "posterior": posterior}
        arguments = target, s.beta_e_step, s.epochs, iteration, self.found, key.fold("E"), s.dropout_attention
        return self.train_q_on(weigh, on_view, *arguments)

    def stable_weights(self, attention: exact.Attention) -> tuple[exact.Weigh, ViewWeights]:
        """A^stable, normalised, on blocks and on views."""
        if self.p.hard is None and self.p.soft is None:
            return exact.gcn_weights(self.large), self.gcn_on
        log_total, rows, columns = attention.sums()
        left, right = scales(rows, columns, self.s.stable_norm)

        def on_view(view: View) -> Tensor:
            structure, nodes = view.problem.structure, view.nodes
            pattern, values = structure.pattern, structure.tensor("weights", self.large.device)
            if self.p.hard is not None:
                kept = torch.sigmoid(sddmm(pattern, attention.turned[nodes], attention.labels[nodes]))
                values = torch.where(structure.tensor("free", self.large.device), kept * values, values)
            if self.s.reweight == "stable":
                score = torch.zeros_like(values)
                if self.p.soft is not None:
                    unit = attention.unit[nodes]
                    score = sddmm(pattern, unit * (-1 / self.p.soft.temperature), unit)
                ones = torch.ones(len(nodes), 1, device=values.device)
                values = values * torch.exp(score - sddmm(pattern, log_total[nodes][:, None], ones))
            return values * sddmm(pattern, left[nodes][:, None], right[nodes][:, None])

        return lambda block: block.scaled(attention.stable(block), left, right), on_view

    def train_q_on(
        self,
        weigh: exact.Weigh,
        on_view: ViewWeights,
        target: Tensor,
        beta: float,
        epochs: int,
        iteration: int,
        found: dict[str, Any] | None,
        key: Key,
        rate: float,
    ) -> Tensor:
        """Train q in batches, evaluating exactly after every epoch; returns its opinion [N, C]."""
        q, s, large = self.q, self.s, self.large
        shown = copy.deepcopy(q) if s.average else q
        logits = torch.empty(0)
        opinion = torch.zeros_like(large.labels)
        first = epochs - min(s.annotate_epochs, epochs)

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            adjacency = Adjacency(view.problem.structure, on_view(view), rate)
            seen = q(adjacency, [view.problem.x], step)
            return q_loss(seen[view.own], target[view.nodes[view.own]], beta, large.num_nodes)

        def state() -> dict[str, Any]:
            return {**(found or {}), "q": copy_state(shown), "p": copy_state(self.p), "logits": logits}

        def after(epoch: int, values: Record, started: float) -> None:
            nonlocal logits, opinion
            if s.average:
                follow(shown, q, min(s.average, (epoch + 1) / (epoch + 10)))
            logits = exact.logits(cast(GCN, shown), large, weigh, [large.x])
            if epoch >= first:
                opinion = torch.lerp(opinion, F.softmax(logits, dim=1), 1 / (epoch - first + 1))
            where = {"phase": self.phase(iteration), "iteration": iteration, "start": self.start, "epoch": epoch}
            record = {**where, **values, **evaluate(self.problem, logits)}
            self.watch.record(record, epochs, started, state if found is not None else None)

        def save() -> Tree:
            return {"q": q.state_dict(), "shown": shown.state_dict(), "opinion": opinion}

        def load(kept: Tree) -> None:
            nonlocal opinion
            q.load_state_dict(kept["q"])
            shown.load_state_dict(kept["shown"])
            opinion = checkpoint.like(kept["opinion"], opinion)

        if epochs == 0:
            return F.softmax(exact.logits(cast(GCN, shown), large, weigh, [large.x]), dim=1)
        self.run_batches(decayed(q, self.decay(iteration), s.decay), epochs, losses, after, key, Part(save, load))
        return opinion

    def run_batches(
        self,
        groups: list[dict[str, Any]],
        epochs: int,
        losses: Losses,
        after: Callable[[int, Record, float], None],
        key: Key,
        part: Part,
    ) -> None:
        """Epochs over all batches: a step each, or one with the gradients of all (``accumulate``)."""
        per_epoch = 1 if self.s.accumulate else len(self.batches)
        sums: dict[str, float] = {}
        at, began = 0, 0.0

        def loss(step: Key) -> dict[str, Tensor]:
            epoch, place = divmod(at, per_epoch)
            if not self.s.accumulate:
                view = self.batches.view(self.viewer, epoch, place, key.fold("batches"))
                return {name: value * per_epoch for name, value in losses(view, step).items()}
            total: dict[str, Tensor] = {}
            for batch in range(len(self.batches)):
                found = losses(self.batches.view(self.viewer, epoch, batch, key.fold("batches")), step)
                if batch + 1 < len(self.batches):
                    found["loss"].backward()  # type: ignore[no-untyped-call]
                    found = {name: value.detach() for name, value in found.items()}
                total = {name: value + total.get(name, 0.0) for name, value in found.items()}
            return total

        def stepped(_: int, values: Record, started: float) -> None:
            nonlocal at, sums, began
            began = began if at % per_epoch else started
            for name, value in values.items():
                sums[name] = sums.get(name, 0.0) + value / per_epoch
            at += 1
            if at % per_epoch == 0:
                done, sums = sums, {}
                after(at // per_epoch - 1, done, began)

        def save() -> Tree:
            return {"part": part.save(), "at": at, "sums": sums}

        def load(kept: Tree) -> None:
            nonlocal at, sums
            part.load(kept["part"])
            at, sums = int(kept["at"]), dict(kept["sums"])

        rate, steps = self.s.learning_rate, epochs * per_epoch
        run_epochs(groups, rate, steps, loss, stepped, key, self.checkpoint, Part(save, load))


def weighed_kl(logits: Tensor, prior: Tensor, weights: Tensor) -> Tensor:
    """Σ w KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)): the sum of :func:`gdamn.kernels.bernoulli_kl` with weights [e]."""
    each = torch.sigmoid(logits) * (logits - torch.logit(prior)) - F.softplus(logits) - torch.log1p(-prior)
    return (each * weights).sum()


def fit_batched(problem: LargeProblem, s: Settings, watch: Watch, mode: str) -> dict[str, NDArray[Any]]:
    """Fit q and p on a graph in batches; the watch keeps the history and the state of q's best epoch.

    Returns:
        Weights per edge, as a fitted model keeps them; nothing where they would not fit into memory.
    """
    check_supported(s)
    em = BatchedEM(problem, s, watch, mode, checkpoint.of_fit("gdamn", s, problem))
    em.run()
    best = watch.best_state
    if best is None or "posterior" not in best or (em.p.hard is None and em.p.soft is None):
        return {}
    if not edges_fit(problem.num_edges):
        return {}
    em.p.load_state_dict(best["p"])
    return exact.Attention(em.p, problem, s, best["labels"]).edge_weights()
