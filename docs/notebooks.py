"""Run the notebooks and keep what they print; a test runs them too, and the site shows them.

python docs/notebooks.py       # runs both, and writes their outputs into docs/notebooks
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
Notebook = dict[str, Any]


def main() -> None:
    """Run each notebook in a namespace of its own."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = read(path)
        run(notebook)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Notebook:
    """A notebook as it is stored."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: Notebook) -> dict[str, Any]:
    """Run the cells in their order, as Jupyter does, and put what they show into them; returns their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        cell["execution_count"], cell["outputs"] = number, outputs("".join(cell["source"]), number, names)
    return names


def outputs(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries; ours are tested where they are raised
        exec(compile(tree, "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    shown: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        shown.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "to_html"):  # a data frame
            data["text/html"] = value.to_html(border=0).splitlines(keepends=True)
        shown.append({"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}})
    return shown


def as_markdown(notebook: Notebook) -> str:
    """The notebook as a page: text, code, and what it showed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            text = "".join(output["text"] if "text" in output else output["data"]["text/plain"])
            parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
