"""The tables of a summary as HTML, for the report and notebooks."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from sojourn.record import summary_table, templates, verdicts
from sojourn.record.comparison import text_tables
from sojourn.record.comparison.summary import ComparisonSummary
from sojourn.record.summary import Summary


class Shown(NamedTuple):
    """A summary as a report shows it."""

    sentences: Sequence[str]
    """The verdicts."""
    tables: str
    """Every table as HTML."""
    notes: Sequence[str]
    """Explanations of the columns."""
    about: Sequence[str] = ()
    """Lines about a comparison."""


def of_summary(summary: Summary) -> Shown:
    """Format the verdicts and the tables of a summary."""
    tables = summary_table.build_all(summary)
    notes = summary_table.notes(tables, summary)
    return Shown(verdicts.of(summary)["sentences"], _filled(tables=tables), notes)


def of_comparison(summary: ComparisonSummary) -> Shown:
    """Format the tables of both runs and of their differences."""
    both = of_summary(summary)
    gaps = [text_tables.gaps(summary)]
    tables = text_tables.build_all(summary)
    differences = _filled(tables=tables, comparison=True, remarks=gaps)
    return Shown(
        both.sentences,
        f"{both.tables}{differences}",
        [*both.notes, *text_tables.NOTES],
        text_tables.about(summary),
    )


def to_html(shown: Shown) -> str:
    """Return all of it, for notebooks."""
    about = _filled(about=[*shown.about, *shown.sentences])
    return f"{about}{shown.tables}{_filled(remarks=[shown.notes])}"


def comparison_html(summary: ComparisonSummary) -> str:
    """Return a comparison for notebooks."""
    tables = to_html(of_comparison(summary))
    return templates.fill("notebook.html", title="", parts=[Markup(tables)])


def _filled(
    about: Sequence[str] = (),
    tables: Sequence[object] = (),
    comparison: bool = False,
    remarks: Sequence[Sequence[str]] = (),
) -> str:
    return templates.fill(
        "tables.html", about=about, tables=tables, comparison=comparison, remarks=remarks
    )
