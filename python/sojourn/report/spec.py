"""The figure: four panels over one time axis, as one Vega-Lite document."""

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from sojourn import legend
from sojourn.formatting import change_text, rate_unit
from sojourn.record_types import LinkUnavoidable, SpikeSummary
from sojourn.report import distributions, panels, series, theme
from sojourn.report.canvas import Canvas
from sojourn.report.panels import Frame, Panel
from sojourn.report.theme import Spec
from sojourn.run_summary import focus_link

if TYPE_CHECKING:
    from sojourn.record import Record

# The detailed time around a change of capacity, which the right side shows first.
BEFORE_S = 0.5
AFTER_S = 3.5
MOST_WINDOWS = 10
# Bounds that differ by less are one line.
_SAME_BOUND = 0.05
# The rows of flows below the first two, from the bottom.
_OF_FLOWS = {"rtt": "rtt_s", "response": "response_s", "window": "cwnd_bytes"}


@theme.unchecked
def figure(
    run: "Record", interactive: bool, goodput: pl.DataFrame, link: str | None = None
) -> Spec:
    """Build the whole figure of a run, with its data; `goodput` is the result of `goodput`.

    `link` is the drawn link, by default the one in focus.
    """
    rows = _Rows(run, interactive, link)
    rows.rate(goodput)
    rows.delay()
    rows.window()
    rows.response()
    rows.rtt()
    distributions.add(rows.canvas, run, rows.frame, rows.link)
    notes = [_subtitle(run, rows.link), *_left_out(rows)]
    # Vega draws no subtitle without a title.
    heading = {"title": run.title or " ", "subtitle": subtitle_of(notes)}
    return document(rows.canvas, heading, _first_shown(run), interactive)


@theme.unchecked
def link_rows(run: "Record", goodput: pl.DataFrame, link: str) -> Spec:
    """Build the first two rows of the interactive figure for another link."""
    rows = _Rows(run, True, link)
    rows.rate(goodput)
    rows.delay()
    kept = {name: data for name, data in rows.canvas.datasets.items() if "rate" not in name}
    views = theme.document("", "", datasets=kept, concat=rows.canvas.views, columns=2)
    return {"name": link, "concat": views["concat"], "datasets": views["datasets"]}


def goodput(run: "Record") -> pl.DataFrame:
    """Return columns `t`, `v`, `series`, `flow`, `seed`: each drawn flow's averaged goodput."""
    drawn = legend.drawn(legend.of(run.summary))
    samples = series.flow_series(run, drawn, "goodput_bps")
    return series.mean_over(samples, series.mean_width_s(run.runs[0]["duration_s"]))


def document(canvas: Canvas, heading: Spec, shown: tuple[float, float], interactive: bool) -> Spec:
    """Combine the rows of a canvas into a document; `shown` is the right side's first window."""
    return theme.document(
        **heading,
        config=theme.with_legend(_longest_name(canvas), sum(panels.WIDTHS.values())),
        description="Goodput, queueing delay, congestion window and round-trip time over time",
        datasets=canvas.datasets,
        params=_params(canvas.panels, shown, interactive),
        concat=canvas.views,
        columns=2,
        spacing={"row": 8, "column": 20},
    )


def _longest_name(canvas: Canvas) -> int:
    """Return the length of the longest name in the legend."""
    return max((len(name) for name in canvas.names), default=1)


def windows(run: "Record") -> list[tuple[float, float]]:
    """Return the time around each change of capacity; the start of the run if it never changes."""
    end = run.runs[0]["duration_s"]
    spans = [
        (max(0.0, spike["at_s"] - BEFORE_S), min(end, _complete_s(spike) + AFTER_S))
        for spike in _changes(run, focus_link(run.summary))
    ]
    return _with_greatest(run, spans) if spans else [_where_something_happens(run)]


