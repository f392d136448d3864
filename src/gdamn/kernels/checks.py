"""What the operations refuse before a compiled loop runs: such a loop would read foreign memory in place of failing.

Shapes and types are checked on every call, index ranges once per :class:`~gdamn.kernels.Pattern`. The cost is measured
in docs/performance.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import NDArray

from ..errors import GraphError

if TYPE_CHECKING:
    from torch import Tensor

    from ..graph.pattern import Pattern


def check_csr(indptr: NDArray[Any], indices: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse arrays that are no CSR pattern of this shape."""
    rows, columns = shape
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise GraphError(f"{name} must be a vector of whole numbers; got {array.dtype} of shape {array.shape}.")
    if rows < 0 or columns < 0 or len(indptr) != rows + 1:
        raise GraphError(f"A pattern of {rows} rows has {rows + 1} row pointers; indptr has {len(indptr)}.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError(f"indptr must rise from 0 to the number of entries, {len(indices)}, and never fall.")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise GraphError(f"indices run from {indices.min()} to {indices.max()}; the pattern has {columns} columns.")


def check_shape(operation: str, name: str, tensor: Tensor, *shape: int) -> None:
    """Refuse a tensor of another shape; -1 stands for any size."""
    found = tensor.shape
    if found == shape:
        return
    if len(found) != len(shape):
        _refuse_shape(operation, name, tensor, shape)
    for size, wanted in zip(found, shape):  # noqa: B905 - their lengths are equal, and this runs often
        if size != wanted and wanted != -1:
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
    wanted = ", ".join("any" if size == -1 else str(size) for size in shape)
    raise GraphError(f"{operation}: {name} must have the shape [{wanted}]; got {list(tensor.shape)}.")
