"""Starts: the graphs that q can be pre-trained on, and the opinions that then stand beside p."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from torch import Tensor

from ..model.settings import Settings
from .domains.domain import Domain
from .field import Field
from .multihop import Opinion


class Starts:
    """What each start of a fit on a domain needs, made once where it is asked for."""

    def __init__(self, plain: Domain, seed: int) -> None:
        self.plain, self.seed = plain, seed
        self._domains: dict[str, Domain] = {}

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

    def tried(self, judge_edges: bool) -> tuple[str, ...]:
        """The starts that ``auto`` tries; the last two where the setting ``judge_edges`` is on."""
        more = {"evidence": self.plain.has_field, "multihop": self.plain.has_field and self.plain.has_multihop}
        return (*self.plain.starts, *(name for name, there in more.items() if judge_edges and there))

    def judged_edges(self, s: Settings) -> dict[str, Any]:
        """The field on every edge, where the settings ask for it; else {}. The same for a fit that was resumed."""
        asked = s.start == "evidence" or (s.judge_edges and s.start in ("auto", "multihop"))
        if not asked or not self.plain.has_field:
            return {}
        return {"evidence": self.field.evidence, "reliability": self.field.reliability}
