"""Whether this installation is well: versions, threads, kernels, data, disk and memory, each checked for real."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..system.extras import EXTRAS
from ..system.versions import __version__

if TYPE_CHECKING:
    from torch import Tensor

GOOD, WARN, BAD = "good", "look", "bad"
AGREE = 1e-5
"""The most by which compiled kernels and plain torch may differ: the last bits of float32 sums."""

LEAST_DISK, LEAST_MEMORY = 1.0, 1.0
"""GiB below which a benchmark run may fail."""


@dataclass(frozen=True)
class Finding:
    """The result of a check: a state, a sentence (``told``, as in ``gdamn doctor --json``), and the facts behind it."""

    name: str
    state: str
    told: str
    facts: dict[str, Any] = field(default_factory=dict)


def examine(watch: Callable[[str], None] | None = None) -> list[Finding]:
    """Run all checks; one that fails is a finding, too."""
    findings = []
    for name, check in CHECKS.items():
        if watch is not None:
            watch(name)
        try:
            state, sentence, facts = check()
        except Exception as problem:
            state, sentence, facts = BAD, f"could not be checked: {type(problem).__name__}: {problem}", {}
        findings.append(Finding(name, state, " ".join(sentence.split()), facts))
    return findings


Result = tuple[str, str, dict[str, Any]]


def system() -> Result:
    """Python and what it runs on."""
    facts = {"gdamn": __version__, "python": platform.python_version(), "platform": platform.platform()}
    facts |= {"machine": platform.machine(), "python_build": sys.version.split("[")[-1].rstrip("]")}
    return GOOD, f"gdamn {facts['gdamn']}, Python {facts['python']}, {facts['platform']}", facts


def packages() -> Result:
    """Every package that gdamn needs, against the range that it asks for."""
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    facts: dict[str, Any] = {}
    problems = []
    for text in requires("gdamn") or []:
        needed = Requirement(text)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            facts[needed.name] = version(needed.name)
        except PackageNotFoundError:
            facts[needed.name] = None
            problems.append(f"{needed.name} is missing")
            continue
        if not needed.specifier.contains(facts[needed.name], prereleases=True):
            problems.append(f"{needed.name} {facts[needed.name]} is outside of {needed.specifier}")
    if problems:
        return BAD, f"{'; '.join(problems)}; install gdamn again", facts
    absent = sorted({extra for package, extra in EXTRAS.items() if find_spec(package) is None})
    without = f"; without the extras {', '.join(absent)}" if absent else ""
    return GOOD, f"all {len(facts)} in the ranges that gdamn asks for; torch {facts.get('torch')}{without}", facts


def threads() -> Result:
    """Cores, and the threads that the libraries would use."""
    import numba
    import torch

    from ..runs.pool import THREAD_VARIABLES

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts: dict[str, Any] = {"cores": os.cpu_count(), "usable": usable, "torch": torch.get_num_threads()}
    facts |= {"numba": numba.config.NUMBA_NUM_THREADS, "gpu": torch.cuda.is_available()}
    facts |= {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    sentence = f"{usable} of {facts['cores']} cores usable; numba {facts['numba']}, torch {facts['torch']} threads"
    if usable and facts["numba"] > usable:
        return WARN, f"{sentence}: more threads than cores slow each other down; unset NUMBA_NUM_THREADS", facts
    return GOOD, sentence, facts


def kernels() -> Result:
    """The compiled kernels against plain torch, values and gradients."""
    from ..kernels import use_kernels

    with use_kernels("fast"):
        fast = _kernel_values()
    with use_kernels("torch"):
        plain = _kernel_values()
    facts = {name: _difference(fast[name], plain[name]) for name in fast}
    worst = max(facts, key=lambda name: facts[name] if facts[name] == facts[name] else float("inf"))
    if not facts[worst] <= AGREE:
        return BAD, f"{worst} differs from torch by {facts[worst]:.3g}; please send this with a bug report", facts
    return GOOD, f"compiled, and {len(facts)} results agree with torch to {facts[worst]:.1g}", facts


def _difference(one: Tensor, two: Tensor) -> float:
    """The largest difference, in units of the largest value where that is above 1."""
    return float((one - two).abs().max() / two.abs().max().clamp_min(1))


def _kernel_values() -> dict[str, Tensor]:
    """Results and gradients of the operations on a small random graph."""
    import numpy as np
    import scipy.sparse as sp
    import torch

    from ..kernels import Key, Pattern, dropout, edge_softmax, gram, matmul, sddmm, spmm

    rng = np.random.default_rng(0)
    dense = rng.random((60, 60)) < 0.1
    csr = sp.csr_array((dense | dense.T | np.eye(60, dtype=bool)).astype(np.float32))
    pattern = Pattern.from_csr(csr.indptr, csr.indices, csr.shape)
    x = torch.as_tensor(rng.normal(size=(60, 8)).astype(np.float32)).requires_grad_()
    weight = torch.as_tensor(rng.normal(size=(8, 4)).astype(np.float32)).requires_grad_()
    scores = gram(pattern, x, 0.1)
    values = edge_softmax(pattern, scores, torch.ones_like(scores))
    product = spmm(pattern, values, matmul(x, weight))
    results = {"gram": scores, "edge_softmax": values, "spmm": product, "sddmm": sddmm(pattern, product, product)}
    results["dropout"] = dropout(product, 0.5, Key(1))
    sum(value.square().mean() for value in results.values()).backward()  # type: ignore[union-attr]
    assert x.grad is not None
    assert weight.grad is not None
    return {**{name: value.detach() for name, value in results.items()}, "gradient": x.grad, "gradient_w": weight.grad}


def repeats() -> Result:
    """A small fit, twice: the same seed must give the same bits."""
    from ..data.named.synthetic import BlockModel, sbm
    from ..estimators.gdamn import GDAMN

    graph = sbm(BlockModel(60, 2, train_per_class=4, val_per_class=4))
    one, two = (GDAMN(pretrain_epochs=3, epochs=2, em_iterations=1, seed=1).fit(graph) for _ in range(2))
    same = one.probabilities_.tobytes() == two.probabilities_.tobytes()
    if not same:
        return BAD, "two fits of the same seed differ; please send this with a bug report", {"same": same}
    return GOOD, "a small fit repeated with the same bits", {"same": same}


def data() -> Result:
    """Where data files are looked for."""
    from ..data.fetch import ENV_ROOT, roots

    facts = {_short(root): root.is_dir() for root in roots()}
    configured = os.environ.get(ENV_ROOT, "").strip()
    if configured and not Path(configured).expanduser().is_dir():
        return BAD, f"{ENV_ROOT} names '{_short(Path(configured))}', which is not a folder; correct or unset it", facts
    used = next((root for root, there in facts.items() if there), None)
    return GOOD, f"in {used}" if used else "no data yet; they are fetched when they are first asked for", facts


def disk() -> Result:
    """Room in the working folder and in the cache."""
    from ..data.fetch import cache_root

    facts = {}
    for name, folder in (("here", Path.cwd()), ("cache", cache_root())):
        while not folder.exists():
            folder = folder.parent
        facts[name] = round(shutil.disk_usage(folder).free / 2**30, 2)
    sentence = f"{facts['here']:.1f} GiB free here, {facts['cache']:.1f} GiB for the cache"
    if not os.access(Path.cwd(), os.W_OK):
        return WARN, f"{sentence}; this folder can't be written, so pass --out", facts
    return (
        (GOOD, sentence, facts) if min(facts.values()) >= LEAST_DISK else (WARN, f"{sentence}: that is little", facts)
    )


def memory() -> Result:
    """Memory that is free, and the limit that was set for this process."""
    from ..system.memory import system_bytes

    sizes = system_bytes().items()
    facts: dict[str, Any] = {name: round(size / 2**30, 2) for name, size in sizes if name.startswith("Mem")}
    if not facts:
        return GOOD, "this system doesn't tell in a way that is known here", facts
    free, total = facts.get("MemAvailable", 0.0), facts.get("MemTotal", 0.0)
    sentence = f"{free:.1f} of {total:.1f} GiB available"
    return (GOOD, sentence, facts) if free >= LEAST_MEMORY else (WARN, f"{sentence}: that is little", facts)


CHECKS: dict[str, Callable[[], Result]] = {
    "system": system,
    "packages": packages,
    "threads": threads,
    "kernels": kernels,
    "repeats": repeats,
    "data": data,
    "disk": disk,
    "memory": memory,
}


def _short(path: Path) -> str:
    """A path without the name of the person whose home it is in."""
    try:
        return str(Path("~") / path.expanduser().relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
