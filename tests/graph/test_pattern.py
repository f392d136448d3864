"""Patterns: transpose, runs of rows, and selections, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gdamn.graph.pattern import balanced_blocks
from gdamn.kernels import Pattern

several = settings(max_examples=40, deadline=None)
matrices = hnp.arrays(bool, st.tuples(st.integers(1, 15), st.integers(1, 15)))


def make_pattern(filled: np.ndarray) -> Pattern:
    rows, cols = np.nonzero(filled)
    return Pattern.from_sorted(rows, cols, filled.shape)


def dense(p: Pattern, values: np.ndarray) -> np.ndarray:
    return sp.csr_array((values, p.indices, p.indptr), shape=p.shape).toarray()


@given(matrices)
@several
def test_rows_and_columns(filled):
    p = make_pattern(filled)
    assert p.num_entries == filled.sum()
    assert np.array_equal(np.stack([p.rows, p.indices]), np.stack(np.nonzero(filled)))
    from_csr = sp.csr_array(filled)
    q = Pattern.from_csr(from_csr.indptr, from_csr.indices, from_csr.shape)
    assert np.array_equal(p.indptr, q.indptr)
    assert np.array_equal(p.indices, q.indices)


@given(matrices)
@several
def test_transpose(filled):
    p = make_pattern(filled)
    values = np.arange(1.0, p.num_entries + 1)
    t = p.transposed
    assert t.shape == (p.shape[1], p.shape[0])
    assert np.array_equal(dense(t, values[p.t_perm]), dense(p, values).T)
    # its own transpose leads back
    assert np.array_equal(dense(t.transposed, values[p.t_perm][t.t_perm]), dense(p, values))
    assert np.array_equal(t.transposed.indices, p.indices)
    assert sorted(p.t_perm.tolist()) == list(range(p.num_entries))


@given(st.lists(st.integers(0, 2000), max_size=200), st.integers(1, 80))
@several
def test_blocks_cover_every_row_once(counts, blocks):
    bounds = balanced_blocks(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), blocks)
    assert bounds[0] == 0
    assert bounds[-1] == len(counts)
    assert (np.diff(bounds) >= 0).all()
    assert len(bounds) <= blocks + 1


def test_blocks_share_the_work():
    counts = np.random.default_rng(0).integers(0, 20, 10_000)
    counts[5000] = 3000
    indptr = np.concatenate([[0], np.cumsum(counts)])
    bounds = balanced_blocks(indptr, 64)
    work = np.diff(indptr[bounds]) + np.diff(bounds)
    fair = (indptr[-1] + len(counts)) / 64
    assert np.sort(work)[-2] < 1.1 * fair  # all but the run with the hub
    assert work.max() < 3001 + 1.1 * fair


def test_blocks_of_a_pattern_cover_both_directions():
    p = make_pattern(np.random.default_rng(1).random((100, 7)) < 0.3)
    assert (p.blocks[0], p.blocks[-1]) == (0, 100)
    assert (p.t_blocks[0], p.t_blocks[-1]) == (0, 7)


@given(matrices, st.data())
@several
def test_select_rows(filled, data):
    p = make_pattern(filled)
    values = np.arange(1.0, p.num_entries + 1)
    rows = np.array(data.draw(st.lists(st.integers(0, len(filled) - 1), max_size=20)), np.int64)
    part, entries = p.select_rows(rows)
    assert part.shape == (len(rows), p.shape[1])
    assert np.array_equal(dense(part, values[entries]), dense(p, values)[rows])
    turned = dense(part.transposed, values[entries][part.t_perm])
    assert np.array_equal(turned, dense(p, values)[rows].T)


@pytest.mark.parametrize("name", ["indptr", "indices", "rows", "t_indptr", "t_indices", "t_perm"])
def test_tensors_are_made_once(name):
    p = make_pattern(np.eye(4, dtype=bool))
    device = torch.device("cpu")
    tensor = p.tensor(name, device)
    assert tensor.dtype == torch.int64
    assert np.array_equal(tensor.numpy(), getattr(p, name))
    assert p.tensor(name, device) is tensor
