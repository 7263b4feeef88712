"""The figure: four panels over one time axis, as one Vega-Lite document."""

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from sojourn import legend
from sojourn.formatting import change_text, rate_unit
from sojourn.report import panels, series, theme
from sojourn.report.canvas import Canvas
from sojourn.report.panels import Frame, Panel
from sojourn.report.theme import Spec
from sojourn.run_summary import SpikeSummary, focus_link

if TYPE_CHECKING:
    from sojourn.record import Record

# The detailed time around a change of capacity, which the right side shows first.
BEFORE_S = 0.5
AFTER_S = 3.5
MOST_WINDOWS = 10


@theme.unchecked
def figure(run: "Record", interactive: bool, goodput: pl.DataFrame) -> Spec:
    """Build the whole figure of a run, with its data; `goodput` is the result of `goodput`."""
    rows = _Rows(run, interactive)
    rows.rate(goodput)
    rows.delay()
    rows.window()
    rows.rtt()
    notes = [_subtitle(run), *_left_out(rows)]
    heading = {"title": run.title, "subtitle": subtitle_of(notes)}
    return document(rows.canvas, heading, _first_shown(run), interactive)


def goodput(run: "Record") -> pl.DataFrame:
    """Return columns `t`, `v`, `series`, `flow`: the averaged goodput of every drawn flow."""
    drawn = legend.drawn(legend.of(run.summary))
    samples = series.flow_series(run, drawn, "goodput_bps")
    return series.mean_over(samples, series.mean_width_s(run.runs[0]["duration_s"]))


def document(canvas: Canvas, heading: Spec, shown: tuple[float, float], interactive: bool) -> Spec:
    """Combine the rows of a canvas into a document; `shown` is the right side's first window."""
    return theme.document(
        **heading,
        description="Goodput, queueing delay, congestion window and round-trip time over time",
        datasets=canvas.datasets,
        params=_params(canvas.panels, shown, interactive),
        concat=canvas.views,
        columns=2,
        spacing={"row": 8, "column": 20},
    )


def windows(run: "Record") -> list[tuple[float, float]]:
    """Return the time around each change of capacity; the start of the run if it never changes."""
    end = run.runs[0]["duration_s"]
    spans = [(max(0.0, at - BEFORE_S), min(end, at + AFTER_S)) for at in _change_times(run)]
    return spans[:MOST_WINDOWS] or [(0.0, min(end, BEFORE_S + AFTER_S))]


def _first_shown(run: "Record") -> tuple[float, float]:
    """Return the time around the drop with the largest spike."""
    spans = windows(run)
    focus = focus_link(run.summary)
    greatest = [0.0] * len(spans)
    for one in run.runs:
        spikes = [spike for spike in one["spikes"] if spike["link"] == focus]
        for place, spike in enumerate(spikes[: len(spans)]):
            if spike["to_bps"] < spike["from_bps"]:
                greatest[place] = max(greatest[place], spike["spike_s"] or 0.0)
    return spans[greatest.index(max(greatest))]


class _Rows:
    def __init__(self, run: "Record", interactive: bool) -> None:
        key = legend.of(run.summary)
        duration_s = run.runs[0]["duration_s"]
        changes = series.few(_change_times(run), duration_s, windows(run))
        self.run = run
        self.labels = len(key.colours)
        self.frame = Frame(duration_s, legend.drawn(key), changes, "rtt", interactive)
        self.canvas = Canvas(windows(run), _first_shown(run))

    def rate(self, goodput: pl.DataFrame) -> None:
        width_s = series.mean_width_s(self.frame.duration_s)
        capacity = series.capacity(self.run, self.frame.legend, width_s)
        fastest = max(largest(one) for one in (goodput, capacity))
        scale, unit = rate_unit(fastest)
        scaled = capacity.with_columns(pl.col("v") / scale)
        self.canvas.datasets["capacity"] = series.to_csv(scaled)
        behind = [panels.capacity_step()] if capacity.height else []
        title = f"Goodput, mean of the last {1000 * width_s:.3g} ms"
        self.canvas.row(self.frame, Panel("rate", title, unit, 150), goodput, scale, behind=behind)

    def delay(self) -> None:
        delays = series.link_series(self.run, self.frame.legend, "queue_delay_s")
        focus = focus_link(self.run.summary)
        guides = _key(self._levels(), self._ticks())
        title = f"Queueing delay of {focus}" if focus else "Queueing delay: no link was recorded"
        one = Panel("delay", title, "ms", 210, key=guides)
        self.canvas.row(self.frame, one, delays, 1e-3, before=self._bounds)

    def _bounds(self, x: alt.X) -> list[alt.Chart]:
        if not self.frame.changes:
            return []
        own = panels.corrected(self._ticks(), self.frame, x)
        return [own, panels.levels(self._levels(), "#111111", x)]

    def _levels(self) -> list[Spec]:
        return [one for one in _bounds(self.run) if one["t"] in self.frame.changes]

    def _ticks(self) -> list[Spec]:
        every = _corrected(self.run, self.frame.legend)
        return [one for one in every if one["t"] in self.frame.changes]

    def window(self) -> None:
        windows = series.flow_series(self.run, self.frame.legend, "cwnd_bytes")
        self.canvas.row(self.frame, Panel("window", "Congestion window", "kB", 120), windows, 1e3)

    def rtt(self) -> None:
        rtts = series.flow_series(self.run, self.frame.legend, "rtt_s")
        self.canvas.row(self.frame, Panel("rtt", "Round-trip time", "ms", 120, False), rtts, 1e-3)


