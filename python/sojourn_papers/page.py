"""A paper's tables as text, and its figures and tables as one HTML page."""

from collections.abc import Iterator, Sequence
from html import escape

from sojourn_papers.paper import ClaimSummary, FigureSummary, PaperSummary

HEADS = ("claim", "published", "ours", "holds", "why it differs, or how it is measured")


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


def markdown(summary: PaperSummary) -> str:
    """Format the tables of a paper as Markdown."""
    return "\n".join(_markdown(summary)) + "\n"


def document(done: Sequence[PaperSummary]) -> str:
    """Format `docs/papers.md`: the claims of every paper, and our agreement with them."""
    rows = []
    for summary in done:
        held, total = counts(summary["figures"])
        rows.append(f"| {summary['paper']} | {summary['title']} | {held} of {total} |")
    head = [
        "# The papers, reproduced",
        "",
        "The claims of each paper, beside the results of Sojourn. `make papers` writes this page "
        "from the full runs; `sojourn paper run NAME` draws the figures. A claim holds if our "
        "result agrees with the published one as the last column says; – means that nothing was "
        "published. `--quick` runs fewer and shorter simulations, and says so. The exit status "
        "is 0 even if a claim does not hold: "
        "`paper.json` beside the figures has every claim, with `published`, `ours`, `unit`, "
        "`holds` and `why`.",
        "",
        "| paper | subject | claims that hold |",
        "|---|---|---|",
        *rows,
    ]
    return "\n".join(head) + "\n\n" + "\n".join(markdown(summary) for summary in done)


def counts(figures: Sequence[FigureSummary]) -> tuple[int, int]:
    """Count the claims that hold, and the claims with a published value."""
    held = [claim["holds"] for one in figures for claim in one["claims"]]
    return sum(one is True for one in held), sum(one is not None for one in held)


def _markdown(summary: PaperSummary) -> Iterator[str]:
    held, total = counts(summary["figures"])
    yield f"## {summary['paper']}: {summary['title']}"
    yield ""
    kind = "A quick run. " if summary["quick"] else ""
    yield f"{summary['source']}. {kind}{held} of {total} claims hold."
    for figure in summary["figures"]:
        yield ""
        yield f"### {figure['figure']}: {figure['title']}"
        yield ""
        yield f"| {' | '.join(HEADS)} |"
        yield "|" + "---|" * len(HEADS)
        for claim in figure["claims"]:
            yield f"| {' | '.join(text.replace('|', '¦') for text in cells(claim))} |"
        for note in figure["notes"]:
            yield ""
            yield note


_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #888 }
td.no { color: #b30000; font-weight: 600 } td.yes { color: #006d2c }
svg { max-width: 100%; height: auto }"""


def html(summary: PaperSummary) -> str:
    """Format one page with every figure and table; the pictures are separate files."""
    title = escape(f"{summary['paper']}: {summary['title']}")
    body = "\n".join(_figures(summary))
    held, total = counts(summary["figures"])
    kind = "A quick run. " if summary["quick"] else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>{escape(summary['source'])}. {kind}{held} of {total} claims hold.</p>\n"
        f"{body}\n</body></html>\n"
    )


def _figures(summary: PaperSummary) -> Iterator[str]:
    for figure in summary["figures"]:
        yield f"<h2>{escape(figure['figure'])}: {escape(figure['title'])}</h2>"
        for name in figure["pictures"]:
            # As an image element, so that identifiers inside the pictures cannot collide.
            yield f'<p><img src="{name}.svg" alt="{escape(figure["title"])}"></p>'
        yield _table(figure["claims"])
        for note in figure["notes"]:
            yield f"<p>{escape(note)}</p>"


def _table(claims: Sequence[ClaimSummary]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in HEADS)
    rows = "".join(
        "<tr>" + "".join(_cell(place, text) for place, text in enumerate(cells(claim))) + "</tr>\n"
        for claim in claims
    )
    return f"<table><tr>{head}</tr>\n{rows}</table>"


def _cell(place: int, text: str) -> str:
    kind = f' class="{text}"' if place == HEADS.index("holds") and text in ("yes", "no") else ""
    return f"<td{kind}>{escape(text)}</td>"
