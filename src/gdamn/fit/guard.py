"""The guard of EM: an iteration that collapses is undone. Without validation nodes nothing else would notice it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..kernels.place import Place
from ..model.problem import Labelled
from .checkpoint_file import Tree
from .training import Record, Watch

VANISHED = 0.25
"""A class has vanished where less than this share of its nodes is left."""

CHANGED = 0.5
"""An iteration that gives more than this share of the nodes another class has lost what it began with."""

STABLE = 0.1
"""EM ends where an iteration changes no more than this share of the labels, if nothing else can tell when to stop."""

REPEATED = 0.85
"""q has lost the multi-hop opinion where it gives fewer nodes than this the class that the opinion gives them."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The multi-hop opinion, which EM started from.

    Attributes:
        probabilities: [N, C].
        like_edges: whether a GCN repeats it, as it does where edges join like nodes. Otherwise EM, whose p carries
            labels over edges, has nothing to add to q's pre-training but the refined graph.
    """

    probabilities: Tensor
    like_edges: bool


class Guard:
    """Keeps the chosen epoch of before an EM iteration, and comes back to it where the iteration is undone.

    Args:
        wanted: the setting ``guard``.
    """

    def __init__(self, watch: Watch, problem: Labelled, wanted: str) -> None:
        self.watch, self.problem = watch, problem
        self.on = wanted == "on" or (wanted == "auto" and problem.counts.val == 0)
        self.safe: dict[str, Any] = {}  # the chosen epoch before the iteration under way
        self.undone = False

    def set_aside(self) -> None:
        """Pre-training is over, and its epochs are no candidates; EM can come back to the best of them all the same."""
        if self.watch.best is not None:
            self.safe = self.chosen(0)
            self.watch.best = self.watch.best_state = None

    def begin(self, iteration: int) -> None:
        """An iteration begins with the epoch that is chosen now."""
        if self.on and self.watch.best is not None and self.safe.get("iteration") != iteration:
            self.safe = self.chosen(iteration)

    def chosen(self, iteration: int) -> dict[str, Any]:
        """The chosen epoch: its place in the history and its state."""
        at = next(at for at, record in enumerate(self.watch.history) if record is self.watch.best)
        return {"iteration": iteration, "record": at, "state": self.watch.best_state}

    def undoes(self, iteration: int, before: Tensor, after: Tensor, reference: Reference | None = None) -> bool:
        """Whether the iteration is undone, since it lost what it began with, or the multi-hop opinion.

        Args:
            before, after: [N, C] q's distributions.
            reference: the multi-hop opinion, where EM started from it.
        """
        if self.undone or not self.on or not self.safe:
            return self.undone
        counted, place, names = self.problem.counted, self.problem.place, self.problem.class_names
        if counted is not None:
            before, after = before[counted], after[counted]
        reason = collapse(before, after, place, names)
        if reason is None and reference is not None:
            reason = departure(reference, after, counted)
        if reason is not None:
            self.undo(iteration, reason)
        return reason is not None

    def undo(self, iteration: int, reason: str) -> None:
        """Come back to the epoch that was chosen before, where the guard is on; its record says why."""
        self.undone = self.on and bool(self.safe)
        if self.undone:
            self.come_back()["undone"] = f"EM iteration {iteration}: {reason}"

    def fall_back(self) -> None:
        """Come back to pre-training where EM left no epoch to choose."""
        if self.watch.best is None and self.safe:
            self.come_back()

    def keep_structure(self, inferred: Tree) -> None:
        """Where an epoch of pre-training was chosen, p and the last refined graph are kept beside it."""
        best = self.watch.best_state
        if best is None or "posterior" in best:
            return
        best.update({name: inferred[name] for name in ("labels", "posterior", "p")})
        if "weights" in best:
            weights, used = inferred["weights"], best["weights"]["used"]
            best["weights"] = {**weights, "used": used} if "hard" in weights else {"used": used}

    def come_back(self) -> Record:
        """Choose the epoch that was chosen before."""
        record: Record = self.watch.history[self.safe["record"]]
        self.watch.best, self.watch.best_state = record, self.safe["state"]
        return record


def collapse(before: Tensor, after: Tensor, place: Place, names: tuple[str, ...] = ()) -> str | None:
    """Why an iteration has collapsed, from its nodes' distributions [N, C] before and after; None where it hasn't.

    A class that had at least a quarter of its equal share of the nodes must keep a quarter of those that it had, and
    most nodes must keep their class. No label is read.

    Args:
        names: [C] of the classes; without them they have numbers.
    """
    classes = before.shape[1]
    old, new = before.argmax(1), after.argmax(1)
    counts = torch.stack([torch.bincount(each, minlength=classes) for each in (old, new)]).double()
    had, has = place.sum(counts)
    nodes = float(had.sum())
    vanished = ((had >= nodes / classes / 4) & (has < VANISHED * had)).nonzero()[:, 0].tolist()
    if vanished:
        named = ", ".join(f"'{names[number]}'" if names else str(number) for number in vanished)
        return f"class{'es' if len(vanished) > 1 else ''} {named} vanished"
    changed = float(place.sum((old != new).double().sum())) / nodes
    return f"{100 * changed:.0f} % of the labels changed" if changed > CHANGED else None


def share_changed(before: Tensor, after: Tensor, place: Place) -> float:
    """The share of the nodes whose class is another, from their distributions [N, C]."""
    changed = (before.argmax(1) != after.argmax(1)).float()
    return (place.sum(changed.sum()) / place.rows_of(changed)).item()


def departure(reference: Reference, after: Tensor, counted: Tensor | None) -> str | None:
    """Why EM has left the multi-hop opinion, or None, from q's distributions [n, C] of the nodes that count."""
    if not reference.like_edges:
        return "a GCN can't repeat what cross-fitted regressions say, so labels aren't carried over the edges"
    expected = reference.probabilities if counted is None else reference.probabilities[counted]
    share = repeated(expected, after)
    if share >= REPEATED:
        return None
    return f"only {100 * share:.0f} % of the nodes kept the class that cross-fitted regressions give them"


def repeated(reference: Tensor, after: Tensor) -> float:
    """The share of the nodes that both distributions [N, C] give the same class."""
    return float((reference.argmax(1) == after.argmax(1)).double().mean())
