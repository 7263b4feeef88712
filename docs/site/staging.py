"""Copies the documents of the repository to the folder that the generator reads.

Links between documents stay relative. A link to a file outside `docs` becomes a link to its copy.
"""

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_LINK = re.compile(r"(?<!\\)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_FENCE = re.compile(r"^(\s*```\w+) .*")
# Documents at the root, and their places in the site.
_ROOT = {
    "CONTRIBUTING.md": Path("contributing.md"),
    "CHANGELOG.md": Path("changelog.md"),
    "SECURITY.md": Path("security.md"),
}
# Folders whose README and those of their own folders are pages.
_FOLDERS = ("crates", "papers", "studies")


def documents() -> dict[Path, Path]:
    """Return the documents by their places in the site."""
    found = {
        file.relative_to(DOCS): file
        for file in sorted(DOCS.rglob("*.md"))
        if "tutorials" not in file.parts
    }
    found |= {place: ROOT / name for name, place in _ROOT.items()}
    for folder in _FOLDERS:
        for file in sorted((ROOT / folder).glob("*/README.md")):
            found[Path(folder) / f"{file.parent.name}.md"] = file
        if (ROOT / folder / "README.md").is_file():
            found[Path(folder) / "index.md"] = ROOT / folder / "README.md"
    return found


def stage(target: Path) -> None:
    """Write all documents, and the files that they name, below a folder."""
    for place, file in documents().items():
        write(target, place, file, file.read_text("utf-8"))


def write(target: Path, place: Path, source: Path, text: str) -> None:
    """Write a document whose text is that of a source file, with links for its place."""
    file = target / place
    file.parent.mkdir(parents=True, exist_ok=True)
    linked = _LINK.sub(lambda match: _relinked(match, target, place, source), text)
    file.write_text(_spaced(linked), "utf-8")


def _relinked(match: re.Match[str], target: Path, place: Path, source: Path) -> str:
    linked = (source.parent / match[1]).resolve()
    goal = _place_of(linked)
    if goal is None:
        return match[0]
    if linked.is_file() and linked.suffix != ".md":
        (target / goal).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(linked, target / goal)
    path = os.path.relpath(goal, place.parent)
    return f"]({path}{match[2] or ''})"


def _place_of(linked: Path) -> Path | None:
    """Return the place in the site of a file of the repository, or of a folder's README."""
    if linked.is_dir():
        linked /= "README.md"
    if linked == ROOT / "README.md":
        return Path("index.md")
    places = {file: place for place, file in documents().items()}
    if linked in places:
        return places[linked]
    if linked.is_relative_to(DOCS):
        return linked.relative_to(DOCS)
    if linked.is_file() and linked.is_relative_to(ROOT):
        return Path("files") / linked.relative_to(ROOT)
    return None


def _spaced(text: str) -> str:
    """Put an empty line before each list after a paragraph, which the generator needs."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
            # Options for the tests and for `docs/renew outputs`, which the generator does not know.
            line = _FENCE.sub(r"\1", line)
        before = lines[-1] if lines else ""
        if not fenced and _ITEM.match(line) and before.strip() and not _in_list(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _in_list(lines: list[str]) -> bool:
    """Whether the last line belongs to an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if _ITEM.match(line.lstrip()):
            return True
    return False
