"""Pages of the site that are made when it is built, and links that hold on the site as they do in the repository.

Made are the reference of the settings (from their dataclasses), the API reference (from docstrings) and a sample report
(a short fit); the notebooks are run. A link that leaves ``docs`` leads to a copy of the file below ``repository``; a
comment such as ``<!-- code: model/attention.py: stable -->`` becomes the source of that function.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import notebooks  # noqa: E402 - beside this file

SOURCE = ROOT / "src" / "gdamn"
LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#)([\w./-]+)(#[\w-]+)?\)")
PROMPTS = re.compile(r"(?:<blockquote>\s*){3}<p>(.*?)</p>\s*(?:</blockquote>\s*){3}", re.DOTALL)
CODE = re.compile(r"<!-- code: ([\w/]+\.py): ([\w.]+) -->")
LATER = ("review.md",)
"""Pages that have a place in the navigation before they are written."""

API = {
    "estimators": "Estimators: estimators.gdamn.GDAMN estimators.gdamn.GDAMNPlus estimators.transforms.RefineGraph "
    "estimators.transductive.TransductiveClassifier fit.callbacks.Callback fit.callbacks.EarlyStopping",
    "graph": "Graphs and data: graph.graph.Graph data.named.registry.load data.noise.kinds.add_noise",
    "studies": "Comparing and searching: studies",
    "nn": "Building blocks: model.conv.GDAMNConv model.attention model.objectives kernels.ops",
    "errors": "Errors: errors",
}
"""Pages of the API reference: file, title, and the objects on it."""

SAMPLE = "train digits --noise 1 --set start=features --set pretrain_epochs=30 --set epochs=15 --set em_iterations=1"
"""The run of the sample report."""


def on_config(config: Any) -> Any:
    """The navigation without pages that are still to be written."""
    for section in config.nav:
        for name, pages in section.items():
            section[name] = [page for page in pages if not missing(page, config.docs_dir)]
    return config


def missing(page: dict[str, str], folder: str) -> bool:
    """Whether a page of the navigation is one of those to come, and isn't there."""
    return any(path in LATER and not Path(folder, path).is_file() for path in page.values())


