"""Fits with a person's decisions: constraints in the attention, its prior and the field; other fits as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gdamn import GDAMN, Decisions, Graph, load
from gdamn.errors import GdamnError
from gdamn.estimators import registry
from gdamn.estimators.remarks import remarks
from gdamn.kernels import Key
from gdamn.model.attention import HardAttention
from gdamn.model.objectives import structure_kl, structure_prior
from gdamn.runs.execution import Execution
from gdamn.runs.run import SEED_FILES, run
from gdamn.runs.spec import RunSpec

FEW = {"pretrain_epochs": 6, "em_iterations": 1, "epochs": 6, "hidden": 8}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("karate")


def doubtful(graph: Graph, model: GDAMN) -> tuple[int, int]:
    """The edge with the least hard attention."""
    assert model.edge_weights_ is not None
    at = int(np.argmin(model.edge_weights_["hard"]))
    return int(graph.rows[at]), int(graph.indices[at])


@pytest.mark.parametrize("start", ["graph", "evidence", "similar"])
def test_a_confirmed_edge_is_certain(graph: Graph, start: str) -> None:
    plain = GDAMN(start=start, **FEW).fit(graph)
    edge = doubtful(graph, plain)
    model = GDAMN(start=start, **FEW).fit(graph, decisions=Decisions.of(confirmed=[edge]))
    confirmed = model.graph_.confirmed
    assert confirmed.sum() == 2
    assert (model.edge_weights_["hard"][confirmed] == 1).all()
    assert (model.edge_weights_["hard"][~confirmed] < 1).all()
    if start == "evidence":
        evidence, reliability = model.state_.judged
        assert (evidence[confirmed] == 1).all()
        assert (evidence[~confirmed] < 1).all()
        assert (reliability[confirmed] == 1).all()
    assert model.protocol_["decisions"]["constrained"]
    assert not remarks(model.best_epoch_, model.protocol_)


def test_a_confirmed_edge_is_not_cut_as_drawn_by_lot() -> None:
    noisy = load("sbm", num_nodes=300, num_classes=3, feature_signal=2.0, noise=0.5, seed=1)
    settings = {**FEW, "start": "evidence", "judge_edges": True}
    kept = GDAMN(**settings).fit(noisy).state_.kept
    assert kept is not None
    at = int(np.flatnonzero(kept == 0)[0])
    edge = int(noisy.rows[at]), int(noisy.indices[at])
    model = GDAMN(**settings).fit(noisy, decisions=Decisions.of(confirmed=[edge]))
    assert model.state_.kept[at] == 1
    assert model.state_.lot[at] == 0
    assert model.edge_weights_["stable"][at] > 0


def test_confirmed_edges_are_never_sampled_away_and_cost_no_kl(graph: Graph) -> None:
    edge = int(graph.rows[0]), int(graph.indices[0])
    from gdamn.graph.decided import decided

    structure = decided(graph, Decisions.of(confirmed=[edge])).structure
    assert structure.kept is not None
    hard = HardAttention(2)
    logits = torch.full((structure.pattern.num_entries,), -20.0, dtype=torch.float32)
    drawn = hard.sample(structure, logits, Key(0))
    assert drawn.numpy().astype(bool).tolist() == (structure.kept | structure.loop).tolist()
    prior = structure_prior(structure, torch.full((graph.num_nodes, 2), 0.5), 1e-3)
    plain = structure_kl(graph.structure, logits, prior, 1)
    open_edges = int(structure.free.sum())
    share = (open_edges - 2) / open_edges  # all of them have the same KL here
    assert float(structure_kl(structure, logits, prior, 1)) == pytest.approx(float(plain) * share, rel=1e-5)


def test_without_decisions_the_bits_are_the_same(graph: Graph) -> None:
    first, second = GDAMN(**FEW).fit(graph), GDAMN(**FEW).fit(graph, decisions=Decisions())
    assert np.array_equal(first.probabilities_, second.probabilities_)
    assert first.edge_weights_["hard"].tobytes() == second.edge_weights_["hard"].tobytes()


def test_other_methods_cut_and_label_and_say_what_they_ignore(graph: Graph) -> None:
    one, two = ((int(graph.rows[at]), int(graph.indices[at])) for at in (0, 1))
    decisions = Decisions.of(confirmed=[one], wrong=[two])
    model = registry.make("gcn", seed=0, overrides={"epochs": 2}).fit(graph, decisions=decisions)
    assert model.graph_.num_edges == graph.num_edges - 1
    (said,) = remarks(model.best_epoch_, model.protocol_)
    assert "1 confirmed edges are in the graph and count as any other" in said


def test_a_run_keeps_its_decisions_and_repeats(tmp_path: Path, graph: Graph) -> None:
    from gdamn.runs import decided as runs_decided

    log = tmp_path / "decisions.csv"
    edge = f"{graph.rows[0]},{graph.indices[0]}"
    test_node = int(np.flatnonzero(graph.test_mask)[0])
    text = f"time,kind,node,other,verdict,label\nt,edge,{edge},wrong,\nt,node,{test_node},,right,2\n"
    log.write_text(text)
    spec = runs_decided.with_log(RunSpec("karate", settings=FEW), log)
    summary = run(spec, tmp_path / "a")
    (record,) = summary["decisions"]
    assert (record["cut"], record["added"], record["left_test"]) == (1, 1, 1)
    assert summary["test_accuracy"]["nodes"] == [int(graph.test_mask.sum()) - 1]
    assert (tmp_path / "a" / "decisions.csv").read_text() == text
    assert runs_decided.came_from(spec, tmp_path / "a") is None
    log.write_text(text + "t,edge,0,1,undo,\n")  # what is added later changes nothing
    again = run(RunSpec.from_toml(tmp_path / "a" / "config.toml"), tmp_path / "b")
    assert again["config"] == summary["config"]
    for name in SEED_FILES:
        if name not in ("history.jsonl", "model.gdamn"):  # they hold times
            assert (tmp_path / "a/seed-0" / name).read_bytes() == (tmp_path / "b/seed-0" / name).read_bytes()
    log.write_text(text.replace("right", "wrong"))
    with pytest.raises(GdamnError, match="no longer begins with the 2 decisions"):
        run(RunSpec.from_toml(tmp_path / "a" / "config.toml"), tmp_path / "c")


def test_a_run_does_not_replace_other_decisions(tmp_path: Path) -> None:
    from gdamn.runs.decided import with_log

    log, out = tmp_path / "decisions.csv", tmp_path / "out"
    log.write_text("time,kind,node,other,verdict,label\nt,edge,0,1,wrong,\n")
    run(RunSpec("karate", settings=FEW), out)
    (out / "decisions.csv").write_text("time,kind,node,other,verdict,label\nt,edge,0,2,wrong,\n")
    with pytest.raises(GdamnError, match="holds other decisions"):
        run(with_log(RunSpec("karate", settings=FEW), log), out, Execution(force=True))
