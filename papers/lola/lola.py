"""TCP LoLa: low latency and high throughput congestion control."""

from sojourn.papers import Claim, Figure, Lab, Paper
from sojourn.report import chart


def figure_4c(lab: Lab) -> list[Claim]:
    """RTT over time for four base RTTs: the peak is the target above the base, whatever it is."""
    published = lab.published()["4c"]
    claims = []
    layers = []
    for base_ms in (5, 21, 61, 101):
        run = lab.run("two-flows.toml", set={"link.back.delay": f"{base_ms - 2.5}ms"})
        flow = run.flow("first")
        series = flow.series.drop_nulls("rtt_s")
        peak_ms = 1e3 * (series.filter(series["t_s"] > 10)["rtt_s"].max() - base_ms / 1e3)  # type: ignore
        layers.append(
            chart.line(f"{base_ms} ms", zip(series["t_s"], 1e3 * series["rtt_s"], strict=True))
        )
        claims.append(
            Claim(f"peak over {base_ms} ms", published["peak_ms"], peak_ms, "ms", peak_ms < 6)
        )
    lab.draw(
        "figure-4c",
        chart.document("RTT", "100 Mbit/s", [chart.Panel("RTT", "s", "ms", layers)]),
    )
    return claims


PAPER = Paper(
    "TCP LoLa: congestion control for low latencies and high throughput",
    "Hock, Neumeister, Zitterbart, Bless: IEEE LCN 2017",
    {"4c": Figure("RTT for four base RTTs", figure_4c)},
)
