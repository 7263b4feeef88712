"""The figure of one drop of capacity: arrivals, queueing delay, and effect of mitigations."""

from typing import TYPE_CHECKING, Any

from sojourn.report import Drawing, chart

if TYPE_CHECKING:
    from sojourn.theory import Mitigation, SpikeTheory

Spec = dict[str, Any]

MITIGATIONS = {
    "headroom": ("headroom", "{} of the capacity left unused before the drop"),
    "ramp": ("gradual ramp", "capacity falls over {}, and senders drain their queue"),
    "warning": ("early warning", "senders receive the signal {} before the drop"),
    "near": ("shorter loop", "a server or proxy at a loop delay of {}"),
    "back_queue": ("ACK priority", "signals do not wait {} in the reverse path's queue"),
    "standing": ("signal at dequeue", "a standing queue of {} before the drop"),
    "users": ("fair queueing", "among {} users, of whom others caused the drop"),
    "node": ("several fidelities", "a node at a loop delay of {} chooses what to forward"),
}
"""Name of each mitigation and description of its setting, which replaces `{}`."""

_AFTER = "ms after the drop"
_ARRIVES, _CAPACITY, _QUEUE = "#0072b2", "#999999", "#d55e00"
_WITHOUT, _WITH = "#bbbbbb", "#009e73"
_PEAK = "Queueing delay at the peak (ms):"


class SpikeFigure(Drawing):
    """Arrival rate and queueing delay around a drop of capacity, and bars for the mitigations."""

    def __init__(self, found: "SpikeTheory") -> None:
        self._found = found

    def _document(self, interactive: bool) -> Spec:
        found = self._found
        lost = found["lost_fraction"]
        subtitle = (
            f"r = {found['r']:.4g}, d = {1e3 * found['delay_s']:.4g} ms: "
            f"{1e3 * found['spike_s']:.4g} ms at the peak"
            + (f", {lost:.3g} of the excess lost" if lost > 0 else "")
        )
        rows: list[chart.Panel | Spec] = [_rates(found), _delay(found)]
        if "mitigations" in found:
            rows.append(_bars(found["mitigations"]))
        return chart.document("The minimum latency spike of one drop of capacity", subtitle, rows)

    def __repr__(self) -> str:
        return f"<sojourn.SpikeFigure of r = {self._found['r']:.4g}>"


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


def _bars(mitigations: "list[Mitigation]") -> Spec:
    """Draw the spike without and with each mitigation, side by side."""
    names = [f"{MITIGATIONS[one['name']][0]}, {one['setting']}" for one in mitigations]
    values = [
        {"mitigation": name, "bound": bound, "ms": 1e3 * delay}
        for name, one in zip(names, mitigations, strict=True)
        for bound, delay in (("without", one["before_s"]), ("with", one["after_s"]))
    ]
    kinds = ["without", "with"]
    return {
        "title": {"text": f"{_PEAK} without each in grey, with it in green", "anchor": "start"},
        "width": 640,
        "height": {"step": 13},
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "mitigation", "type": "nominal", "sort": names, "title": None},
            "yOffset": {"field": "bound", "type": "nominal", "sort": kinds},
            "x": {"field": "ms", "type": "quantitative", "title": "ms"},
            "color": {
                "field": "bound",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [_WITHOUT, _WITH]},
                "legend": None,
            },
        },
    }
