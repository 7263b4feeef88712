"""Are the readers of captures and qlog right?

Captures are compared with tshark, and qlog files with a second reader. `SOJOURN_READERS_FILES`
names a folder of files that the project does not keep: `captures/SOURCE/...` and
`qlog/STACK/SOURCE/...`, where SOURCE is the `owner+name` of a public repository, or `generated`.
The result names each file and its SHA-256. The small form compares the files of the tests.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import readers_qlog
import readers_tshark
from readers_picture import svg
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 10
NEEDS = ("tshark",)
# The files of the tests agree, and are read.
NULL_WHEN_SMALL = ("captures.kind", "qlogs.differs", "qlogs.kind")

# The README's table has at most 15 rows.
MOST_KINDS = 7
TESTS = Path(__file__).resolve().parents[2] / "tests"
SUFFIXES = (".pcap", ".pcapng", ".cap", ".ntar", ".trace", ".gz")


def measure(small: bool) -> dict[str, list[Row]]:
    """Return a row for each capture with samples and for each qlog file, and counts of sources."""
    if small:
        captures = [(file, "tests") for file in found(TESTS / "captures", SUFFIXES)]
        logs = [(file, "made", "tests") for file in found(TESTS / "qlog", (".sqlog",))]
    else:
        folder = Path(os.environ["SOJOURN_READERS_FILES"])
        captures = [
            (file, file.relative_to(folder / "captures").parts[0])
            for file in found(folder / "captures", SUFFIXES)
        ]
        logs = [
            (file, stack, source)
            for file in found(folder / "qlog", ("",))
            for stack, source, *_ in [file.relative_to(folder / "qlog").parts]
        ]
    rows = each(lambda one: capture(*one), captures)
    return {
        "sources": sources(rows),
        "captures": [row for row in rows if row["tshark_samples"] or row["samples"]],
        "qlogs": each(lambda one: qlog(*one), logs),
    }


def found(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Return the files of a folder with these suffixes, in the order of their names."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file for file in files if file.name.endswith(tuple(suffixes)))


def described(file: Path, source: str) -> Row:
    """Return what identifies a file."""
    return {
        "source": source,
        "file": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }


def capture(file: Path, source: str) -> Row:
    """Return the row of a capture."""
    return {**described(file, source), **readers_tshark.compare(file)}


def qlog(file: Path, stack: str, source: str) -> Row:
    """Return the row of a qlog file."""
    return {"stack": stack, **described(file, source), **readers_qlog.compare(file)}


def sources(rows: Sequence[Row]) -> list[Row]:
    """Count the captures of each source, with those that have no segments or no samples."""
    return [
        {
            "source": source,
            "captures": len(own),
            "with_tcp": sum(row["segments"] > 0 for row in own),
            "with_samples": sum(bool(row["tshark_samples"] or row["samples"]) for row in own),
        }
        for source in dict.fromkeys(row["source"] for row in rows)
        for own in [[row for row in rows if row["source"] == source]]
    ]


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Count the files that agree, and the others by the kind of their difference."""
    captures, logs = tables["captures"], tables["qlogs"]
    agree = [row for row in captures if not row["differing"]]
    kinds = Counter(kind for row in captures for kind in (row["kind"] or "").split(", ") if kind)
    read = [row for row in logs if row["kind"] is None]
    same = [row for row in read if row["differs"] is None]
    lines: list[list[object]] = [["files", "number", "RTT samples"]]
    lines.append(["captures with samples", len(captures), total(captures, "tshark_samples")])
    lines.append(["- equal", len(agree), total(captures, "equal")])
    lines += [[f"- {kind}", number, ""] for kind, number in kinds.most_common(MOST_KINDS)]
    lines.append(["qlog files", len(logs), total(read, "rtts")])
    lines.append(["- equal", len(same), total(same, "rtts")])
    others = Counter(row["kind"] for row in logs if row["kind"])
    lines += [[f"- {kind}", number, ""] for kind, number in others.most_common()]
    return markdown([[cell(value) for value in line] for line in lines])


def total(rows: Sequence[Row], name: str) -> int:
    """Return the sum of a column."""
    return sum(row[name] for row in rows)


def cell(value: object) -> str:
    """Return a number with commas, or text."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def draw(tables: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Draw how many files of each source and stack agree."""
    (folder / "readers.svg").write_text(svg(tables), "utf-8")
