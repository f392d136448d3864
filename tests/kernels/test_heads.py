"""Attention of several heads, and what heads compute on the nodes alone, against dense float64 computations."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from torch.nn import functional

from gdamn.errors import GraphError
from gdamn.kernels import (
    Key,
    Pattern,
    add_heads,
    attend_heads,
    dropout,
    elu_dropout,
    head_scores,
    head_weights,
    set_threads,
    use_kernels,
)

N, RATE = 23, 0.4
SIZES = [(1, 7), (3, 5), (8, 3), (8, 8), (2, 11), (9, 16)]
"""Heads and units: less than 8 columns, heads that begin within 8 columns, whole vectors, and more than 8 heads."""
both = pytest.mark.parametrize("path", ["fast", "torch"])
noises = pytest.mark.parametrize("noise", ["none", "by head", "by row"])
sizes = pytest.mark.parametrize(("heads", "units"), SIZES)


def keys_of(noise: str, heads: int):
    return {"none": None, "by head": [Key(3).fold(k) for k in range(heads)], "by row": Key(3)}[noise]


@pytest.fixture(scope="module")
def pattern() -> Pattern:
    """Directed, with a row and a column that have no entry, and a row that has all."""
    filled = np.random.default_rng(0).random((N, N)) < 0.2
    filled[4], filled[:, 6], filled[9] = False, False, True
    rows, columns = np.nonzero(filled)
    return Pattern.from_sorted(rows, columns, (N, N))


def inputs(pattern: Pattern, heads: int, units: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """t, s, v and w; some weights are 0, and all those of one row."""
    generator = torch.Generator().manual_seed(heads)
    shapes = (N, heads), (N, heads), (N, heads * units), (pattern.num_entries,)
    t, s, v, w = (torch.randn(shape, generator=generator) for shape in shapes)
    w = torch.where(w > 0.7, 0.0, w.abs() + 0.1)
    w[pattern.indptr[12] : pattern.indptr[13]] = 0
    return [x.to(dtype).requires_grad_() for x in (t, s, v, w)]


def by_dense(pattern: Pattern, parts: list[torch.Tensor], factors: torch.Tensor) -> torch.Tensor:
    """out [N, K · H] from [N, N] matrices; factors [K, E] are those of dropout."""
    t, s, v, w = parts
    at = torch.as_tensor(pattern.rows).long(), torch.as_tensor(pattern.indices).long()
    out = []
    for k, value in enumerate(v.chunk(t.shape[1], 1)):
        scores = functional.leaky_relu(t[:, k, None] + s[None, :, k], 0.2)
        mass = torch.zeros(N, N, dtype=v.dtype).index_put(at, w) * scores.exp()
        total = mass.sum(1, keepdim=True)
        alpha = torch.where(total > 0, mass / torch.where(total > 0, total, 1), 0 * mass)
        out.append((alpha * torch.zeros(N, N, dtype=v.dtype).index_put(at, factors[k])) @ value)
    return torch.cat(out, 1)


def dropped(pattern: Pattern, noise: str, heads: int) -> torch.Tensor:
    """Factors [K, E] by the dropout of [E] arrays, or of one array with the entries of a row head after head."""
    ones = torch.ones(pattern.num_entries, dtype=torch.float64)
    if noise == "none":
        return ones.repeat(heads, 1)
    if noise == "by head":
        return torch.stack([dropout(ones, RATE, key) for key in keys_of(noise, heads)])
    drawn, counts = dropout(ones.repeat(heads), RATE, Key(3)), np.diff(pattern.indptr).tolist()
    rows = [row.view(heads, -1) for row in drawn.split([heads * count for count in counts])]
    return torch.cat(rows, 1)


@both
@noises
@sizes
def test_attention_of_heads_and_its_gradients_are_those_of_dense_matrices(pattern, path, noise, heads, units):
    outer = torch.randn(N, heads * units, generator=torch.Generator().manual_seed(1))
    exact = inputs(pattern, heads, units, torch.float64)
    expected = by_dense(pattern, exact, dropped(pattern, noise, heads))
    wanted = torch.autograd.grad(expected, exact, outer.double())
    given = inputs(pattern, heads, units, torch.float32)
    with use_kernels(path):
        out, _ = attend_heads(pattern, (given[0], given[1]), given[2], given[3], RATE, keys_of(noise, heads))
        found = torch.autograd.grad(out, given, outer)
    for mine, right in zip((out, *found), (expected, *wanted), strict=True):
        assert torch.allclose(mine.double(), right, rtol=1e-4, atol=1e-4), (mine.double() - right).abs().max()


@noises
def test_gradients_of_heads_are_finite_differences(pattern, noise):
    """Gradients of the compiled loops, differences in float64: along a direction of each input."""
    parts, keys = inputs(pattern, 8, 3, torch.float32), keys_of(noise, 8)
    outer = torch.randn(N, 24, generator=torch.Generator().manual_seed(3))

    def value(t, s, v, w) -> torch.Tensor:
        return (attend_heads(pattern, (t, s), v, w, RATE, keys)[0] * outer.to(v.dtype)).sum()

    grads = torch.autograd.grad(value(*parts), parts)
    for at, grad in enumerate(grads):
        direction = torch.randn(grad.shape, generator=torch.Generator().manual_seed(at)).double()
        direction[parts[at] == 0] = 0  # weights are not negative

        def moved(step: float, at: int = at, direction: torch.Tensor = direction) -> torch.Tensor:
            return value(
                *(
                    p.detach().double() + step * direction if i == at else p.detach().double()
                    for i, p in enumerate(parts)
                )
            )

        difference = (moved(1e-5) - moved(-1e-5)) / 2e-5
        assert (grad * direction).sum().item() == pytest.approx(difference.item(), rel=1e-3, abs=1e-3)


@both
@noises
def test_shares_of_classes_are_sums_of_dropped_attention(pattern, path, noise):
    t, s, v, w = (x.detach() for x in inputs(pattern, 3, 4, torch.float32))
    classes = torch.arange(N) % 4
    one_hot = functional.one_hot(classes, 4).float()
    with use_kernels(path):
        _, shares = attend_heads(pattern, (t, s), v, w, RATE, keys_of(noise, 3), (classes, 4))
        side_by_side, _ = attend_heads(pattern, (t, s), one_hot.repeat(1, 3), w, RATE, keys_of(noise, 3))
    assert shares.shape == (N, 3, 4)
    assert torch.allclose(shares, side_by_side.view(N, 3, 4), atol=1e-5)


def test_without_a_gradient_the_values_are_the_same(pattern):
    t, s, v, w = inputs(pattern, 8, 8, torch.float32)
    out, _ = attend_heads(pattern, (t, s), v, w)
    with torch.no_grad():
        again, _ = attend_heads(pattern, (t, s), v, w)
    assert torch.equal(out, again)
    alphas = list(head_weights(pattern, (t, s), w))
    rows = torch.zeros(N).index_add(0, torch.as_tensor(pattern.rows), alphas[5].detach())
    assert torch.allclose(rows[rows > 0], torch.ones(1))
    assert not rows[[4, 12]].any()


@both
def test_rows_that_nobody_wants_change_nothing_else(pattern, path, monkeypatch):
    """Nor does what memory held before: every array begins as nan."""
    monkeypatch.setattr("gdamn.kernels.heads.empty", lambda *shape: torch.full(shape, torch.nan))
    parts, wanted = inputs(pattern, 8, 3, torch.float32), np.arange(N) % 3 == 0
    results = []
    with use_kernels(path):
        for asked in (None, wanted):
            t, s, v, w = parts
            out, _ = attend_heads(pattern, (t, s), v, w, RATE, Key(1), wanted=asked)
            read = out[torch.as_tensor(wanted)]
            results.append([read, *torch.autograd.grad(read.square().sum(), parts)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_same_bits_of_heads_on_one_thread_and_on_two():
    rng = np.random.default_rng(1)
    rows, columns = np.nonzero(rng.random((300, 300)) < 0.1)
    p = Pattern.from_sorted(rows, columns, (300, 300))

    def everything(threads: int) -> list[torch.Tensor]:
        limit = set_threads(threads)
        generator = torch.Generator().manual_seed(0)
        shapes = (300, 8), (300, 8), (300, 64), (p.num_entries,)
        t, s, v, w = (torch.rand(shape, generator=generator).requires_grad_() for shape in shapes)
        out, _ = attend_heads(p, (t, s), v, w, RATE, Key(1))
        grads = torch.autograd.grad(out.square().sum(), [t, s, v, w])
        set_threads(limit)
        return [out, *grads]

    before = numba.get_num_threads()
    one, two = everything(1), everything(2)
    numba.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


@both
@sizes
def test_scores_and_sums_of_heads(path, heads, units):
    generator = torch.Generator().manual_seed(0)
    shapes = (N, heads * units), (heads, units), (heads, units), (N, heads), (N, heads * units)
    exact = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]

    def values(x, a, b, gate, y):
        return (*head_scores(x, a, b), add_heads(x, gate, y))

    def plainly(x, a, b, gate, y):
        parts, others = x.view(N, heads, units), y.view(N, heads, units)
        return (parts * a).sum(2), (parts * b).sum(2), (parts + gate[:, :, None] * others).flatten(1)

    given = [x.detach().float().requires_grad_() for x in exact]
    with use_kernels(path):
        found = values(*given)
        mine = torch.autograd.grad(sum(each.square().sum() for each in found), given)
    expected = plainly(*exact)
    right = torch.autograd.grad(sum(each.square().sum() for each in expected), exact)
    for a, b in zip((*found, *mine), (*expected, *right), strict=True):
        assert torch.allclose(a.double(), b, rtol=1e-4, atol=1e-4)


@both
@pytest.mark.parametrize("rate", [0.0, RATE])
def test_elu_dropout_is_the_dropout_of_the_elu(path, rate):
    x = torch.randn(41, 9, generator=torch.Generator().manual_seed(0)).mul(3)
    x[0] = 0  # ELU(0) is 0, but its slope is 1
    expected = x.double().requires_grad_()
    given = x.requires_grad_()
    right = dropout(functional.elu(expected), rate, Key(5))
    with use_kernels(path):
        out = elu_dropout(given, rate, Key(5))
        (grad,) = torch.autograd.grad(out.sum(), given)
    assert torch.allclose(out.double(), right, atol=1e-6)
    assert torch.allclose(grad.double(), torch.autograd.grad(right.sum(), expected)[0], atol=1e-6)


@pytest.mark.parametrize(
    ("heads", "width", "classes"), [(3, 10, None), (2, 4, torch.full((N,), 4)), (2, 4, torch.full((N,), -1))]
)
def test_what_heads_refuse(pattern, heads, width, classes):
    halves = torch.zeros(N, heads), torch.zeros(N, heads)
    with pytest.raises(GraphError):
        attend_heads(
            pattern,
            halves,
            torch.zeros(N, width),
            torch.ones(pattern.num_entries),
            classes=None if classes is None else (classes, 4),
        )
