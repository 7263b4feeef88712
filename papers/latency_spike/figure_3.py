"""Figure 3: the minimum spike over loop delay and capacity ratio, as a surface with contours."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sojourn.picture import chart
from sojourn.record.record_types import RunSummary
from sojourn_papers import Claim, Lab

GREATEST_D_MS, GREATEST_R = 100.0, 10.0
CONTOURS_MS = (50, 100, 200, 400, 600, 800)
# From low to high; each band ends at a contour.
BANDS = ("#8fd3c1", "#57bcc1", "#2f9fc0", "#2f7bb6", "#3457a0", "#4b3287", "#5c0f5f")
DELAYS_MS = (10, 25, 50, 75, 100)
RATIOS = (1.5, 2, 3, 5, 7, 10)
BEFORE_BPS = (60e6, 600e6)
"""The testbed's capacity before the drop, and a tenfold capacity."""


def bound_ms(d_ms: float, r: float) -> float:
    """Equation 2."""
    return (r - 1) * d_ms


def figure_3(lab: Lab) -> list[Claim]:
    """Draw the surface and its contours, and compare them with simulated ideal senders."""
    slow, fast = (_simulated(lab, before) for before in BEFORE_BPS)
    lab.draw("figure-3", _picture(slow))
    return [
        _agreement(slow, BEFORE_BPS[0]),
        _agreement(fast, BEFORE_BPS[1]),
        _independence(slow, fast),
        Claim(
            "spike at d = 50 ms and r = 10",
            lab.value("several_hundred"),
            slow[50, 10],
            "ms",
            slow[50, 10] > 200,
            "Holds above 200 ms. Section IV: r below 10 and d below tens of ms cannot be relied on",
        ),
    ]


Spikes = dict[tuple[float, float], float]
"""Spikes in milliseconds, by delay and ratio."""


def _simulated(lab: Lab, before_bps: float) -> Spikes:
    cells = [(d, r) for d in DELAYS_MS for r in RATIOS]
    changes = [
        {
            "link.bottleneck.rate.start": f"{before_bps:.0f}bit",
            "link.bottleneck.rate.steps.0.rate": f"{before_bps / r:.0f}bit",
            "link.back.delay": f"{d}ms",
        }
        for d, r in cells
    ]
    return dict(zip(cells, lab.sweep("drop.toml", changes, _spike_ms), strict=True))


def _spike_ms(run: RunSummary) -> float:
    return 1e3 * (run["spikes"][0]["spike_s"] or 0.0)


def packet_ms(before_bps: float, r: float) -> float:
    """Transmission time of a packet at the new capacity."""
    return 1500 * 8 * r / before_bps * 1e3


def _agreement(spikes: Spikes, before_bps: float) -> Claim:
    """Compare simulated spikes with equation 2, in packets at the new capacity."""
    apart = [
        abs(spike - bound_ms(d, r)) / packet_ms(before_bps, r) for (d, r), spike in spikes.items()
    ]
    why = f"maximum difference of {len(apart)} simulated spikes from (r - 1) d. Holds within two "
    why += "packets: packets are indivisible, and the packet with the longest wait also waits for "
    why += "one in transmission"
    name = f"ideal senders at {before_bps / 1e6:.0f} Mbit/s: difference from equation 2"
    return Claim(name, 0.0, max(apart), "packets", max(apart) < 2, why)


def _independence(slow: Spikes, fast: Spikes) -> Claim:
    apart = {cell: abs(slow[cell] - fast[cell]) for cell in slow}
    packets = max(apart[d, r] / packet_ms(BEFORE_BPS[0], r) for d, r in apart)
    why = "maximum difference between 60 and 600 Mbit/s, in packets at the lower rate. Holds "
    why += "within two packets"
    name = "Q does not depend on the throughput: difference"
    return Claim(name, 0.0, packets, "packets", packets < 2, why)


