"""Running of papers and writing of their results."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from sojourn import _core, output
from sojourn.errors import UsageError
from sojourn.papers import page
from sojourn.papers.contract import FigureSummary, PaperSummary
from sojourn.papers.lab import Lab
from sojourn.papers.paper import Claim, Paper

Named = Callable[[str], None]
"""Callback with the name of the current figure."""


def run(
    paper: Paper, lab: Lab, figures: Sequence[str], telling: Named = lambda _: None
) -> PaperSummary:
    """Run figures of a paper; pictures and tables go to `lab.out`."""
    done = []
    for name in figures:
        telling(f"{lab.folder.name}, {name}")
        done.append(_figure(paper, lab, name))
    summary: PaperSummary = {
        "version": _core.__version__,
        "paper": lab.folder.name,
        "title": paper.title,
        "source": paper.source,
        "quick": lab.quick,
        "figures": done,
    }
    write(summary, lab.out)
    lab.drawn.finish(f"paper {lab.folder.name}")
    return summary


def _figure(paper: Paper, lab: Lab, name: str) -> FigureSummary:
    lab.pictures, lab.notes = [], []
    claims = claims_of(paper, lab, name)
    return {
        "figure": name,
        "title": paper.figures[name].title,
        "pictures": lab.pictures,
        "claims": [asdict(claim) for claim in claims],  # type: ignore[misc]
        "notes": lab.notes,
    }


def claims_of(paper: Paper, lab: Lab, name: str) -> list[Claim]:
    """Run one figure and check each of its claims against the contract."""
    claims = paper.figures[name].run(lab)
    for claim in claims:
        _keeps_contract(lab.folder.name, name, claim)
    return claims


def _keeps_contract(paper: str, figure: str, claim: Claim) -> None:
    """Require a verdict for a published value, and only for one.

    Otherwise the share of claims that hold would count unpublished values or omit published ones.
    """
    if (claim.published is None) == (claim.holds is None):
        return
    wrong = "holds or not, but has nothing published"
    if claim.holds is None:
        wrong = "has a published value, but no verdict: what was not measured does not hold"
    raise UsageError(f"paper {paper}, figure {figure}: the claim {claim.claim!r} {wrong}")


def write(summary: PaperSummary, place: Path) -> None:
    """Write `paper.json`, `paper.md` and `index.html`."""
    output.write_file(place / "paper.json", json.dumps(summary, indent=1))
    output.write_file(place / "paper.md", page.markdown(summary))
    output.write_file(place / "index.html", page.html(summary))