def _subtitle(run: "Record") -> str:
    changes = _changes(run)
    parts = [change_text(spike) for spike in changes[:1]]
    if len(changes) > 1:
        parts = [f"{len(changes)} changes of the capacity of {changes[0]['link']}"]
    if "medians" in run.summary:
        parts.append(
            f"seed {run.runs[0]['seed']}, the first of {run.summary['medians'][0]['runs']}"
        )
    if not run.flows.height:
        parts.append("no series were recorded")
    return "; ".join(parts)


def subtitle_of(lines: list[str]) -> str | list[str]:
    """Join the non-empty lines below the title."""
    kept = [line for line in lines if line]
    return kept if len(kept) > 1 else "".join(kept)


def _left_out(rows: _Rows) -> list[str]:
    """List data that the figure leaves out or does not draw as lines."""
    parts = []
    drawn = len(rows.frame.legend.colours)
    if drawn < rows.labels:
        parts.append(f"the first {drawn} of {rows.labels} controllers are drawn")
    if rows.canvas.is_banded:
        parts.append(panels.band_text(rows.frame.legend))
    return parts


def largest(frame: pl.DataFrame) -> float:
    """Return the greatest `v`; 0 for an empty frame."""
    found: Any = frame["v"].max() if frame.height else None
    return float(found or 0.0)


def _changes(run: "Record") -> list[SpikeSummary]:
    """Return the changes of the link in focus, in the first run."""
    focus = focus_link(run.summary)
    return [spike for spike in run.runs[0]["spikes"] if spike["link"] == focus]


def _change_times(run: "Record") -> list[float]:
    return [spike["at_s"] for spike in _changes(run)]


def _bounds(run: "Record") -> list[Spec]:
    changes = _changes(run)
    end = run.runs[0]["duration_s"]
    levels = []
    for place, spike in enumerate(changes):
        following = changes[place + 1]["at_s"] if place + 1 < len(changes) else end
        if spike["bound_s"]:
            until = min(following, spike["at_s"] + 0.25 * end)
            levels.append({"t": spike["at_s"], "t2": until, "v": 1000 * spike["bound_s"]})
    return levels


def _corrected(run: "Record", key: legend.Legend) -> list[Spec]:
    """Return each controller's corrected bound, if the link's carried traffic lowers it visibly."""
    ticks = []
    for one in run.runs:
        own = one["seed"] == run.runs[0]["seed"] and one["control"] in key.colours
        for spike in one["spikes"] if own else []:
            bound, corrected = spike["bound_s"], spike["bound_corrected_s"]
            if bound and corrected is not None and corrected < 0.98 * bound:
                at = spike["at_s"]
                tick = {"t": at, "t2": at + 0.5 * AFTER_S, "v": 1000 * corrected}
                ticks.append({**tick, "series": one["control"]})
    return ticks


def _key(levels: list[Spec], ticks: list[Spec]) -> str:
    """Explain the dashed and the dotted lines."""
    figures = {f"{level['v']:.3g} ms" for level in levels}
    bound = f"bound {figures.pop()}" if len(figures) == 1 else "bound"
    parts = [f"– – {bound}"] if levels else []
    return "\u2003".join([*parts, *(["· · · bound corrected"] if ticks else [])])


def _params(
    rows: list[Panel], window: tuple[float, float], interactive: bool
) -> list[alt.TopLevelSelectionParameter]:
    brush = alt.BrushConfig(fill="#888888", fillOpacity=0.13, stroke="#888888")
    lines = panels.views(rows, "whole", "lines")
    part = alt.TopLevelSelectionParameter(
        name="part",
        select=alt.IntervalSelectionConfig(type="interval", encodings=["x"], mark=brush),
        value={"x": list(window)},
        views=lines,
    )
    if not interactive:
        return [part]
    shown = alt.TopLevelSelectionParameter(
        name="shown",
        select=alt.PointSelectionConfig(type="point", fields=["series"], toggle="true"),
        bind="legend",
        views=lines[:1],
    )
    below = alt.PointSelectionConfig(
        type="point", on="pointerover", clear="pointerout", nearest=True, fields=["t"]
    )
    views = [*panels.views(rows, "whole", "hover"), *panels.views(rows, "detail", "hover")]
    return [part, shown, alt.TopLevelSelectionParameter(name="hover", select=below, views=views)]
