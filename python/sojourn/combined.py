"""Several runs side by side: one table and one figure of them all."""

import io
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from sojourn import _core, api, experiment, memory, stats, verdicts
from sojourn.errors import UsageError
from sojourn.record import Record
from sojourn.results import SERIES, Run
from sojourn.run_directory import File
from sojourn.run_summary import FORMAT, Item, LinkUnavoidable, RunSummary, Summary


def combine(runs: Mapping[str, Run | str | PathLike[str]], title: str | None = None) -> Run:
    """Put runs side by side, given by name as `Run` objects or as run directories.

    The result has the runs of all, each named after its controller and its own name, or after its
    name alone if all have the same single controller. Raise `UsageError` without runs.
    """
    loaded = {name: run if isinstance(run, Run) else api.load(run) for name, run in runs.items()}
    if not loaded:
        raise UsageError("there are no runs to combine; name two or more")
    labels = _labels(loaded)
    summary = _summary(loaded, labels, title)
    written = {what for run in loaded.values() for what in run.series}
    series = {what: _joined(loaded, labels, what) for what in SERIES if what in written}
    return Run(summary, "", summary["scenario"], series, {})


def summarise(runs: Mapping[str, Record]) -> Summary:
    """Return the summary of `combine` alone."""
    return _summary(runs, _labels(runs), None)


def names_of(labels: Sequence[str]) -> list[str]:
    """Name runs after their directories: by the last part of each path if these parts differ."""
    shorts = [Path(one).resolve().name if Path(one).is_dir() else one for one in labels]
    for names in (shorts, list(labels)):
        if len(set(names)) == len(names):
            return names
    return [f"{place}: {name}" for place, name in enumerate(shorts, start=1)]


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


def _labels(loaded: Mapping[str, Record]) -> dict[tuple[str, str], str]:
    """Name each run after its controller and the name of its source."""
    controls = {one["control"] for run in loaded.values() for one in run.runs}
    alone = len(controls) == 1
    return {
        (name, one["control"]): name if alone else f"{one['control']} {name}"
        for name, run in loaded.items()
        for one in run.runs
    }


def _renamed(run: RunSummary, control: str) -> RunSummary:
    renamed = run.copy()
    renamed["control"] = control
    return renamed


def _summary(
    loaded: Mapping[str, Record], labels: Mapping[tuple[str, str], str], title: str | None
) -> Summary:
    each = [
        _renamed(one, labels[name, one["control"]])
        for name, run in loaded.items()
        for one in run.runs
    ]
    titles = dict.fromkeys(run.title for run in loaded.values())
    versions = dict.fromkeys(run.summary["version"] for run in loaded.values())
    summary: Summary = {
        "format": FORMAT,
        # A run directory without a scenario takes its title from its description.
        "scenario": title or " / ".join(titles),
        "version": ", ".join(versions),
        "runs": each,
    }
    if len({one["control"] for one in each}) < len(each):
        summary["medians"] = stats.medians(each)
    if traces := _common_traces(loaded):
        summary["unavoidable"] = verdicts.judge_traces(traces, summary)
    if found := verdicts.of(summary):
        summary["verdicts"] = found
    return summary


def _common_traces(loaded: Mapping[str, Record]) -> list[LinkUnavoidable]:
    """Return the unavoidable delays of links that are the same in all runs."""
    first, *others = ([*run.summary.get("unavoidable", [])] for run in loaded.values())
    return [one for one in first if all(_has_same(other, one) for other in others)]


def _has_same(found: Sequence[Item], one: Item) -> bool:
    keys = ("link", "loop_s", "mean_rate_bps", "queue_delay_p99_s")
    return any(all(other[key] == one[key] for key in keys) for other in found)


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
