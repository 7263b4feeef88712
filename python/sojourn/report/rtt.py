"""The figure of a capture's round-trip times."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.report import Drawing, chart

if TYPE_CHECKING:
    from sojourn.captures import CaptureRtt, Flow

Spec = dict[str, Any]

# As many panels as can be looked at below one another.
DRAWN = 8
"""Flows that a figure shows."""
_COLOURS = ("#0072b2", "#d55e00")


class RttFigure(Drawing):
    """The round-trip times over time of the flows with most samples, a panel each."""

    def __init__(self, found: "CaptureRtt") -> None:
        self._found = found

    def _document(self, interactive: bool) -> Spec:
        flows = sorted(self._found["flows"], key=lambda flow: -_samples(flow))
        drawn = [flow for flow in flows if _samples(flow)][:DRAWN]
        more = self._found["flow_count"] - len(drawn)
        left_out = f"; {more:,} more flows are not drawn" if more else ""
        return chart.document(
            f"Round-trip times in {Path(self._found['file']).name}",
            "from a segment at the capture point to its answer there, both directions" + left_out,
            [_panel(flow) for flow in drawn] or [_nothing()],
        )

    def __repr__(self) -> str:
        return f"<sojourn.RttFigure of {self._found['file']}>"


def _samples(flow: "Flow") -> int:
    return sum(direction["samples"] for direction in flow["directions"])


def _panel(flow: "Flow") -> Spec:
    names, values = [], []
    for direction in flow["directions"]:
        how = f"by {direction['method']}" if direction["method"] else "no samples"
        name = f"{direction['from']} to {direction['to']}, {how}"
        names.append(name)
        series = direction["series"]
        values += [{"t": t, "rtt": 1e3 * rtt, "direction": name} for t, rtt, _ in series]
    scale = {"domain": names, "range": list(_COLOURS)}
    legend = {
        "direction": "vertical",
        "labelLimit": 600,
        "symbolType": "circle",
        "symbolSize": 60,
        "symbolOpacity": 1,
    }
    return {
        "title": {"text": "RTT (ms)", "anchor": "start"},
        "width": 640,
        "height": 180,
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.7},
        "encoding": {
            "x": {"field": "t", "type": "quantitative", "title": "s"},
            "y": {"field": "rtt", "type": "quantitative", "title": None},
            "color": {"field": "direction", "type": "nominal", "scale": scale, "legend": legend},
        },
    }


def _nothing() -> Spec:
    return {
        "data": {"values": [{"text": "it has no answered TCP segment"}]},
        "mark": {"type": "text", "fontSize": 13},
        "encoding": {"text": {"field": "text"}},
    }
