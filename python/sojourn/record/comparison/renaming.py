"""New names of a run's flows, so that two runs can be matched by name."""

import io
from collections.abc import Mapping, Sequence
from typing import TypeVar

from sojourn import memory
from sojourn.errors import UsageError, require_known
from sojourn.record import stats
from sojourn.record.record import Record
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.record.summary import Summary

R = TypeVar("R", bound=Record)

Names = Mapping[tuple[str, str], str]
"""New names of flows, by their run's controller and their name."""


def everywhere(runs: Sequence[R], names: Mapping[str, str]) -> list[R]:
    """Rename flows in each run that has them; refuse a name that no run has."""
    known = [name for run in runs for _, name in _flows(run)]
    for old in names:
        require_known("flow", old, list(dict.fromkeys(known)))
    each = [{flow: names[flow[1]] for flow in _flows(run) if flow[1] in names} for run in runs]
    return [renamed(run, own) if own else run for run, own in zip(runs, each, strict=True)]


def renamed(run: R, names: Names) -> R:
    """Return the run with the new names in its summary and its series."""
    runs = [_run(one, names) for one in run.runs]
    summary: Summary = run.summary.copy()
    summary["runs"] = runs
    if "medians" in summary:
        summary["medians"] = stats.medians(runs)
    series = {what: _series(run, what, names) for what in run.series}
    return type(run)(summary, run.scenario, run.title, series, run.files)


def _flows(run: Record) -> list[tuple[str, str]]:
    return [(one["control"], flow["name"]) for one in run.runs for flow in one["flows"]]


def _run(run: RunSummary, names: Names) -> RunSummary:
    flows = [flow.copy() for flow in run["flows"]]
    for flow in flows:
        flow["name"] = names.get((run["control"], flow["name"]), flow["name"])
    own = [flow["name"] for flow in flows]
    if twice := next((name for name in own if own.count(name) > 1), None):
        raise UsageError(f"two flows of one run would be named `{twice}`; choose another name")
    changed = run.copy()
    changed["flows"] = flows
    return changed


def _series(run: Record, what: File, names: Names) -> bytes:
    """Return a Parquet file whose column `flow` has the new names."""
    memory.require_polars()
    import polars as pl

    frame: pl.DataFrame = getattr(run, what)
    if "flow" not in frame.columns:
        return run.series[what]
    new = pl.DataFrame(
        [(*flow, name) for flow, name in names.items()],
        {"control": pl.String, "flow": pl.String, "new": pl.String},
        orient="row",
    )
    found = frame.join(new, ["control", "flow"], "left", maintain_order="left")
    frame = found.with_columns(pl.coalesce("new", "flow").alias("flow")).drop("new")
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
