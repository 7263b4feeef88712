"""Figures of the closed-form models."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sojourn.report import Drawing, chart

if TYPE_CHECKING:
    from sojourn.theory import RapidTheory, TraceTheory

Spec = dict[str, Any]

# Two periods show the repetition; this many points per period make smooth curves.
_PERIODS = 2
_POINTS = 400
_AFTER = "ms after a burst begins"
_RAPID, _CROSS, _QUEUE = "#0072b2", "#bbbbbb", "#d55e00"


class RapidFigure(Drawing):
    """Rapid's rate, the bursts and the queue over two periods, at the worst phase."""

    def __init__(self, found: "RapidTheory") -> None:
        self._found = found

    def _document(self, interactive: bool) -> Spec:
        found = self._found
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
        return chart.document(
            "Rapid under periodic bursts: the fluid model",
            subtitle,
            [
                chart.Panel("Rates at the bottleneck", _AFTER, "Mbit/s", rates),
                chart.Panel("Queueing delay", _AFTER, "ms", waits, legend=False),
            ],
        )

    def __repr__(self) -> str:
        return f"<sojourn.RapidFigure of case {self._found['case']}>"


class TraceFigure(Drawing):
    """Capacity and both minimum delays over time, and the delays by loop delay."""

    def __init__(self, found: "TraceTheory", name: str) -> None:
        self._found = found
        self._name = name

    def _document(self, interactive: bool) -> Spec:
        found = self._found
        title = f"The unavoidable delay of {self._name}"
        subtitle = (
            f"loop delay {1e3 * found['delay_s']:g} ms; matching: sends at the last known "
            "capacity; draining: also pauses until its queue is empty"
        )
        senders = [("matching", 2), ("draining", 3)]
        rows: list[Any] = found["series"]
        delays = [
            {"t": row[0], "v": None if row[column] is None else 1e3 * row[column], "sender": sender}
            for sender, column in senders
            for row in rows
        ]
        rates = [{"t": row[0], "v": 1e-6 * row[1]} for row in rows]
        return chart.document(
            title,
            subtitle,
            [
                _over_time(
                    f"Capacity (Mbit/s), mean of {_span_text(rows)}",
                    rates,
                    {"value": "#777777"},
                    "step-before",
                ),
                _over_time(
                    "Minimum queueing delay (ms); no line without arrivals",
                    delays,
                    _SENDERS,
                    "linear",
                ),
                _by_loop(found),
            ],
        )

    def __repr__(self) -> str:
        return f"<sojourn.TraceFigure of {self._name}>"


def _span_text(rows: list[Any]) -> str:
    """Format the interval of the series; the first row's time equals one interval."""
    span_s = rows[0][0]
    return f"{span_s:.3g} s" if span_s >= 1 else f"{1e3 * span_s:.3g} ms"


_SENDERS: Spec = {
    "field": "sender",
    "type": "nominal",
    "sort": ["matching", "draining"],
    "scale": {"domain": ["matching", "draining"], "range": [_QUEUE, _RAPID]},
}


def _over_time(title: str, values: list[Spec], colour: Spec, interpolate: str) -> Spec:
    return {
        "title": {"text": title, "anchor": "start"},
        "width": 640,
        "height": 180,
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": interpolate, "strokeWidth": 1.4},
        "encoding": {
            "x": {"field": "t", "type": "quantitative", "title": "s"},
            "y": {"field": "v", "type": "quantitative", "title": None},
            "color": colour,
        },
    }


def _by_loop(found: "TraceTheory") -> Spec:
    """Draw the 99th percentile and the maximum of either sender over the loop delay."""
    values = []
    for one in found["by_delay"]:
        for sender, of in (("matching", one), ("draining", one["drained"])):
            for share, value in (("99th percentile", of["p99_s"]), ("greatest", of["max_s"])):
                values.append(
                    {"d": 1e3 * one["delay_s"], "v": 1e3 * value, "sender": sender, "share": share}
                )
    return {
        "title": {"text": "Decrease with the loop delay (ms)", "anchor": "start"},
        "width": 640,
        "height": 180,
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "d", "type": "quantitative", "title": "loop delay (ms)"},
            "y": {"field": "v", "type": "quantitative", "title": None},
            "color": _SENDERS,
            "strokeDash": {
                "field": "share",
                "type": "nominal",
                # The points fill the symbols of the legend, which hides their strokes.
                "legend": {
                    "symbolFillColor": "transparent",
                    "symbolStrokeColor": "#444444",
                    "symbolStrokeWidth": 2,
                    "symbolSize": 300,
                },
            },
        },
    }


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
