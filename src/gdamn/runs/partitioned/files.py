"""The files that a run on a partitioned graph has beside those of every run: one of each kind per part.

seed-0/networks.safetensors             the networks, and a head that says how they were trained
seed-0/predictions/part-00000.parquet   node, predicted, confidence, split
seed-0/probabilities/part-00000.npy     [n, C] by q, not calibrated
seed-0/pseudo_labels/part-00000.npy     [n, C] what p was given for labels; where p has attention
seed-0/edges/part-00000.parquet         source, target, hard, soft, stable, suspicion; an entry of the part each
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

NETWORKS = "networks.safetensors"
KINDS = {"predictions": ".parquet", "probabilities": ".npy", "pseudo_labels": ".npy", "edges": ".parquet"}
"""The folders of a seed, and how their files end."""


def part_file(seed: Path, kind: str, number: int) -> Path:
    """The file of a kind that belongs to a part."""
    return seed / kind / f"part-{number:05d}{KINDS[kind]}"


def is_partitioned(run: Path) -> bool:
    """Whether a folder holds a run on a partitioned graph."""
    return any(run.glob(f"seed-*/{NETWORKS}"))


def forget(seed: Path, parts: int = 0, kinds: Collection[str] = ()) -> None:
    """Remove what an earlier run left in the folder of a seed, but the files of so many parts of these kinds.

    Several ranks may do it at once.
    """
    for kind in KINDS:
        kept = parts if kind in kinds else 0
        for path in (seed / kind).glob("part-*"):
            number = re.fullmatch(rf"part-(\d+){re.escape(KINDS[kind])}", path.name)
            if number is not None and int(number[1]) >= kept:
                path.unlink(missing_ok=True)
        with suppress(OSError):  # it isn't there, or has files
            (seed / kind).rmdir()
