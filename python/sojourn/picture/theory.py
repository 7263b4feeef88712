"""Charts of the closed-form models."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sojourn.picture import chart
from sojourn.picture.chart import Document, Layer, Panel
from sojourn.record.legend import INKS

if TYPE_CHECKING:
    from sojourn.theory import RapidTheory, TraceTheory

# Two periods show the repetition; this many points per period make smooth curves.
_PERIODS = 2
_POINTS = 400
_AFTER = "ms after a burst begins"
_CROSS = "#bbbbbb"
_DRAINING, _QUEUE = chart.COLOURS[:2]
_SENDERS = {"matching": _QUEUE, "draining": _DRAINING}


def rapid(found: "RapidTheory") -> Document:
    """Draw Rapid's rate, the bursts and the queue over two periods, at the worst phase."""
    points = list(_points(found))
    rapid = [(1e3 * t, 1e-6 * rate) for t, rate, _ in points]
    queue = [(1e3 * t, 8e3 * queued / found["capacity_bps"]) for t, _, queued in points]
    rates = [
        chart.line("Rapid", rapid, INKS["rapid"].colour, width=2),
        chart.line("cross traffic", _bursts(found), _CROSS, width=2),
    ]
    waits = [chart.line("queue", queue, _QUEUE, width=2)]
    subtitle = (
        f"case {found['case']}: D = {1e3 * found['D_s']:.2f} ms, "
        f"utilisation {found['utilisation']:.3f}, at the phase with the greatest queue"
    )
    return Document(
        "Rapid under periodic bursts: the fluid model",
        subtitle,
        [
            Panel("Rates at the bottleneck", _AFTER, "Mbit/s", rates),
            Panel("Queueing delay", _AFTER, "ms", waits, legend=False),
        ],
    )


def trace(found: "TraceTheory", name: str) -> Document:
    """Draw capacity and both minimum delays over time, and the delays by loop delay."""
    subtitle = (
        f"loop delay {1e3 * found['delay_s']:g} ms; matching: sends at the last known "
        "capacity; draining: also pauses until its queue is empty"
    )
    rows: list[Any] = found["series"]
    capacity = Layer(
        "capacity",
        "line",
        [(row[0], 1e-6 * row[1]) for row in rows],
        "#777777",
        steps="step-before",
    )
    delays = [
        Layer(
            sender,
            "line",
            [(row[0], None if row[column] is None else 1e3 * row[column]) for row in rows],
            colour,
        )
        for column, (sender, colour) in enumerate(_SENDERS.items(), start=2)
    ]
    title = f"Capacity (Mbit/s), mean of {_span_text(rows)}"
    least = "Minimum queueing delay (ms); no line without arrivals"
    zero: chart.Scale = {"zero": True}
    time: chart.Scale = {"nice": False}
    return Document(
        f"The unavoidable delay of {name}",
        subtitle,
        [
            Panel(title, "s", "Mbit/s", [capacity], height=180, x_scale=time, y_scale=zero),
            Panel(least, "s", "ms", delays, height=180, x_scale=time, y_scale=zero),
            _by_loop(found),
        ],
    )


def _span_text(rows: list[Any]) -> str:
    """Format the interval of the series; the first row's time equals one interval."""
    span_s = rows[0][0]
    return f"{span_s:.3g} s" if span_s >= 1 else f"{1e3 * span_s:.3g} ms"


def _by_loop(found: "TraceTheory") -> Panel:
    """Draw the 99th percentile and the maximum of either sender over the loop delay."""
    rows = found["by_delay"]
    layers = []
    for sender, colour in _SENDERS.items():
        senders = [one if sender == "matching" else one["drained"] for one in rows]
        for name, key, dash in (("99th percentile", "p99_s", ()), ("greatest", "max_s", (5, 3))):
            points = [
                (1e3 * one["delay_s"], 1e3 * of[key])  # type: ignore[literal-required]
                for one, of in zip(rows, senders, strict=True)
            ]
            layers.append(chart.line(f"{sender}, {name}", points, colour, dash))
            layers.append(chart.dots(f"{sender}, {name}", points, colour, size=20))
    return Panel(
        "Decrease with the loop delay (ms)",
        "loop delay (ms)",
        "ms",
        layers,
        height=180,
        y_scale={"zero": True},
        columns=2,
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
