"""Discovery of the papers in a folder, and of their figures."""

from pathlib import Path

from sojourn import user_code
from sojourn.errors import UsageError
from sojourn.papers.paper import Paper


def names(place: Path) -> list[str]:
    """List the papers of a folder by name."""
    if not place.is_dir():
        raise UsageError(
            f"there is no folder {place}: run this where Sojourn's sources are, or name the "
            "folder of papers with --papers"
        )
    found = sorted(one.parent.name for one in place.glob("*/*.py") if one == _module(one.parent))
    if not found:
        raise UsageError(f"{place}: it has no paper (a folder some-name with a some_name.py)")
    return found


def load(place: Path, name: str) -> Paper:
    """Load the paper of this name."""
    known = names(place)
    if name not in known:
        raise UsageError(f"there is no paper {name!r}; there are: {', '.join(known)}")
    paper, _ = user_code.Loader().load(str(_module(place / name)), "PAPER")
    if not isinstance(paper, Paper):
        raise UsageError(f"{_module(place / name)}: PAPER is no sojourn.papers.Paper")
    return paper


def chosen(paper: Paper, name: str, figures: list[str]) -> list[str]:
    """Return the requested figures, or all figures by default."""
    for figure in figures:
        if figure not in paper.figures:
            there = ", ".join(paper.figures)
            raise UsageError(f"{name} has no figure {figure!r}; there are: {there}")
    return figures or list(paper.figures)


def _module(folder: Path) -> Path:
    return folder / f"{folder.name.replace('-', '_')}.py"
