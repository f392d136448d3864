"""A device that isn't the CPU, without one: tensors on it say so, refuse NumPy, and don't mix with tensors of the CPU.

Torch's device ``meta`` stands for it. Each tensor there carries its numbers in a tensor of the CPU, and every operation
is done on those. What would fail on a GPU fails here: an operation on tensors of two devices, and ``.numpy()``. What a
GPU computes in another order, or lacks, doesn't show.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = torch.device("meta")
aten = torch.ops.aten
_ACROSS = {aten._to_copy.default, aten.copy_.default}
_INDEXED = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}


class Away(Tensor):
    """A tensor on the device; ``numbers`` are its numbers on the CPU."""

    numbers: Tensor

    @staticmethod
    def __new__(cls, numbers: Tensor) -> Away:
        made: Any = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, numbers.shape, strides=numbers.stride(), dtype=numbers.dtype, device=DEVICE
        )
        made.numbers = numbers
        return made  # type: ignore[no-any-return]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Away({self.numbers!r})"

    def tolist(self) -> Any:
        """Torch has it for its own class alone."""
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class PretendDevice(TorchDispatchMode):
    """Within the block tensors can be made on :data:`DEVICE`; ``operations`` are those that were done there."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(isinstance(each, Away) for each in args):
            self.operations.add(str(func))
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Do an operation on the numbers of its tensors; the result is on the device where it would be."""
    tensors: list[Tensor] = []
    plain_args, plain = [_plain(each, tensors) for each in args], {k: _plain(v, tensors) for k, v in kwargs.items()}
    known = {id(each.numbers): each for each in tensors if isinstance(each, Away)}
    there = bool(known)
    if known:
        _check(func, args, tensors)
    if plain.get("device") is not None:
        there, plain["device"] = torch.device(plain["device"]) == DEVICE, torch.device("cpu")
    result = func(*plain_args, **plain)
    if func is aten.copy_.default:  # the only one that changes a tensor of one device by one of another
        return args[0]
    return _placed(result, known) if there else result


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    """The value with numbers of the CPU in place of tensors on the device; ``tensors`` collects all that are in it."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return value.numbers if isinstance(value, Away) else value
    return [_plain(each, tensors) for each in value] if isinstance(value, (list, tuple)) else value


def _placed(value: Any, known: dict[int, Tensor]) -> Any:
    """The result on the device; what was changed in place stays the tensor that it is."""
    if isinstance(value, Tensor):
        return known[id(value)] if id(value) in known else Away(value)
    return type(value)(_placed(each, known) for each in value) if isinstance(value, (list, tuple)) else value


def _check(func: Any, args: Any, tensors: list[Tensor]) -> None:
    """As torch does: one device but for scalars, copies, and indices of the CPU."""
    if func in _ACROSS:
        return
    if func in _INDEXED:
        tensors = [args[0], *args[2:3]]
    for each in tensors:
        if not isinstance(each, Away) and each.ndim > 0:
            kinds = [f"{tuple(each.shape)} {'away' if isinstance(each, Away) else 'cpu'}" for each in tensors]
            raise RuntimeError(f"{func}: tensors on two devices: {kinds}")


class Sparse:
    """A CSR matrix that can be multiplied; torch's own can't be on a pretended device."""

    def __init__(self, pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        counts = pointers.diff()
        self.rows = torch.repeat_interleave(torch.arange(shape[0], device=counts.device), counts)
        self.columns, self.values, self.shape = columns, values, shape

    def __matmul__(self, dense: Tensor) -> Tensor:
        out = dense.new_zeros(self.shape[0], dense.shape[1])
        return out.index_add_(0, self.rows, self.values[:, None] * dense[self.columns])
