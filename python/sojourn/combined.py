"""Several runs side by side: one table and one figure of them all."""

import io
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from sojourn import _core, api, experiment, memory, side_by_side
from sojourn.errors import UsageError
from sojourn.results import SERIES, Run
from sojourn.run_directory import File


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


def sweep(
    scenario: api.Source,
    key: str,
    values: Sequence[object],
    control: str | Sequence[str] | None = None,
    seed: int | None = None,
    runs: int = 1,
    set: Mapping[str, object] | Iterable[str] = (),
    jobs: int | None = None,
    spread: str | None = None,
) -> Run:
    """Simulate a scenario once for each value of a key, and put the runs side by side.

        >>> sweep("dsl.toml", "link.down.queue", ["droptail", "codel"])  # doctest: +SKIP

    The other parameters are those of `run`. Raise `UsageError` for less than two values.
    """
    texts = [experiment.toml_value(value) for value in values]
    if len(dict.fromkeys(texts)) < max(2, len(texts)):
        raise UsageError(f"{key}: a sweep needs two or more different values")
    source = api.as_scenario(scenario)
    prepared = [
        experiment.prepare(
            source.compile(),
            assignments=[
                *experiment.assignment_texts(set),
                f"{key}={text}",
            ],
            control=control,
            seed=seed,
            spread=spread,
        )
        for text in texts
    ]
    return sweep_prepared(dict(zip(texts, prepared, strict=True)), key, source.origin, runs, jobs)


def sweep_prepared(
    prepared: Mapping[str, _core.Scenario],
    key: str,
    origin: str,
    runs: int,
    jobs: int | None,
    progress: experiment.Progress | None = None,
) -> Run:
    """Simulate prepared scenarios, named after their values of `key`."""
    plans = [(core, origin) for core in prepared.values()]
    done = api.record_all(plans, runs, jobs, progress)
    each = dict(zip(prepared, done, strict=True))
    return combine(each, f"{done[0].title}: {key}")


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
