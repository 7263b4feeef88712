"""Does Sojourn's TCP reproduce the expected results of ns-3's TCP validation?"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf
from typing import Any

import sojourn
from tables import markdown

MINUTES = 0.1

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Range = tuple[float, float]

# Payload of a packet, the unit of ns-3's windows, and samples of 1 ms in its intervals of 200 ms.
MSS, SAMPLES = 1448.0, 200
# The range that ns-3's program accepts for each value of alpha at 10 ms, after 7 s.
CHECKED = (0.055, 0.09)


class Samples:
    """The samples of a flow, each of a millisecond."""

    def __init__(self, case: str, ring: bool = True) -> None:
        scenario = sojourn.Scenario.load(f"ns3/{case}")
        if not ring:
            for link in scenario["link"].values():
                link.pop("ring", None)
        series = sojourn.run(scenario).flow("first").series
        windows = series["cwnd_bytes"] / MSS
        self.rows: list[tuple[float, float, float, float]] = list(
            zip(series["t_s"], windows, series["delivered_bytes"], series["alpha"], strict=True)
        )

    def alphas(self, begin: float, end: float) -> list[float]:
        """Return alpha between two times."""
        return [alpha for t, _, _, alpha in self.rows if begin < t < end]

    def windows(self, begin: float, end: float) -> list[float]:
        """Return the windows between two times, in packets."""
        return [window for t, window, _, _ in self.rows if begin < t < end]

    def peak(self, begin: float, end: float) -> tuple[float, float]:
        """Return the greatest window between two times, and when; of equal ones the last."""
        return max((window, t) for t, window, _, _ in self.rows if begin < t < end)

    def at(self, time: float) -> float:
        """Return the window at a time."""
        return [window for t, window, _, _ in self.rows if t <= time + 1e-6][-1]

    def goodput(self, begin: float, end: float) -> Range:
        """Return the range of the goodput in Mbit/s over each 200 ms."""
        ends = self.rows[SAMPLES - 1 :: SAMPLES]
        return span(
            (b[2] - a[2]) * 8 / 0.2 / 1e6 for a, b in pairwise(ends) if begin + 1e-6 < b[0] < end
        )


def span(values: Iterable[float]) -> Range:
    """Return the least and the greatest value."""
    kept = list(values)
    return min(kept), max(kept)


def mean(values: list[float]) -> Range:
    """Return the mean, as a range of one value."""
    return one(sum(values) / len(values))


def one(value: float) -> Range:
    """Return a value as a range."""
    return value, value


def outside(values: list[float], bounds: Range) -> Range:
    """Return the share of values outside a range, in per cent."""
    return mean([0.0 if bounds[0] <= value <= bounds[1] else 100.0 for value in values])


Figure = tuple[str, Range, Range, int]
"""A name, the range of ns-3, ours, and the number of digits."""


def measure(small: bool) -> Tables:
    """Run the three cases, and DCTCP's without the device's ring; the small form is the same."""
    cases = {"dctcp-10ms": dctcp_10ms, "dctcp-80ms": dctcp_80ms, "cubic-50ms": cubic_50ms}
    rows = [
        row(case, *figure) for case, figures in cases.items() for figure in figures(Samples(case))
    ]
    bare, name = Samples("dctcp-10ms", ring=False), "mean alpha without the ring"
    rows.append(row("dctcp-10ms", name, (0.06, 0.085), mean(bare.alphas(7.0, 14.0)), 3))
    bare = Samples("dctcp-80ms", ring=False)
    rows.append(row("dctcp-80ms", name, (0.015, 0.025), mean(bare.alphas(34.0, 39.0)), 3))
    return {"figures": rows}


def row(case: str, figure: str, theirs: Range, ours: Range, digits: int) -> Row:
    """Return the columns of a figure; an open end of a range is null."""
    least, most = theirs
    low, high = ours[0] - least, ours[1] - most
    difference = low if least == most or -low > high else high
    within = least != most and low >= 0 and high <= 0
    ends = (None if abs(end) == inf else end for end in theirs)
    return {
        "case": case,
        "figure": figure,
        **dict(zip(("ns3_least", "ns3_most"), ends, strict=True)),
        **dict(zip(("ours_least", "ours_most"), (round(end, digits) for end in ours), strict=True)),
        "difference": None if within else round(difference, digits),
    }


def dctcp_10ms(all_: Samples) -> Iterator[Figure]:
    """Compare DCTCP over 10 ms."""
    late, theirs = all_.alphas(7.0, 14.0), (0.06, 0.085)
    yield "goodput after 5.6 s, Mbit/s", (48.0, 49.0), all_.goodput(5.6, 14.0), 2
    yield "alpha after 5.4 s", (-inf, 0.1), span(all_.alphas(5.4, 14.0)), 3
    yield "mean alpha after 7 s", theirs, mean(late), 3
    yield "alpha after 7 s", theirs, span(late), 3
    yield "samples outside 0.060 to 0.085, %", one(0.0), outside(late, theirs), 1
    yield "own check: samples outside 0.055 to 0.090, %", one(0.0), outside(late, CHECKED), 1


def dctcp_80ms(all_: Samples) -> Iterator[Figure]:
    """Compare DCTCP over 80 ms, which needs 26 s to fill the path."""
    late, theirs = all_.alphas(34.0, 39.0), (0.015, 0.025)
    yield "goodput before 14 s, Mbit/s", (-inf, 20.0), all_.goodput(5.6, 14.0), 2
    yield "goodput before 30 s, Mbit/s", (-inf, 48.0), all_.goodput(5.6, 30.0), 2
    yield "goodput after 32 s, Mbit/s", (47.5, 48.5), all_.goodput(32.0, 39.0), 2
    yield "alpha before 7.5 s", (0.1, inf), span(all_.alphas(5.2, 7.5)), 3
    yield "alpha from 11 s to 30 s", (-inf, 0.01), span(all_.alphas(11.0, 30.0)), 3
    yield "mean alpha after 34 s", theirs, mean(late), 3
    yield "alpha after 34 s", theirs, span(late), 3
    yield "samples outside 0.015 to 0.025, %", one(0.0), outside(late, theirs), 1


def cubic_50ms(all_: Samples) -> Iterator[Figure]:
    """Compare CUBIC over 50 ms: its maxima, its windows at ns-3's instants, and ns-3's checks."""
    first, second, third = all_.peak(5.0, 5.6), all_.peak(10.0, 15.0), all_.peak(15.0, 19.0)
    reduced = min(all_.windows(5.5, 6.0))
    when = next(t for t, window, _, _ in all_.rows if t > 5.5 and window == reduced)
    yield "greatest window, packets", one(511), one(first[0]), 0
    yield "when, s", one(5.4593), one(first[1]), 3
    yield "window after the first drops, packets", one(173), one(reduced), 0
    yield "when, s", one(5.80304), one(when), 3
    yield "second maximum, packets", one(236), one(second[0]), 0
    yield "when, s", one(14.2815), one(second[1]), 2
    yield "third maximum, packets", one(234), one(third[0]), 0
    yield "when, s", one(18.048), one(third[1]), 2
    yield "window at 5.459 s, packets", one(511), one(all_.at(5.4593)), 0
    yield "window at 5.803 s, packets", one(173), one(all_.at(5.80304)), 0
    yield "window at 14.28 s, packets", one(236), one(all_.at(14.2815)), 0
    yield "window at 18.05 s, packets", one(234), one(all_.at(18.048)), 0
    checks = {
        "least window, 5.43 s to 5.465 s": ((500, inf), min(all_.windows(5.43, 5.465))),
        "greatest window, 5.795 s to 6 s": ((-inf, 190), max(all_.windows(5.795, 6.0))),
        "least window, 14 s to 14.328 s": ((225, inf), min(all_.windows(14.0, 14.328))),
        "least window, 17 s to 18.2 s": ((225, inf), min(all_.windows(17.0, 18.2))),
    }
    for name, (theirs, window) in checks.items():
        yield f"own check: {name}", theirs, one(window), 0


SHOWN = {
    "dctcp-10ms": ("goodput after 5.6 s, Mbit/s", "mean alpha after 7 s", "alpha after 7 s"),
    "dctcp-80ms": ("goodput after 32 s, Mbit/s", "mean alpha after 34 s", "alpha after 34 s"),
    "cubic-50ms": (
        "greatest window, packets",
        "second maximum, packets",
        "third maximum, packets",
        "window at 14.28 s, packets",
    ),
}


def answer(tables: Tables) -> str:
    """Return the figures that say the most."""
    lines = [["case", "figure", "ns-3", "here"]]
    for case, figures in SHOWN.items():
        found = {one["figure"]: one for one in tables["figures"] if one["case"] == case}
        for figure in figures:
            cells = (between(found[figure], who) for who in ("ns3", "ours"))
            lines.append([case, figure, *cells])
    return markdown(lines)


def between(figure: Row, who: str) -> str:
    """Return a range or a single value."""
    least, most = (figure[f"{who}_{end}"] for end in ("least", "most"))
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"
