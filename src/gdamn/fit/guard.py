"""The guard of EM: where no validation nodes choose an epoch, an iteration that collapses is undone."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.place import Place

VANISHED = 0.25
"""A class has vanished where less than this share of its nodes is left."""

CHANGED = 0.5
"""An iteration that gives more than this share of the nodes another class has lost what it began with."""

STABLE = 0.03
"""EM ends where an iteration changes no more than this share of the labels, if nothing else can tell when to stop."""


def collapse(before: Tensor, after: Tensor, place: Place) -> str | None:
    """Why an iteration has collapsed, from its nodes' distributions [N, C] before and after; None where it hasn't.

    A class that had at least a quarter of its equal share of the nodes must keep a quarter of those that it had, and
    most nodes must keep their class. No label is read.
    """
    classes = before.shape[1]
    old, new = before.argmax(1), after.argmax(1)
    counts = torch.stack([torch.bincount(each, minlength=classes) for each in (old, new)]).double()
    had, has = place.sum(counts)
    nodes = float(had.sum())
    vanished = ((had >= nodes / classes / 4) & (has < VANISHED * had)).nonzero()[:, 0].tolist()
    if vanished:
        return f"class{'es' if len(vanished) > 1 else ''} {', '.join(map(str, vanished))} vanished"
    changed = float(place.sum((old != new).double().sum())) / nodes
    return f"{100 * changed:.0f} % of the labels changed" if changed > CHANGED else None
