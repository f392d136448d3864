"""The session of a review: its queues, its log, undo, and two sessions on one log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdamn.errors import GdamnError
from gdamn.estimators.accuracy import interval
from gdamn.graph.decisions import COLUMNS, Decisions
from gdamn.review.session import Session, open_session
from gdamn.runs.decided import with_log
from gdamn.runs.run import run
from gdamn.using.queues import edge_queue, influence
from gdamn.using.ranking import pairs, suspects


def answer(session: Session, state: dict[str, Any], verdict: str, label: str = "") -> dict[str, Any]:
    item = state["item"]
    asked = {name: item.get(name, "") for name in ("kind", "node", "other")}
    return session.decide({**asked, "queue": state["queue"], "rows": state["rows"], "verdict": verdict, "label": label})


def test_edges_come_in_the_order_of_suspicion_times_influence(session: Session) -> None:
    predictions = session.folder.predictions(0)
    model, graph = session.folder.model(0), session.graph
    ranked = suspects(graph, predictions.probabilities, model.state_, len(pairs(graph)))
    doubt = np.where(graph.train_mask, 0, 1 - predictions.confidence)
    degree = np.diff(graph.indptr)
    ends = zip(graph.rows[ranked.at], graph.indices[ranked.at], ranked.suspicion, strict=True)
    scores = sorted((s * (doubt[i] / (1 + degree[i]) + doubt[j] / (1 + degree[j])) for i, j, s in ends), reverse=True)
    queue = edge_queue(model, predictions, 5)
    assert [item["suspicion"] * item["influence"] for item in queue.items] == pytest.approx(scores[:5])
    assert influence(graph, np.zeros(graph.num_nodes)).max() == 0


def test_every_queue_has_items_and_no_label_that_must_not_be_seen(session: Session) -> None:
    for name, kind in (("edges", "edge"), ("labels", "label"), ("nodes", "node")):
        state = session.state(name)
        assert state["queues"][name]["left"] == state["queues"][name]["total"] > 0
        item = state["item"]
        assert item["kind"] == kind
        for node, end in zip(item["nodes"], item["ends"], strict=True):
            assert (node["training_label"] is not None) == bool(session.graph.train_mask[end])
            assert sum(share for _, share in node["opinions"]) == pytest.approx(1)
            assert {name for name, _ in node["features"]} <= {"weight", "height", "age"}
    for item in session.queues["nodes"].items:
        (node,) = item["ends"]
        assert not (session.graph.train_mask | session.graph.val_mask | session.graph.test_mask)[node]


def test_a_decision_is_on_the_disk_at_once_and_undo_opens_it_again(session: Session) -> None:
    first = session.state("edges")
    second = answer(session, first, "wrong")
    assert second["item"] != first["item"]
    assert second["queues"]["edges"]["left"] == first["queues"]["edges"]["left"] - 1
    (row,) = Decisions.read(session.path).rows
    assert (row.kind, row.node, row.other, row.verdict) == (
        "edge",
        first["item"]["node"],
        first["item"]["other"],
        "wrong",
    )
    assert second["answers"]["edge"] == {"right": 0, "accuracy": 0.0, "nodes": 1, "interval_95": list(interval(0, 1))}
    undone = session.undo()
    assert undone["item"] == first["item"]
    assert not undone["undoable"]
    assert undone["answers"]["edge"]["nodes"] == 0
    assert [row.verdict for row in Decisions.read(session.path).rows] == ["wrong", "undo"]
    assert session.undo()["said"] == "There is nothing to undo."


def test_a_second_tab_sees_what_the_first_decided(session: Session, copied: Path) -> None:
    other = open_session(copied, None, None, 20)
    seen = other.state("edges")
    answer(session, session.state("edges"), "right")
    late = answer(other, seen, "wrong")  # the same item
    assert late["said"] == "Decided in another tab; here is the next."
    assert late["item"] == session.state("edges")["item"]
    assert [row.verdict for row in Decisions.read(session.path).rows] == ["right"]


def test_what_no_queue_has_is_refused(session: Session) -> None:
    state = session.state("edges")
    item = {name: state["item"][name] for name in ("kind", "node", "other")}
    good = {**item, "queue": "edges", "rows": 0, "verdict": "wrong", "label": ""}
    for wrong in ({"verdict": "undo"}, {"node": "n1\nx"}, {"queue": "labels"}, {"rows": "0"}, {"label": "no class"}):
        with pytest.raises(GdamnError):
            session.decide({**good, **wrong})
    with pytest.raises(GdamnError, match="an edge has not"):
        session.decide({**good, "label": "cats"})
    assert not session.path.exists()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["right", "wrong", "unsure", "undo", "kill"]), max_size=8))
def test_answers_undos_and_kills_in_any_order_leave_a_log_that_says_the_same(session: Session, acts: list[str]) -> None:
    session.path.unlink(missing_ok=True)
    standing: list[str] = []
    for act in acts:
        if act == "kill":  # while the next line was written
            if session.path.exists():
                with session.path.open("a") as file:
                    file.write("2026-01-01T00:00:00Z,edge,n1")
        elif act == "undo":
            session.undo()
            standing = standing[:-1]
        else:
            answer(session, session.state("edges"), act)
            standing.append(act)
        log = session.log()
        assert [log.rows[at].verdict for at in log.last().values()] == standing


def test_training_with_the_decisions_closes_the_loop(session: Session, copied: Path) -> None:
    edge = session.state("edges")["item"]
    answer(session, session.state("edges"), "wrong")
    node = session.state("nodes")["item"]
    answer(session, session.state("nodes"), "wrong", "dogs")
    label = session.state("labels")["item"]
    answer(session, session.state("labels"), "wrong", label["suggested"])
    again = copied.with_name("run-reviewed")
    assert f"--decisions {session.path} --out {again}" in session.next_command()
    run(with_log(session.folder.spec, session.path), again)
    after = open_session(again, None, None, 20)
    assert after.changes is not None
    assert {name: after.changes[name] for name in ("cut", "added", "corrected", "from")} == {
        "cut": 1,
        "added": 1,
        "corrected": 1,
        "from": "run",
    }
    assert 0 <= after.changes["changed"] <= after.graph.num_nodes
    assert after.graph.num_edges == session.graph.num_edges - 1
    assert (again / "decisions.csv").read_bytes() == session.path.read_bytes()
    decided = {
        (item["kind"], item["node"], item.get("other")) for queue in after.queues.values() for item in queue.items
    }
    assert ("edge", edge["node"], edge["other"]) not in decided
    assert ("node", node["node"], None) not in decided
    assert after.state()["undoable"] is False  # what it was trained with stands
    assert after.ending() == "Nothing was decided."
    assert after.next_command().endswith(f"--out {again}-2")
    (again / "decisions.csv").rename(again / "kept.csv")
    session.path.unlink()
    with pytest.raises(GdamnError, match="There is no file"):
        open_session(again, None, None, 20)
    (again / "kept.csv").rename(again / "decisions.csv")  # its own copy will do
    assert open_session(again, None, None, 20).changes == {**after.changes, "from": None, "changed": None}


def test_a_log_that_cannot_be_read_is_refused_first(copied: Path) -> None:
    (copied / "decisions.csv").write_text(",".join(COLUMNS) + "\nt,edge,a,b,maybe,\n")
    with pytest.raises(GdamnError, match=r"Row 2 of .*the verdict 'maybe'"):
        open_session(copied, None, None, 20)
