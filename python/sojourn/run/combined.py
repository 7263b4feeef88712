"""Several runs side by side: one table and one figure of them all."""

import io
from collections.abc import Mapping
from os import PathLike

from sojourn import memory
from sojourn.arguments import checked
from sojourn.errors import UsageError
from sojourn.record import side_by_side
from sojourn.record.run_directory import File
from sojourn.run import api
from sojourn.run.results import SERIES, Run


@checked
def combine(runs: Mapping[str, Run | str | PathLike[str]], title: str | None = None) -> Run:
    """Put runs side by side, given by name as `Run` objects or as run directories.

    The result has the runs of all, each named after its controller and its own name, or after its
    name alone if all have the same single controller. Raise `UsageError` without runs.
    """
    loaded = {name: run if isinstance(run, Run) else api.load(run) for name, run in runs.items()}
    if not loaded:
        raise UsageError("there are no runs to combine; name two or more")
    labels = side_by_side.labels_of(loaded)
    summary = side_by_side.summarise(loaded, labels, title)
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