def _with_greatest(run: "Record", spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the windows of the greatest spikes, in the order of time."""
    spikes = [spike["spike_s"] or 0.0 for spike in _changes(run, focus_link(run.summary))]
    order = sorted(range(len(spans)), key=lambda place: -spikes[place])[:MOST_WINDOWS]
    return [spans[place] for place in sorted(order)]


def _where_something_happens(run: "Record") -> tuple[float, float]:
    """Return the time around the greatest queueing delay, or else the greatest round-trip time.

    If neither is known, it is around the first data, or the start of the run.
    """
    end = run.runs[0]["duration_s"]
    own = run.links.filter(pl.col("link").eq_missing(pl.lit(focus_link(run.summary))))
    begin = 0.0
    for frame, column, rank in (
        (own, "queue_delay_s", pl.col("v")),
        (run.flows, "rtt_s", pl.col("v")),
        (run.flows, "goodput_bps", -pl.col("t_s")),
    ):
        known = frame.select("t_s", v=column).filter(pl.col("v") > 0)
        if known.height:
            at: Any = known.sort(rank, descending=True)["t_s"].first()
            begin = float(at) - 0.5 * (BEFORE_S + AFTER_S)
            break
    begin = max(0.0, min(begin, end - BEFORE_S - AFTER_S))
    return begin, min(end, begin + BEFORE_S + AFTER_S)


def _first_shown(run: "Record") -> tuple[float, float]:
    """Return the time around the drop with the largest spike."""
    spans = windows(run)
    focus = focus_link(run.summary)
    greatest = [0.0] * len(spans)
    for one in run.runs:
        spikes = [spike for spike in one["spikes"] if spike["link"] == focus]
        for spike in spikes:
            begin = max(0.0, spike["at_s"] - BEFORE_S)
            place = next((at for at, span in enumerate(spans) if abs(span[0] - begin) < 1e-6), None)
            if place is not None and spike["to_bps"] < spike["from_bps"]:
                greatest[place] = max(greatest[place], spike["spike_s"] or 0.0)
    return spans[greatest.index(max(greatest))]


class _Rows:
    def __init__(self, run: "Record", interactive: bool, link: str | None) -> None:
        key = legend.of(run.summary)
        duration_s = run.runs[0]["duration_s"]
        self.link = focus_link(run.summary) if link is None else link
        # A trace changes all the time; the shade of its unavoidable delay shows where.
        steps = [] if _floor_of(run, self.link) else _changes(run, self.link)
        times = [spike["at_s"] for spike in steps]
        changes = series.few(times, duration_s, windows(run))
        self.run = run
        self.labels = len(key.colours)
        drawn = legend.drawn(key)
        self.flows = {
            name: series.flow_series(run, drawn, column) for name, column in _OF_FLOWS.items()
        }
        known = (name for name, data in self.flows.items() if data.height)
        last = next(known, "rate" if self.link is None else "delay")
        self.frame = Frame(duration_s, drawn, changes, last, interactive)
        self.canvas = Canvas(windows(run), _first_shown(run))

    def rate(self, goodput: pl.DataFrame) -> None:
        width_s = series.mean_width_s(self.frame.duration_s)
        capacity = series.capacity(self.run, self.frame.legend, width_s, self.link)
        fastest = max(largest(one) for one in (goodput, capacity))
        scale, unit = rate_unit(fastest)
        scaled = capacity.with_columns(pl.col("v") / scale)
        self.canvas.datasets["capacity"] = series.to_csv(scaled)
        behind = [panels.capacity_step()] if capacity.height else []
        title = f"Goodput, mean of the last {1000 * width_s:.3g} ms"
        self.canvas.row(
            self.frame, Panel("rate", title, unit, 150), goodput, scale, behind=lambda _: behind
        )

    def delay(self) -> None:
        """Draw the queue of the link; a record of endpoints alone has no links."""
        if self.link is None:
            return
        delays = series.link_series(self.run, self.frame.legend, "queue_delay_s", self.link)
        has_floor = self._add_floor()
        guides = _key(self._levels(), has_floor)
        one = Panel("delay", f"Queueing delay of {self.link}", "ms", 210, key=guides)

        def floor(side: panels.Side) -> list[alt.Chart]:
            return [panels.floor("floor", self.frame, side)] if has_floor else []

        self.canvas.row(self.frame, one, delays, 1e-3, behind=floor, before=self._bounds)

    def _add_floor(self) -> bool:
        """Add the data set of the unavoidable delay of a trace; return whether there is one."""
        found = _floor_of(self.run, self.link)
        rows = self.run.unavoidable(found) if found else []
        if not rows:
            return False
        data = pl.DataFrame(rows, schema={"t": pl.Float64, "v": pl.Float64}, orient="row")
        self.canvas.datasets["floor"] = series.to_csv(data.with_columns(pl.col("v") * 1e3))
        return True

    def _bounds(self, x: alt.X, side: panels.Side) -> list[alt.Chart]:
        levels = self._levels()
        if not self.frame.changes:
            return []
        charts = [panels.levels(levels, panels.BOUND, x)]
        if side == "detail":
            texts = [{"t2": one["named_t"], "v": one["v"], "text": one["text"]} for one in levels]
            charts.insert(0, panels.names(texts, panels.BOUND))
        return charts

    def _levels(self) -> list[Spec]:
        return [one for one in _bounds(self.run, self.link) if one["t"] in self.frame.changes]

    def window(self) -> None:
        """Draw windows, unless the controllers set only rates, as `ideal` does."""
        self._of_flows(Panel("window", "Congestion window", "kB", 120), 1e3)

    def response(self) -> None:
        """Draw response times, if a flow waits for responses."""
        flows = self.run.summary["runs"][0]["flows"]
        is_media = any("media" in flow for flow in flows)
        waits = any("media" not in flow and flow["response_p50_s"] is not None for flow in flows)
        title = "Frame delay" if is_media else "Response time"
        title += " and response time" if is_media and waits else ""
        self._of_flows(Panel("response", f"{title}, greatest in each interval", "ms", 120), 1e-3)

    def rtt(self) -> None:
        """Draw round-trip times, unless the flows recorded none, as a receiver's qlog."""
        self._of_flows(Panel("rtt", "Round-trip time", "ms", 120, False), 1e-3)

    def _of_flows(self, one: Panel, scale: float) -> None:
        if self.flows[one.name].height:
            self.canvas.row(self.frame, one, self.flows[one.name], scale)


def _subtitle(run: "Record", link: str | None) -> str:
    changes = _changes(run, link)
    parts = [change_text(spike) for spike in changes[:1]]
    if len(changes) > 1:
        parts = [f"{len(changes)} changes of the capacity of {changes[0]['link']}"]
    if "medians" in run.summary:
        count = run.summary["medians"][0]["runs"]
        parts.append(f"lines: medians of {count} runs; shade: 5th to 95th percentile")
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


def _floor_of(run: "Record", link: str | None) -> LinkUnavoidable | None:
    """Return the unavoidable delay of a link with a trace."""
    known = run.summary.get("unavoidable") or []
    return next((one for one in known if one["link"] == link), None)


def _changes(run: "Record", link: str | None) -> list[SpikeSummary]:
    """Return the changes of a link in the first run."""
    return [spike for spike in run.runs[0]["spikes"] if spike["link"] == link]


def _complete_s(spike: SpikeSummary) -> float:
    """Return the end of a change: later than its time for a ramp or a trace."""
    return max(spike["at_s"], spike.get("complete_at_s") or 0.0)


def _bounds(run: "Record", link: str | None) -> list[Spec]:
    """Return the levels of the bound after each change; runs of several scenarios have several."""
    changes = _changes(run, link)
    end = run.runs[0]["duration_s"]
    levels = []
    for place, spike in enumerate(changes):
        following = changes[place + 1]["at_s"] if place + 1 < len(changes) else end
        begin = spike["at_s"]
        until = min(following, begin + 0.25 * end)
        named_t = min(until, _complete_s(spike) + 0.97 * AFTER_S)
        for bound in _distinct_bounds(run, link, place):
            text = f"bound {1000 * bound:.3g} ms"
            level = {"t": begin, "t2": until, "v": 1000 * bound}
            levels.append({**level, "named_t": named_t, "text": text})
    return levels


def _distinct_bounds(run: "Record", link: str | None, place: int) -> list[float]:
    """Return the bounds of a change in all runs; bounds within `_SAME_BOUND` are one."""
    found: list[float] = []
    for one in run.runs:
        own = [spike for spike in one["spikes"] if spike["link"] == link][place : place + 1]
        bound = own[0]["bound_s"] if own else None
        if bound and all(abs(bound - other) > _SAME_BOUND * other for other in found):
            found.append(bound)
    return found


def _key(levels: list[Spec], has_floor: bool) -> str:
    """Explain the dashed lines and the shade."""
    parts = (
        ("– – bound", bool(levels)),
        ("shade: unavoidable delay", has_floor),
    )
    return "\u2003".join(text for text, is_shown in parts if is_shown)


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
