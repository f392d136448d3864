"""A person's decisions: the log, and the graph that a fit with them learns from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn import Graph
from gdamn.errors import GdamnError
from gdamn.graph.decided import decided
from gdamn.graph.decisions import COLUMNS, Decisions, Row, complete_text, row_text

HEAD = ",".join(COLUMNS) + "\n"


def ring(directed: bool = False, **more: Any) -> Graph:
    """Six nodes a to f in a ring; a and d train, b validates, c is tested."""
    ends = np.array([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    masks = {name: [at] for name, at in (("val_mask", 1), ("test_mask", 2))}
    return Graph.build(
        ends,
        np.eye(6, dtype=np.float32),
        [0, 1, 0, 1, -1, -1],
        train_mask=[0, 3],
        node_ids=list("abcdef"),
        class_names=["cats", "dogs"],
        directed=directed,
        **masks,
        **more,
    )


def edges(graph: Graph) -> set[tuple[str, str]]:
    return {(graph.node_ids[j], graph.node_ids[i]) for i, j in zip(graph.rows, graph.indices, strict=True)}


def write(folder: Path, *lines: str) -> Path:
    path = folder / "decisions.csv"
    path.write_text(HEAD + "".join(line + "\n" for line in lines))
    return path


def test_edges_are_cut_and_confirmed_and_labels_move_to_training(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "t,edge,b,a,wrong,",
        "t,edge,c,d,right,",
        "t,edge,e,f,unsure,",
        "t,label,a,,wrong,dogs",
        "t,node,c,,right,cats",
        "t,node,e,,wrong,dogs",
        "t,label,d,,right,dogs",
    )
    graph = decided(ring(), Decisions.read(path))
    assert edges(graph) == edges(ring()) - {("a", "b"), ("b", "a")}
    assert graph.confirmed is not None
    both = zip(graph.rows[graph.confirmed], graph.indices[graph.confirmed], strict=True)
    assert {(graph.node_ids[i], graph.node_ids[j]) for i, j in both} == {("c", "d"), ("d", "c")}
    assert np.flatnonzero(graph.train_mask).tolist() == [0, 2, 3, 4]
    assert graph.labels[[0, 2, 3, 4]].tolist() == [1, 0, 1, 1]
    assert not graph.test_mask.any()
    about = graph.meta["decisions"]
    assert {name: about[name] for name in ("confirmed", "cut", "corrected", "added", "dropped")} == {
        "confirmed": 1,
        "cut": 1,
        "corrected": 1,
        "added": 2,
        "dropped": 0,
    }
    assert (about["left_val"], about["left_test"], about["rows"]) == (0, 1, 7)
    assert "1 of the test set" in graph.notes[-1]


def test_a_directed_edge_is_cut_in_its_own_direction() -> None:
    ends = np.array([[0, 1], [1, 0]])
    graph = Graph.build(ends, np.eye(2, dtype=np.float32), node_ids=["a", "b"], directed=True)
    assert edges(decided(graph, Decisions.of(wrong=[("a", "b")]))) == {("b", "a")}


def test_a_label_that_nobody_knows_leaves_every_set() -> None:
    graph = decided(ring(), Decisions.of(labels={"a": None, "b": None}))
    assert graph.labels[:2].tolist() == [-1, -1]
    assert not (graph.train_mask | graph.val_mask)[:2].any()


def test_planted_edges_stay_marked() -> None:
    graph = ring()
    planted = graph.rows + graph.indices == 1
    graph = decided(ring(meta={"planted": planted}), Decisions.of(wrong=[("c", "d")]))
    marked = graph.meta["planted"]
    assert {(graph.rows[at], graph.indices[at]) for at in np.flatnonzero(marked)} == {(0, 1), (1, 0)}


def test_a_data_frame_is_a_log_too(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"kind": ["edge", "label"], "node": [3, 5], "other": [4, None], "verdict": "wrong", "label": [None, 1.0]}
    )
    assert [row[1:] for row in Decisions.given(frame).rows] == [
        ("edge", "3", "4", "wrong", ""),
        ("label", "5", "", "wrong", "1"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("t,edge,a,x,wrong,", "names the node 'x'"),
        ("t,edge,a,c,wrong,", "a – c, which the graph doesn't have"),
        ("t,edge,a,a,wrong,", "two different nodes"),
        ("t,edge,a,b,wrong,cats", "which an edge has not"),
        ("t,label,a,b,wrong,cats", "a second node"),
        ("t,label,a,,wrong,birds", "the label 'birds'"),
        ("t,label,a,,right,dogs", "calls the label 'dogs' right where the graph has 'cats'"),
        ("t,label,e,,right,", "isn't a training node's"),
        ("t,node,a,,right,", "says no label"),
        ("t,edge,a,b,maybe,", "the verdict 'maybe'"),
        ("t,tree,a,b,wrong,", "the kind 'tree'"),
        ("t,edge,a,b,wrong", "has 5 cells, not 6"),
        ("t,edge,,b,wrong,", "names no node"),
        ('t,edge,"a"x,b,wrong,', "can't be read"),
    ],
)
def test_what_cannot_be_gets_a_sentence_with_its_row(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, "t,edge,e,f,right,", line, "t,edge,e,d,right,")
    with pytest.raises(GdamnError) as error:
        decided(ring(), Decisions.read(path))
    assert str(error.value).startswith(f"Row 3 of '{path}'")
    assert says in str(error.value)


def test_an_edge_that_is_confirmed_and_wrong_is_refused() -> None:
    with pytest.raises(GdamnError, match="both confirmed and wrong"):
        Decisions.of(confirmed=[("a", "b")], wrong=[("b", "a")])


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("id,label\n1,2\n")
    with pytest.raises(GdamnError, match="isn't a log of decisions"):
        Decisions.read(path)


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
edge_rows = st.builds(
    lambda a, b, verdict: Row("t", "edge", a, b, verdict, ""),
    *(names, names, st.sampled_from(["right", "wrong", "unsure", "undo"])),
).filter(lambda row: row.node != row.other)
label_rows = st.builds(
    lambda a, verdict, label: Row("t", "label", a, "", verdict, label),
    *(names, st.sampled_from(["right", "wrong", "unsure", "undo"]), names),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(edge_rows, label_rows), max_size=12), st.data())
def test_the_last_word_counts_and_a_log_is_read_as_it_was_written(rows: list[Row], data: Any) -> None:
    log = Decisions(tuple(rows))
    last: dict[Any, str] = {}
    for row in rows:
        last[frozenset((row.node, row.other)) if row.kind == "edge" else row.node] = row.verdict
    assert sorted(log.rows[at].verdict for at in log.last().values()) == sorted(
        verdict for verdict in last.values() if verdict != "undo"
    )
    text = HEAD + "".join(map(row_text, rows))
    cut = data.draw(st.integers(0, len(rows)))
    kept = HEAD + "".join(map(row_text, rows[:cut]))
    assert text.startswith(kept)
    assert complete_text(kept) == kept
    assert log.beginning(cut).sha256 == Decisions(tuple(rows[:cut])).sha256


@given(st.integers(1, 40))
def test_a_line_that_was_cut_off_is_left_out(size: int) -> None:
    line = "2026-01-01T00:00:00Z,edge,some,other,wrong,\n"
    whole = HEAD + "t,edge,a,b,wrong,\n"
    assert complete_text(whole + line[:size]) == whole
