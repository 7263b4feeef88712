"""Collects the deliberate deviations from standards: `python docs/deviations.py` writes them.

The comment at the line that deviates begins with its source in parentheses:

    // Deviation (RFC 9438 4.6): reduces the window instead of the flight size, as Linux does.

It goes on until the next one, an item of a list, a blank line of the comment, or its end. The
source may be split by a line break. All are in docs/reference/deviations.md.
"""

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "deviations.md"
_TAG = re.compile(r"Deviation \((?P<source>[^()]*(?:\([^()]*\)[^()]*)*)\): (?P<text>.+)")
# A line that begins one need not have the whole of its source.
_BEGINS = re.compile(r"(?:[-*] )?(?=Deviation \()")
_ITEM = re.compile(r"[-*] ")
_COMMENTS = {
    ".rs": re.compile(r"(?P<mark>//[/!]?)(?: (?P<text>.*))?"),
    ".py": re.compile(r"(?P<mark>#)(?: (?P<text>.*))?"),
}
# The star of a comment's later lines is followed by a space, unlike that of `*place = 1`.
_C_COMMENT = re.compile(r"(?P<mark>/\*|\*|//)(?:/|\s+(?P<text>.*?)\s*(?:\*/)?)?")
# A name of the code with a link to its documentation, which only rustdoc follows.
_LINK = re.compile(r"\[(`[^`]+`)\](?:\([^)]*\))?")
# A draft without its version, of two digits.
_STANDARD = re.compile(r"RFC \d+|draft-[a-z0-9-]+?(?=-\d\d\b|[^a-z0-9-]|$)")
_INTRODUCTION = """\
# Deviations

Deliberate deviations from the standards, papers and programs that Sojourn implements, collected by
`make reference` from the comments at the lines that deviate.
"""


def sources() -> list[Path]:
    """Return the files that implement standards."""
    crates = (ROOT / "crates").glob("*/src/**/*.rs")
    return sorted([*crates, *(ROOT / "bpf").glob("*.[ch]"), *(ROOT / "python").rglob("*.py")])


def deviations(text: str, suffix: str = ".rs") -> list[tuple[str, str]]:
    """Return the source and the text of each deviation in the comments of a file."""
    if "Deviation (" not in text:
        return []
    tags = (_TAG.fullmatch(said) for said in _paragraphs(text, suffix))
    return [(tag["source"], _LINK.sub(r"\1", tag["text"])) for tag in tags if tag]


def _paragraphs(text: str, suffix: str) -> Iterator[str]:
    """Join the lines of each paragraph of a file's comments."""
    parts: list[str] = []
    last = ""
    for line in [*text.splitlines(), ""]:
        comment = _COMMENTS.get(suffix, _C_COMMENT).fullmatch(line.strip())
        said = ((comment["text"] or "") if comment else "").strip()
        mark = comment["mark"] if comment else ""
        # `/*` begins a comment, and `*` its later lines.
        follows = mark == last or (last, mark) == ("/*", "*")
        begins, item = _BEGINS.match(said), _ITEM.match(said)
        if parts and (not said or not follows or begins or item):
            yield " ".join(parts)
            parts = []
        if said:
            parts.append(said[begins.end() :] if begins else said)
        last = mark


def markdown() -> str:
    """Return the whole of docs/reference/deviations.md."""
    found = {
        file.relative_to(ROOT): deviations(file.read_text("utf-8"), file.suffix)
        for file in sources()
    }
    text = _INTRODUCTION + _by_standard(found)
    files = (file for file, listed in found.items() if listed)
    for folder, inside in groupby(files, _folder):
        text += f"\n## {folder.as_posix()}\n"
        for file in inside:
            name, path = file.relative_to(folder).as_posix(), file.as_posix()
            text += f"\n### [{name}](../../{path})\n\n"
            text += "".join(f"- {source}: {what}\n" for source, what in found[file])
    return text


def _by_standard(found: dict[Path, list[tuple[str, str]]]) -> str:
    """Return a table of the standards, with the files that deviate from each."""
    files: dict[str, dict[str, None]] = {}
    for file, listed in found.items():
        link = f"[{file.relative_to(_folder(file)).as_posix()}](../../{file.as_posix()})"
        for standard in _STANDARD.findall(" ".join(source for source, _ in listed)):
            files.setdefault(standard, {})[link] = None
    rows = (f"| {name} | {', '.join(files[name])} |\n" for name in sorted(files, key=_number))
    return f"\n## By standard\n\n| standard | files that deviate |\n|---|---|\n{''.join(rows)}"


def _number(standard: str) -> tuple[int, str]:
    """Sort RFCs by their number, before drafts by their name."""
    kind, _, number = standard.partition(" ")
    return (int(number), "") if kind == "RFC" else (sys.maxsize, standard)


def _folder(file: Path) -> Path:
    """Return a crate's `src`, or the topmost folder of another file."""
    return Path(*file.parts[: 3 if file.parts[0] == "crates" else 1])


if __name__ == "__main__":
    TARGET.write_text(markdown(), "utf-8")
