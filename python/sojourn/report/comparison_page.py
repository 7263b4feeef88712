"""The report of a comparison: one self-contained HTML file that works offline.

A separate module: the page of a run does not load the modules of comparisons.
"""

from typing import TYPE_CHECKING

from markupsafe import Markup

from sojourn.comparison import text_tables
from sojourn.report import overlay, page, templates
from sojourn.report.table_html import comparison_tables
from sojourn.report.theme import Spec

if TYPE_CHECKING:
    from sojourn.comparison.compared import ComparedRuns


def html(comparison: "ComparedRuns", document: Spec) -> str:
    """Build the page of a comparison."""
    return templates.fill(
        "page.html",
        title=overlay.title(comparison),
        about=text_tables.about(comparison.summary),
        tables=Markup(comparison_tables(comparison.summary)),
        overlaid=True,
        changes=[],
        links=[],
        link_rows=Markup("[]"),
        scenario=None,
        live=None,
        **page.scripts(document),
    )
