"""The noise suite: areas and ranks, what it keeps and resumes, what it leaves out, and its two commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_tables import files
from several import Said, several

from gdamn.data import load
from gdamn.errors import ConfigError, TrainingError
from gdamn.experiments import every, experiment, noise, writing
from gdamn.experiments.noise_curves import area, claims_of, curves_of, mean_ranks
from gdamn.experiments.targets import find
from gdamn.runs.execution import Execution
from gdamn.runs.run import load_graph, run
from gdamn.runs.spec import RunSpec

pytestmark = pytest.mark.usefixtures("one_thread")

FEW = {"epochs": 2}
ONE = Execution(threads=1)


def asked(**options) -> experiment.Ask:
    given_options = {"datasets": ["karate"], "seeds": 2, "settings": FEW, "methods": ["gcn", "mlp"], **options}
    return every.ask_for(find("noise"), every.Options(**given_options))


# --- numbers ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), min_size=2, max_size=8))
def test_the_area_is_the_mean_over_the_rates(points: list[tuple[float, float]]) -> None:
    rates = np.cumsum([step for step, _ in points]).tolist()
    values = [value for _, value in points]
    wanted = np.trapezoid(values, rates) / (rates[-1] - rates[0])
    assert area(rates, values) == pytest.approx(wanted)
    assert area(rates, [0.7] * len(rates)) == pytest.approx(0.7)
    assert area(rates, [None, *values[1:]]) is None
    assert area([0.3], [0.9]) == 0.9


def test_ranks_go_by_the_area() -> None:
    values = {"a": [[0.9, 0.9], [0.5, 0.5]], "b": [[0.8, 0.8], [0.8, 0.8]], "c": [[0.9, None], [None, None]]}
    one = curves_of([0, 1], {**values, "d": values["b"]})
    assert {method: found["rank"] for method, found in one["methods"].items()} == {"a": 3, "b": 1, "c": None, "d": 1}
    assert one["methods"]["a"]["area"]["per_seed"] == [0.7, 0.7]
    two = curves_of([0, 1], {**values, "d": [[0.1, 0.1], [0.1, 0.1]]})
    assert mean_ranks({"x": {"inter": one, "remove": two}}, list("abcd")) == {"a": 2.5, "b": 1, "c": None, "d": 2}


def test_claims_need_more_than_luck() -> None:
    def verdicts(lead: list[float]) -> list[bool | None]:
        seeds = range(len(lead))
        gcn = [[0.8 + 0.01 * s for s in seeds], [0.6 + 0.012 * s for s in seeds]]
        ours = [[value + lead[s] for s, value in enumerate(row)] for row in gcn]
        numbers = {"cora": {"inter": curves_of([0, 1], {"gcn": gcn, "gdamn": ours})}}
        return [one["agrees"] for one in claims_of(numbers, list(seeds))]

    assert verdicts([0.02, 0.021, 0.019]) == [True, True]
    assert verdicts([0.1, -0.1, 0.02]) == [True, None]
    assert verdicts([-0.02, -0.021, -0.019]) == [True, False]


# --- what is planned --------------------------------------------------------------------------------------------------


def test_the_clean_graph_is_fitted_once_for_all_kinds() -> None:
    units = noise.plan(asked(kinds=["inter", "remove", "labels"], rates=[0, 0.2, 0.4]))
    assert len(units) == 2 * 2 * (1 + 3 * 2)
    specs = {unit.task: unit.spec for unit in units}
    assert specs["karate, clean, gcn", 0].noise == 0
    assert specs["karate, inter 0.2, gcn", 0].noise == 0.2
    assert specs["karate, remove 0.4, mlp", 1].noise == "remove:0.4"
    assert [unit.seed for unit in units] == sorted(unit.seed for unit in units)


def test_metattack_has_its_own_files() -> None:
    units = noise.plan(replace(asked(kinds=["metattack"], methods=["gcn"], seeds=1), datasets=("cora",)))
    assert [unit.name for unit in units] == [f"cora, metattack {rate:g}, gcn" for rate in noise.FILE_RATES]
    assert {unit.spec.dataset for unit in units} == {"cora-meta"}
    assert [unit.spec.options for unit in units] == [{"rate": rate} for rate in noise.FILE_RATES]
    everything = {kind for _, kind, _ in noise.levels(replace(asked(), datasets=("cora", "karate")))}
    assert everything == set(noise.RATES)
    assert "metattack" not in {kind for _, kind, _ in noise.levels(asked())}
    with pytest.raises(ConfigError, match="metattack is there for cora alone"):
        noise.plan(asked(kinds=["metattack"]))


def test_a_unit_s_graph_comes_back_from_its_configuration() -> None:
    unit = next(unit for unit in noise.plan(asked(kinds=["rewire"], rates=[0.3])) if unit.seed == 1)
    graph = load_graph(RunSpec.from_dict(unit.config, "a unit"), None, unit.seed)
    assert graph.meta["noise"] == {"kind": "rewire", "rate": 0.3, "seed": 1, "planted": 23, "removed": 23}
    assert (graph.indices == load("karate", seed=1, noise="rewire:0.3").indices).all()


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_what_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, target = asked(kinds=["inter", "labels"], rates=[0, 0.5], seeds=1), find("noise")
    whole, calls = noise.measure, []
    monkeypatch.setattr(writing, "write_all", lambda *_: None)  # other tests draw the figure

    def stops(unit, *args):
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append(unit.task)
        return whole(unit, *args)

    monkeypatch.setattr(noise, "measure", stops)
    with pytest.raises(KeyboardInterrupt):
        experiment.run(target, ask, tmp_path / "a", ONE)
    monkeypatch.setattr(noise, "measure", lambda unit, *args: calls.append(unit.task) or whole(unit, *args))
    done = experiment.run(target, ask, tmp_path / "a", ONE)
    assert len(calls) == len(set(calls)) == 6
    seconds = done.pop("seconds")
    again = experiment.run(target, ask, tmp_path / "b", ONE)
    assert {key: value for key, value in again.items() if key != "seconds"} == done
    assert set(seconds) == {"gcn", "mlp"}
    more = asked(kinds=["inter", "labels", "mask"], rates=[0, 0.5], seeds=1, methods=["gcn", "mlp", "lpa"])
    experiment.run(target, more, tmp_path / "a", ONE)  # another kind and another method in the same folder
    assert len(calls) == 6 + 6 + 2 + 4


def test_what_can_t_be_done_is_left_out_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.baselines.mlp import MLPClassifier

    def fails(*_, **__):
        raise TrainingError("no luck today.")

    monkeypatch.setattr(MLPClassifier, "fit", fails)
    monkeypatch.setenv("GDAMN_DATA", str(tmp_path / "nothing"))
    ask = asked(kinds=["remove", "inter"], rates=[0.2, 9], seeds=1)
    with pytest.raises(ConfigError, match="from 0 to 1; got 9"):
        experiment.run(find("noise"), ask, tmp_path / "out", ONE)
    done = experiment.run(find("noise"), replace(ask, kinds=("inter",)), tmp_path / "out", ONE)
    methods = done["numbers"]["karate"]["inter"]["methods"]
    assert methods["mlp"]["area"]["mean"] is None
    assert methods["gcn"]["test_accuracy"][0]["mean"] is not None
    assert methods["gcn"]["area"]["mean"] is None  # there are fewer pairs of different classes
    assert any("mlp, seed 0: no luck today." in line for line in done["left_out"])
    assert any("and 1 more: Only" in line for line in done["left_out"])
    assert len(list((tmp_path / "out" / "units").rglob("*.json"))) == 1  # the others are tried again next time
    page = (tmp_path / "out" / "noise.html").read_text()
    assert "no luck today." in page
    files_missing = replace(asked(kinds=["metattack"], methods=["gcn"], seeds=1), datasets=("cora",))
    lost = noise.measure(noise.plan(files_missing)[0], tmp_path, None)
    assert "gdamn data info cora-meta" in lost["missing"]


# --- commands ---------------------------------------------------------------------------------------------------------

OWN = "compare nodes.csv --edges edges.csv --methods lpa,mlp --seeds 2 --set epochs=2 --out grid"
GRID = f"{OWN} --noise-kinds inter,remove,features --rates 0,0.4"
MISTAKES = {
    f"{OWN} --noise-kinds intre": "There is no noise 'intre'; did you mean inter?",
    f"{OWN} --noise-kinds remove --rates 0,2": "from 0 to 1; got 2",
    f"{OWN} --noise-kinds remove --rates 0;1": "numbers with commas between them",
    f"{OWN} --noise-kinds remove --noise 1": "give one of them",
    f"{OWN} --rates 0,1": "--rates belongs to --noise-kinds",
    f"{OWN} --noise remoev:0.1": "did you mean remove?",
    "train karate --noise remove": "write remove:0.2",
    "train karate --noise metattack:0.1": "cora-meta",
    "reproduce noise --kinds metattack --datasets karate": "for cora alone",
    "reproduce noise --finished": "noise has --methods alone",
    "reproduce fig1a --rates 0,1": "options of noise; fig1a has none",
    "reproduce all --kinds inter": "no part of all",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Said]]:
    folder = tmp_path_factory.mktemp("own")
    files()(folder)
    lines = [*MISTAKES, GRID, f"{GRID} --json"]
    found = several([line.split() for line in lines], cwd=folder, COLUMNS="200")
    return folder, dict(zip(lines, found, strict=True))


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_one_line(line: str, said: tuple[Path, dict[str, Said]]) -> None:
    told = said[1][line]
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert MISTAKES[line] in told.err


def test_own_graphs_under_noise(said: tuple[Path, dict[str, Said]]) -> None:
    folder, found = said
    first, again = found[GRID], found[f"{GRID} --json"]
    assert (first.code, again.code) == (0, 0), first.err
    assert first.err.splitlines()[-1].startswith("noise: 16 of 16")
    assert again.err.splitlines() == ["noise: 16 of 16, finished before"]
    content = json.loads((folder / "grid" / "noise.json").read_text())
    assert json.loads(again.out) == content
    rows = [line.split() for line in first.out.splitlines() if line.split()[:1] == ["remove"]]
    assert [row[1] for row in rows] == ["0", "0.4"]
    (kinds,) = content["numbers"].values()
    lpa = kinds["remove"]["methods"]["lpa"]["test_accuracy"][1]
    assert rows[1][2] == f"{100 * lpa['mean']:.1f}"
    assert any(note.startswith("Split: none given") and "for the test" in note for note in content["remarks"])
    assert {path.name for path in (folder / "grid").glob("noise.*")} == {
        f"noise.{kind}" for kind in ("html", "md", "png", "svg", "json")
    }


def test_a_noisy_run_is_repeated_from_its_config(tmp_path: Path) -> None:
    spec = RunSpec("karate", "lpa", (0, 1), noise="rewire:0.25:5")
    first = run(spec, tmp_path / "kept", ONE)
    again = run(RunSpec.from_toml(tmp_path / "kept" / "config.toml"), tmp_path / "replay", ONE)
    assert 'noise = "rewire:0.25:5"' in (tmp_path / "kept" / "config.toml").read_text()
    made = {"kind": "rewire", "rate": 0.25, "seed": 5, "planted": 20, "removed": 20}
    assert first["noise_made"] == again["noise_made"] == [made, made]
    for seed in ("seed-0", "seed-1"):
        kept, replayed = (tmp_path / name / seed / "predictions.csv" for name in ("kept", "replay"))
        assert kept.read_bytes() == replayed.read_bytes()
