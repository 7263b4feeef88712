"""Parts of a run: some of its flows, links and controllers."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sojourn import memory
from sojourn.errors import UsageError
from sojourn.record import stats, verdicts
from sojourn.record.record import Record
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.record.summary import Summary

Names = Sequence[str] | None
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Chosen:
    """The selected names; None selects all."""

    flow: Names = None
    link: Names = None
    control: Names = None

    @classmethod
    def of(
        cls,
        flow: str | Names = None,
        link: str | Names = None,
        control: str | Names = None,
    ) -> "Chosen":
        """Take single names, or lists of names."""
        return cls(*([one] if isinstance(one, str) else one for one in (flow, link, control)))

    @property
    def first_link(self) -> str | None:
        """The link whose queue a figure draws; None for its own choice."""
        return self.link[0] if self.link else None

    def __bool__(self) -> bool:
        return any(names is not None for names in (self.flow, self.link, self.control))

    def check(self, have: Mapping[str, Sequence[str]], label: str) -> None:
        """Refuse a name that is not among those of `label`: of `flow`, `link` and `control`."""
        for kind, said in (("flow", "flow"), ("link", "link"), ("control", "controller")):
            for name in getattr(self, kind) or ():
                if kind in have and name not in have[kind]:
                    listed = ", ".join(have[kind]) or "none"
                    raise UsageError(f"{label} has no {said} `{name}`; it has: {listed}")


def select(run: R, chosen: Chosen, label: str) -> R:
    """Return the run with the selected flows, links and controllers alone.

    Raise `UsageError` for a name that the run, which messages call `label`, does not have.
    """
    if not chosen:
        return run
    chosen.check(_names(run.runs), label)
    series = {what: _filtered(run, what, chosen) for what in run.series}
    summary = of_summary(run.summary, chosen)
    return type(run)(summary, run.scenario, run.title, series, run.files)


def of_summary(summary: Summary, chosen: Chosen) -> Summary:
    """Return the summary of the selected flows, links and controllers."""
    if not chosen:
        return summary
    runs = [_part(one, chosen) for one in summary["runs"] if _has(chosen.control, one["control"])]
    part = summary.copy()
    part["runs"] = runs
    if "medians" in summary:
        part["medians"] = stats.medians(runs)
    if traces := summary.get("unavoidable"):
        kept = [one for one in traces if _has(chosen.link, one["link"])]
        part["unavoidable"] = verdicts.judge_traces(kept, part)
    verdicts.judge(part)
    return part


def _names(runs: Sequence[RunSummary]) -> dict[str, list[str]]:
    every = {
        "flow": (item["name"] for one in runs for item in one["flows"]),
        "link": (item["name"] for one in runs for item in one["links"]),
        "control": (one["control"] for one in runs),
    }
    return {kind: list(dict.fromkeys(names)) for kind, names in every.items()}


def _part(run: RunSummary, chosen: Chosen) -> RunSummary:
    part = run.copy()
    part["flows"] = [one for one in run["flows"] if _has(chosen.flow, one["name"])]
    part["links"] = [one for one in run["links"] if _has(chosen.link, one["name"])]
    part["spikes"] = [one for one in run["spikes"] if _has(chosen.link, one["link"])]
    return part


def _has(names: Names, name: str) -> bool:
    return names is None or name in names


def _filtered(run: Record, what: File, chosen: Chosen) -> bytes:
    """Return the rows of the selected names as a Parquet file."""
    memory.require_polars()
    import polars as pl

    frame: pl.DataFrame = getattr(run, what)
    wanted: dict[str, Any] = {"flow": chosen.flow, "link": chosen.link, "control": chosen.control}
    for column, names in wanted.items():
        if names is not None and column in frame.columns:
            frame = frame.filter(pl.col(column).is_in(list(names)))
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