def on_files(files: Files, config: Any) -> Files:
    """Add what is made here, and every file outside of docs that a page links to."""
    made = {"settings.md": settings_page(), "sample.md": sample_page(), "sample/report.html": sample_report()}
    made |= {f"notebooks/{path.stem}.md": notebook_page(path) for path in sorted(notebooks.FOLDER.glob("*.ipynb"))}
    made |= {f"api/{name}.md": api_page(content) for name, content in API.items()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    for path in sorted(linked(files)):
        files.append(File.generated(config, f"repository/{path}", abs_src_path=str(ROOT / path)))
    return files


def linked(files: Files) -> set[str]:
    """The files outside of docs that pages link to."""
    pages = [(Path(file.src_uri).parent, file.content_string) for file in files.documentation_pages()]
    paths = {outside(here, link[2]) for here, text in pages for link in LINK.finditer(text)}
    return {path for path in paths if path and (ROOT / path).is_file()}


def outside(here: Path, link: str) -> str | None:
    """The path from the repository's root that a link of a page in ``here`` leads to; None where it stays in docs."""
    path = os.path.normpath(Path("docs") / here / link)
    return None if path == "docs" or path.startswith("docs/") else path


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to copies in place of links that leave docs, and source code in place of its comments."""
    here = Path(page.file.src_uri).parent
    if here.parts[:1] == ("repository",):  # what these link to is not all here
        return LINK.sub(r"\1", markdown)

    def copied(found: re.Match[str]) -> str:
        path = outside(here, found[2])
        if path is None:
            return found[0]
        if not (ROOT / path).exists():
            raise PluginError(f"{page.file.src_uri} links to {path}, which isn't in the repository")
        if (ROOT / path).is_dir():
            return found[1]
        return f"[{found[1]}]({os.path.relpath(f'repository/{path}', here)}{found[3] or ''})"

    return CODE.sub(lambda found: code_block(found[1], found[2]), LINK.sub(copied, markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Examples of docstrings (``>>>``) as code; Markdown takes them for quotes of quotes of quotes."""
    return PROMPTS.sub(r'<div class="highlight"><pre><code>\1</code></pre></div>', html)


def code_block(path: str, name: str) -> str:
    """The source of a function or class, to unfold."""
    text = (SOURCE / path).read_text(encoding="utf-8")
    nodes: list[Any] = [ast.parse(text)]
    for word in name.split("."):
        nodes = [each for node in nodes for each in node.body if getattr(each, "name", None) == word]
    if not nodes:
        raise PluginError(f"{path} has no {name}")
    lines = text.splitlines()[nodes[0].lineno - 1 : nodes[0].end_lineno]
    inner = "\n".join("    " + line for line in ["```python", *lines, "```"])
    return f'??? note "`{path}`: `{name}`"\n\n{inner}\n'


def notebook_page(path: Path) -> str:
    """A notebook that was run just now, and the way to its file."""
    notebook = notebooks.read(path)
    notebooks.run(notebook)
    return f"{notebooks.as_markdown(notebook)}\n[Download this notebook]({path.name})\n"


def api_page(content: str) -> str:
    """A page of the API reference."""
    title, _, names = content.partition(": ")
    text = f"# {title}\n\nMade from the docstrings of the code.\n"
    return text + "".join(f"\n::: gdamn.{name}\n" for name in names.split())


def settings_page() -> str:
    """Every setting of GDAMN and of the other methods: meaning, default, type and range."""
    from gdamn.estimators.registry import METHODS
    from gdamn.model.settings import Settings

    lines = [
        "# Settings",
        "",
        "Made from the settings classes. On the command line: `--set epochs=100`; in Python: `GDAMN(epochs=100)`.",
        "",
        "## gdamn",
        "",
        *settings_table(Settings, set()),
    ]
    own = {field.name: field for field in dataclasses.fields(Settings)}
    for name, method in METHODS.items():
        known = method.estimator().settings_class
        if known is Settings:
            continue
        same = {f.name for f in dataclasses.fields(known) if f.name in own and f.default == own[f.name].default}
        lines += ["", f"## {name}", "", f"{method.summary[0].upper()}{method.summary[1:]}. As gdamn's: "]
        lines[-1] += (", ".join(f"`{each}`" for each in sorted(same)) or "none") + ".\n"
        lines += settings_table(known, same)
    return "\n".join(lines) + "\n"


def settings_table(known: type, without: set[str]) -> list[str]:
    """A row per setting."""
    from gdamn.model.setting import kind_text

    rows = ["| setting | meaning | default | type |", "|---|---|---|---|"]
    for field in dataclasses.fields(known):
        if field.name not in without and field.metadata:
            cells = (f"`{field.name}`", field.metadata["doc"], f"`{field.default!r}`", kind_text(field))
            rows.append("| " + " | ".join(cell.replace("|", r"\|").replace("<", "&lt;") for cell in cells) + " |")
    return rows


def sample_report() -> str:
    """The page of a short run on noisy digits."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gdamn", *SAMPLE.split(), "--out", f"{folder}/digits"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        page = Path(folder, "digits", "report.html")
        if done.returncode or not page.is_file():
            raise PluginError(f"There is no sample report: {done.stderr[-500:]}")
        return page.read_text(encoding="utf-8")


def sample_page() -> str:
    """How the sample report was made, and the way to it."""
    return f"""# A sample report

[Open the sample report](sample/report.html){{ .md-button .md-button--primary }}

1,797 images of handwritten digits are the nodes. Edges join images that look alike. As many wrong edges are planted.
200 images have a label. This command made the page, with few epochs so that it takes seconds:

```sh
gdamn {SAMPLE}
```

[Reading the report](report.md) explains every part.
"""
