"""compare, tune and reproduce that are ended: they go on within a fit, share no folder, and leave no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from gdamn.cli import root as cli
from gdamn.errors import DataError, OutputError, TrainingError
from gdamn.estimators.registry import METHODS
from gdamn.experiments import experiment, targets
from gdamn.fit import checkpoint
from gdamn.runs import tune as tuning
from gdamn.runs import tune_study as tuning_study
from gdamn.runs import tune_trials
from gdamn.runs.compare import engine
from gdamn.runs.compare.engine import compare, make_specs
from gdamn.runs.execution import Execution
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import FOLDER
from gdamn.system import folders, lock

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(os.name == "nt", reason="locks and signals of POSIX"),
]

SPACE = {"hidden": [4, 8], "epochs": [3, 6], "learning_rate": [0.01, 0.05]}
LONG = "--set epochs=1000000"
COMMANDS = {
    "compare": f"compare karate --methods gcn,mlp --seeds 2 --jobs 2 {LONG}",
    "tune": "tune karate --method gcn --trials 2 --space space.toml",
    "reproduce": f"reproduce fig1a --datasets karate {LONG}",
    "reproduce table2": f"reproduce table2 --datasets karate --methods gcn,mlp {LONG}",
}
HOLD = "import sys, time; from pathlib import Path; from gdamn.system import lock\n"
HOLD += "with lock.alone_in(Path('out'), sys.argv[1]):"
HOLD += " print('held', flush=True); time.sleep(120)"


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_EPOCHS", 1)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "PHASE_SECONDS", 0.0)


class Stop:
    """Progress that counts epochs and ends the command in one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.epochs = at, 0

    def __call__(self, *_: Any) -> None:
        if self.epochs == self.at:
            raise KeyboardInterrupt
        self.epochs += 1


def checkpoints(out: Path) -> list[Path]:
    return list((out / FOLDER).rglob("*.checkpoint"))


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("at", [4, 9])
def test_a_comparison_goes_on_within_a_fit(at: int, tmp_path: Path) -> None:
    specs = make_specs("karate", ["gcn", "mlp"], range(1), settings={"epochs": 7})
    whole, stop, rest = Stop(), Stop(at), Stop()
    expected = compare(specs, tmp_path / "whole", watch=engine.Watch(progress=whole))
    said = f"stopped with {at // 7} of 2 fits on karate finished; the same command goes on from there"
    with pytest.raises(KeyboardInterrupt, match=said):
        compare(specs, tmp_path / "out", watch=engine.Watch(progress=stop))
    assert len(checkpoints(tmp_path / "out")) == 2  # of the fit under way alone
    outcome = compare(specs, tmp_path / "out", watch=engine.Watch(progress=rest))
    assert stop.epochs + rest.epochs == whole.epochs == 14
    assert outcome.result == expected.result
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [folders.MARKER, "fits"]


