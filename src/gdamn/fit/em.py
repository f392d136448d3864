"""Algorithm 1 of the paper: pre-train q, then alternate M-step and E-step.

Line numbers in the comments are those of the paper's Algorithm 1. Two networks take part: q carries features,
p (model/label_network.py) carries labels and features over edges that its hard attention keeps and its soft attention
weighs (model/attention.py). The objectives are in model/objectives.py. A domain (domains/domain.py) says how an epoch
goes over the graph: as a whole, with little memory, in mini-batches, or shared out over processes. A fit that is
resumed from a checkpoint runs through the same lines and skips the epochs that are done.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kernels import Key
from ..kernels.place import Place
from ..model.label_network import LabelNetwork
from ..model.metrics import score_key
from ..model.objectives import e_step_target, m_step_target, p_loss, passes_loss, pretrain_target
from ..model.problem import Labelled
from ..model.propagators import draws, make_propagator
from ..model.settings import Settings
from ..model.temperature import matching_temperature
from . import checkpoint
from .checkpoint import Part, part_of
from .checkpoint_file import Tree
from .domains.domain import Domain, Epochs, QGraph, View
from .guard import STABLE, collapse
from .multihop import Opinion
from .training import Record, Watch, copy_state, decayed, evaluate, follow, make_generator, run_epochs


class EM:
    """One fit: its domain, the two networks, and the steps of Algorithm 1 as methods.

    The watch keeps the history and the state of q's best epoch.
    """

    def __init__(self, domain: Domain, settings: Settings, watch: Watch) -> None:
        self.domain, self.s, self.watch = domain, settings, watch
        self.checkpoint = checkpoint.of_fit("gdamn", settings, domain.problem)
        self.root = Key(settings.seed, domain.problem.place).fold("gdamn")
        self.q = self.new_q(self.root.fold("start q"))
        self.p = self.new_p()
        self.start = "graph"
        self.tried: dict[str, tuple[Tensor, nn.Module]] = {}  # the pre-trainings that are finished
        self.iteration, self.opinion = 0, torch.empty(0)  # the iteration under way, and what it began with
        self.inferred: dict[str, Any] = {}  # Ŷ, p's posterior and the weights of the last iteration
        self.safe: dict[str, Any] = {}  # the chosen epoch before the iteration under way, where no validation chooses
        if self.checkpoint is not None:
            self.checkpoint.keep("watch", watch.part())
            self.checkpoint.keep("em", Part(self.state, self.resume))

    @property
    def problem(self) -> Labelled:
        """What the fit sees of the labels."""
        return self.domain.problem

    def new_q(self, key: Key) -> nn.Module:
        """A fresh feature propagator q_θ."""
        s, problem = self.s, self.problem
        q = make_propagator(s.propagator, [self.domain.width], problem.num_classes, s, make_generator(key))
        return q.to(problem.device)

    def new_p(self) -> LabelNetwork:
        """The fresh label propagator p_φ with its attention."""
        return self.domain.new_p(self.s, make_generator(self.root.fold("start p")))

    def run(self) -> Self:
        """Algorithm 1; returns the finished fit."""
        s = self.s
        opinion = self.opinion if self.iteration else self.pretrain()  # line 3
        for iteration in range(max(1, self.iteration), s.em_iterations + 1):  # line 4
            self.iteration, self.opinion = iteration, opinion
            self.keep_safe()
            key = self.root.fold("iteration").fold(iteration)

            labels = self.annotate(opinion, key.fold("annotate"))  # line 6
            self.m_step(labels, iteration, key.fold("M"))  # lines 7 to 11

            posterior, graph = self.domain.infer(self.p, labels, s, key)  # lines 13 and 14
            self.inferred = {"labels": labels, "posterior": posterior, **graph.kept}
            opinion = self.e_step(posterior, graph, iteration, key.fold("E"))  # lines 15 and 16

            if self.collapsed(opinion) or self.is_stable(opinion):
                break
        if s.em_iterations:
            self.keep_structure()
        if self.start == "multihop":
            self.describe_multihop()
        return self

    def pretrain(self) -> Tensor:
        """Line 3: q learns the known labels, on the graph that ``start`` names; returns its opinion."""
        start = self.s.start
        if start == "auto" and self.problem.counts.val == 0:
            start = "multihop" if self.domain.has_multihop else "graph"
        for name in self.domain.starts if start == "auto" else (start,):
            if name not in self.tried:
                self.q = self.new_q(self.root.fold("start q"))
                self.tried[name] = self.pretrain_on(name), self.q
        self.choose_start(max(self.tried, key=self.reached) if start == "auto" else start)  # a tie goes to the first
        opinion, self.q = self.tried[self.start]
        self.tried.clear()
        return opinion

    def reached(self, name: str) -> float:
        """The best validation score of a pre-training."""
        records = [record for record in self.watch.history if record["start"] == name]
        return max((record[score_key(self.s.metric)] for record in records), default=0.0)

    def choose_start(self, name: str) -> None:
        """Go on, with q and p, on the graph of this name."""
        self.start = name
        if name == "similar":
            self.domain = self.weighed
            self.p = self.new_p()

    @cached_property
    def multihop(self) -> Opinion:
        """What cross-fitted regressions on multi-hop features say; it stands beside p where ``start`` is multihop."""
        return self.domain.multihop_opinion(self.s.seed)

    @cached_property
    def weighed(self) -> Domain:
        """The domain on the graph whose edges weigh as their ends' features agree."""
        return self.domain.weighed_by_features()

    def pretrain_on(self, name: str) -> Tensor:
        """Line 3 on one graph: the known labels, with the entropy regulariser.

        From ``multihop`` q learns the opinion about the other nodes too, as if it were p's (line 16).
        """
        s, self.start = self.s, name
        domain = self.weighed if name == "similar" else self.domain
        if name == "multihop":
            graph = domain.start_graph(self.multihop.graph)
            beta, target = 0.0, e_step_target(self.problem, self.multihop.probabilities, 1.0, s.e_step)
        else:
            graph = domain.start_graph(name)
            beta = s.beta_pretrain if s.beta_pretrain >= 0 else float(s.beta)
            target = pretrain_target(self.problem)
        extra = graph.kept if s.em_iterations == 0 or s.candidates == "all" else None
        key = self.root.fold("pre-train").fold(name)
        return self.train_q(graph, target, beta, s.pretrain_epochs, 0, extra, key)

    def annotate(self, opinion: Tensor, key: Key) -> Tensor:
        """Line 6: Ŷ [N, C], the true labels where known and q's opinion (a distribution [N, C]) elsewhere."""
        s, classes = self.s, self.problem.num_classes
        labels = F.softmax(opinion.clamp_min(1e-30).log() / s.pseudo_temperature, dim=1)
        if s.pseudo_labels == "argmax":
            labels = F.one_hot(opinion.argmax(1), classes).float()
        elif s.pseudo_labels == "sample":
            place = self.problem.place
            drawn = torch.multinomial(place.all_rows(labels).cpu(), 1, generator=make_generator(key))
            mine = place.own_rows(drawn, len(labels)).to(labels.device)
            labels = F.one_hot(mine[:, 0], classes).float()
        return self.problem.with_known_labels(labels)

    def m_step(self, labels: Tensor, iteration: int, key: Key) -> None:
        """Lines 7 to 11: p learns to reconstruct Ŷ over structures sampled from the hard attention."""
        s, p, counts = self.s, self.p, self.problem.counts
        target, draw = m_step_target(labels, counts), self.domain.structures(p, labels)
        p.train()

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            weights, kl = draw(view, step.fold("structure"))  # lines 7 to 9
            predicted = view.own_only(p(view.rows(labels), weights, step))  # line 10
            return p_loss(predicted, view.own_rows(target), kl, float(s.beta), s.kl_weight, counts.nodes)  # line 11

        def after(epoch: int, values: Record, started: float) -> None:
            record = {"phase": f"M-step {iteration}", "iteration": iteration, "epoch": epoch, **values}
            self.watch.record(record, s.epochs, started)

        groups = decayed(p, self.decay(iteration), s.decay, never=("Q",))
        steps = self.domain.steps(Epochs(s.epochs, losses, after, key, part_of(p)), s)
        run_epochs(groups, s.learning_rate, steps, key, self.checkpoint)

    def e_step(self, posterior: Tensor, graph: QGraph, iteration: int, key: Key) -> Tensor:
        """Lines 15 and 16: q learns the known labels and p's opinion of the others, on the stable weights."""
        s = self.s
        if s.restart_q:
            self.q = self.new_q(key.fold("start q"))
        if self.start == "multihop":
            posterior = (posterior + self.multihop.probabilities) / 2
        target = e_step_target(self.problem, posterior, s.lambda_, s.e_step)
        return self.train_q(graph, target, s.beta_e_step, s.epochs, iteration, self.inferred, key)

    def train_q(
        self,
        graph: QGraph,
        target: Tensor,
        beta: float,
        epochs: int,
        iteration: int,
        extra: dict[str, Any] | None,
        key: Key,
    ) -> Tensor:
        """Train q on a target, evaluating after every epoch; returns its opinion for the next M-step.

        Args:
            target: [N, C], each row with its weight in the loss.
            beta: weight of the entropy regulariser.
            extra: what to keep with an epoch that is chosen; None where epochs can't be chosen.

        Returns:
            [N, C] q's distribution, the mean over its last ``annotate_epochs`` epochs.
        """
        q, problem, s = self.q, self.problem, self.s
        predictor = copy.deepcopy(q) if s.average else q
        if epochs == 0:
            return F.softmax(graph.predict(predictor), dim=1)
        logits, opinion = torch.empty(0), torch.zeros_like(problem.labels)
        first, passed, nodes = epochs - min(s.annotate_epochs, epochs), 0, problem.counts.nodes

        def state() -> dict[str, Any]:
            return {**(extra or {}), "q": copy_state(predictor), "p": copy_state(self.p), "logits": logits}

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            passes = [view.own_only(z) for z in draws(q, graph.on(view), [view.problem.x], step, s.draws)]
            rise = 1.0 if iteration else min(1.0, (passed + 1) / max(s.consistency_warmup, 1))
            agreement = rise * s.consistency, s.consistency_temperature, s.consistency_confidence
            return passes_loss(passes, view.own_rows(target), beta, *agreement, nodes)

        def after(epoch: int, values: Record, started: float) -> None:
            nonlocal logits, opinion, passed
            passed = epoch + 1
            if s.average:
                follow(predictor, q, min(s.average, (epoch + 1) / (epoch + 10)))
            logits = graph.predict(predictor)
            if epoch >= first:
                opinion = torch.lerp(opinion, F.softmax(logits, dim=1), 1 / (epoch - first + 1))
            where = {"phase": self.phase(iteration), "iteration": iteration, "start": self.start, "epoch": epoch}
            record = {**where, **values, **evaluate(problem, logits, s.metric)}
            self.watch.record(record, epochs, started, None if extra is None else state)

        def save() -> Tree:
            return {"q": q.state_dict(), "shown": predictor.state_dict(), "opinion": opinion, "passed": passed}

        def load(kept: Tree) -> None:
            nonlocal opinion, passed
            q.load_state_dict(kept["q"])
            predictor.load_state_dict(kept["shown"])
            opinion, passed = checkpoint.like(kept["opinion"], opinion), int(kept["passed"])

        steps = self.domain.steps(Epochs(epochs, losses, after, key, Part(save, load)), s)
        run_epochs(decayed(q, self.decay(iteration), s.decay), s.learning_rate, steps, key, self.checkpoint)
        return opinion

    def phase(self, iteration: int) -> str:
        """What q's epochs are called in the history."""
        if iteration:
            return f"E-step {iteration}"
        return "pre-train" if self.start == "graph" else f"pre-train ({self.start})"

    def decay(self, iteration: int) -> float:
        """Weight decay until the first EM iteration ends, and after it."""
        return self.s.weight_decay if iteration <= 1 else self.s.weight_decay_later

    def is_stable(self, opinion: Tensor) -> bool:
        """Whether the iteration changed so few labels that EM ends."""
        tolerance = max(self.s.tolerance, STABLE) if self.start == "multihop" else self.s.tolerance
        return tolerance > 0 and share_changed(self.opinion, opinion, self.problem.place) <= tolerance

    def keep_safe(self) -> None:
        """Remember the chosen epoch before an iteration, to come back to it if the iteration collapses."""
        watch = self.watch
        if (
            self.problem.counts.val == 0
            and watch.best_state is not None
            and self.safe.get("iteration") != self.iteration
        ):
            at = next(at for at, record in enumerate(watch.history) if record is watch.best)
            self.safe = {"iteration": self.iteration, "record": at, "state": watch.best_state}

    def collapsed(self, opinion: Tensor) -> bool:
        """Whether the iteration is undone, since it lost what it began with (guard.py); the chosen record says so."""
        reason = collapse(self.opinion, opinion, self.problem.place) if self.safe else None
        if reason is None:
            return False
        self.watch.best_state = self.safe["state"]
        self.watch.best = self.watch.history[self.safe["record"]]
        self.watch.best["undone"] = f"EM iteration {self.iteration}: {reason}"
        return True

    def describe_multihop(self) -> None:
        """Add to the chosen record what cross-fitting says: the accuracy of the start, and the temperature of q.

        The temperature makes q as sure of the other nodes, on average, as the calibrated opinion is.
        """
        best, state, opinion = self.watch.best, self.watch.best_state, self.multihop
        if best is None or state is None or not opinion.judged.any():
            return
        rest = self.problem.rest
        probabilities = F.softmax(state["logits"][rest], dim=1).cpu().numpy()
        confidence = opinion.probabilities[rest].amax(1).mean().item() if len(rest) else 1.0
        self.watch.best = {
            **best,
            "cross_fitted": {
                "accuracy": opinion.accuracy(self.problem.train_labels),
                "nodes": int(opinion.judged.sum()),
            },
            "temperature": matching_temperature(probabilities, confidence),
        }

    def keep_structure(self) -> None:
        """Where an epoch of pre-training was chosen, p and the last refined graph are kept beside it."""
        best = self.watch.best_state
        if best is None or "posterior" in best:
            return
        best.update(labels=self.inferred["labels"], posterior=self.inferred["posterior"], p=copy_state(self.p))
        if "weights" in best:
            weights, used = self.inferred["weights"], best["weights"]["used"]
            best["weights"] = {**weights, "used": used} if "hard" in weights else {"used": used}

    def state(self) -> Tree:
        """What a checkpoint keeps of the fit beside the epochs under way."""
        tried = [[name, opinion, q.state_dict()] for name, (opinion, q) in self.tried.items()]
        networks = {"q": self.q.state_dict(), "p": self.p.state_dict()}
        where = {"iteration": self.iteration, "start": self.start, "opinion": self.opinion}
        return {**where, **networks, "tried": tried, "safe": self.safe}

    def resume(self, kept: Tree) -> None:
        """Go on from such a state."""
        self.iteration, self.opinion = kept["iteration"], kept["opinion"].to(self.problem.device)
        if self.iteration:
            self.choose_start(kept["start"])
        for name, opinion, weights in kept["tried"]:
            q = self.new_q(self.root.fold("start q"))
            q.load_state_dict(weights)
            self.tried[name] = opinion.to(self.problem.device), q
        self.q.load_state_dict(kept["q"])
        self.p.load_state_dict(kept["p"])
        self.safe = kept.get("safe", {})


def share_changed(before: Tensor, after: Tensor, place: Place) -> float:
    """The share of the nodes whose class is another, from their distributions [N, C]."""
    changed = (before.argmax(1) != after.argmax(1)).float()
    return (place.sum(changed.sum()) / place.rows_of(changed)).item()
