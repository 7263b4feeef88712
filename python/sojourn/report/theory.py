"""Charts of the closed-form models."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from sojourn.report import chart, theme, views
from sojourn.report.theme import Spec

if TYPE_CHECKING:
    from sojourn.theory import RapidTheory, TraceTheory

# Two periods show the repetition; this many points per period make smooth curves.
_PERIODS = 2
_POINTS = 400
_AFTER = "ms after a burst begins"
_RAPID, _CROSS, _QUEUE = "#0072b2", "#bbbbbb", "#d55e00"
_SENDERS = ["matching", "draining"]


def rapid(found: "RapidTheory") -> Spec:
    """Draw Rapid's rate, the bursts and the queue over two periods, at the worst phase."""
    points = list(_points(found))
    rapid = [(1e3 * t, 1e-6 * rate) for t, rate, _ in points]
    queue = [(1e3 * t, 8e3 * queued / found["capacity_bps"]) for t, _, queued in points]
    rates = [
        chart.line("Rapid", rapid, _RAPID, width=2),
        chart.line("cross traffic", _bursts(found), _CROSS, width=2),
    ]
    waits = [chart.line("queue", queue, _QUEUE, width=2)]
    subtitle = (
        f"case {found['case']}: D = {1e3 * found['D_s']:.2f} ms, "
        f"utilisation {found['utilisation']:.3f}, at the phase with the greatest queue"
    )
    return views.document(
        chart.Document(
            "Rapid under periodic bursts: the fluid model",
            subtitle,
            [
                chart.Panel("Rates at the bottleneck", _AFTER, "Mbit/s", rates),
                chart.Panel("Queueing delay", _AFTER, "ms", waits, legend=False),
            ],
        )
    )


def trace(found: "TraceTheory", name: str) -> Spec:
    """Draw capacity and both minimum delays over time, and the delays by loop delay."""
    subtitle = (
        f"loop delay {1e3 * found['delay_s']:g} ms; matching: sends at the last known "
        "capacity; draining: also pauses until its queue is empty"
    )
    rows: list[Any] = found["series"]
    delays = [
        {"t": row[0], "v": None if row[column] is None else 1e3 * row[column], "sender": sender}
        for column, sender in enumerate(_SENDERS, start=2)
        for row in rows
    ]
    rates = [{"t": row[0], "v": 1e-6 * row[1]} for row in rows]
    grey = alt.ColorValue("#777777")
    capacity = _over_time(
        f"Capacity (Mbit/s), mean of {_span_text(rows)}", rates, "step-before", grey
    )
    least = _over_time(
        "Minimum queueing delay (ms); no line without arrivals", delays, "linear", _sender()
    )
    return views.document(
        chart.Document(
            f"The unavoidable delay of {name}", subtitle, [capacity, least, _by_loop(found)]
        )
    )


def _span_text(rows: list[Any]) -> str:
    """Format the interval of the series; the first row's time equals one interval."""
    span_s = rows[0][0]
    return f"{span_s:.3g} s" if span_s >= 1 else f"{1e3 * span_s:.3g} ms"


def _sender() -> alt.Color:
    scale = alt.Scale(domain=_SENDERS, range=[_QUEUE, _RAPID])
    return alt.Color("sender:N", sort=_SENDERS, scale=scale)


def _over_time(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    interpolate: Literal["linear", "step-before"],
    colour: alt.SchemaBase,
) -> alt.Chart:
    mark = alt.MarkDef("line", interpolate=interpolate, strokeWidth=1.4)
    axes = alt.X("t:Q", title="s"), alt.Y("v:Q", title=None)
    return theme.panel(title, theme.table(rows, "t", "v"), mark, *axes, colour)


def _by_loop(found: "TraceTheory") -> alt.Chart:
    """Draw the 99th percentile and the maximum of either sender over the loop delay."""
    rows = []
    for one in found["by_delay"]:
        for sender, of in (("matching", one), ("draining", one["drained"])):
            for share, value in (("99th percentile", of["p99_s"]), ("greatest", of["max_s"])):
                rows.append(
                    {"d": 1e3 * one["delay_s"], "v": 1e3 * value, "sender": sender, "share": share}
                )
    # The points fill the symbols of the legend, which hides their strokes.
    legend = alt.Legend(
        symbolFillColor="transparent",
        symbolStrokeColor="#444444",
        symbolStrokeWidth=2,
        symbolSize=300,
    )
    return theme.panel(
        "Decrease with the loop delay (ms)",
        theme.table(rows, "d", "v"),
        alt.MarkDef("line", point=True),
        alt.X("d:Q", title="loop delay (ms)"),
        alt.Y("v:Q", title=None),
        _sender(),
        alt.StrokeDash("share:N", legend=legend),
    )


def _points(found: "RapidTheory") -> Iterator[tuple[float, float, float]]:
    """Time, Rapid's rate and the queued bytes: the integral of arrivals above the capacity."""
    period = found["on_s"] + found["off_s"]
    step = period / _POINTS
    queued = 0.0
    for place in range(_PERIODS * _POINTS + 1):
        t = place * step
        rate = _rate(found, t)
        yield t, rate, queued
        burst = found["burst_bps"] if t % period < found["on_s"] else 0
        queued = max(0.0, queued + (rate + burst - found["capacity_bps"]) * step / 8)


def _rate(found: "RapidTheory", t: float) -> float:
    """Rapid's rate at a time, interpolated linearly between the corners of its course."""
    course = found["course"]
    period = found["on_s"] + found["off_s"]
    within = course[0][0] + (t - course[0][0]) % period
    for (begin, low), (end, high) in pairwise(course):
        if within <= end:
            return low + (high - low) * (within - begin) / (end - begin) if end > begin else high
    return course[-1][1]


def _bursts(found: "RapidTheory") -> list[chart.Point]:
    """Return the corners of the cross traffic's rate: ms, Mbit/s."""
    on, off, rate = 1e3 * found["on_s"], 1e3 * found["off_s"], 1e-6 * found["burst_bps"]
    corners = []
    for place in range(_PERIODS):
        begin = place * (on + off)
        corners += [(begin, 0.0), (begin, rate), (begin + on, rate)]
        corners += [(begin + on, 0.0), (begin + on + off, 0.0)]
    return corners
