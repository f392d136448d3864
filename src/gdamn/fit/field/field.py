"""The field: beliefs about labels and the reliability of edges, each learned from the other.

Expectation: belief propagation says how likely each edge joins nodes of one class. Maximisation: a regression learns
from that what the evidence is worth, and gives each edge its reliability for the next round. No label but those of
training nodes is read. An edge that a person confirmed has the reliability 1, and teaches the regression. Where an
attack has put edges around the training nodes, it finds that these rarely agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...graph.structure import Structure
from ...model.inputs import Block
from ...model.problem import Problem
from .beliefs import propagate_beliefs
from .evidence import Evidence, looks
from .links import Links, judge_links
from .pairs import Pairs
from .reliability import fit_reliability, reliabilities

FIRST = 0.7
"""π before anything is known of the edges."""

ROUNDS = 6
"""Rounds of both steps."""

NEIGHBOURS = (0, 2, 4)
"""Rounds before which the evidence of the other neighbours is computed again."""

CERTAIN = 0.999
"""π of an edge that a person confirmed, in the messages, which need doubt; what is known of the edge itself is 1."""

MOST_MESSAGES = 10_000_000
"""Pairs times classes up to which the field is computed."""


@dataclass(frozen=True, eq=False)
class Field:
    """What is known of nodes and edges.

    Attributes:
        beliefs: [N, C] class probabilities of the nodes.
        evidence: [E] on the entries of A + I, P(same class) by evidence alone; 1 on loops.
        reliability: [E] the same given the beliefs about both ends, too.
    """

    beliefs: Tensor
    evidence: NDArray[np.float32]
    reliability: NDArray[np.float32]


def edge_links(structure: Structure, x: Block, device: torch.device, seed: int) -> tuple[Pairs, Links]:
    """The pairs of a graph with features x, and which of them look as if they were drawn by lot."""
    pairs = Pairs.of(structure)
    links = judge_links(pairs, looks(structure, x, device, seed), seed)
    return pairs, replace(links, lot=pairs.with_confirmed(links.lot, 0.0))  # nobody drew what a person confirmed


def edge_field(problem: Problem, known: Tensor, seed: int) -> Field:
    """The field of a problem.

    Args:
        known: [N, C] what is known of the nodes without their edges; training nodes get their labels.
        seed: of the projection that features are compared by.
    """
    pairs = Pairs.of(problem.structure)
    alone = problem.with_known_labels(known).cpu().numpy().astype(np.float32)
    if not len(pairs):
        ones = np.ones(problem.structure.pattern.num_entries, np.float32)
        return Field(torch.from_numpy(alone), ones, ones)
    evidence, w = Evidence(problem, pairs, seed), None
    pi = trust = pairs.with_confirmed(np.full(len(pairs), FIRST, np.float32), CERTAIN)
    for number in range(ROUNDS):
        if number in NEIGHBOURS:
            z = evidence.columns(trust)
        beliefs = propagate_beliefs(pairs, alone, pi)
        trust = pairs.with_confirmed(beliefs.same)
        w = fit_reliability(z, trust, w)
        pi = pairs.with_confirmed(reliabilities(z, w), CERTAIN)
    judged = pairs.on_entries(pairs.with_confirmed(pi)), pairs.on_entries(trust)
    return Field(torch.from_numpy(beliefs.nodes).to(problem.device), *judged)
