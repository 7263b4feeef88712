"""Several runs side by side: one table and one figure of them all."""

import io
from collections.abc import Mapping, Sequence
from os import PathLike

from sojourn import api, memory, stats, verdicts
from sojourn.errors import UsageError
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
    each = [
        _renamed(one, labels[name, one["control"]])
        for name, run in loaded.items()
        for one in run.runs
    ]
    titles = dict.fromkeys(run.title for run in loaded.values())
    # A run directory without a scenario takes its title from its description.
    name = title or " / ".join(titles)
    summary = _summary(each, loaded, name)
    written = {what for run in loaded.values() for what in run.series}
    series = {what: _joined(loaded, labels, what) for what in SERIES if what in written}
    return Run(summary, "", name, series, {})


def _labels(loaded: Mapping[str, Run]) -> dict[tuple[str, str], str]:
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


def _summary(each: list[RunSummary], loaded: Mapping[str, Run], name: str) -> Summary:
    versions = dict.fromkeys(run.summary["version"] for run in loaded.values())
    summary: Summary = {
        "format": FORMAT,
        "scenario": name,
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


def _common_traces(loaded: Mapping[str, Run]) -> list[LinkUnavoidable]:
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
