"""A paper's tables as text, and its figures and tables as one HTML page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn_papers.measured import TableSummary, Value
from sojourn_papers.paper import ClaimSummary, FigureSummary, PaperSummary

HEADS = ("claim", "published", "ours", "holds", "criterion, method, or reason for a difference")


def cells(claim: ClaimSummary) -> tuple[str, str, str, str, str]:
    """Format one row of the table."""
    holds = {True: "yes", False: "no", None: "–"}[claim["holds"]]
    return (
        claim["claim"],
        value(claim["published"], claim["unit"]),
        value(claim["ours"], claim["unit"]),
        holds,
        claim["why"],
    )


def value(of: float | str | None, unit: str) -> str:
    """Format a value with its unit; numbers have four digits."""
    if of is None:
        return "–"
    text = of if isinstance(of, str) else f"{of:.4g}"
    return f"{text} {unit}" if unit else text


def table_rows(table: TableSummary) -> list[list[str]]:
    """Format the cells of a table of measured values."""
    return [[_cell(row[key]) for key in table["columns"]] for row in table["rows"]]


def _cell(of: Value) -> str:
    if isinstance(of, bool):
        return "yes" if of else "no"
    return str(of) if isinstance(of, int) else value(of, "")


def markdown(summary: PaperSummary) -> str:
    """Format the tables of a paper as Markdown."""
    return "\n".join(_markdown(summary)) + "\n"


def counts(figures: Sequence[FigureSummary]) -> tuple[int, int]:
    """Count the claims that hold, and the claims with a published value."""
    held = [claim["holds"] for one in figures for claim in one["claims"]]
    return sum(one is True for one in held), sum(one is not None for one in held)


def _markdown(summary: PaperSummary) -> Iterator[str]:
    yield f"## {summary['paper']}: {summary['title']}"
    yield ""
    yield _about(summary)
    for figure in summary["figures"]:
        yield ""
        yield f"### {figure['figure']}: {figure['title']}"
        yield from _rows(HEADS, [cells(claim) for claim in figure["claims"]])
        for table in figure["tables"]:
            yield ""
            yield f"{table['title']}:"
            yield from _rows(list(table["columns"].values()), table_rows(table))
        for note in figure["notes"]:
            yield ""
            yield note


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(text.replace('|', '¦') for text in row)} |"


def html(summary: PaperSummary) -> str:
    """Format one page with every figure and table; the pictures are separate files."""
    from markupsafe import Markup
    from sojourn.picture import static
    from sojourn.picture.page import source_hash
    from sojourn.record import templates

    folder = Path(__file__).parent
    style = (folder / "page.css").read_text("utf-8")
    return templates.fill(
        "page.html",
        folder,
        # Browsers differ in whether files beside a page are its own (`'self'`).
        policy=f"default-src 'none'; style-src {source_hash(style)}; img-src 'self' file:; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),
        title=f"{summary['paper']}: {summary['title']}",
        about=_about(summary),
        figures=summary["figures"],
        drawn=static.is_available(),
        heads=HEADS,
        cells=cells,
        table_rows=table_rows,
    )


def _about(summary: PaperSummary) -> str:
    held, total = counts(summary["figures"])
    kind = {
        (False, False): "",
        (True, False): "A quick run. ",
        (False, True): "Live runs. ",
        (True, True): "Quick live runs. ",
    }[summary["quick"], summary["live"]]
    if summary["stack"] is not None:
        kind += f"With the QUIC stack {summary['stack']}. "
    return f"{summary['source']}. {kind}{held} of {total} claims hold."
