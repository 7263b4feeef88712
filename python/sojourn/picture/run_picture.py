"""The picture of a run: rows over one time axis, then distributions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.picture import distributions, rows, series
from sojourn.picture.chart import Bars, Document, Layer, Panel, Row
from sojourn.picture.rows import Rows
from sojourn.record import legend, verdicts
from sojourn.record.formatting import change_text, rate_unit
from sojourn.record.record_types import LinkUnavoidable, SpikeSummary
from sojourn.record.summary import Summary, focus_link

if TYPE_CHECKING:
    from sojourn.record.record import Record

# The least time around a change of capacity, which the second panel of a row shows first.
BEFORE_S = 0.5
AFTER_S = 3.5
# More changes are too close for buttons and lines of their own: the greatest spikes have them.
MOST_WINDOWS = 10
# More links would make the page large.
_MOST_LINKS = 24
# Bounds that differ by less are one line.
_SAME_BOUND = 0.05
_UNAVOIDABLE = "unavoidable"
# A smoothed RTT stands beside RTTs with gaps in more of the time.
_FEW_GAPS = 0.1
# The rows of flows below the first two, from the top: title, column, unit, scale, from zero.
_OF_FLOWS = (
    ("Congestion window", "cwnd_bytes", "kB", 1e3, True),
    ("{response}, greatest in each interval", "response_s", "ms", 1e-3, True),
    ("Round-trip time", "rtt_s", "ms", 1e-3, False),
)


def figure(run: "Record", links: Sequence[str]) -> Document:
    """Describe the picture of a run; a reader can select one of the links, the first at first."""
    made = _Figure(run, links)
    made.rate()
    made.delay()
    for row in _OF_FLOWS:
        made.of_flows(*row)
    extra: list[Panel | Sequence[Panel]] = [
        *distributions.rows(run, made.rows.legend, next(iter(links), None)),
    ]
    return Document(
        run.heading,
        [_subtitle(run, links), *made.left_out()],
        [*made.rows.panels, *extra],
        made.rows.keys(),
        links,
        [] if len(made.windows) < 2 else [_named(window) for window in made.windows],
        bars_of(run.summary),
    )


def bars_of(summary: Summary) -> Bars | None:
    """Return the picture of the verdict in the colours of the lines, if a packet waited."""
    picture = verdicts.of(summary)["picture"]
    if picture is None:
        return None
    colours = legend.of(summary).colours
    return Bars(picture, [colours.get(row["control"]) for row in picture["rows"]])


def links_of(run: "Record") -> list[str]:
    """Return the links that a reader can select, the one in focus first."""
    focus = focus_link(run.summary)
    limited = [one["name"] for one in run.runs[0]["links"] if one["capacity_bps"] is not None]
    return list(dict.fromkeys([*([focus] if focus else []), *limited]))[:_MOST_LINKS]


class _Figure:
    """The rows of a picture; a record without samples of links has no links."""

    def __init__(self, run: "Record", links: Sequence[str]) -> None:
        self.run = run
        self.links = links
        whole = legend.of(run.summary)
        self.labels = len(whole.colours)
        self.windows = windows(run)
        changes = [spike["at_s"] for spike, _ in greatest(run)]
        self.rows = Rows(
            legend.drawn(whole),
            0.0,
            run.runs[0]["duration_s"],
            self.windows,
            self.windows[0],
            changes,
        )

    def rate(self) -> None:
        """Draw the goodput of each flow, with the capacity of the link behind it."""
        width_s = series.mean_width_s(self.rows.end_s)
        samples = series.flow_series(self.run, self.rows.legend, "goodput_bps")
        goodput = series.mean_over(samples.drop_nulls("v"), width_s)
        capacities = {
            link: series.capacity(self.run, self.rows.legend, width_s, link) for link in self.links
        }
        fastest = max(map(largest, [goodput, *list(capacities.values())[:1]]))
        scale, unit = rate_unit(fastest)
        guides = [
            rows.capacity(scaled(points, scale), link=link) for link, points in capacities.items()
        ]
        title = f"Goodput, mean of the last {1000 * width_s:.3g} ms"
        self.rows.add(title, unit, 150, goodput, scale, guides)

    def delay(self) -> None:
        """Draw the queue of each link."""
        layers: list[Layer] = []
        for link in self.links:
            delays = series.link_series(self.run, self.rows.legend, "queue_delay_s", link)
            bounds = _bounds(self.run, link) if len(self.rows.changes) < MOST_WINDOWS else []
            floor = _floor(self.run, link)
            lines, _ = self.rows.lines(delays, 1e-3, link)
            layers += [*floor, *lines, *([_level(bounds, link)] if bounds else [])]
        if layers:
            is_bounded = any(layer.kind == "rules" for layer in layers)
            has_floor = any(layer.name == _UNAVOIDABLE for layer in layers)
            key = _key(is_bounded, has_floor)
            self.rows.row("Queueing delay of {link}", "ms", 210, layers, key=key)

    def of_flows(self, title: str, column: str, unit: str, scale: float, from_zero: bool) -> None:
        """Draw a picture of the flows, unless they recorded none, as windows of `ideal`."""
        data = series.flow_series(self.run, self.rows.legend, column)
        if not data["v"].count():
            return
        beside: Sequence[Layer] = ()
        sparse = _sparse(data, self.rows.end_s) if column == "rtt_s" else []
        if sparse:
            every = series.flow_series(self.run, self.rows.legend, "srtt_s")
            smoothed = every.filter(pl.struct("series", "flow").is_in(sparse))
            if smoothed["v"].count():
                beside = [_faint(one) for one in self.rows.lines(smoothed, scale)[0]]
                title += ", with the smoothed one pale"
        named = title.replace("{response}", _response(self.run))
        self.rows.add(named, unit, 120, data, scale, beside, from_zero)

    def left_out(self) -> list[str]:
        """List data that the picture leaves out or does not draw as lines."""
        drawn = len(self.rows.legend.colours)
        cut = drawn < self.labels
        return [
            *([f"the first {drawn} of {self.labels} controllers are drawn"] if cut else []),
            *([rows.band_text(self.rows.legend)] if self.rows.is_banded else []),
        ]


def _faint(layer: Layer) -> Layer:
    return replace(layer, opacity=0.4 * layer.opacity, part=f"{layer.part} smoothed".strip())


def _sparse(data: pl.DataFrame, span_s: float) -> list[dict[str, str]]:
    """Return the lines with gaps in much of the time between their first and last sample."""
    v = pl.col("v")
    known = pl.col("t").filter(v.is_not_null())
    inside = pl.col("t").is_between(known.min(), known.max())
    share = v.filter(inside).is_null().mean()
    lines = series.with_gaps(data, span_s).group_by("series", "flow", maintain_order=True)
    return lines.agg(share=share).filter(pl.col("share") > _FEW_GAPS)[["series", "flow"]].to_dicts()


def _response(run: "Record") -> str:
    flows = run.runs[0]["flows"]
    is_media = any("media" in flow for flow in flows)
    waits = any("media" not in flow and flow["response_p50_s"] is not None for flow in flows)
    title = "Frame delay" if is_media else "Response time"
    return title + (" and response time" if is_media and waits else "")


def _named(window: tuple[float, float]) -> tuple[float, float, str]:
    return (*window, f"{window[0] + BEFORE_S:.4g} s")


def windows(run: "Record") -> list[tuple[float, float]]:
    """Return the time around each change of capacity, up to the end of the slowest recovery.

    Without a change, it is the time in which something happens.
    """
    end = run.runs[0]["duration_s"]
    spans = [
        (
            max(0.0, spike["at_s"] - BEFORE_S),
            min(end, max(complete_s(spike) + AFTER_S, recovered)),
        )
        for spike, recovered in greatest(run)
    ]
    return spans or [_where_something_happens(run)]


def greatest(run: "Record") -> list[tuple[SpikeSummary, float]]:
    """Return the changes with the greatest spikes, in the order of time, each with the time of
    the slowest recovery.
    """
    link = focus_link(run.summary)
    every = list(zip(_changes(run, link), _recovered(run, link), strict=True))
    spikes = [spike["spike_s"] or 0.0 for spike, _ in every]
    order = sorted(range(len(every)), key=lambda place: -spikes[place])[:MOST_WINDOWS]
    return [every[place] for place in sorted(order)]


def _recovered(run: "Record", link: str | None) -> list[float]:
    """Return the time at which the last run has recovered from each change."""
    each = [[one for one in other["spikes"] if one["link"] == link] for other in run.runs]
    # A little after it, so that the reader sees that the queue stays low.
    return [
        one["at_s"] + 1.1 * max(own[place]["recovery_s"] or 0.0 for own in each if own[place:])
        for place, one in enumerate(each[0])
    ]


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


def _subtitle(run: "Record", links: Sequence[str]) -> str:
    changes = _changes(run, next(iter(links), None))
    parts = [change_text(spike) for spike in changes[:1]]
    if len(changes) > 1:
        parts = [f"{len(changes)} changes of the capacity of {changes[0]['link']}"]
    if "medians" in run.summary:
        count = run.summary["medians"][0]["runs"]
        parts.append(f"lines: medians of {count} runs; shade: 5th to 95th percentile")
    if not run.flows.height:
        parts.append("no series were recorded")
    return "; ".join(parts)


def largest(frame: pl.DataFrame) -> float:
    """Return the greatest `v`; 0 for an empty frame."""
    found: Any = frame["v"].max() if frame.height else None
    return float(found or 0.0)


def scaled(frame: pl.DataFrame, scale: float) -> Sequence[Row]:
    """Return the points of a line in a unit."""
    return series.rounded(frame.with_columns(pl.col("v") / scale)).select("t", "v").rows()


def _floor(run: "Record", link: str) -> list[Layer]:
    """Shade the unavoidable delay of a link with a trace."""
    known: Iterable[LinkUnavoidable] = run.summary.get("unavoidable") or []
    found = next((one for one in known if one["link"] == link), None)
    points = run.unavoidable(found) if found else []
    if not points:
        return []
    rows_: list[Row] = [(t, 0.0, None if v is None else 1e3 * v) for t, v in points]
    shade = Layer(_UNAVOIDABLE, "area", rows_, legend.BOUND, opacity=0.35, listed=False, link=link)
    return [shade]


def _changes(run: "Record", link: str | None) -> list[SpikeSummary]:
    """Return the changes of a link in the first run."""
    return [spike for spike in run.runs[0]["spikes"] if spike["link"] == link]


def complete_s(spike: SpikeSummary) -> float:
    """Return the end of a change: later than its time for a ramp or a trace."""
    return max(spike["at_s"], spike.get("complete_at_s") or 0.0)


def _level(bounds: Sequence[tuple[float, float, float]], link: str) -> Layer:
    """Draw the bound after each change: begin, end, delay in ms."""
    points: list[Row] = [(begin, ms, end, ms) for begin, end, ms in bounds]
    texts = [_level_text(bounds, one) for one in bounds]
    return Layer(
        "bound", "rules", points, legend.BOUND, texts, dash=(6, 3), listed=False, link=link
    )


def _level_text(
    bounds: Sequence[tuple[float, float, float]], one: tuple[float, float, float]
) -> str:
    """Name the bounds of a change once, above the greatest."""
    same = [ms for begin, _, ms in bounds if begin == one[0]]
    if one[2] < max(same):
        return ""
    least, most = f"{min(same):.3g}", f"{max(same):.3g}"
    return f"bound {most} ms" if least == most else f"bounds {least} to {most} ms"


def _bounds(run: "Record", link: str) -> list[tuple[float, float, float]]:
    """Return the bounds after each drop: begin, end, delay in ms. A run's is that of its load."""
    changes = _changes(run, link)
    end = run.runs[0]["duration_s"]
    found = []
    for place, spike in enumerate(changes):
        following = changes[place + 1]["at_s"] if place + 1 < len(changes) else end
        begin = spike["at_s"]
        if spike["to_bps"] >= spike["from_bps"]:
            continue
        until = min(following, begin + 0.25 * end)
        found += [(begin, until, 1e3 * bound) for bound in _distinct_bounds(run, link, place)]
    return found


def _distinct_bounds(run: "Record", link: str, place: int) -> list[float]:
    """Return the bounds of a change in all runs; bounds within `_SAME_BOUND` are one."""
    found: list[float] = []
    for one in run.runs:
        own = [spike for spike in one["spikes"] if spike["link"] == link][place : place + 1]
        bound = own[0]["bound_s"] if own else None
        if bound and all(abs(bound - other) > _SAME_BOUND * other for other in found):
            found.append(bound)
    return found


def _key(has_bound: bool, has_floor: bool) -> str:
    """Explain the dashed lines and the shade."""
    parts = (("– – bound", has_bound), ("shade: unavoidable delay", has_floor))
    return "\u2003".join(text for text, is_shown in parts if is_shown)
