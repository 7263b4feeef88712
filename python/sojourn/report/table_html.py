"""The summary tables as HTML."""

from sojourn import summary_table, verdicts
from sojourn.comparison import text_tables
from sojourn.comparison.summary import ComparisonSummary
from sojourn.report import templates
from sojourn.run_summary import Summary


def to_html(summary: Summary) -> str:
    """Format every table as HTML, with explanations of the columns."""
    tables = summary_table.build_all(summary)
    return templates.fill(
        "tables.html",
        about=verdicts.sentences(summary),
        tables=tables,
        comparison=False,
        remarks=[summary_table.notes(tables, summary)],
    )


def comparison_tables(summary: ComparisonSummary, about: list[str] | None = None) -> str:
    """Format the tables of a comparison, its gaps, and explanations of its figures."""
    return templates.fill(
        "tables.html",
        about=about or [],
        tables=text_tables.build_all(summary),
        comparison=True,
        remarks=[text_tables.gaps(summary), text_tables.NOTES],
    )


def comparison_html(summary: ComparisonSummary) -> str:
    """Return the same with a description of A and B, for notebooks."""
    return comparison_tables(summary, text_tables.about(summary))
