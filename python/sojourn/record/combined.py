"""Several runs in one summary, each named after its source."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.record import stats, verdicts
from sojourn.record.record import Record
from sojourn.record.record_types import LinkUnavoidable, RunSummary
from sojourn.record.summary import FORMAT, Item, Summary


def names_of(labels: Sequence[str]) -> list[str]:
    """Name runs after their directories: by the last part of each path if these parts differ."""
    shorts = [Path(one).resolve().name if Path(one).is_dir() else one for one in labels]
    for names in (shorts, list(labels)):
        if len(set(names)) == len(names):
            return names
    return [f"{place}: {name}" for place, name in enumerate(shorts, start=1)]


def labels_of(runs: Mapping[str, Record]) -> dict[tuple[str, str], str]:
    """Name each run after its controller and its own name, or its name if all have one controller.

    The keys are the name and the controller.
    """
    controls = {one["control"] for run in runs.values() for one in run.runs}
    alone = len(controls) == 1
    return {
        (name, one["control"]): name if alone else f"{one['control']} {name}"
        for name, run in runs.items()
        for one in run.runs
    }


def summarise(
    runs: Mapping[str, Record],
    labels: Mapping[tuple[str, str], str],
    title: str | None = None,
) -> Summary:
    """Return the summary of the runs of all, each with its label of `labels`."""
    each = [
        _renamed(one, labels[name, one["control"]])
        for name, run in runs.items()
        for one in run.runs
    ]
    titles = dict.fromkeys(run.title for run in runs.values())
    versions = dict.fromkeys(run.summary["version"] for run in runs.values())
    summary: Summary = {
        "format": FORMAT,
        # A run directory without a scenario takes its title from its description.
        "scenario": title or " / ".join(titles),
        "version": ", ".join(versions),
        "runs": each,
    }
    if len({one["control"] for one in each}) < len(each):
        summary["medians"] = stats.medians(each)
    if traces := _common_traces(runs):
        summary["unavoidable"] = verdicts.judge_traces(traces, summary)
    verdicts.judge(summary)
    return summary


def _renamed(run: RunSummary, control: str) -> RunSummary:
    renamed = run.copy()
    renamed["control"] = control
    return renamed


def _common_traces(runs: Mapping[str, Record]) -> list[LinkUnavoidable]:
    """Return the unavoidable delays of links that are the same in all runs."""
    first, *others = ([*run.summary.get("unavoidable", [])] for run in runs.values())
    return [one for one in first if all(_has_same(other, one) for other in others)]


def _has_same(found: Sequence[Item], one: Item) -> bool:
    keys = ("link", "loop_s", "mean_rate_bps", "queue_delay_p99_s")
    return any(all(other[key] == one[key] for key in keys) for other in found)
