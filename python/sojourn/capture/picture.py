"""The chart of a capture's round-trip times."""

from pathlib import Path

from sojourn.capture.captures import DRAWN, CaptureRtt, Flow
from sojourn.picture import Drawing, chart
from sojourn.picture.chart import Document, Panel


class RttFigure(Drawing):
    """The round-trip times over time of the flows with most samples, a panel each."""

    def __init__(self, found: CaptureRtt) -> None:
        self._found = found

    def _document(self) -> "Document":
        return document(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.RttFigure of {self._found['file']}>"


def document(found: CaptureRtt) -> Document:
    """Draw the flows with most samples, a panel each."""
    flows = sorted(found["flows"], key=lambda flow: -_samples(flow))
    drawn = [flow for flow in flows if _samples(flow)][:DRAWN]
    more = found["flow_count"] - len(drawn)
    left_out = f"; {more:,} more flows are not drawn" if more else ""
    about = "from a segment at the capture point to its answer there, both directions"
    return Document(
        f"Round-trip times in {Path(found['file']).name}",
        about + left_out if drawn else "it has no answered TCP segment",
        [_panel(flow) for flow in drawn],
    )


def _samples(flow: Flow) -> int:
    return sum(direction["samples"] for direction in flow["directions"])


def _panel(flow: Flow) -> Panel:
    layers = []
    for direction in flow["directions"]:
        how = f"by {direction['method']}" if direction["method"] else "no samples"
        name = f"{direction['from']} to {direction['to']}, {how}"
        points = [(t, 1e3 * rtt) for t, rtt, _ in direction["series"]]
        layers.append(chart.dots(name, points, size=14))
    return Panel("RTT (ms)", "s", "ms", layers, height=180, columns=1, y_scale={"zero": True})