def _picture(simulated: Spikes) -> chart.Document:
    surface = chart.Panel(
        "The surface Q = (r - 1) d",
        "",
        "",
        [*_frame(), *_wires()],
        bare=True,
        height=360,
        x_scale={"domain": [-1, 1]},
        y_scale={"domain": [-0.1, 1.36]},
        columns=4,
    )
    points = [(float(d), float(r)) for d, r in simulated]
    values = [f"{spike:.0f}" for spike in simulated.values()]
    contours = [_contour(q, band) for q, band in zip(CONTOURS_MS, BANDS[1:], strict=True)]
    contours.append(chart.dots("published: contours (ms)", [], chart.PUBLISHED))
    ends = [_end(q) for q in CONTOURS_MS]
    names = [f"{q}" for q in CONTOURS_MS]
    flat = chart.Panel(
        "Contours r = 1 + Q / d; the numbers in blue are simulated",
        "d (ms)",
        "r",
        [
            *contours,
            chart.labels("published: contours (ms)", ends, names, chart.PUBLISHED),
            chart.dots("ours: simulated (ms)", points, chart.COLOURS[0], size=16),
            chart.labels("ours: simulated (ms)", points, values, chart.COLOURS[0]),
        ],
        height=360,
        x_scale={"domain": [0, 112]},
        y_scale={"domain": [1, 10.6]},
        columns=4,
    )
    subtitle = "loop delay d up to 100 ms; capacity falls to 1 / r; no packet is lost"
    return chart.Document("Figure 3: the minimum spike", subtitle, [surface, flat])


def _contour(q: float, colour: str) -> chart.Layer:
    points = [(q / (r - 1), r) for r in _steps(1.0 + q / GREATEST_D_MS, GREATEST_R, 80)]
    return chart.line(f"{q} ms", points, colour, width=2)


def _end(q: float) -> chart.Point:
    """Return the point at which a contour leaves the picture on the right."""
    return GREATEST_D_MS + 7, 1 + q / GREATEST_D_MS


def _wires() -> Iterator[chart.Layer]:
    """Draw lines of equal r and equal d on the surface; each piece has the colour of its height."""
    for r in range(1, int(GREATEST_R) + 1):
        yield from _wire([(d, float(r)) for d in _steps(0, GREATEST_D_MS, 60)])
    for d in range(0, int(GREATEST_D_MS) + 1, 10):
        yield from _wire([(float(d), r) for r in _steps(1, GREATEST_R, 60)])


def _wire(line: Sequence[tuple[float, float]]) -> Iterator[chart.Layer]:
    piece: list[chart.Point] = []
    band = _band(*line[0])
    for before, (d, r) in pairwise(line):
        piece.append(_seen(*before, bound_ms(*before)))
        if _band(d, r) != band:
            yield _piece(band, [*piece, _seen(d, r, bound_ms(d, r))])
            piece, band = [], _band(d, r)
    yield _piece(band, [*piece, _seen(*line[-1], bound_ms(*line[-1]))])


def _piece(band: int, points: Sequence[chart.Point]) -> chart.Layer:
    ends = (0, *CONTOURS_MS, int(bound_ms(GREATEST_D_MS, GREATEST_R)))
    return chart.line(f"{ends[band]} to {ends[band + 1]} ms", points, BANDS[band], width=1.4)


def _band(d_ms: float, r: float) -> int:
    return sum(bound_ms(d_ms, r) > q for q in CONTOURS_MS)


def _frame() -> Iterator[chart.Layer]:
    """Draw the ground, a post with its height, and the labels of the corners."""
    corners = [(0.0, 1.0), (GREATEST_D_MS, 1.0), (GREATEST_D_MS, GREATEST_R), (0.0, GREATEST_R)]
    ground = [_seen(d, r, 0) for d, r in [*corners, corners[0]]]
    top = bound_ms(GREATEST_D_MS, GREATEST_R)
    post = [_seen(GREATEST_D_MS, GREATEST_R, q) for q in (0, top)]
    yield chart.line("ground: no queue", ground, "#999999", (4, 3), width=1)
    yield chart.line("ground: no queue", post, "#999999", (4, 3), width=1)
    low = [(x, y - 0.09) for x, y in (ground[0], ground[1], ground[3])]
    texts = ["d = 0, r = 1", "d = 100 ms, r = 1", "d = 0, r = 10", f"{top:.0f} ms"]
    yield chart.labels("ground: no queue", [*low, post[1]], texts, "#666666")


def _seen(d_ms: float, r: float, q_ms: float) -> chart.Point:
    """Project a point of the surface obliquely, so that parallel lines stay parallel."""
    right, away = d_ms / GREATEST_D_MS, (r - 1) / (GREATEST_R - 1)
    height = q_ms / bound_ms(GREATEST_D_MS, GREATEST_R)
    return 0.87 * (right - away), 0.3 * (right + away) + 0.7 * height


def _steps(begin: float, end: float, count: int) -> list[float]:
    return [begin + (end - begin) * place / count for place in range(count + 1)]
