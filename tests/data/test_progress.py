"""Readers report their progress to the callable that is passed to them, and to nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from gdamn import load
from gdamn.errors import ConfigError
from gdamn.inspect.files import file_facts
from gdamn.runs.execution import Execution
from gdamn.runs.run import run
from gdamn.runs.spec import RunSpec

N = 12
NODES = {"id": range(N), "label": ["ab"[i % 2] for i in range(N)], "x": [i / 3 for i in range(N)]}
EDGES = {"source": range(N), "target": [(i + 1) % N for i in range(N)]}
WRITERS = {".csv": pa.csv.write_csv, ".parquet": pa.parquet.write_table}


@pytest.fixture(params=WRITERS)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Two tables of one kind."""
    paths = []
    for name, columns in (("nodes", NODES), ("edges", EDGES)):
        path = tmp_path / (name + request.param)
        WRITERS[request.param](pa.table({key: list(values) for key, values in columns.items()}), path)
        paths.append(str(path))
    return paths[0], paths[1]


class Recorder:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        self.calls.append((what, done, total))

    @property
    def finished(self) -> list[str]:
        """What was reported as done, in order."""
        return [what for what, done, total in self.calls if done == total]


def stages(nodes: str, edges: str) -> list[str]:
    return [f"reading {Path(nodes).name}", f"reading {Path(edges).name}", "making features", "building the graph"]


def test_load_reports_every_stage_once(tables):
    nodes, edges = tables
    first, second = Recorder(), Recorder()
    load(nodes, edges=edges, progress=first)
    assert first.finished == stages(*tables)
    load(nodes, edges=edges, seed=1, progress=second)  # the next seed of a run: nothing is read again
    assert second.calls == []
    assert first.finished == stages(*tables)


def test_files_that_changed_are_read_again(tables):
    nodes, edges = tables
    load(nodes, edges=edges)
    Path(nodes).touch()
    recorder = Recorder()
    load(nodes, edges=edges, progress=recorder)
    assert recorder.finished == stages(*tables)
    load(nodes, edges=edges, directed=True, progress=recorder)  # so are those that are read in another way
    assert recorder.finished == 2 * stages(*tables)


def test_threads_that_load_different_files_get_their_own(tmp_path):
    files = []
    for at, size in enumerate((8, 12, 16, 20)):
        nodes, edges = tmp_path / f"nodes-{at}.csv", tmp_path / f"edges-{at}.csv"
        nodes.write_text("id,label,x\n" + "".join(f"{i},{'ab'[i % 2]},{i}\n" for i in range(size)))
        edges.write_text("source,target\n" + "".join(f"{i},{(i + 1) % size}\n" for i in range(size)))
        files.append((size, str(nodes), str(edges)))
    with ThreadPoolExecutor(4) as pool:
        loaded = [(size, pool.submit(load, nodes, edges=edges)) for _ in range(5) for size, nodes, edges in files]
    assert all(graph.result().num_nodes == size for size, graph in loaded)


def test_inspect_reports_what_it_reads(tables):
    nodes, edges = tables
    recorder = Recorder()
    file_facts(Path(nodes), {"edges": edges}, recorder)
    assert recorder.finished == [stage for stage in stages(*tables) if stage != "making features"]


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_reports_what_it_reads_in_its_own_process(tables, tmp_path, jobs):
    nodes, edges = tables
    recorder = Recorder()
    spec = RunSpec(nodes, "lpa", (0, 1), options={"edges": edges})
    run(spec, tmp_path / "run", Execution(jobs=jobs, threads=1), read_progress=recorder)
    assert recorder.finished == (stages(*tables) if jobs == 1 else [])


def test_progress_is_no_option_of_a_data_set():
    with pytest.raises(ConfigError, match="'progress' is no option of a data set"):
        RunSpec("karate", options={"progress": 1})
