"""The search that gives other methods the budget of gdamn-plus: its draws, who races, and who wins."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gdamn.estimators.registry import make

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from equal_budget import command, draw, finalists, row, winner


def trials(**seeds: dict[str, float]) -> dict[str, Any]:
    """Trials by name, cross-fitted accuracy by seed; ``preset`` is the one without a change."""
    return {
        "{}" if name == "preset" else json.dumps({name: 1}): {
            seed.removeprefix("s"): {"rule": "accuracy", "cross_fitted": score, "smoothed": 0.0, "by_loss": 0.0}
            for seed, score in scores.items()
        }
        for name, scores in seeds.items()
    }


@pytest.mark.parametrize("method", ["appnp", "dagnn", "gcnii", "grand", "grand-plus"])
def test_the_draws_are_different_settings_that_the_method_has(method: str) -> None:
    changes = draw("cora", method, 12)
    preset = make(method, "cora").get_params()
    assert changes[0] == {}
    assert len({json.dumps(change) for change in changes}) == 12
    assert changes == draw("cora", method, 20)[:12]
    for change in changes[1:]:
        assert change
        assert all(preset[name] != value for name, value in change.items())
        assert make(method, "cora", overrides=change).get_params() == {**preset, **change}


def test_the_best_two_that_lead_go_on() -> None:
    tried = trials(
        preset={"s400": 0.80, "s401": 0.80},
        behind={"s400": 0.79, "s401": 0.80},
        given_up={"s400": 0.99},
        third={"s400": 0.81, "s401": 0.80},
        first={"s400": 0.83, "s401": 0.83},
        second={"s400": 0.82, "s401": 0.82},
    )
    assert finalists(tried) == [{"first": 1}, {"second": 1}]


def test_the_winner_has_the_highest_mean_of_all_seeds() -> None:
    seeds = [f"s{seed}" for seed in range(400, 406)]
    tried = trials(
        preset=dict.fromkeys(seeds, 0.80),
        lucky={**dict.fromkeys(seeds, 0.78), "s400": 0.85},
        unfinished={"s400": 0.99, "s401": 0.99},
    )
    assert winner(tried) == {}
    tried |= trials(better=dict.fromkeys(seeds, 0.81))
    assert winner(tried) == {"better": 1}
    assert row("cora grand", tried) == ("| cora | grand | 4 | +1.00 ± 0.00 | +1.00 ± 0.00 | better=1 |")
    assert "gdamn train cora --method grand --seeds 20 --set better=1" in command("cora grand", tried)
