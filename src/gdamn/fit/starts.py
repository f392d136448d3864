"""Starts: the graphs that q can be pre-trained on, and the opinions that then stand beside p."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..model.settings import Settings
from .domains.domain import Domain
from .field import Field, Links
from .field.pairs import Pairs
from .multihop import Opinion


class Starts:
    """What each start of a fit on a domain needs, made once where it is asked for.

    Attributes:
        plain: the domain, on the graph without the edges that look as if they were drawn by lot.
    """

    def __init__(self, domain: Domain, settings: Settings) -> None:
        self.seed, self.judges = settings.seed, settings.judge_edges
        asked = settings.start == "evidence" or (self.judges and settings.start in ("auto", "multihop"))
        self.asked = asked and domain.has_field
        self.pairs: Pairs | None = None
        self.links: Links | None = None
        if self.asked and self.judges:
            self.pairs, self.links = domain.edge_links(self.seed)
        self.plain = domain if self.kept is None else domain.weighed_by(self.kept)
        self._domains: dict[str, Domain] = {}

    @cached_property
    def kept(self) -> NDArray[np.float32] | None:
        """[E] what each entry of A + I weighs, 0 where it is cut; None where nothing is."""
        if self.pairs is None or self.links is None or self.links.factors is None:
            return None
        return self.pairs.on_entries(self.links.factors)

    @cached_property
    def multihop(self) -> Opinion:
        """What cross-fitted regressions on multi-hop features say."""
        return self.plain.multihop_opinion(self.seed)

    @cached_property
    def field(self) -> Field:
        """How far each edge is to be trusted, and what belief propagation then says of the nodes."""
        return self.plain.edge_field(self.seed, self.multihop.probabilities if self.few_labels else None)

    @property
    def few_labels(self) -> bool:
        """Whether there are no validation nodes, so that EM starts from the opinion of multi-hop features."""
        return self.plain.problem.counts.val == 0 and self.plain.has_multihop

    def beside(self, name: str) -> Tensor | None:
        """[N, C] the opinion that stands beside p where EM starts so; None where it has none."""
        if name == "multihop":
            return self.multihop.probabilities
        return self.field.beliefs if name == "evidence" else None

    def graph(self, name: str) -> str:
        """What pre-training calls the graph of a start."""
        return self.multihop.graph if name == "multihop" else name

    def domain(self, name: str) -> Domain:
        """The domain on the graph whose edges weigh as a start says."""
        if name == "similar" and name not in self._domains:
            self._domains[name] = self.plain.weighed_by_features()
        if name == "evidence" and name not in self._domains:
            self._domains[name] = self.plain.weighed_by(self.field.reliability)
        return self._domains.get(name, self.plain)

    @property
    def tried(self) -> tuple[str, ...]:
        """The starts that ``auto`` tries; the last two where the setting ``judge_edges`` is on."""
        more = {"evidence": self.plain.has_field, "multihop": self.plain.has_field and self.plain.has_multihop}
        return (*self.plain.starts, *(name for name, there in more.items() if self.judges and there))

    @property
    def judged_edges(self) -> dict[str, Any]:
        """What is known of every edge, where the settings ask for it; else {}. The same for a fit that was resumed."""
        if not self.asked:
            return {}
        judged = {"evidence": self.field.evidence, "reliability": self.field.reliability}
        if self.pairs is not None and self.links is not None:
            judged["lot"] = self.pairs.on_entries(self.links.lot)
        if self.kept is not None:
            judged["kept"] = self.kept
        return judged
