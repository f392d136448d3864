"""Algorithm 1: how a model is trained. ``em.py`` is the loop, ``training.py`` an epoch, ``domains/`` where it runs.

Belongs here: phases, epochs, the choice of an epoch, checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .checkpoint import keeping
    from .em import EM

__all__ = ["EM", "keeping"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "EM": ".em",
        "keeping": ".checkpoint",
    },
)
