"""Collects the deliberate deviations from standards: `python docs/deviations.py` writes them.

The comment at the line that deviates begins with its source in parentheses:

    // Deviation (RFC 9438 4.6): reduces the window instead of the flight size, as Linux does.

It goes on until a blank line of the comment, or its end. All are in docs/reference/deviations.md.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "deviations.md"
_TAG = re.compile(r"Deviation \((?P<source>[^)]*(?:\([^)]*\)[^)]*)*)\): (?P<text>.+)")
_COMMENT = re.compile(r"^\s*(?://[/!]?|\*|/\*|#)\s?(?P<text>.*?)\s*(?:\*/)?$")
_INTRODUCTION = """\
# Deviations

Deliberate deviations from the standards, papers and programs that Sojourn implements, collected by
`make reference` from the comments at the lines that deviate.
"""


def sources() -> list[Path]:
    """Return the files that implement standards."""
    crates = (ROOT / "crates").glob("*/src/**/*.rs")
    return sorted([*crates, *(ROOT / "bpf").glob("*.[ch]"), *(ROOT / "python").rglob("*.py")])


def deviations(text: str) -> list[tuple[str, str]]:
    """Return the source and the text of each deviation in the comments of a file."""
    found: list[tuple[str, str]] = []
    parts: list[str] | None = None
    for line in [*text.splitlines(), ""]:
        comment = _COMMENT.match(line)
        said = comment["text"].strip() if comment else ""
        tag = _TAG.match(said)
        if parts is not None and (tag or not said):
            found[-1] = (found[-1][0], " ".join(parts))
            parts = None
        if tag:
            found.append((tag["source"], ""))
            parts = [tag["text"]]
        elif parts is not None:
            parts.append(said)
    return found


def markdown() -> str:
    """Return the whole of docs/reference/deviations.md."""
    text = _INTRODUCTION
    for file in sources():
        found = deviations(file.read_text("utf-8"))
        if not found:
            continue
        name = file.relative_to(ROOT).as_posix()
        text += f"\n## [{name}](../../{name})\n\n"
        text += "".join(f"- {source}: {what}\n" for source, what in found)
    return text


if __name__ == "__main__":
    TARGET.write_text(markdown(), "utf-8")
