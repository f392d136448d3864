"""Belief propagation on a Markov random field of the labels (Pearl 1988; Yedidia, Freeman & Weiss 2003).

    p(Y) ∝ Π_i f_i(y_i) Π_{ij} ψ_ij(y_i, y_j),      ψ_ij = π_ij where y_i = y_j, else (1 - π_ij) / (C - 1)

f_i [C] is what is known of a node without its edges, π_ij the reliability of the edge: the probability that its ends
have the same class. What i says to j leaves out what it heard from j, so that no edge confirms itself:

    b_i\\j ∝ f_i Π_{k ∈ N_i without j} m_ki^τ,      m_ij = π_ij b_i\\j + (1 - π_ij) (1 - b_i\\j) / (C - 1)

τ < 1 tempers the messages, which are not independent where a graph has cycles. With τ = 1 beliefs on a tree are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .pairs import Pairs

Floats = NDArray[np.float32]

ROUNDS = 10
"""Times that every node speaks to its neighbours."""

TEMPER = 0.7
"""τ."""

KEEP = 0.3
"""Share of its last message that a node repeats, lest neighbours that contradict each other swap opinions for ever."""

LEAST = 1e-6
"""A class is never less likely than this before its neighbours are heard."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What belief propagation says.

    Attributes:
        nodes: [N, C] the class probabilities of every node.
        same: [M] P(the ends of a pair have the same class), given all else.
    """

    nodes: Floats
    same: Floats


def propagate_beliefs(
    pairs: Pairs, known: Floats, reliability: Floats, rounds: int = ROUNDS, temper: float = TEMPER, keep: float = KEEP
) -> Beliefs:
    """Beliefs after so many rounds.

    Args:
        known: f [N, C], rows that sum to 1.
        reliability: π [M], strictly between 0 and 1.
        temper, keep: τ, and the share of a message that is repeated.
    """
    count, classes = len(pairs), known.shape[1]
    speaker = np.concatenate([pairs.left, pairs.right])
    hears = incoming(np.concatenate([pairs.right, pairs.left]), pairs.nodes)
    pi = np.concatenate([reliability, reliability])[:, None].astype(np.float32)
    alone = np.log(np.maximum(known, LEAST)).astype(np.float32)
    messages = np.zeros((2 * count, classes), np.float32)
    without = np.full((2 * count, classes), 1 / classes, np.float32)
    for _ in range(rounds):
        heard = alone + np.float32(temper) * (hears @ messages)
        without = softmax(heard[speaker] - np.float32(temper) * swapped(messages, count))
        said: Floats = np.log(pi * without + (1 - pi) * (1 - without) / max(classes - 1, 1))
        messages = np.float32(keep) * messages + np.float32(1 - keep) * said
    nodes = softmax(alone + np.float32(temper) * (hears @ messages))
    return Beliefs(nodes, posterior(reliability, (without[:count] * without[count:]).sum(1), classes))


def posterior(reliability: Floats, agree: Floats, classes: int) -> Floats:
    """[M] P(same | all else) = π a / (π a + (1 - π) (1 - a) / (C - 1)), a the chance that independent ends agree."""
    same, other = reliability * agree, (1 - reliability) * (1 - agree) / max(classes - 1, 1)
    return np.asarray(same / np.maximum(same + other, 1e-12), np.float32)


def incoming(listener: NDArray[np.int64], nodes: int) -> sp.csr_array:
    """[N, 2M] sums the messages of every listener."""
    order = np.argsort(listener, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(listener, minlength=nodes))])
    return sp.csr_array((np.ones(len(order), np.float32), order, indptr), shape=(nodes, len(order)))


def swapped(messages: Floats, count: int) -> Floats:
    """The messages [2M, C] of the opposite directions."""
    return np.concatenate([messages[count:], messages[:count]])


def softmax(logits: Floats) -> Floats:
    """Rows that sum to 1."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares: Floats = powers / powers.sum(1, keepdims=True)
    return shares
