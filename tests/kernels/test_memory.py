"""Very large arrays wait for their next use, and only within a fit."""

from __future__ import annotations

import pytest
import torch

from gdamn.kernels import memory
from gdamn.kernels.memory import empty, kept_arrays


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(memory, "LARGE", 10)


def test_an_array_is_used_again_when_nobody_holds_it():
    with kept_arrays():
        a = empty(4, 5)
        place = a.data_ptr()
        view = a[1:]
        del a
        assert empty(20).data_ptr() != place  # a view still holds it
        del view
        again = empty(20)
        assert again.data_ptr() == place
        assert again.dtype == torch.float32
        assert empty(20).data_ptr() != place
        assert empty(3, 7).data_ptr() != place  # another size


def test_nothing_waits_outside_of_the_block():
    with kept_arrays():
        held = empty(30)
        with kept_arrays():  # a block within a block shares its arrays
            del held
            assert len(memory._waiting[30]) == 1
        assert len(memory._waiting[30]) == 1
        held = empty(30).fill_(7)
    assert memory._waiting is None
    assert held.tolist() == [7] * 30
    del held
    assert memory._waiting is None


def test_gradients_through_kept_arrays():
    with kept_arrays():
        x = empty(5, 4).fill_(2).requires_grad_()
        for _ in range(3):
            (x * x).sum().backward()
        assert torch.equal(x.grad, torch.full((5, 4), 12.0))
