"""Draws the diagrams of the model and of the theory: `python docs/diagrams.py NAME...`.

The curves are those of `sojourn.theory`. Each file is in docs/pictures, and readable at 420 px.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import altair as alt
import pictures
import polars as pl
import sojourn

WIDTH = 330
BLUE, RED, GREEN, GREY, DARK = "#2166ac", "#c2410c", "#15803d", "#9ca3af", "#374151"
TRACE = Path(__file__).parent.parent / "scenarios" / "traces" / "cellular.trace"

Point = tuple[float, float]


def frame(rows: Iterable[tuple[float, ...]], *names: str) -> pl.DataFrame:
    """Return points as a frame, with their order in `place`."""
    return pl.DataFrame(list(rows), schema=list(names), orient="row").with_row_index("place")


def axis(title: str | None, ticks: Sequence[float], labels: str | None = None) -> alt.Axis:
    """Return an axis with these ticks; without a title, it has no labels."""
    made = alt.Axis(title=title, values=list(ticks), tickSize=4, labels=title is not None)
    if labels:
        made.labelExpr = labels
    return made


class Panel:
    """One panel: marks over a common x and y scale."""

    def __init__(
        self,
        x: Point,
        y: Point,
        height: int,
        x_axis: alt.Axis | None = None,
        y_axis: alt.Axis | None = None,
    ) -> None:
        self.height = height
        self.x = alt.X("x:Q", scale=alt.Scale(domain=x, nice=False), axis=x_axis)
        self.y = alt.Y("y:Q", scale=alt.Scale(domain=y, nice=False), axis=y_axis)
        self.marks: list[alt.Chart] = []

    def line(
        self,
        points: Iterable[Point],
        colour: str,
        width: float = 2,
        dash: Sequence[float] = (1, 0),
    ) -> None:
        """Draw a line through points, in their order."""
        mark = alt.Chart(frame(points, "x", "y")).mark_line(
            color=colour, strokeWidth=width, strokeDash=list(dash), strokeJoin="round"
        )
        self.marks.append(mark.encode(x=self.x, y=self.y, order="place:Q"))

    def arrow(self, *points: Point) -> None:
        """Draw an arrow through points; its last part is vertical, or points to a side."""
        self.line(points, DARK, width=1.3)
        (before, low), (end, high) = points[-2:]
        level = "triangle-right" if end > before else "triangle-left"
        mark = alt.Chart(frame(points[-1:], "x", "y")).mark_point(
            shape="triangle-up" if high > low else level,
            filled=True,
            color=DARK,
            size=36,
            opacity=1,
        )
        self.marks.append(mark.encode(x=self.x, y=self.y))

    def area(self, points: Iterable[tuple[float, float, float]], colour: str) -> None:
        """Fill between two lines: x, lower and upper."""
        mark = alt.Chart(frame(points, "x", "y", "y2")).mark_area(color=colour, opacity=0.22)
        self.marks.append(mark.encode(x=self.x, y=self.y, y2="y2:Q"))

    def box(self, x: Point, y: Point, colour: str, name: str, text: str = "") -> None:
        """Draw a box with its name in bold, and a text below it."""
        mark = alt.Chart(frame([(x[0], x[1], y[0], y[1])], "x", "x2", "y", "y2")).mark_rect(
            cornerRadius=4, filled=False, stroke=colour, strokeWidth=1.5
        )
        self.marks.append(mark.encode(x=self.x, x2="x2:Q", y=self.y, y2="y2:Q"))
        middle = (x[0] + x[1]) / 2, (y[0] + y[1]) / 2
        place = (middle[0], y[1] - 14) if text else middle
        self.text(place, name, colour, align="center", bold=True)
        # Text of several lines begins at its point.
        lower = (middle[0], middle[1] - 9 + 7.5 * text.count("\n"))
        if text:
            self.text(lower, text, align="center", size=11)

    def text(
        self,
        at: Point,
        text: str,
        colour: str = DARK,
        *,
        align: Literal["left", "center"] = "left",
        size: int = 12,
        bold: bool = False,
    ) -> None:
        """Write a text at a point."""
        mark = alt.Chart(frame([at], "x", "y")).mark_text(
            text=text.split("\n"),
            color=colour,
            align=align,
            baseline="middle",
            fontSize=size,
            lineHeight=size + 3,
            fontWeight="bold" if bold else "normal",
        )
        self.marks.append(mark.encode(x=self.x, y=self.y))

    def span(self, begin: float, end: float, y: float, text: str) -> None:
        """Draw a span of time with its name above it."""
        self.line([(begin, y), (end, y)], DARK, width=1)
        ticks = alt.Chart(frame([(begin, y), (end, y)], "x", "y")).mark_tick(
            color=DARK, orient="vertical", size=9, thickness=1.3
        )
        self.marks.append(ticks.encode(x=self.x, y=self.y))
        name = alt.Chart(frame([((begin + end) / 2, y)], "x", "y")).mark_text(
            text=text, color=DARK, fontSize=12, dy=-9
        )
        self.marks.append(name.encode(x=self.x, y=self.y))

    def upright(self, x: float) -> None:
        """Draw a vertical dashed line."""
        rule = alt.Chart(frame([(x,)], "x")).mark_rule(color=GREY, strokeDash=[3, 3])
        self.marks.append(rule.encode(x=self.x))


def write(panels: Sequence[Panel], name: str, width: int = WIDTH) -> None:
    """Write panels below each other."""
    each = [alt.layer(*one.marks).properties(width=width, height=one.height) for one in panels]
    chart = (
        alt.vconcat(*each, spacing=10)
        .configure(background="white", font="sans-serif", padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            domainColor=GREY,
            grid=False,
        )
        .configure_axisY(titleAnchor="end", titleAlign="right")
    )
    pictures.write(chart, name)


def spike() -> None:
    """Draw the bound after one drop: 60 to 20 Mbit/s with a loop delay of 50 ms."""
    found = sojourn.theory.spike("60Mbit", "20Mbit", "50ms", course=True)
    old, new = (rate / 1e6 for rate in found["capacity_bps"])
    d, peak = found["delay_s"] * 1e3, found["spike_s"] * 1e3
    begin, end = -35.0, 125.0
    named = f"datum.value == {new} ? 'C₁ = {new:.0f}' : 'C₀ = {old:.0f}'"
    rates = Panel(
        (begin, end),
        (0, 78),
        150,
        axis(None, (0, d)),
        axis("rate (Mbit/s)", (0, new, old), f"datum.value == 0 ? '0' : {named}"),
    )
    rates.area([(0, new, old), (d, new, old)], RED)
    rates.upright(0)
    rates.upright(d)
    rates.line([(begin, old), (0, old), (0, new), (end, new)], BLUE)
    rates.line([(begin, old - 1.2), (d, old - 1.2), (d, new + 1.2), (end, new + 1.2)], RED)
    surplus = f"surplus\n(C₀ − C₁) d\n= {(old - new) * d / 8:.0f} kB"
    rates.text((d / 2, (old + new) / 2 + 8), surplus, RED, align="center")
    rates.text((d + 4, 45), "arrivals: what was sent\nbefore the sender knew", RED)
    rates.text((2, 10), "departures: the capacity of the link", BLUE)
    rates.span(0, d, 68, f"d = {d:.0f} ms")
    queue = Panel(
        (begin, end),
        (0, 128),
        130,
        axis("time since the drop (ms)", (0, d)),
        axis("queueing delay (ms)", (0, peak)),
    )
    queue.upright(0)
    queue.upright(d)
    corners = [(begin, 0.0), *((1e3 * t, 1e3 * delay) for t, delay in found["queue"]), (end, peak)]
    queue.area([(x, 0, y) for x, y in corners], GREEN)
    queue.line(corners, GREEN)
    queue.text((d + 4, peak + 14), "bound Q = (r − 1) d", GREEN, bold=True)
    queue.text(
        (d + 4, 62),
        "the surplus takes Q at C₁,\nand stays until the sender\nsends less than C₁",
        GREEN,
    )
    write([rates, queue], "theory-spike")


def trace() -> None:
    """Draw the queueing delay of both senders around an outage of the cellular trace."""
    d = 0.04
    found = sojourn.theory.trace(TRACE, f"{1e3 * d:.0f}ms", series=True)
    begin, end = 5.2, 6.7
    rows = [row for row in found["series"] if begin - d <= (row[0] or 0.0) <= end]
    # Means of three rows, 24 ms: single packets would hide the shift by d.
    thirds = [rows[place : place + 3] for place in range(0, len(rows) - 2, 3)]
    capacity = [(three[1][0] or 0.0, sum(row[1] or 0.0 for row in three) / 3e6) for three in thirds]
    arrivals = [(at + d, rate) for at, rate in capacity if begin <= at + d <= end]
    capacity = [(at, rate) for at, rate in capacity if at >= begin]
    ticks = (5.2, 5.4, 5.6, 5.8, 6, 6.2, 6.4, 6.6)
    rates = Panel((begin, end), (0, 5), 120, axis(None, ticks), axis("rate (Mbit/s)", (0, 2, 4)))
    rates.area([(at, 0, rate) for at, rate in capacity], BLUE)
    rates.line(capacity, BLUE, width=1.3)
    rates.line(arrivals, RED, width=1.3)
    rates.text((5.66, 4.2), "capacity C(t)", BLUE)
    rates.text((5.66, 3.2), "arrivals C(t − d), d = 40 ms", RED)
    rates.text((6.02, 0.6), "outage", BLUE, align="center")
    delays = Panel(
        (begin, end),
        (0, 1000),
        140,
        axis("time of arrival (s)", ticks),
        axis("queueing delay (ms)", (0, 500, 1000)),
    )
    for column, colour in ((2, RED), (3, GREEN)):
        for part in unbroken([(row[0], row[column]) for row in rows if (row[0] or 0.0) >= begin]):
            delays.line([(at, 1e3 * delay) for at, delay in part], colour, width=1.8)
    delays.text((5.8, 900), "matching: sends at the last\ncapacity that it knows", RED)
    delays.text((5.8, 620), "draining: also stops until\nits queue is empty", GREEN)
    delays.text((6.05, 70), "nothing arrives", DARK, align="center")
    write([rates, delays], "theory-trace")


def unbroken(
    points: Iterable[tuple[float | None, float | None]],
) -> Iterable[list[tuple[float, float]]]:
    """Yield the parts of a line between its gaps, but for single points."""
    part: list[tuple[float, float]] = []
    for at, value in [*points, (None, None)]:
        if at is not None and value is not None:
            part.append((at, value))
        else:
            if len(part) > 2:
                yield part
            part = []


def rapid() -> None:
    """Draw a period of Rapid's rate at the worst phase, with the settings of case L1."""
    found = sojourn.theory.rapid("1Gbit", "111Mbit", "100ms", "350ms", "150ms", "75ms")
    full, burst = found["capacity_bps"] / 1e6, found["burst_bps"] / 1e6
    on, late = 1e3 * found["on_s"], 1e3 * found["D_s"]
    course = [(1e3 * t, rate / 1e6) for t, rate in found["course"]]
    begin, end = course[0][0], course[-1][0]
    ticks = (-200, -100, 0, 100, 200)
    rates = Panel(
        (begin, end),
        (350, 1180),
        160,
        axis(None, ticks),
        axis(
            "rate (Mbit/s)",
            (full - burst, full),
            f"datum.value == {full} ? 'C' : 'C − R_on'",
        ),
    )
    left = [
        (begin, full),
        (0, full),
        (0, full - burst),
        (on, full - burst),
        (on, full),
        (end, full),
    ]
    rates.area([(0, full - burst, full), (on, full - burst, full)], RED)
    rates.upright(0)
    rates.upright(on)
    rates.line(left, BLUE, dash=(5, 3))
    rates.line(course, RED)
    rates.text((-95, 700), "Rapid's rate", RED)
    rates.text((-192, 1070), "left by the other traffic", BLUE)
    rates.text((on / 2, 760), "queue\nbuilds", RED, align="center")
    rates.span(0, on, 1080, "T_on")
    rates.span(course[0][0], course[1][0], 420, "tau")
    rates.span(course[2][0], course[3][0], 420, "eta")
    queue = Panel(
        (begin, end),
        (0, 72),
        120,
        axis("time since the start of a burst (ms)", ticks),
        axis("queueing delay (ms)", (0, late), "format(datum.value, '.0f')"),
    )
    points = queued(course, on, full, burst)
    queue.upright(0)
    queue.upright(on)
    queue.area([(x, 0, y) for x, y in points], GREEN)
    queue.line(points, GREEN)
    queue.text((-190, 50), f"Q_max / C = D = {late:.0f} ms:\nthe signal waits as long", GREEN)
    write([rates, queue], "theory-rapid")


