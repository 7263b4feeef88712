"""The chart of a capture's round-trip times."""

from pathlib import Path
from typing import TYPE_CHECKING

import altair as alt

from sojourn.captures import DRAWN
from sojourn.report import chart, theme, views
from sojourn.report.theme import Spec

if TYPE_CHECKING:
    from sojourn.captures import CaptureRtt, Flow

_COLOURS = ["#0072b2", "#d55e00"]


def document(found: "CaptureRtt") -> Spec:
    """Draw the flows with most samples, a panel each."""
    flows = sorted(found["flows"], key=lambda flow: -_samples(flow))
    drawn = [flow for flow in flows if _samples(flow)][:DRAWN]
    more = found["flow_count"] - len(drawn)
    left_out = f"; {more:,} more flows are not drawn" if more else ""
    return views.document(
        chart.Document(
            f"Round-trip times in {Path(found['file']).name}",
            "from a segment at the capture point to its answer there, both directions" + left_out,
            [_panel(flow) for flow in drawn] or [_nothing()],
        )
    )


def _samples(flow: "Flow") -> int:
    return sum(direction["samples"] for direction in flow["directions"])


def _panel(flow: "Flow") -> alt.Chart:
    names, rows = [], []
    for direction in flow["directions"]:
        how = f"by {direction['method']}" if direction["method"] else "no samples"
        name = f"{direction['from']} to {direction['to']}, {how}"
        names.append(name)
        series = direction["series"]
        rows += [{"t": t, "rtt": 1e3 * rtt, "direction": name} for t, rtt, _ in series]
    legend = alt.Legend(
        direction="vertical", labelLimit=600, symbolType="circle", symbolSize=60, symbolOpacity=1
    )
    scale = alt.Scale(domain=names, range=_COLOURS)
    return theme.panel(
        "RTT (ms)",
        theme.table(rows, "t", "rtt"),
        alt.MarkDef("point", filled=True, size=14, opacity=0.7),
        alt.X("t:Q", title="s"),
        alt.Y("rtt:Q", title=None),
        alt.Color("direction:N", scale=scale, legend=legend),
    )


def _nothing() -> alt.Chart:
    data = theme.table([{"text": "it has no answered TCP segment"}])
    return theme.chart(data, alt.MarkDef("text", fontSize=13), alt.Text("text:N"))
