"""Arrays that nobody writes to: a graph's own are read-only, because compiled loops trust the indices in them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Array = TypeVar("Array", bound=NDArray[Any])


def sealed(array: Array) -> Array:
    """The same numbers read-only, without a copy; whoever gave the array keeps it as it was."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def unsealed(array: Array) -> Array:
    """The same numbers for a compiled loop or torch, which only read them.

    Numba takes a read-only array for another type and would compile every loop twice; torch warns of one. An array
    that was read-only before it was sealed stays so.
    """
    if array.flags.writeable:
        return array
    view = array.view()
    try:
        view.flags.writeable = True
    except ValueError:
        return array
    return view


def as_tensor(array: NDArray[Any]) -> torch.Tensor:
    """The array as a tensor; a copy only where its memory is read-only, which torch has no tensors for."""
    import torch

    writeable = unsealed(array)
    return torch.from_numpy(writeable if writeable.flags.writeable else np.array(writeable))


def sealed_features(features: Any) -> Any:
    """Features with read-only numbers, dense or CSR; a matrix of the caller's stays as it is."""
    if not sp.issparse(features):
        return sealed(features)
    held = copy(features)  # of the object; the arrays are shared
    held.data, held.indices, held.indptr = sealed(features.data), sealed(features.indices), sealed(features.indptr)
    return held


def sealed_mapping(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same entries read-only, and the arrays among them."""
    entries = {key: sealed(value) if isinstance(value, np.ndarray) else value for key, value in values.items()}
    return MappingProxyType(entries)


def seal_fields(holder: Any, names: tuple[str, ...]) -> None:
    """Seal these attributes of a frozen dataclass; two that are one array stay one."""
    views: dict[int, NDArray[Any]] = {}
    for name in names:
        array = getattr(holder, name)
        if array is not None:
            object.__setattr__(holder, name, views.setdefault(id(array), sealed(array)))
