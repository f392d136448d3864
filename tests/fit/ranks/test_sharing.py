"""How nodes are shared out among ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdamn.errors import ConfigError
from gdamn.fit.domains.ranks.sharing import row_ranges


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80), st.integers(1, 9))
def test_rows_are_shared_out(degrees: list[int], ranks: int) -> None:
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    if len(degrees) < 4 * ranks:
        with pytest.raises(ConfigError, match="too few"):
            row_ranges(indptr, ranks)
        return
    bounds = row_ranges(indptr, ranks)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, len(degrees), ranks + 1)
    assert np.diff(bounds).min() >= 4
    assert not (bounds[:-1] % 4).any()


def test_shares_have_about_equal_work() -> None:
    indptr = np.arange(10_001, dtype=np.int64) * 7
    assert np.ptp(np.diff(indptr[row_ranges(indptr, 4)])) <= 8 * 7