def queued(
    course: Sequence[tuple[float, float]], on: float, full: float, burst: float
) -> list[tuple[float, float]]:
    """Return the queueing delay in ms over time, from small steps of the rates."""
    step, delay = 0.5, 0.0
    points = []
    at = course[0][0]
    while at <= course[-1][0]:
        (begin, low), (end, high) = next(
            pair for pair in pairwise(course) if pair[1][0] >= at or pair[1] == course[-1]
        )
        rate = low + (high - low) * (at - begin) / (end - begin)
        crossing = burst if 0 <= at < on else 0.0
        delay = max(0.0, delay + (rate + crossing - full) * step / full)
        at += step
        points.append((at, delay))
    return points[::8]


def model() -> None:
    """Draw the way of a packet through a link, and of its acknowledgement back."""
    drawn = Panel((0, 408), (0, 172), 172)
    high, low = (58, 148), (2, 34)
    drawn.box((0, 80), high, BLUE, "sender", "source\ncontroller\ntransport")
    drawn.box((102, 162), high, RED, "queue", "buffer,\nAQM")
    drawn.box((172, 232), high, RED, "rate", "one packet\nat a time")
    drawn.box((242, 302), high, RED, "wire", "loss,\ndelay,\njitter")
    drawn.box((324, 408), high, BLUE, "receiver", "host noise,\nacknow-\nledgements")
    drawn.box((102, 302), low, RED, "links of back")
    drawn.text((202, 163), "each link of path", RED, align="center")
    for begin, end in ((80, 99), (162, 169), (232, 239), (302, 321)):
        drawn.arrow((begin, 100), (end, 100))
    drawn.arrow((366, 58), (366, 18), (305, 18))
    drawn.arrow((102, 18), (40, 18), (40, 55))
    write([drawn], "model", width=408)


DIAGRAMS: dict[str, Callable[[], None]] = {
    "spike": spike,
    "trace": trace,
    "rapid": rapid,
    "model": model,
}


def main() -> None:
    """Draw the named diagrams, by default all."""
    for name in sys.argv[1:] or DIAGRAMS:
        DIAGRAMS[name]()


if __name__ == "__main__":
    main()
