"""Which edges stay: the condition's grammar, and both rules against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn import Graph
from gdamn.errors import ConfigError
from gdamn.estimators.selection import Condition, chosen_entries


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("hard>0.5", ("hard", ">", 0.5)),
        (" soft >= .25 ", ("soft", ">=", 0.25)),
        ("stable<1e-3", ("stable", "<", 0.001)),
        ("hard<=1", ("hard", "<=", 1.0)),
    ],
)
def test_conditions(text: str, read: tuple[str, str, float]) -> None:
    found = Condition.parse(text)
    assert (found.weight, found.sign, found.number) == read


WRONG = ["", "hard", "hard>", ">0.5", "hard>>0.5", "hard=0.5", "hard==0.5", "Hard>0.5", "used>0.5", "hard>0,5"]
WRONG += ["hard>nan", "hard>inf", "hard>1e999", "hard>0.5 and soft>0", "hard>0.5;", "__import__('os')>1", "hard>0x1"]


@pytest.mark.parametrize("text", WRONG)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        Condition.parse(text)


@given(st.text(max_size=20))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        found = Condition.parse(text)
    except ConfigError:
        return
    assert np.isfinite(found.number)


@st.composite
def weighed(draw: st.DrawFn) -> tuple[Graph, dict[str, np.ndarray]]:
    n = draw(st.integers(2, 8))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
    graph = Graph.build(np.array(pairs, dtype=int).reshape(-1, 2).T, None, num_nodes=n, directed=draw(st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return graph, {name: rng.integers(0, 5, len(graph.indices)) / 4 for name in ("hard", "soft", "stable")}


@given(weighed(), st.integers(1, 4))
@settings(max_examples=60)
def test_both_rules_against_loops(made: tuple[Graph, dict[str, np.ndarray]], top: int) -> None:
    graph, weights = made
    index = np.stack([graph.indices, graph.rows])
    wanted_by_rank, wanted_by_size = set(), set()
    for node in range(graph.num_nodes):
        entries = range(graph.indptr[node], graph.indptr[node + 1])
        ranked = sorted(entries, key=lambda at: -weights["stable"][at])[:top]
        wanted_by_rank |= {(int(graph.indices[at]), node) for at in ranked}
        wanted_by_size |= {(int(graph.indices[at]), node) for at in entries if weights["soft"][at] >= 0.5}
    for wanted, rule in ((wanted_by_rank, {"top": top}), (wanted_by_size, {"keep": "soft>=0.5"})):
        both = wanted if graph.directed else wanted | {(b, a) for a, b in wanted}
        chosen = chosen_entries(index, weights, graph.num_nodes, directed=graph.directed, **rule)
        assert {(int(a), int(b)) for a, b in index[:, chosen].T} == both
    assert chosen_entries(index, weights, graph.num_nodes).all()


def test_two_rules_or_none_left() -> None:
    index, weights = np.array([[1, 0], [0, 1]]), {"stable": np.ones(2), "hard": np.ones(2)}
    with pytest.raises(ConfigError, match="only one"):
        chosen_entries(index, weights, 2, keep="hard>0", top=1)
    with pytest.raises(ConfigError, match="at least 1"):
        chosen_entries(index, weights, 2, top=0)
