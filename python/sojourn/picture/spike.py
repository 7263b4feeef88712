"""The chart of one drop of capacity: arrivals, queueing delay, and effect of mitigations."""

from sojourn.picture import chart
from sojourn.picture.chart import Document, Layer, Panel, Row
from sojourn.theory import MITIGATIONS, Mitigation, SpikeTheory

_AFTER = "ms after the drop"
_ARRIVES, _QUEUE, _WITH = chart.COLOURS[:3]
_CAPACITY, _WITHOUT = "#999999", "#bbbbbb"
_PEAK = "Queueing delay at the peak (ms):"


def document(found: "SpikeTheory") -> Document:
    """Draw arrival rate and queueing delay around a drop, and bars for the mitigations."""
    lost = found["lost_fraction"]
    subtitle = (
        f"r = {found['r']:.4g}, d = {1e3 * found['delay_s']:.4g} ms: "
        f"{1e3 * found['spike_s']:.4g} ms at the peak"
        + (f", {lost:.3g} of the excess lost" if lost > 0 else "")
    )
    rows = [_rates(found), _delay(found)]
    if "mitigations" in found:
        rows.append(_bars(found["mitigations"]))
    return Document("The minimum latency spike of one drop of capacity", subtitle, rows)


def _extent(found: "SpikeTheory") -> tuple[float, float]:
    """Return the drawn interval, in seconds after the drop."""
    told = max(t for t, _ in found["arrivals"])
    span = max(told, found["time_to_peak_s"], 0.001)
    return -0.5 * span, 2 * span


def _rates(found: "SpikeTheory") -> chart.Panel:
    begin, end = _extent(found)
    before, after = found["capacity_bps"]
    arrives = [(begin, found["arrivals"][0][1])]
    for t, rate in found["arrivals"]:
        arrives += [(t, arrives[-1][1]), (t, rate)]
    arrives.append((end, arrives[-1][1]))
    capacity = [(begin, before), (0.0, before), (0.0, after), (end, after)]
    # The wider line stays visible if both lines coincide.
    layers = [
        chart.line("arrives", _scaled(arrives, 1e-6), _ARRIVES, width=2.5),
        chart.line("capacity", _scaled(capacity, 1e-6), _CAPACITY, dash=(7, 5), width=2),
    ]
    return chart.Panel("Rates", _AFTER, "Mbit/s", layers, height=180, y_scale={"zero": True})


def _delay(found: "SpikeTheory") -> chart.Panel:
    begin, end = _extent(found)
    corners = [(begin, 0.0), *((t, delay) for t, delay in found["queue"])]
    corners.append((end, corners[-1][1]))
    title = "Queueing delay of arrivals, from senders that match the signalled capacity"
    layers = [chart.line("queue", _scaled(corners, 1e3), _QUEUE, width=2.5)]
    return chart.Panel(title, _AFTER, "ms", layers, height=180, legend=False)


def _scaled(points: list[chart.Point], scale: float) -> list[chart.Point]:
    """Convert seconds to ms, and multiply values by `scale`."""
    return [(1e3 * t, scale * value) for t, value in points]


def _bars(mitigations: "list[Mitigation]") -> Panel:
    """Draw the spike without and with each mitigation, side by side."""
    names = [f"{MITIGATIONS[one['name']][0]}, {one['setting']}" for one in mitigations]
    layers = []
    for name, colour, up in (("without", _WITHOUT, -0.38), ("with", _WITH, 0.0)):
        rows: list[Row] = [
            (0.0, at + up, 1e3 * (one["after_s"] if up == 0 else one["before_s"]), at + up + 0.38)
            for at, one in enumerate(mitigations)
        ]
        layers.append(Layer(name, "rects", rows, colour))
    return Panel(
        f"{_PEAK} without each in grey, with it in green",
        "ms",
        "",
        layers,
        height=26 * len(names),
        x_scale={"zero": True},
        y_axis={"values": range(len(names)), "labels": names},
        y_scale={"domain": (len(names) - 0.5, -0.5)},
        legend=False,
    )
