"""The summary tables as HTML."""

from sojourn import table
from sojourn.comparison import table as comparison_table
from sojourn.contract import ComparisonSummary, Summary
from sojourn.report import templates


def to_html(summary: Summary) -> str:
    """Format every table as HTML, with explanations of the columns."""
    tables = table.build_all(summary)
    return templates.fill(
        "tables.html", about=[], tables=tables, comparison=False, remarks=[table.notes(tables)]
    )


def comparison_tables(summary: ComparisonSummary, about: list[str] | None = None) -> str:
    """Format the tables of a comparison, its gaps, and explanations of its figures."""
    return templates.fill(
        "tables.html",
        about=about or [],
        tables=comparison_table.build_all(summary),
        comparison=True,
        remarks=[comparison_table.gaps(summary), comparison_table.NOTES],
    )


def comparison_html(summary: ComparisonSummary) -> str:
    """The same with a description of A and B, for notebooks."""
    return comparison_tables(summary, comparison_table.about(summary))
