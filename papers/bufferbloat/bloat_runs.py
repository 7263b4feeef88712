"""The runs at each size of the queue, and the RTT samples of each layer at each host."""

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from sojourn.papers import Lab
from sojourn.record import Run

SCENARIO = "hosts.toml"
BEGIN_S = 10.0
"""When the clients and the pings begin."""
HOSTS = ("A", "B")
LAYERS = ("ICMP", "TCP", "application")
SIZES_KB = (10, 100, 200, 300)

Points = list[tuple[float, float]]
"""Seconds since the clients began, and milliseconds."""


class Probe(NamedTuple):
    """Which flow measures, and in which column."""

    flow: str
    column: str


# The TCP layer is that of the server on the host: it sends responses to the other host's
# client, and hears when they are acknowledged.
PROBES = {
    ("ICMP", "A"): Probe("ping_a", "rtt_s"),
    ("ICMP", "B"): Probe("ping_b", "rtt_s"),
    ("TCP", "A"): Probe("client_b", "rtt_s"),
    ("TCP", "B"): Probe("client_a", "rtt_s"),
    ("application", "A"): Probe("client_a", "response_s"),
    ("application", "B"): Probe("client_b", "response_s"),
}


def hosts(
    lab: Lab, size_kb: int, control: str = "cubic", apart_ms: int = 20, bulk_ms: int = 400
) -> Run:
    """The hosts with queues of this size; the probes begin so long one after the other, and the
    second bulk flow so long after the first.
    """
    changes = {f"link.{link}.buffer": f"{size_kb}kB" for link in ("to_a", "to_b")}
    changes |= {f"flow.{bulk}.control": control for bulk in ("bulk_to_a", "bulk_to_b")}
    probes = ("client_a", "client_b", "ping_a", "ping_b")
    for place, probe in enumerate(probes):
        changes[f"flow.{probe}.start"] = f"{BEGIN_S * 1e3 + place * apart_ms:.0f}ms"
    changes["flow.bulk_to_a.start"] = f"{bulk_ms}ms"
    return lab.run(SCENARIO, set=changes)


def recordings(lab: Lab, size_kb: int, apart_ms: int = 20) -> list[Run]:
    """Several recordings, that differ by when the second bulk flow was started."""
    count = lab.pick(6, 1)
    return [hosts(lab, size_kb, apart_ms=apart_ms, bulk_ms=400 + 137 * n) for n in range(count)]


def samples(run: Run, layer: str, host: str) -> Points:
    """Every round trip that a layer measured at a host."""
    probe = PROBES[layer, host]
    series = run.flow(probe.flow).series.drop_nulls(probe.column)
    return [
        (at - BEGIN_S, 1e3 * rtt)
        for at, rtt in zip(series["t_s"], series[probe.column], strict=True)
    ]


def in_ms(runs: Sequence[Run]) -> dict[str, list[float]]:
    """The samples of every layer at both hosts, of all recordings, under its name."""
    return {
        f"{layer} {host}": [ms for run in runs for _, ms in samples(run, layer, host)]
        for layer, host in PROBES
    }


def spread_ms(runs: Sequence[Run]) -> tuple[float, float]:
    """By how much the means of all layers at both hosts differ at most, and their medians."""
    each = in_ms(runs).values()
    return _width([fmean(one) for one in each]), _width([median(one) for one in each])


def _width(of: Sequence[float]) -> float:
    return max(of) - min(of)
