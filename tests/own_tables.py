"""Two small tables of one's own, as bytes and as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Write = Callable[[Path], None]

N = 24


def node_rows() -> list[list[str]]:
    return [[f"n{i}", "ab"[i % 2] if i < 16 else "", f"{i / 4}", "XYZ"[i % 3]] for i in range(N)]


def edge_rows() -> list[list[str]]:
    return [[f"n{i}", f"n{(i + step) % N}", "1.5"] for i in range(N) for step in (1, 2)]


def table(header: list[str], rows: list[list[str]], between: str = ",") -> bytes:
    return "".join(between.join(row) + "\n" for row in [header, *rows]).encode()


NODES = table(["id", "label", "age", "city"], node_rows())
EDGES = table(["source", "target", "weight"], edge_rows())


def files(**content: bytes | None) -> Write:
    """Writes nodes.csv and edges.csv, with these in place of them or beside them; None leaves a file out."""

    def write(folder: Path) -> None:
        made = {"nodes.csv": NODES, "edges.csv": EDGES, **{k.replace("__", "."): v for k, v in content.items()}}
        for name, data in made.items():
            if data is not None:
                (folder / name).write_bytes(data)

    return write
