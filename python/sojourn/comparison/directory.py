"""A comparison as a folder: the figures as JSON, the report, the picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import folder, rundir

if TYPE_CHECKING:
    from sojourn.comparison import Comparison


def write(comparison: "Comparison", target: Path) -> Path:
    """Writes to `target`, which must be free."""
    return folder.write(target, lambda place: _write_files(comparison, place))


def fill(comparison: "Comparison", place: Path) -> None:
    """Writes its files into a folder that is there."""
    _write_files(comparison, place)


def _write_files(comparison: "Comparison", place: Path) -> None:
    (place / "comparison.json").write_text(rundir.summary_text(comparison.summary), "utf-8")
    figure = comparison.plot()
    for name in ("report.html", "report.svg", "report.png"):
        figure.save(place / name)
