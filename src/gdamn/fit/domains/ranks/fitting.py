"""What a fit does about ranks: it gets its part of the problem, and rank 0 gets the whole result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....kernels import set_threads
from ....model.problem import Problem, make_problem
from . import environment
from .checkpoints import gathered
from .sharing import SharedProblem, share_out

if TYPE_CHECKING:
    import torch

    from ....graph.graph import Graph
    from ....model.setting import Trainable
    from .group import Group


@contextmanager
def laid_out(
    graph: Graph, s: Trainable, device: torch.device, group: Group | None, method: str = "gdamn"
) -> Iterator[Problem]:
    """Within the block: the problem of a graph, or this rank's part of it where a group trains together."""
    layout = s.normalize, s.dropout_input, device, str(s.class_weight)
    if group is None:
        yield make_problem(graph, *layout)
        return
    whole = make_problem(replace(graph), *layout)  # a copy, so that A + I is not kept
    problem = share_out(whole, s, group, method)
    del whole
    assert problem.share is not None
    with own_threads(s.threads):
        yield problem


def whole_state(problem: Problem, state: dict[str, Any] | None) -> dict[str, Any] | None:
    """The state of the chosen epoch with all ranks' parts; None on the ranks that don't lead."""
    if not isinstance(problem, SharedProblem) or state is None:
        return state
    assert problem.share is not None
    whole: dict[str, Any] = gathered(state, problem.share)
    return whole if problem.share.group.leads else None


@contextmanager
def own_threads(asked: int) -> Iterator[None]:
    """Without a number that was asked for, the ranks of a machine share its cores."""
    share = environment.threads()
    before = set_threads(0)
    set_threads(before if asked or share is None or 0 < before <= share else share)
    try:
        yield
    finally:
        set_threads(before)
