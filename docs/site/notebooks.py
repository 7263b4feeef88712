"""Executes the tutorials as notebooks, and converts them to documents of the site."""

import base64
import os
import re
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).resolve().parents[1] / "tutorials"
# The tutorials in their order.
ORDER = (
    "first-drop",
    "home-link",
    "slow-line",
    "own-controller",
    "sweep-study",
    "beside-the-kernel",
    "reading-captures",
)
_TIMEOUT_S = 600
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_SET_UP = "%matplotlib inline\n%config InlineBackend.figure_formats = ['svg']"


def files() -> list[Path]:
    """Return the tutorials in their order; new ones come last."""
    known = {file.stem: file for file in sorted(TUTORIALS.glob("*.md"))}
    first = [known.pop(name) for name in ORDER if name in known]
    return [*first, *known.values()]


def executed(file: Path, folder: Path) -> nbformat.NotebookNode:
    """Execute a tutorial in a folder; raise `CellExecutionError` for a cell that fails."""
    notebook = jupytext.read(file)
    folder.mkdir(parents=True, exist_ok=True)
    # Cells print the same text on every machine.
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SET_UP))
    client = NotebookClient(
        notebook, timeout=_TIMEOUT_S, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    del notebook.cells[0]
    return notebook


def to_markdown(notebook: nbformat.NotebookNode, name: str, folder: Path) -> str:
    """Convert an executed notebook; figures become files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            parts.append(_output(output, f"{name}-{number}-{place}", folder))
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: nbformat.NotebookNode, name: str, folder: Path) -> str:
    """Convert the richest form of an output that a static page can show."""
    if output.output_type == "stream":
        return _plain(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    html = str(data.get("text/html", ""))
    # A report is a whole page; its picture suffices beside text.
    if "image/svg+xml" in data:
        (folder / f"{name}.svg").write_text(data["image/svg+xml"], "utf-8")
        return f"![The output of the cell above]({folder.name}/{name}.svg){{ .output }}"
    if "image/png" in data and ("<iframe" in html or not html):
        (folder / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return f"![The output of the cell above]({folder.name}/{name}.png){{ .output }}"
    if html:
        return f'<div class="output" markdown="0">{_one_block(html)}</div>'
    plain = str(data.get("text/plain", ""))
    return "" if plain in ("", "None") else _plain(plain)


def _one_block(html: str) -> str:
    """Remove empty lines, which would end a block of HTML in Markdown."""
    return "\n".join(line for line in html.splitlines() if line.strip())


def _plain(text: str) -> str:
    return f"```text\n{_ANSI.sub('', text).rstrip()}\n```"


def save(notebook: nbformat.NotebookNode, file: Path) -> None:
    """Write an executed notebook for Jupyter."""
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