@pytest.mark.usefixtures("every_epoch")
def test_checkpoints_of_other_settings_are_not_used(tmp_path: Path) -> None:
    for epochs in (7, 8):
        specs = make_specs("karate", ["gcn"], range(1), settings={"epochs": epochs})
        with pytest.raises(KeyboardInterrupt):
            compare(specs, tmp_path, watch=engine.Watch(progress=Stop(4)))
    assert len({path.parent.parent for path in checkpoints(tmp_path)}) == 2


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize(("name", "changed"), [("fig6", "gdamn.pretrain_epochs"), ("convergence", "pretrain_epochs")])
def test_an_experiment_goes_on_within_a_fit(name: str, changed: str, tmp_path: Path) -> None:
    """With the predictions of the epochs before: curves and iterations are as of a fit in one go."""
    target = targets.find(name)
    settings = {"epochs": 4, changed: 3} | ({"gdamn.em_iterations": 1} if name == "fig6" else {})
    ask = experiment.make_ask(target, ["karate"], 1, settings)
    whole = Stop()
    expected = experiment.run(
        target, ask, tmp_path / "whole", Execution(threads=1), watch=experiment.Watch(progress=whole)
    )
    done = 0
    for _ in range(3):
        stop = Stop(whole.epochs // 4)
        with pytest.raises(KeyboardInterrupt, match=f"units of {name} finished; the same command goes on"):
            experiment.run(target, ask, tmp_path / "out", Execution(threads=1), watch=experiment.Watch(progress=stop))
        done += stop.epochs
    rest = Stop()
    found = experiment.run(target, ask, tmp_path / "out", Execution(threads=1), watch=experiment.Watch(progress=rest))
    assert done + rest.epochs == whole.epochs
    assert found == expected
    assert not (tmp_path / "out" / FOLDER).exists()


def search(out: Path, trials: int = 4, noise: float = 0.0, **options: Any) -> dict[str, Any]:
    return tuning.tune(RunSpec("karate", "gcn", (0, 1), noise), out, trials=trials, space=SPACE, **options)


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("at", [0, 1, 2, 5])
def test_a_search_goes_on_with_the_same_trials(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended while it keeps its fit of this number: finished fits of the trial are kept, and the trial comes again."""
    search(tmp_path / "whole")
    keep, kept = tune_trials.keep_value, []

    def stops(out: Path, config: Any, value: float, metric: str) -> None:
        if len(kept) == at:
            raise KeyboardInterrupt
        kept.append(config)
        keep(out, config, value, metric)

    monkeypatch.setattr(tune_trials, "keep_value", stops)
    with pytest.raises(KeyboardInterrupt, match=f"stopped with {at // 2} of 4 trials finished; the same command"):
        search(tmp_path / "out")
    assert len(list((tmp_path / "out").rglob("value.json"))) == at % 2
    assert checkpoints(tmp_path / "out")
    monkeypatch.setattr(tune_trials, "keep_value", lambda *args: kept.append(args[1]) or keep(*args))
    search(tmp_path / "out")
    assert len(kept) == 8
    for name in ("trials.jsonl", "best.toml"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "out" / FOLDER).exists()


def test_more_trials_are_those_of_a_longer_search(tmp_path: Path) -> None:
    search(tmp_path / "a", 2)
    search(tmp_path / "a", 4)
    search(tmp_path / "b", 4)
    assert (tmp_path / "a" / "trials.jsonl").read_bytes() == (tmp_path / "b" / "trials.jsonl").read_bytes()


def test_what_a_killed_search_left_in_its_journal_is_mended(tmp_path: Path) -> None:
    search(tmp_path, 1)
    journal = tmp_path / tuning_study.JOURNAL
    for left in ("study.journal.lock", "study.journal.lock1234.rename"):
        (tmp_path / left).symlink_to(journal)
    with journal.open("ab") as file:
        file.write(b'{"op_code": 4, "worker')
    assert search(tmp_path, 2)["trials"] == 2
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == [folders.MARKER, "best.toml", "study.journal", "trials.jsonl"]
    journal.write_bytes(b"{}\nnot a journal\n{}\n" + journal.read_bytes())
    with pytest.raises(DataError, match=r"study.journal' is damaged; remove it"):
        search(tmp_path, 2)


def test_a_search_of_something_else_is_refused(tmp_path: Path) -> None:
    search(tmp_path, 1)
    with pytest.raises(OutputError, match="holds a search with another noise; choose another --out"):
        search(tmp_path, 1, noise=0.5)


def test_settings_that_can_t_be_trained_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tune_trials.fitted

    def fitted(asked: tune_trials.Search, settings: dict[str, Any], seed: int) -> float:
        if settings["hidden"] == 8:
            raise TrainingError("The loss is nan.")
        return whole(asked, settings, seed)

    monkeypatch.setattr(tune_trials, "fitted", fitted)
    search(tmp_path, 3)
    rows = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    assert [row["settings"]["hidden"] for row in rows] == [4, 4, 4]
    monkeypatch.setitem(SPACE, "hidden", [8])
    with pytest.raises(TrainingError, match="5 trials in a row could not be trained; the last: The loss is nan"):
        search(tmp_path / "none")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("compare", "comparison"),
        ("tune", "search"),
        ("reproduce", "reproduction"),
        ("reproduce table2", "reproduction"),
    ],
)
def test_a_second_command_in_the_folder_is_refused(
    command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text("epochs = [1000000]\n")
    with subprocess.Popen([sys.executable, "-c", HOLD, kind], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        monkeypatch.setattr(sys, "argv", ["gdamn", *COMMANDS[command].split(), "--out", "out"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr().err
        assert ended.value.code == 2
        assert said.startswith("error: Another run is writing to 'out' at this moment; wait until it ends")
        assert said.count("\n") == 1
        assert {path.name for path in Path("out").iterdir()} == {lock.NAME, folders.MARKER}
        owner.kill()


def start(words: str, folder: Path) -> subprocess.Popen[str]:
    (folder / "space.toml").write_text("epochs = [1000000]\n")
    args = [sys.executable, "-m", "gdamn", *words.split(), "--out", "out"]
    plain, quiet = {**os.environ, "NO_COLOR": "1"}, subprocess.DEVNULL
    return subprocess.Popen(
        args, cwd=folder, stderr=subprocess.PIPE, stdout=quiet, text=True, env=plain, start_new_session=True
    )


@pytest.mark.parametrize("command", ["tune", "reproduce"])
def test_ctrl_c_tells_how_to_go_on(command: str, tmp_path: Path) -> None:
    with start(COMMANDS[command], tmp_path) as process:
        while not (tmp_path / "out" / lock.NAME).exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        asked = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - asked < 2
        assert process.stderr is not None
        rest = process.stderr.read()
    assert "Traceback" not in rest
    assert rest.splitlines()[-1].startswith("stopped")
    assert not (tmp_path / "out" / lock.NAME).exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_stays_behind(how: signal.Signals, tmp_path: Path) -> None:
    """Also where the signal comes while they start: Ctrl-C reaches the whole group, and is the parent's to answer."""
    with start(COMMANDS["compare"], tmp_path) as process:
        workers: list[psutil.Process] = []
        while len(workers) < 2 and process.poll() is None:
            found = psutil.Process(process.pid).children(recursive=True)
            workers = [worker for worker in found if "spawn_main" in " ".join(worker.cmdline())]
            time.sleep(0.02)
        asked = time.monotonic()
        (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
        assert process.wait(timeout=30) == (130 if how == signal.SIGINT else -9)
        assert time.monotonic() - asked < 2
        assert psutil.wait_procs(workers, timeout=30)[1] == []
        assert process.stderr is not None
        rest = process.stderr.read()
    if how == signal.SIGINT:
        assert rest == "stopped with 0 of 4 fits on karate finished; the same command goes on from there\n"


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("method", ["gat", "gcn-cs", "grand", "cs-gnn", "alagcn", "gmnn-gat"])
def test_methods_go_on_within_a_fit(method: str, tmp_path: Path) -> None:
    few = {"epochs": 5, "pretrain_epochs": 2, "em_iterations": 1}
    has = METHODS[method].estimator().settings_class.names()
    specs = make_specs("karate", [method], range(1), settings={k: v for k, v in few.items() if k in has})
    expected = compare(specs, tmp_path / "whole")
    stop, rest = Stop(3), Stop()
    with pytest.raises(KeyboardInterrupt):
        compare(specs, tmp_path / "out", watch=engine.Watch(progress=stop))
    outcome = compare(specs, tmp_path / "out", watch=engine.Watch(progress=rest))
    assert outcome.result == expected.result
    assert stop.epochs + rest.epochs == outcome.fits[method, 0]["epochs"] == expected.fits[method, 0]["epochs"]
