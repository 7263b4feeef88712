"""The folder of a comparison: the figures as JSON, the report, the picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import files, pictures, rundir

if TYPE_CHECKING:
    from sojourn.comparison import Comparison


def write(
    comparison: "Comparison", target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> Path:
    """Write to `target`, which must not exist or be empty.

    `report_missing` is called for each missing picture.
    """
    return pictures.write_folder(target, lambda *to: fill(comparison, *to), report_missing)


def fill(comparison: "Comparison", place: Path, drawn: pictures.Pictures) -> None:
    """Write the files of the comparison into an existing folder."""
    files.write(place / "comparison.json", rundir.summary_text(comparison.summary))
    drawn.report(comparison.plot(), place)
