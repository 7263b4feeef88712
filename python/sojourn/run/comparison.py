"""Several runs as users hold them: the comparison of two, and one run of all of them."""

import io
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import memory, output
from sojourn.arguments import checked
from sojourn.errors import UsageError
from sojourn.picture import pictures
from sojourn.record import combined
from sojourn.record.comparison.compared import ComparedRuns
from sojourn.record.run_directory import File
from sojourn.run import results
from sojourn.run.results import SERIES, Run, load

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


@checked
def combine(runs: Mapping[str, Run | str | PathLike[str]], title: str | None = None) -> Run:
    """Put runs side by side, given by name as `Run` objects or as run directories.

    The result has the runs of all, each named after its controller and its own name, or after its
    name alone if all have the same single controller. Raise `UsageError` without runs.
    """
    loaded = {name: run if isinstance(run, Run) else load(run) for name, run in runs.items()}
    if not loaded:
        raise UsageError("there are no runs to combine; name two or more")
    labels = combined.labels_of(loaded)
    summary = combined.summarise(loaded, labels, title)
    written = {what for run in loaded.values() for what in run.series}
    series = {what: _joined(loaded, labels, what) for what in SERIES if what in written}
    return Run(summary, "", summary["scenario"], series, {})


def _joined(loaded: Mapping[str, Run], labels: Mapping[tuple[str, str], str], what: File) -> bytes:
    memory.require_polars()
    import polars as pl

    frames = []
    for name, run in loaded.items():
        own = {control: label for (source, control), label in labels.items() if source == name}
        frame: pl.DataFrame = getattr(run, what)
        frames.append(frame.with_columns(pl.col("control").replace(own)))
    file = io.BytesIO()
    pl.concat(frames, how="diagonal_relaxed").write_parquet(file)
    return file.getvalue()
