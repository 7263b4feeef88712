"""The picture of a comparison: both runs on one time axis, for each controller."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sojourn.picture import rows, run_picture, series
from sojourn.picture.chart import Document
from sojourn.picture.rows import Rows
from sojourn.record.comparison import measure
from sojourn.record.comparison.text_tables import step_text, time_text
from sojourn.record.formatting import rate_unit
from sojourn.record.legend import SIDES, Legend
from sojourn.record.run_directory import What
from sojourn.record.summary import focus_link

if TYPE_CHECKING:
    from sojourn.record.comparison.compared import ComparedRuns
    from sojourn.record.comparison.matching import Side

_PALE = {"a": "#e3e3e3", "b": "#c4c4c4"}
# Two capacities that mostly differ by less are the same capacity, sampled at other times.
_SAME = 0.01
# Each block has four rows; more blocks would make the picture too tall to read.
_MOST_BLOCKS = 8
# Minimum number of cells in the right side.
_FEWEST_CELLS = 20
# Times of one change, in runs whose samples are aligned.
_NEAR_S = 0.01


def figure(comparison: "ComparedRuns") -> Document:
    """Goodput, queueing delay, window and RTT of both runs, for each controller of both."""
    blocks = _Blocks(comparison)
    for control in blocks.controls:
        blocks.add(control)
    notes = [subtitle(comparison), "A is the wide line, B the narrow one over it", *blocks.notes()]
    bars = run_picture.bars_of(comparison.summary)
    return Document(title(comparison), notes, blocks.rows.panels, blocks.rows.keys(), bars=bars)


def title(comparison: "ComparedRuns") -> str:
    """Return the common title of both runs, or both titles."""
    titles = dict.fromkeys((comparison.a.run.title, comparison.b.run.title))
    return " / ".join(titles)


def subtitle(comparison: "ComparedRuns") -> str:
    """Describe the compared time and the number of seeds."""
    parts = [time_text(comparison.summary)]
    flows = comparison.summary["flows"]
    if any(len(flow[key]) > 1 for flow in flows for key in ("seeds_a", "seeds_b")):
        parts.append("medians of the seeds")
    return "; ".join(parts)


def labels(comparison: "ComparedRuns") -> dict[str, str]:
    """Label each side by the last part of its directory, if the two differ."""
    names = [Path(side.label).name for side in (comparison.a, comparison.b)]
    if names[0] == names[1] or not all(names):
        names = [comparison.a.label, comparison.b.label]
    return {"a": f"A: {names[0]}", "b": f"B: {names[1]}"}


class _Blocks:
    """The rows of each controller, one block below the other."""

    def __init__(self, comparison: "ComparedRuns") -> None:
        summary = comparison.summary
        items = (*summary["flows"], *summary["links"])
        self.comparison = comparison
        every = dict.fromkeys(flow["control"] for flow in summary["flows"])
        self.controls = list(every)[:_MOST_BLOCKS]
        self.left_out = len(every) - len(self.controls)
        self.labels = labels(comparison)
        names = list(dict.fromkeys(flow["name"] for flow in summary["flows"]))
        inks = {self.labels[side]: ink for side, ink in SIDES.items()}
        self.begin_s = min(item["from_s"] for item in items)
        self.end_s = max(item["until_s"] for item in items)
        self.step_s = max(item["interval_s"] for item in items)
        changes = self._changes()
        shown = self._shown(changes)
        windows = [*_around(changes, self.begin_s, self.end_s), shown]
        self.rows = Rows(
            Legend("run", inks, names, {}),
            self.begin_s,
            self.end_s,
            windows,
            shown,
            changes[: run_picture.MOST_WINDOWS],
        )

    def notes(self) -> list[str]:
        """List data that the picture leaves out or does not draw as lines."""
        drawn = len(self.controls)
        left_out = f"the first {drawn} controllers are drawn, {self.left_out} more are not"
        return [
            *([left_out] if self.left_out else []),
            *([rows.band_text(self.rows.legend)] if self.rows.is_banded else []),
        ]

    def add(self, control: str) -> None:
        """Add the four rows of one controller."""
        own = f"{control}: " if len(self.controls) > 1 else ""
        link = self._focus(control)
        self._rate(own, control, link)
        if link is not None:
            said = f"{own}Queueing delay of {link}, greatest in each {self._step('links', control)}"
            self._row(said, "ms", 190, self._link(control, link, "queue_delay_s"), 1e-3)
        window = self._flows(control, "cwnd_bytes")
        self._row(f"{own}Congestion window", "kB", 150, window, 1e3)
        rtt, said = self._rtt(control)
        self._row(f"{own}{said}", "ms", 120, rtt, 1e-3, from_zero=False)

    def _row(
        self,
        said: str,
        unit: str,
        height: int,
        data: pl.DataFrame,
        scale: float,
        from_zero: bool = True,
    ) -> None:
        if data["v"].count():
            self.rows.add(said, unit, height, data, scale, from_zero=from_zero)

    def _rate(self, own: str, control: str, link: str | None) -> None:
        width_s = max(series.mean_width_s(self.end_s - self.begin_s), self.step_s)
        goodput = series.mean_over(self._flows(control, "goodput_bps").drop_nulls("v"), width_s)
        capacity = {
            colour: series.steps(one_side, width_s)
            for colour, one_side in self._capacities(control, link).items()
        }
        largest = max(map(run_picture.largest, (goodput, *capacity.values())), default=0.0)
        scale, unit = rate_unit(largest)
        behind = [
            rows.capacity(run_picture.scaled(steps, scale), colour)
            for colour, steps in capacity.items()
        ]
        said = f"{own}Goodput, mean of the last {step_text(width_s)}"
        key = _capacity_key(len(capacity))
        self.rows.add(said, unit, 150, goodput, scale, behind, key=key)

    def _capacities(self, control: str, link: str | None) -> dict[str, pl.DataFrame]:
        """Return the capacity of the link by colour: one if both runs have the same capacity."""
        if link is None:
            return {}
        both = self._link(control, link, "capacity_bps")
        # Sums and differences of floating-point numbers leave spurious digits.
        both = both.with_columns(pl.col("v").round_sig_figs(6))
        a, b = (both.filter(pl.col("series") == self.labels[side]) for side in ("a", "b"))
        if a.is_empty() or b.is_empty():
            return {rows.CAPACITY: b if a.is_empty() else a} if both.height else {}
        apart = (pl.col("v_right") - pl.col("v")).abs()
        same = a.join(b, on="t").select((apart <= _SAME * pl.col("v")).mean()).item()
        return {rows.CAPACITY: a} if (same or 0) > 0.5 else {_PALE["a"]: a, _PALE["b"]: b}

    def _flows(self, control: str, column: str) -> pl.DataFrame:
        return self._drawn(self.comparison.flows, control, column, pl.col("flow"))

    def _link(self, control: str, link: str, column: str) -> pl.DataFrame:
        own = self.comparison.links.filter(pl.col("link") == link)
        return self._drawn(own, control, column, pl.lit("").alias("flow"))

    def _drawn(self, frame: pl.DataFrame, control: str, column: str, flow: pl.Expr) -> pl.DataFrame:
        """Return columns `t`, `v`, `series`, `flow`: the median over the seeds."""
        label = pl.col("side").replace_strict(self.labels).alias("series")
        drawn = frame.filter(pl.col("control") == control).select(
            pl.col("t_s").alias("t"), pl.col(column).alias("v"), label, flow
        )
        medians = drawn.group_by("t", "series", "flow").agg(pl.col("v").median())
        return medians.select("t", "v", "series", "flow").sort("series", "flow", "t")

    def _rtt(self, control: str) -> tuple[pl.DataFrame, str]:
        flows = self.comparison.summary["flows"]
        columns = {flow["rtt_column"] for flow in flows if flow["control"] == control}
        smoothed = "srtt_s" in columns
        said = f"Round-trip time, greatest in each {self._step('flows', control)}"
        if smoothed:
            said = "Smoothed round-trip time"
        return self._flows(control, "srtt_s" if smoothed else "rtt_s"), said

    def _step(self, what: What, control: str) -> str:
        """Describe the step or steps in which the drawn data of this controller were compared."""
        items = self.comparison.summary[what]
        steps = {item["interval_s"] for item in items if item["control"] == control}
        return " or ".join(map(step_text, sorted(steps)))

    def _focus(self, control: str) -> str | None:
        """Choose the drawn link: the focus of A if both runs have it."""
        summary = self.comparison.summary
        names = [link["name"] for link in summary["links"] if link["control"] == control]
        drawn = focus_link(self.comparison.a.run.summary)
        return drawn if drawn in names else next(iter(names), None)

    def _changes(self) -> list[float]:
        """Return times at which the capacity of a drawn link changes, in either run."""
        links = {self._focus(control) for control in self.controls}
        sides = (self.comparison.a, self.comparison.b)
        times = set().union(*(_changes_of(side, self.controls, links) for side in sides))
        return [at for at in sorted(times) if self.begin_s <= at <= self.end_s]

    def _shown(self, changes: list[float]) -> tuple[float, float]:
        """The window at first: from the change before the largest difference, if there is one.

        It reaches the end of the slowest recovery of both runs.
        """
        before, after = run_picture.BEFORE_S, run_picture.AFTER_S
        wide = max(before + after, _FEWEST_CELLS * self.step_s)
        # The start-up is no answer to a change.
        moment = self._furthest(changes[0] if changes else self.begin_s)
        if changes:
            causes = [at for at in changes if moment is None or at <= moment] or changes
            at = causes[0 if moment is None else -1]
            begin, end = at - before, max(at + after, self._recovered(at))
        else:
            begin = self.begin_s if moment is None else moment - wide / 4
            end = begin + wide
        wide = max(wide, end - begin)
        begin = max(self.begin_s, min(begin, self.end_s - wide))
        return begin, min(begin + wide, self.end_s)

    def _recovered(self, change_s: float) -> float:
        """Return the time at which the last run of both sides has recovered from a change."""
        found = [
            change_s + 1.1 * (spike["recovery_s"] or 0.0)
            for side in (self.comparison.a, self.comparison.b)
            for run in side.run.runs
            for spike in run["spikes"]
            if run["control"] in self.controls
            and abs(spike["at_s"] + side.shift_s - change_s) < _NEAR_S
        ]
        return max(found, default=change_s)

    def _furthest(self, from_s: float) -> float | None:
        """Time of the largest difference in queueing delay, or else in window; None if equal."""
        for frame, column in (
            (self.comparison.links, "queue_delay_s"),
            (self.comparison.flows, "cwnd_bytes"),
        ):
            if frame.is_empty():
                continue
            keys = [name for name in ("control", "flow", "link") if name in frame.columns]
            for part in frame.partition_by(keys, maintain_order=True):
                both = measure.trajectories(part, column).drop_nulls()
                both = both.filter(pl.col("t_s") >= from_s)
                apart = (both["b"] - both["a"]).abs()
                if both.height and run_picture.largest(apart.alias("v").to_frame()) > 0:
                    return float(both["t_s"][int(apart.arg_max() or 0)])
        return None


def _changes_of(side: "Side", controls: list[str], links: set[str | None]) -> set[float]:
    """Return times of the changes that all runs of a side share; a spread makes them differ."""
    each = [
        {
            round(spike["at_s"] + side.shift_s, 6)
            for spike in run["spikes"]
            if spike["link"] in links
        }
        for run in side.run.runs
        if run["control"] in controls
    ]
    return set.intersection(*each)


def _around(changes: list[float], begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """Return the detailed windows in addition to the initial one."""
    spans = (
        (at - run_picture.BEFORE_S, at + run_picture.AFTER_S)
        for at in changes[: run_picture.MOST_WINDOWS]
    )
    return [(max(begin_s, begin), min(end_s, end)) for begin, end in spans]


def _capacity_key(count: int) -> str:
    return ("", "wide and pale: capacity", "wide and pale: capacity of each")[count]
