"""The result of a comparison as users hold it: data, figure and folder."""

from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import output
from sojourn.picture import pictures
from sojourn.record.comparison.compared import ComparedRuns
from sojourn.run import results

if TYPE_CHECKING:
    from sojourn.picture import ComparisonFigure


class Comparison(ComparedRuns):
    """The result of comparing two runs."""

    def plot(self) -> "ComparisonFigure":
        """Return the figure, which notebooks display and `save` writes to a file."""
        from sojourn.picture import ComparisonFigure

        return ComparisonFigure(self)

    def save(self, directory: str | PathLike[str], report: Collection[str] = pictures.PAGE) -> Path:
        """Write `comparison.json` and the report to a new or empty folder.

        `report` has the formats of the report: any of "html", "svg", "png" and "pdf", or none.
        """
        drawn = pictures.Pictures(pictures.warn, report)
        return pictures.write_folder(Path(directory), lambda *to: fill(self, *to), drawn)

    def __repr__(self) -> str:
        return f"<sojourn.Comparison of {self.a.label} and {self.b.label}>"

    def _repr_html_(self) -> str:
        from sojourn.record.table_html import comparison_html

        return comparison_html(self.summary)


def fill(comparison: Comparison, place: Path, drawn: pictures.Pictures) -> None:
    """Write the files of the comparison into an existing folder."""
    output.write_file(place / "comparison.json", results.summary_text(comparison.summary))
    drawn.report(comparison.plot(), place)
