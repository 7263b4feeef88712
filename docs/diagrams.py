"""Draws the diagrams of the model and of the theory: `python docs/diagrams.py NAME...`.

The curves are those of `sojourn.theory`. Each file is in docs/pictures, and readable at 420 px.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pictures
import sojourn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sojourn.picture import static

WIDTH = 330
BLUE, RED, GREEN, GREY, DARK = "#2166ac", "#c2410c", "#15803d", "#9ca3af", "#374151"
TRACE = Path(__file__).parent.parent / "scenarios" / "traces" / "cellular.trace"

Point = tuple[float, float]
# Points of a CSS pixel.
PIXEL = 0.75


@dataclass(frozen=True)
class Axis:
    """The ticks of an axis; without a title, they have no labels."""

    title: str | None
    ticks: Sequence[float]
    labels: Sequence[str] = ()


class Panel:
    """One panel: marks over a common x and y scale."""

    def __init__(
        self,
        x: Point,
        y: Point,
        height: int,
        x_axis: Axis | None = None,
        y_axis: Axis | None = None,
    ) -> None:
        self.x, self.y = x, y
        self.height = height
        self.axes = (x_axis, y_axis)
        self.marks: list[Callable[[Axes], object]] = []

    def line(
        self,
        points: Iterable[Point],
        colour: str,
        width: float = 2,
        dash: Sequence[float] = (),
    ) -> None:
        """Draw a line through points, in their order."""
        x, y = zip(*points, strict=True)
        style: Any = (0, tuple(part / width for part in dash)) if dash else "-"
        self.marks.append(lambda on: on.plot(x, y, color=colour, lw=PIXEL * width, ls=style))

    def arrow(self, *points: Point) -> None:
        """Draw an arrow through points; its last part is vertical, or points to a side."""
        self.line(points, DARK, width=1.3)
        (before, low), (end, high) = points[-2:]
        level = ">" if end > before else "<"
        marker = "^" if high > low else level
        self.marks.append(lambda on: on.plot(end, high, marker, color=DARK, ms=5, clip_on=False))

    def area(self, points: Iterable[tuple[float, float, float]], colour: str) -> None:
        """Fill between two lines: x, lower and upper."""
        x, low, high = zip(*points, strict=True)
        self.marks.append(lambda on: on.fill_between(x, low, high, color=colour, alpha=0.22, lw=0))

    def box(self, x: Point, y: Point, colour: str, name: str, text: str = "") -> None:
        """Draw a box with its name in bold, and a text below it."""
        corners = [(x[0], y[0]), (x[0], y[1]), (x[1], y[1]), (x[1], y[0]), (x[0], y[0])]
        self.line(corners, colour, width=1.5)
        middle = (x[0] + x[1]) / 2, (y[0] + y[1]) / 2
        place = (middle[0], y[1] - 14) if text else middle
        self.text(place, name, colour, align="center", bold=True)
        # Text of several lines begins below the name.
        if text:
            self.text((middle[0], middle[1] - 9), text, align="center", size=11)

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
        style: dict[str, Any] = {"color": colour, "ha": align, "va": "center", "linespacing": 1.15}
        style |= {"fontsize": PIXEL * size, "fontweight": "bold" if bold else "normal"}
        self.marks.append(lambda on: on.text(*at, text, **style))

    def span(self, begin: float, end: float, y: float, text: str) -> None:
        """Draw a span of time with its name above it."""
        self.line([(begin, y), (end, y)], DARK, width=1)
        ends, middle = ([begin, end], [y, y]), ((begin + end) / 2, y)
        self.marks.append(lambda on: on.plot(*ends, "|", color=DARK, ms=7))
        above: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": DARK}
        self.marks.append(
            lambda on: on.annotate(text, middle, (0, 4), fontsize=PIXEL * 12, **above)
        )

    def upright(self, x: float) -> None:
        """Draw a vertical dashed line."""
        self.marks.append(lambda on: on.axvline(x, color=GREY, lw=PIXEL, ls=(0, (3, 3))))

    def draw(self, on: Axes) -> None:
        """Draw the panel."""
        on.set_xlim(self.x)
        on.set_ylim(self.y)
        for mark in self.marks:
            mark(on)
        for axis, own in zip((on.xaxis, on.yaxis), self.axes, strict=True):
            labels = [""] * len(own.ticks) if own and own.title is None else None
            if own and own.title is not None:
                labels = list(own.labels) or [f"{tick:g}" for tick in own.ticks]
            axis.set_ticks(list(own.ticks) if own else [], labels=labels if own else [])
            axis.set_label_text((own.title if own else "") or "")
        on.spines[["top", "right"]].set_visible(False)
        for side, own in zip(("bottom", "left"), self.axes, strict=True):
            on.spines[side].set_visible(own is not None)
            on.spines[side].set_color(GREY)


def write(panels: Sequence[Panel], name: str, width: int = WIDTH) -> None:
    """Write panels below each other."""
    labelled = [any(axis and axis.title for axis in one.axes[:1]) for one in panels]
    longest = max(
        len(text)
        for one in panels
        for text in (one.axes[1].labels if one.axes[1] else [""]) or ["0000"]
    )
    left = 30 + 7 * longest if any(one.axes[1] for one in panels) else 4
    heights = [
        one.height + (44 if is_labelled else 10)
        for one, is_labelled in zip(panels, labelled, strict=True)
    ]
    whole = sum(heights) + 6
    with static.settings():
        figure = Figure(figsize=((width + left + 10) / 96, whole / 96))
        top = 6.0
        for one, height in zip(panels, heights, strict=True):
            place = left / (width + left + 10), 1 - (top + one.height) / whole
            size = width / (width + left + 10), one.height / whole
            on = figure.add_axes((*place, *size))
            on.grid(False)
            one.draw(on)
            top += height
    pictures.write(figure, name)


def spike() -> None:
    """Draw the bound after one drop: 60 to 20 Mbit/s with a loop delay of 50 ms."""
    found = sojourn.theory.spike("60Mbit", "20Mbit", "50ms", course=True)
    old, new = (rate / 1e6 for rate in found["capacity_bps"])
    d, peak = found["delay_s"] * 1e3, found["spike_s"] * 1e3
    begin, end = -35.0, 125.0
    rates = Panel(
        (begin, end),
        (0, 78),
        150,
        Axis(None, (0, d)),
        Axis("rate (Mbit/s)", (0, new, old), ("0", f"C₁ = {new:.0f}", f"C₀ = {old:.0f}")),
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
        Axis("time since the drop (ms)", (0, d)),
        Axis("queueing delay (ms)", (0, peak)),
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
    rates = Panel((begin, end), (0, 5), 120, Axis(None, ticks), Axis("rate (Mbit/s)", (0, 2, 4)))
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
        Axis("time of arrival (s)", ticks),
        Axis("queueing delay (ms)", (0, 500, 1000)),
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
        Axis(None, ticks),
        Axis(
            "rate (Mbit/s)",
            (full - burst, full),
            ("C − R_on", "C"),
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
        Axis("time since the start of a burst (ms)", ticks),
        Axis("queueing delay (ms)", (0, late), ("0", f"{late:.0f}")),
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
