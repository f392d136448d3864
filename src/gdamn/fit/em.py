"""Algorithm 1 of the paper: pre-train q, then alternate M-step and E-step.

Line numbers in the comments are those of the paper's Algorithm 1. Two networks take part: q carries features,
p (model/label_network.py) carries labels and features over edges that its hard attention keeps and its soft attention
weighs (model/attention.py). The objectives are in model/objectives.py. A domain (domains/domain.py) says how an epoch
goes over the graph: as a whole, with little memory, in mini-batches, or shared out over processes. A fit that is
resumed from a checkpoint runs through the same lines and skips the epochs that are done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kernels import Key
from ..model.label_network import LabelNetwork
from ..model.metrics import score_key
from ..model.objectives import agreed, diverse, e_step_target, m_step_target, p_loss, passes_loss, pretrain_target
from ..model.problem import Labelled, Problem
from ..model.propagators import Pagerank, draws, make_propagator
from ..model.settings import Settings
from . import checkpoint
from .budget import FEWEST, LEAST
from .checkpoint import Part, part_of
from .checkpoint_file import Tree
from .domains.domain import Domain, Epochs, Losses, QGraph, View
from .guard import REPEATED, STABLE, Guard, Reference, repeated, share_changed
from .mini_batches import rows_steps
from .multihop import describe
from .starts import Starts
from .training import Record, Watch, copy_state, decayed, evaluate, follow, make_generator, run_epochs


class EM:
    """One fit: its domain, the two networks, and the steps of Algorithm 1 as methods.

    The watch keeps the history and the state of q's best epoch.
    """

    def __init__(self, domain: Domain, settings: Settings, watch: Watch) -> None:
        self.s, self.watch, self.starts = settings, watch, Starts(domain, settings)
        self.domain = self.starts.plain
        self.checkpoint = checkpoint.of_fit("gdamn", settings, domain.problem)
        self.root = Key(settings.seed, domain.problem.place).fold("gdamn")
        self.network = settings.propagator  # q's; where ``start`` is multihop, another one may suit the graph
        self.q = self.new_q(self.root.fold("start q"))
        self.p = self.new_p()
        self.start = "graph"
        self.tried: dict[str, tuple[Tensor, nn.Module]] = {}  # the pre-trainings that are finished
        self.iteration, self.opinion = 0, torch.empty(0)  # the iteration under way, and what it began with
        self.inferred: dict[str, Any] = {}  # Ŷ, p, its posterior and the weights of the last iteration
        self.guard, self.budget = Guard(watch, domain.problem, settings.guard), watch.budget
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
        q = make_propagator(self.network, [self.domain.width], problem.num_classes, s, make_generator(key))
        return q.to(problem.device)

    def new_p(self) -> LabelNetwork:
        """The fresh label propagator p_φ with its attention."""
        return self.domain.new_p(self.s, make_generator(self.root.fold("start p")))

    def run(self) -> EM:
        """Algorithm 1; returns the finished fit."""
        s = self.s
        opinion = self.opinion if self.iteration else self.pretrain()  # line 3
        for iteration in range(max(1, self.iteration), s.em_iterations + 1):  # line 4
            if not self.has_time(f"EM iteration {iteration}", {"p": s.epochs, "q": s.epochs}):
                break
            self.iteration, self.opinion = iteration, opinion
            self.guard.begin(iteration)
            key = self.root.fold("iteration").fold(iteration)

            labels = self.annotate(opinion, key.fold("annotate"))  # line 6
            if not self.m_step(labels, iteration, key.fold("M")):  # lines 7 to 11
                break

            posterior, graph = self.domain.infer(self.p, labels, s, key)  # lines 13 and 14
            self.inferred = {"labels": labels, "posterior": posterior, "p": copy_state(self.p), **graph.kept}
            opinion = self.e_step(posterior, graph, iteration, key.fold("E"))  # lines 15 and 16

            if self.guard.undoes(iteration, self.opinion, opinion, self.reference) or self.is_stable(opinion):
                break
        self.guard.fall_back()
        if self.inferred:
            self.guard.keep_structure(self.inferred)
        if self.start == "multihop" and self.watch.best is not None and self.watch.best_state is not None:
            about = describe(self.starts.multihop, self.problem, self.watch.best_state["logits"])
            self.watch.best = {**self.watch.best, **about, "propagator": self.network}
        if self.watch.best_state is not None:
            self.watch.best_state = {**self.watch.best_state, "judged": self.starts.judged_edges}
        if self.starts.links is not None and self.watch.best is not None:
            self.watch.best = {**self.watch.best, **self.starts.links.facts}
        if self.budget.left_out and self.watch.best is not None:
            self.watch.best = {**self.watch.best, "left_out": list(self.budget.left_out)}
        return self

    def pretrain(self) -> Tensor:
        """Line 3: q learns the known labels, on the graph that ``start`` names; returns its opinion."""
        start, epochs = self.s.start, self.s.pretrain_epochs
        if start == "auto" and self.problem.counts.val == 0:
            start = "multihop" if self.domain.has_multihop else "graph"
        for name in self.starts.tried if start == "auto" else (start,):
            if name in self.tried or (self.tried and not self.has_time(f"pre-train ({name})", {"q": epochs})):
                continue
            self.q = self.new_q(self.root.fold("start q"))
            self.tried[name] = self.train_q(*self.pretraining(name)), self.q
        if start == "multihop":
            self.suit_network()
        self.choose_start(max(self.tried, key=self.reached) if start == "auto" else start)  # a tie goes to the first
        opinion, self.q = self.tried[self.start]
        self.tried.clear()
        if not self.choosable:
            self.guard.set_aside()
        return opinion

    def has_time(self, what: str, epochs: dict[str, int]) -> bool:
        """Whether a part may begin: no callback has ended the fit, and the budget has time for it."""
        return not self.watch.stopped and self.budget.fits(what, epochs)

    @property
    def choosable(self) -> bool:
        """Whether epochs of pre-training can be chosen."""
        return self.s.em_iterations == 0 or self.s.candidates == "all"

    def reached(self, name: str) -> float:
        """The best validation score of a pre-training."""
        records = [record for record in self.watch.history if record["start"] == name]
        return max((record[score_key(self.s.metric)] for record in records), default=0.0)

    def choose_start(self, name: str) -> None:
        """Go on, with q and p, on the graph of this name."""
        self.start = name
        if self.starts.domain(name) is not self.domain:
            self.domain = self.starts.domain(name)
            self.p = self.new_p()

    def suit_network(self) -> None:
        """Where a GCN can't repeat the multi-hop opinion, q becomes a network that sees a node's own features apart."""
        if self.network != "gcn" or repeated(self.starts.multihop.probabilities, self.tried["multihop"][0]) >= REPEATED:
            return
        if self.has_time("pre-train (multihop, sage)", {"q": self.s.pretrain_epochs}):
            self.network = "sage"
            self.tried.clear()
            self.q = self.new_q(self.root.fold("start q"))
            self.tried["multihop"] = self.train_q(*self.pretraining("multihop")), self.q

    @property
    def reference(self) -> Reference | None:
        """What EM must not lose, where no validation nodes tell what it gains."""
        if self.start != "multihop":
            return None
        return Reference(self.starts.multihop.probabilities, like_edges=self.network == self.s.propagator)

    def pretraining(self, name: str) -> tuple[QGraph, Tensor, float, int, int, Tree | None, Key]:
        """Line 3 on one graph, as arguments of train_q: the known labels, with the entropy regulariser.

        From ``multihop`` and ``evidence`` q learns an opinion about the other nodes too, as if it were p's (line 16).
        """
        s, self.start = self.s, name
        beside = self.starts.beside(name)
        graph = self.starts.domain(name).start_graph(self.starts.graph(name), s)
        if beside is not None:
            beta, target = 0.0, e_step_target(self.problem, beside, 1.0, s.e_step)
        else:
            beta = s.beta_pretrain if s.beta_pretrain >= 0 else float(s.beta)
            target = pretrain_target(self.problem)
        extra = graph.kept if self.choosable or self.guard.on or s.budget or self.watch.may_stop else None
        key = self.root.fold("pre-train").fold(name if self.network == s.propagator else f"{name}, {self.network}")
        return graph, target, beta, s.pretrain_epochs, 0, extra, key

    def annotate(self, opinion: Tensor, key: Key) -> Tensor:
        """Line 6: Ŷ [N, C], the true labels where known and q's opinion (a distribution [N, C]) elsewhere."""
        s, classes = self.s, self.problem.num_classes
        labels = F.softmax(opinion.clamp_min(1e-30).log() / s.pseudo_temperature, dim=1)
        if s.pseudo_labels == "argmax":
            labels = F.one_hot(opinion.argmax(1), classes).float()
        elif s.pseudo_labels == "sample":
            labels = F.one_hot(self.problem.drawn(labels, key), classes).float()
        return self.problem.with_known_labels(labels)

    def m_step(self, labels: Tensor, iteration: int, key: Key) -> bool:
        """Lines 7 to 11: p learns to reconstruct Ŷ over structures sampled from the hard attention.

        Returns False where the iteration ends here: the budget has no time for it, or a callback ends the fit.
        """
        s, p, counts = self.s, self.p, self.problem.counts
        phase = self.watch.phase(f"M-step {iteration}", "p", s.epochs, later={"q": s.epochs})
        target, draw = m_step_target(labels, counts), self.domain.structures(p, labels)
        p.train()

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            weights, kl = draw(view, step.fold("structure"))  # lines 7 to 9
            predicted = view.own_only(p(view.rows(labels), weights, step))  # line 10
            return p_loss(predicted, view.own_rows(target), kl, float(s.beta), s.kl_weight, counts.nodes)  # line 11

        def after(epoch: int, values: Record, started: float) -> bool:
            record = {"phase": phase.name, "iteration": iteration, "epoch": epoch, **values}
            return self.watch.record(record, s.epochs, started) or phase.over(epoch)

        groups = decayed(p, self.decay(iteration), s.decay, never=("Q",))
        steps = self.domain.steps(Epochs(s.epochs, losses, after, key, part_of(p)), s)
        run_epochs(groups, s.learning_rate, steps, key, self.checkpoint)
        self.budget.left_out += [f"EM iteration {iteration}"] if phase.given_up else []
        return not (phase.given_up or self.watch.stopped)

    def e_step(self, posterior: Tensor, graph: QGraph, iteration: int, key: Key) -> Tensor:
        """Lines 15 and 16: q learns the known labels and p's opinion of the others, on the stable weights."""
        s = self.s
        if s.restart_q:
            self.q = self.new_q(key.fold("start q"))
        if (beside := self.starts.beside(self.start)) is not None:
            posterior = (posterior + beside) / 2
        target = e_step_target(self.problem, posterior, s.lambda_, s.e_step)
        if s.agreement:
            target = target * agreed(self.problem, posterior, self.opinion, s.agreement)
        return self.train_q(graph, target, s.beta_e_step, s.epochs, iteration, self.inferred, key)

    def train_q(
        self, graph: QGraph, target: Tensor, beta: float, epochs: int, iteration: int, extra: Tree | None, key: Key
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
        first, passed = epochs - min(s.annotate_epochs, epochs), 0
        phase = self.watch.phase(self.phase(iteration), "q", epochs, 1 if iteration or self.tried else FEWEST)

        def state() -> dict[str, Any]:
            return {**(extra or {}), "q": copy_state(predictor), "p": copy_state(self.p), "logits": logits}

        def consistency() -> float:
            return s.consistency * (1.0 if iteration else min(1.0, (passed + 1) / max(s.consistency_warmup, 1)))

        def after(epoch: int, values: Record, started: float) -> bool:
            nonlocal logits, opinion, passed
            passed = epoch + 1
            if s.average:
                follow(predictor, q, min(s.average, (epoch + 1) / (epoch + 10)))
            logits = graph.predict(predictor)
            if epoch >= first:
                opinion = torch.lerp(opinion, F.softmax(logits, dim=1), 1 / (epoch - first + 1))
            where = {"phase": phase.name, "iteration": iteration, "start": self.start, "epoch": epoch}
            record = {**where, **values, **evaluate(problem, logits, s.metric)}
            return self.watch.record(record, epochs, started, None if extra is None else state) or phase.over(epoch)

        def save() -> Tree:
            return {"q": q.state_dict(), "shown": predictor.state_dict(), "opinion": opinion, "passed": passed}

        def load(kept: Tree) -> None:
            nonlocal opinion, passed
            q.load_state_dict(kept["q"])
            predictor.load_state_dict(kept["shown"])
            opinion, passed = checkpoint.like(kept["opinion"], opinion), int(kept["passed"])

        plan = Epochs(epochs, self.q_losses(graph, target, beta, consistency), after, key, Part(save, load))
        if isinstance(q, Pagerank):
            steps = rows_steps(q, graph, target, beta, plan, s, iteration, cast(Problem, problem))
        else:
            steps = self.domain.steps(plan, s)
        run_epochs(decayed(q, self.decay(iteration), s.decay), s.learning_rate, steps, key, self.checkpoint)
        if iteration and (phase.cut or self.watch.stopped) and passed < LEAST / 2 * epochs:
            self.guard.undo(iteration, f"it ended after {passed} of {epochs} epochs of its E-step")
        return opinion if passed > first else F.softmax(logits, dim=1)

    def q_losses(self, graph: QGraph, target: Tensor, beta: float, consistency: Callable[[], float]) -> Losses:
        """Line 16, and the consistency between noisy passes with the weight that it has by now."""
        q, s, nodes = self.q, self.s, self.problem.counts.nodes
        diversity = beta * s.diversity

        def losses(view: View, step: Key) -> dict[str, Tensor]:
            adjacency, x = graph.on(view), [view.problem.x]
            passes = [q(adjacency, x, step)] if s.draws == 1 else draws(q, adjacency, x, step, s.draws)
            agreement = consistency(), s.consistency_temperature, s.consistency_confidence
            passes = [view.own_only(z) for z in passes]
            parts = passes_loss(passes, view.own_rows(target), beta, *agreement, nodes)
            return diverse(parts, passes, diversity, nodes, self.problem.place) if diversity else parts

        return losses

    def phase(self, iteration: int) -> str:
        """What q's epochs are called in the history."""
        if iteration:
            return f"E-step {iteration}"
        names = [self.start, *([self.network] if self.network != self.s.propagator else [])]
        return "pre-train" if names == ["graph"] else f"pre-train ({', '.join(names)})"

    def decay(self, iteration: int) -> float:
        """Weight decay until the first EM iteration ends, and after it.

        The loss is a mean over the labels, so a prior on the weights that stays the same weighs 1/labels beside it.
        """
        s = self.s
        decay = s.weight_decay if iteration <= 1 else s.weight_decay_later
        return decay * min(1.0, s.decay_labels / max(self.problem.counts.train, 1)) if s.decay_labels else decay

    def is_stable(self, opinion: Tensor) -> bool:
        """Whether the iteration changed so few labels that EM ends."""
        tolerance = max(self.s.tolerance, STABLE) if self.start == "multihop" else self.s.tolerance
        return tolerance > 0 and share_changed(self.opinion, opinion, self.problem.place) <= tolerance

    def state(self) -> Tree:
        """What a checkpoint keeps of the fit beside the epochs under way."""
        tried = [[name, opinion, q.state_dict()] for name, (opinion, q) in self.tried.items()]
        networks = {"q": self.q.state_dict(), "p": self.p.state_dict()}
        where = {"iteration": self.iteration, "start": self.start, "network": self.network, "opinion": self.opinion}
        return {**where, **networks, "tried": tried, "safe": self.guard.safe, "budget": self.budget.state()}

    def resume(self, kept: Tree) -> None:
        """Go on from such a state."""
        if self.network != kept["network"]:
            self.network = kept["network"]
            self.q = self.new_q(self.root.fold("start q"))
        self.iteration, self.opinion = kept["iteration"], kept["opinion"].to(self.problem.device)
        if self.iteration:
            self.choose_start(kept["start"])
        for name, opinion, weights in kept["tried"]:
            q = self.new_q(self.root.fold("start q"))
            q.load_state_dict(weights)
            self.tried[name] = opinion.to(self.problem.device), q
        self.q.load_state_dict(kept["q"])
        self.p.load_state_dict(kept["p"])
        self.guard.safe = kept["safe"]
        self.budget.resume(kept["budget"], 0.0 if self.checkpoint is None else self.checkpoint.seconds)
