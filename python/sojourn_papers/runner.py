"""The papers of a folder: finding, running, and writing their results."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from sojourn import _core, output
from sojourn.errors import UsageError
from sojourn.user import loading

from sojourn_papers import live_runs, page
from sojourn_papers.form import Form
from sojourn_papers.lab import Lab, paper_name
from sojourn_papers.measured import Table, TableSummary
from sojourn_papers.paper import Claim, FigureSummary, Paper, PaperSummary

_PAPER = "paper.py"


def find(place: Path) -> dict[str, Path]:
    """Return the folders of the papers by name, in order."""
    if not place.is_dir():
        raise UsageError(
            f"there is no folder {place}: run this where Sojourn's sources are, or name the "
            "folder of papers with --papers"
        )
    folders = sorted(file.parent for file in place.glob(f"*/{_PAPER}"))
    if not folders:
        raise UsageError(f"{place}: it has no paper (a folder with a {_PAPER})")
    return {paper_name(folder): folder for folder in folders}


def find_one(place: Path, name: str) -> Path:
    """Return the folder of the paper of this name."""
    known = find(place)
    if name not in known:
        raise UsageError(f"there is no paper {name!r}; there are: {', '.join(known)}")
    return known[name]


def load(folder: Path) -> Paper:
    """Load the paper of a folder."""
    file = folder / _PAPER
    paper, _ = loading.Loader().load(str(file), "PAPER")
    if not isinstance(paper, Paper):
        raise UsageError(f"{file}: PAPER is no sojourn_papers.Paper")
    return paper


def choose_figures(paper: Paper, name: str, figures: list[str], form: Form = "figure") -> list[str]:
    """Return the requested figures, or all figures by default."""
    known = paper.of(form)
    for figure in figures:
        if figure not in known:
            there = ", ".join(known)
            raise UsageError(f"{name} has no {form} {figure!r}; there are: {there}")
    return figures or list(known)


ReportFigure = Callable[[str], None]
"""Callback with the name of the current figure."""


def run(
    paper: Paper, lab: Lab, figures: Sequence[str], report_figure: ReportFigure = lambda _: None
) -> PaperSummary:
    """Run figures of a paper; pictures and tables go to `lab.out`."""
    done = []
    for name in figures:
        report_figure(f"{lab.name}, {name}")
        done.append(_figure(paper, lab, name))
    summary: PaperSummary = {
        "version": _core.__version__,
        "paper": lab.name,
        "title": paper.title,
        "source": paper.source,
        "quick": lab.quick,
        "live": lab.live_runs is not None,
        "stack": lab.stack,
        "figures": done,
    }
    write(summary, lab.out)
    lab.drawn.finish(f"paper {lab.name}")
    return summary


def _figure(paper: Paper, lab: Lab, name: str) -> FigureSummary:
    lab.pictures, lab.notes, lab.tables = [], [], []
    claims = claims_of(paper, lab, name)
    summary: FigureSummary = {
        "figure": name,
        "title": paper.of(lab.form)[name].title,
        "pictures": lab.pictures,
        "claims": [asdict(claim) for claim in claims],  # type: ignore[misc]
        "tables": [_table(table) for table in lab.tables],
        "notes": lab.notes,
    }
    if lab.live_runs is not None:
        summary["timing"] = lab.live_runs.take_timing()
        lab.note(live_runs.text(summary["timing"]))
    return summary


def _table(table: Table) -> TableSummary:
    return {
        "title": table.title,
        "columns": dict(table.columns),
        "rows": [{key: row[key] for key in table.columns} for row in table.rows],
    }


def claims_of(paper: Paper, lab: Lab, name: str) -> list[Claim]:
    """Run one figure and check each of its claims against the contract."""
    claims = paper.of(lab.form)[name].run(lab)
    for claim in claims:
        _require_verdict(lab.name, name, claim)
    return claims


def _require_verdict(paper: str, figure: str, claim: Claim) -> None:
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
