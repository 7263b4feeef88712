"""The summary tables as HTML."""

from collections.abc import Sequence

from markupsafe import Markup

from sojourn.record import summary_table, templates, verdicts
from sojourn.record.comparison import text_tables
from sojourn.record.comparison.summary import ComparisonSummary
from sojourn.record.summary import Summary


def to_html(summary: Summary, about: Sequence[str] = ()) -> str:
    """Format every table as HTML, below lines about the runs, with explanations of the columns."""
    tables = summary_table.build_all(summary)
    return templates.fill(
        "tables.html",
        about=[*about, *verdicts.sentences(summary)],
        tables=tables,
        comparison=False,
        remarks=[summary_table.notes(tables, summary)],
    )


def comparison_tables(summary: ComparisonSummary, about: Sequence[str] = ()) -> str:
    """Format the tables of both runs and of their differences, with explanations."""
    differences = templates.fill(
        "tables.html",
        about=[],
        tables=text_tables.build_all(summary),
        comparison=True,
        remarks=[text_tables.gaps(summary), text_tables.NOTES],
    )
    return f"{to_html(summary, about)}{differences}"


def comparison_html(summary: ComparisonSummary) -> str:
    """Return the same with a description of A and B, for notebooks."""
    tables = comparison_tables(summary, text_tables.about(summary))
    return templates.fill("notebook.html", title="", parts=[Markup(tables)])
