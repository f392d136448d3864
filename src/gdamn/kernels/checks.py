"""What the operations refuse before a compiled loop runs: such a loop would read foreign memory in place of failing.

Shapes and types are checked on every call, index ranges once per :class:`~gdamn.kernels.Pattern`. The cost is measured
in docs/evidence/performance.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import GraphError

if TYPE_CHECKING:
    from torch import Tensor

    from ..graph.pattern import Pattern


def check_shape(operation: str, name: str, tensor: Tensor, *shape: int) -> None:
    """Refuse a tensor of another shape; -1 stands for any size."""
    actual = tensor.shape
    if actual == shape:
        return
    if len(actual) != len(shape):
        _refuse_shape(operation, name, tensor, shape)
    for size, expected in zip(actual, shape):  # noqa: B905 - their lengths are equal, and this runs often
        if size != expected and expected != -1:
            _refuse_shape(operation, name, tensor, shape)


def check_types(operation: str, first: Tensor, *others: Tensor | None) -> None:
    """Refuse tensors whose type differs from that of the first, or isn't a floating-point one."""
    kind = first.dtype
    if not kind.is_floating_point:
        raise GraphError(f"{operation} works on floating-point tensors, not on {kind}.")
    for other in others:
        if other is not None and other.dtype is not kind:
            raise GraphError(f"{operation} needs tensors of one type; got {kind} and {other.dtype}.")


def check_transpose(pattern: Pattern) -> None:
    """Refuse a pattern that was made without its transpose."""
    if len(pattern.t_indptr) != pattern.shape[1] + 1:
        raise GraphError("This pattern has no transpose; make it with Pattern.from_csr.")


def _refuse_shape(operation: str, name: str, tensor: Tensor, shape: tuple[int, ...]) -> NoReturn:
    expected = ", ".join("any" if size == -1 else str(size) for size in shape)
    raise GraphError(f"{operation}: {name} must have the shape [{expected}]; got {list(tensor.shape)}.")
