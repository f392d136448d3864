from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import urllib.error

import numpy as np
import pytest

from gdamn.data import fetch as files
from gdamn.data import load
from gdamn.data.fetch import DataFile, FileSet
from gdamn.data.named import arxiv, coauthor
from gdamn.data.named.planetoid import file_set
from gdamn.data.named.published import open_published
from gdamn.data.named.safe_pickle import read_pickle
from gdamn.errors import DataError
from gdamn.system import reading

CONTENT = {"one.txt": b"first file", "two.txt": b"second"}


def made_set() -> FileSet:
    listed = tuple(DataFile(name, hashlib.sha256(data).hexdigest(), len(data)) for name, data in CONTENT.items())
    return FileSet("made-up", "Made/raw", listed, base_url="https://example.invalid/")


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No data folder, an empty cache, downloads forbidden."""
    monkeypatch.delenv("GDAMN_DATA", raising=False)
    monkeypatch.setenv("GDAMN_OFFLINE", "1")
    monkeypatch.setattr(files, "cache_root", lambda: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def online(alone, monkeypatch):
    monkeypatch.delenv("GDAMN_OFFLINE")
    return alone


class Answer:
    """What an opener gives: the bytes of one address."""

    def __init__(self, data):
        self.data = data

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None

    def read(self, size):
        part, self.data = self.data[:size], self.data[size:]
        return part


def serve(monkeypatch, pages):
    """Answer every address from a dictionary; the rest is unreachable."""
    asked = []

    class Opener:
        def open(self, url, timeout):
            asked.append(url)
            name = url.rsplit("/", 1)[1]
            if name not in pages:
                raise urllib.error.URLError("no route")
            return Answer(pages[name])

    monkeypatch.setattr(files.urllib.request, "build_opener", lambda *handlers: Opener())
    return asked


def test_order_of_the_roots(alone, monkeypatch):
    monkeypatch.setenv("GDAMN_DATA", str(alone / "env"))
    assert files.roots(alone / "given") == [alone / "given", alone / "env", alone / "cache"]
    for root in ("cache", "env", "given"):
        folder = alone / root / "Made/raw"
        folder.mkdir(parents=True)
        for name, data in CONTENT.items():
            (folder / name).write_bytes(data)
        assert files.locate(made_set(), alone / "given") == folder


def test_missing_files_offline(alone):
    with pytest.raises(DataError) as caught:
        load("cora", data_root=alone / "data")
    text = str(caught.value)
    assert "GDAMN_OFFLINE forbids" in text
    assert str(alone / "data" / "Planetoid/Cora/raw") in text
    assert all(f"ind.cora.{key}" in text for key in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))
    assert text.count(". ") == 0
    assert not (alone / "data").exists()


@pytest.mark.parametrize("name", ["chameleon", "actor", "arxiv-2023"])
def test_missing_files_without_download(alone, name):
    with pytest.raises(DataError, match=r"were not found and they can't be downloaded: put .*\.npz into"):
        load(name, data_root=alone)


def test_missing_ogb_files(alone):
    with pytest.raises(DataError, match=r"put raw/edge\.csv\.gz, .* into .*ogbn_arxiv"):
        load("ogbn-arxiv", data_root=alone)


def test_download(online, monkeypatch):
    asked = serve(monkeypatch, CONTENT)
    folder = files.ensure(made_set(), online / "data")
    assert folder == online / "data/Made/raw"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert asked == ["https://example.invalid/one.txt", "https://example.invalid/two.txt"]
    files.ensure(made_set(), online / "data")
    assert len(asked) == 2


def test_a_download_reports_the_bytes_that_arrived(online, monkeypatch):
    serve(monkeypatch, CONTENT)
    calls = []
    files.ensure(made_set(), online / "data", lambda *call: calls.append(call))
    sizes = [len(data) for data in CONTENT.values()]
    assert calls == [("downloading made-up", done, sum(sizes)) for done in (sizes[0], sum(sizes))]


def test_download_to_the_cache_where_the_root_is_read_only(online, monkeypatch):
    serve(monkeypatch, CONTENT)
    blocked = online / "file"
    blocked.write_text("a file is no folder")
    assert files.ensure(made_set(), blocked) == online / "cache/Made/raw"


@pytest.mark.parametrize("bad", [b"second!", b"secone", b"", b"x" * 10_000])
def test_wrong_content_is_not_kept(online, monkeypatch, bad):
    serve(monkeypatch, {**CONTENT, "two.txt": bad})
    with pytest.raises(DataError, match=r"two\.txt from .* is not the published one .* was not kept"):
        files.ensure(made_set(), online / "data")
    assert [path.name for path in (online / "data/Made/raw").iterdir()] == ["one.txt"]


def test_unreachable_host(online, monkeypatch):
    serve(monkeypatch, {})
    with pytest.raises(DataError, match=r"download failed \(example\.invalid can't be reached: no route\): put one"):
        files.ensure(made_set(), online / "data")


def test_only_https(online):
    wanted = made_set()
    object.__setattr__(wanted, "base_url", "http://example.invalid/")
    with pytest.raises(DataError, match="over https only"):
        files.ensure(wanted, online)
    handler = files._HttpsOnly()
    request = files.urllib.request.Request("https://example.invalid/")
    with pytest.raises(files.UnreachableError, match="away from https"):
        handler.redirect_request(request, None, 302, "", {}, "http://example.invalid/")


def test_no_folder_can_be_written(online, monkeypatch):
    blocked = online / "file"
    blocked.write_text("")
    monkeypatch.setattr(files, "cache_root", lambda: blocked / "cache")
    with pytest.raises(DataError, match="can be written"):
        files.ensure(made_set(), blocked)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hacked",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Hostile(), "asks for posix.system|asks for nt.system"),
        (np.array([Hostile()], dtype=object), "an array of object|asks for"),
        (np.random.default_rng, "asks for"),
        (b"text".decode, "asks for"),
    ],
)
def test_hostile_pickles_are_refused(tmp_path, monkeypatch, value, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_bytes(pickle.dumps(value, protocol=2))
    with pytest.raises(DataError, match=message):
        read_pickle(tmp_path / "bad")
    assert not (tmp_path / "hacked").exists()


def test_hostile_planetoid_file(alone):
    folder = alone / "Planetoid/Cora/raw"
    folder.mkdir(parents=True)
    for file in file_set("cora").files:
        (folder / file.name).write_bytes(pickle.dumps(Hostile(), protocol=2))
    with pytest.raises(DataError, match=r"ind\.cora\.x can't be read as numbers"):
        load("cora", data_root=alone)


def test_harmless_pickle(tmp_path):
    (tmp_path / "good").write_bytes(pickle.dumps({1: [2, 3]}, protocol=2))
    assert read_pickle(tmp_path / "good") == {1: [2, 3]}


@pytest.mark.parametrize("data", [b"", b"\x80\x02", b"nonsense", pickle.dumps([1, 2])[:-2]])
def test_damaged_pickles(tmp_path, data):
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(DataError, match="can't be read as numbers"):
        read_pickle(tmp_path / "bad")


def test_damaged_npz(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="can't be read"):
        open_published(path, ["labels"])
    np.savez(path, labels=np.array([Hostile()], dtype=object), other=np.arange(3))
    with pytest.raises(DataError, match="can't be read"):
        open_published(path, ["labels"])
    with pytest.raises(DataError, match="lacks an array"):
        open_published(path, ["nothing"])
    assert open_published(path, ["other"]).arrays["other"].tolist() == [0, 1, 2]


def test_nothing_is_downloaded_that_is_not_pinned():
    """Every set with an address has the hash and the size of each file; ogbn-arxiv has neither, and no address."""
    sets = [file_set(name) for name in ("cora", "citeseer", "pubmed")] + [coauthor.file_set("coauthor-cs")]
    for wanted in [*sets, coauthor.file_set("coauthor-physics"), arxiv._OGB]:
        assert not wanted.base_url or wanted.base_url.startswith("https://")
        assert not wanted.base_url or all(len(file.sha256) == 64 and file.size > 0 for file in wanted.files)
    assert not arxiv._OGB.base_url


def test_a_packed_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv, "OGB_LIMIT", 10**6)
    (tmp_path / "edge.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 10**6))
    with pytest.raises(DataError, match="would unpack to more than 1,000,000 bytes"):
        arxiv._read_csv(tmp_path / "edge.csv.gz", int)


def test_an_npz_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 10**6)
    np.savez_compressed(tmp_path / "a.npz", labels=np.zeros(10**6, np.int64))
    with pytest.raises(DataError, match="would unpack to"):
        open_published(tmp_path / "a.npz", ["labels"])


@pytest.mark.data
def test_pinned_hashes_are_those_of_the_files(data_root):
    folder = files.locate(file_set("citeseer"), data_root)
    for file in file_set("citeseer").files:
        data = (folder / file.name).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (file.sha256, file.size)
