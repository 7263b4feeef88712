"""Results of a measurement in the documents: tables between marks, JSON and pictures."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.report import render

DOCS = Path(__file__).parents[1] / "docs"


def save(
    name: str,
    lists: Mapping[str, Sequence[Mapping[str, Any]]],
    tables: Mapping[str, str],
    pictures: Mapping[str, dict[str, Any]],
) -> None:
    """Write the results of docs/NAME.md.

    docs/NAME.json gets the lists, with a line for each row. The tables replace those between the
    marks of their names in docs/NAME.md, and each picture is a file of its own name in docs.
    """
    drawn = {file: render.png(render.svg(picture)) for file, picture in pictures.items()}
    texts = (
        f'"{key}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for key, rows in lists.items()
    )
    (DOCS / f"{name}.json").write_text("{\n" + ",\n".join(texts) + "\n}\n")
    page = DOCS / f"{name}.md"
    text = page.read_text()
    for key, table in tables.items():
        text = replaced(text, key, table)
    page.write_text(text)
    for file, png in drawn.items():
        (DOCS / file).write_bytes(png)


def replaced(page: str, name: str, table: str) -> str:
    """Return the page with another table between its marks.

    Raises `ValueError` if the page lacks one of the marks.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    head, first, rest = page.partition(begin)
    _, last, tail = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the page has no marks of the table {name}: {begin}{end}")
    return head + begin + table + end + tail
