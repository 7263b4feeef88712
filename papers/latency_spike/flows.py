"""Section IV: several flows with different delays in one queue."""

from sojourn.picture import chart
from sojourn_papers import Claim, Lab

from .figure_3 import packet_ms

NEAR_MS, R, BEFORE_BPS = 20.0, 3.0, 60e6
FAR_MS = (20, 40, 60, 80, 100, 150, 200)


def flows(lab: Lab) -> list[Claim]:
    """Simulate two ideal flows with equal shares, and increase the delay of one of them."""
    cells = [{"link.back_far.delay": f"{far}ms"} for far in FAR_MS]
    take = lab.sweep("two-ideal.toml", cells, lambda run: run["spikes"][0]["spike_s"])
    spikes = [1e3 * (spike or 0.0) for spike in take]
    law = [(float(far), weighted_ms(far)) for far in FAR_MS]
    layers = [
        chart.line("published: the weighted sum", law, chart.PUBLISHED, (5, 3)),
        chart.dots("ours: simulated", zip(FAR_MS, spikes, strict=True), chart.COLOURS[0]),
    ]
    title = "Two ideal flows, one with d = 20 ms; capacity falls to a third"
    panel = chart.Panel("Spike (ms)", "delay of the far flow (ms)", "ms", layers)
    lab.draw("flows", chart.Document(title, "each has half of the rate at the drop", [panel]))
    apart = [abs(spike - q) for spike, (_, q) in zip(spikes, law, strict=True)]
    packets = max(apart) / packet_ms(BEFORE_BPS, R)
    why = f"maximum difference of {len(apart)} simulated spikes. Holds within three packets: "
    why += "packets are indivisible, and packets of two senders may arrive at the same time"
    name = "difference of the spikes from the sum weighted by shares"
    return [Claim(name, 0.0, packets, "packets", packets < 3, why)]


def weighted_ms(far_ms: float) -> float:
    """Return the sum of equation 2's Q over both flows, each weighted by one half."""
    return (R - 1) * (NEAR_MS + far_ms) / 2
