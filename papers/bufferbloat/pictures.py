"""Figures 4 and 5: dispersion of the RTTs at each queue size, and RTTs over time."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sojourn.picture import chart
from sojourn_papers import Lab

from .runs import HOSTS, LAYERS, MEASURED, Recording, samples

BIN_MS = 10


def dispersion(
    lab: Lab,
    runs: Mapping[int, Recording],
    name: str = "figure-4",
    title: str = "RTTs by queue size",
) -> None:
    """Draw figure 4: boxes of every layer side by side, and histograms as in the paper."""
    rows: list[chart.Panel | list[chart.Panel]] = [_boxes(runs)]
    rows += [[_histogram(runs, layer, host) for host in HOSTS] for layer in LAYERS]
    subtitle = "10 Mbit/s and a CUBIC bulk flow in each direction; whiskers: minimum and maximum"
    lab.draw(name, chart.Document(title, subtitle, rows))


def _boxes(runs: Mapping[int, Recording]) -> chart.Panel:
    layers = []
    for place, (layer, host) in enumerate(MEASURED):
        # Place the six boxes at intervals of 10 kB around their queue size.
        offset = 10 * (place - 2.5)
        points = [
            (size + offset, ms) for size in runs for _, ms in samples(runs[size], layer, host)
        ]
        layers.append(chart.boxes(f"{layer}, {host}", points, size=9))
    return chart.Panel(
        "All layers at both hosts",
        "queue, kB",
        "ms",
        layers,
        x_axis={"values": list(runs)},
        x_scale={"domain": [-25, 335], "nice": False},
        y_scale={"domain": [0, 300]},
        height=280,
    )


def _histogram(runs: Mapping[int, Recording], layer: str, host: str) -> chart.Panel:
    layers = []
    for size in runs:
        counts = Counter(int(ms // BIN_MS) for _, ms in samples(runs[size], layer, host))
        steps = [(bin * BIN_MS, float(counts[bin])) for bin in range(300 // BIN_MS + 1)]
        layers.append(chart.line(f"{size} kB", steps, interpolate="step-after", width=1.3))
    return chart.Panel(
        f"{layer} at {host}: histogram",
        "RTT, ms",
        "samples per 10 ms",
        layers,
        x_scale={"domain": [0, 300]},
        width=290,
        height=120,
    )


def course(
    lab: Lab,
    name: str,
    run: Recording,
    title: str,
    shown: Sequence[str] = LAYERS,
    end_s: float = 180.0,
) -> None:
    """Draw figure 5: every layer over time at each host, between the published extremes."""
    published = lab.published()["5"]
    rows = []
    for host in reversed(HOSTS):
        layers = [
            chart.line(layer, samples(run, layer, host), width=1.3) for layer in reversed(shown)
        ]
        for key in ("least_ms", "greatest_ms"):
            level = [(0.0, published[key]), (end_s, published[key])]
            layers.append(chart.line("published extremes", level, chart.PUBLISHED, (4, 3), width=1))
        rows.append(
            chart.Panel(
                f"Measured from host {host}",
                "s",
                "RTT, ms",
                layers,
                x_scale={"domain": [0, end_s]},
                y_scale={"domain": [0, 300]},
            )
        )
    lab.draw(name, chart.Document(title, "300 kB, 10 Mbit/s in each direction", rows))
