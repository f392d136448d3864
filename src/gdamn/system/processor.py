"""The kind of processor, on which the last bits of a result depend."""

from __future__ import annotations

from functools import cache


@cache
def processor() -> str:
    """The name that LLVM has for it and the instructions that torch uses on it, such as ``znver3, AVX2``."""
    import torch
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()}, {torch.backends.cpu.get_cpu_capability()}"
