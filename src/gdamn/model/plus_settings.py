"""The settings of GDAMN-plus: GDAMN's with other defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .settings import Setting, Settings


def other_default(name: str, default: Setting) -> Any:
    """A setting of GDAMN with another default."""
    return field(default=default, metadata=Settings.__dataclass_fields__[name].metadata)


@dataclass(frozen=True, kw_only=True)
class PlusSettings(Settings):
    """The settings of GDAMN-plus: those of GDAMN, with other defaults for what its docs/method.md section names."""

    propagator: str = other_default("propagator", "random")
    decay: str = other_default("decay", "all")
    draws: int = other_default("draws", 2)
    consistency_confidence: float = other_default("consistency_confidence", 0.5)
    consistency_warmup: int = other_default("consistency_warmup", 50)
    beta: float | str = other_default("beta", 0.0)
    lambda_: float = other_default("lambda_", 0.3)
    dropout_attention: float = other_default("dropout_attention", 0.0)
    soft: bool = other_default("soft", False)
    reweight: str = other_default("reweight", "hard")
