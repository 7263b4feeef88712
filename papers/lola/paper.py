"""TCP LoLa: low latency and high throughput with a small, fairly shared queue."""

from sojourn_papers import Claim, Figure, Lab, Paper

from . import live
from .eighteen_flows import many
from .other_controllers import beside
from .testbed import hundred_megabit, scale, ten_gigabit
from .two_flows import rtts, throughput, windows

BASE_RTTS_MS = (5, 21, 61, 101)
"""The base RTTs of figure 4c."""


def figure_4a(lab: Lab) -> list[Claim]:
    """Reproduce the throughput of two flows over 21 ms."""
    title = "Figure 4a: two flows over 21 ms"
    return throughput(lab, "figure-4a", ten_gigabit(lab, [(21, 21)])[0], title, scale(lab))


def figure_4c(lab: Lab) -> list[Claim]:
    """Reproduce the round-trip times over four base RTTs."""
    beds = ten_gigabit(lab, [(base, base) for base in BASE_RTTS_MS])
    title = "Figure 4c: the same queue over any base RTT"
    return rtts(lab, "figure-4c", beds, title, scale(lab))


def figure_4d(lab: Lab) -> list[Claim]:
    """Reproduce the throughput of flows over 21 ms and 101 ms."""
    # Rounds of the distant flow are longer, so the run takes two minutes instead of one.
    (bed,) = ten_gigabit(lab, [(21, 101)], seconds=120)
    title = "Figure 4d: flow 1 over 21 ms, flow 2 over 101 ms"
    return throughput(lab, "figure-4d", bed, title, scale(lab))


def figure_5a(lab: Lab) -> list[Claim]:
    """Reproduce the throughput of two flows at a hundredth of the rate."""
    title = "Figure 5a: two flows over 21 ms"
    return throughput(lab, "figure-5a", hundred_megabit(lab), title, "100 Mbit/s")


def figure_5b(lab: Lab) -> list[Claim]:
    """Reproduce the round-trip times of two flows at a hundredth of the rate."""
    title = "Figure 5b: the queue of two flows over 21 ms"
    return rtts(lab, "figure-5b", [hundred_megabit(lab)], title, "100 Mbit/s")


PAPER = Paper(
    "TCP LoLa: congestion control for low latencies and high throughput",
    "Hock, Neumeister, Zitterbart, Bless: IEEE LCN 2017",
    {
        "4a": Figure("Throughput of two flows at 10 Gbit/s", figure_4a),
        "4b": Figure("Windows of two flows, and the rounds of fair flow balancing", windows),
        "4c": Figure("Round-trip times over four base RTTs", figure_4c),
        "4d": Figure("Throughput of flows with different base RTTs", figure_4d),
        "5a": Figure("Throughput of two flows at 100 Mbit/s", figure_5a),
        "5b": Figure("Round-trip times at 100 Mbit/s", figure_5b),
        "6": Figure("Eighteen flows, one more every four seconds", many),
        "beside": Figure("Beyond the paper: CUBIC, BBR and BBR v3 on the same testbed", beside),
    },
    live={
        "4a": Figure("Throughput of two flows, at 100 Mbit/s as in 5a", live.figure_4a),
        "4b": Figure("Windows of two flows", live.figure_4b),
        "4c": Figure("Round-trip times over four base RTTs, as in 5b", live.figure_4c),
        "4d": Figure("Throughput of flows with different base RTTs", live.figure_4d),
        "6": Figure("Eighteen flows, one more every four seconds", live.figure_6),
    },
)
