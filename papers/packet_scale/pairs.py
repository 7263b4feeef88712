"""P-streams and cross traffic: arrival and departure of each packet at the bottleneck."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sojourn
from sojourn_papers import Lab

SCENARIO = "residual.toml"
_WAY_NS = 10_000_000
PACKET_NS = 12_000
"""P / C: 1500 bytes at 1 Gbit/s."""
_BURST_NS = 40_000_000
_BURST_LEFT_NS = 6_000_000
"""Duration of the longest burst; comparisons begin after it."""
# Residual queue by the duration of the burst (us), which exceeds the capacity by 7.3 Gbit/s.
BURSTS = {"none": 0, "10 ms": 1370, "40 ms": 5480}


@dataclass(frozen=True)
class Packet:
    """Arrival and departure time of a packet at the bottleneck, in ns."""

    number: int
    arrived: int
    left: int


class _Logged(ABC):
    """A sender without congestion control, which logs the receiver's reports of its packets."""

    receive_times = True

    def __init__(self, setup: sojourn.Setup, log: list[Packet]) -> None:
        self.log = log
        self.bits = 8 * setup.mss_bytes
        self.sent = 0

    def on_sent(self, now_ns: int, sent: sojourn.Sent) -> None:
        self.sent += 1

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        for one in feedback.received:
            self.log.append(Packet(one.number, one.sent_at_ns, one.received_at_ns - _WAY_NS))

    @abstractmethod
    def gap(self) -> float:
        """Time from this packet to the next one, in ns."""

    def limits(self) -> sojourn.Limits:
        return sojourn.Limits(cwnd_bytes=1e9, gap_ns=self.gap())


class PStream(_Logged):
    """Streams of 30 packets, each 4.5 % faster than the last, around the available bandwidth."""

    packets, spread, mean_mbit = 30, 1.045, 660.0

    def gap(self) -> float:
        """Time to the next packet: the mean gap, times the spread per packet from the middle."""
        place = self.sent % self.packets - self.packets / 2
        rate: float = self.mean_mbit * self.spread**place
        return 1e3 * self.bits / rate


class Constant(_Logged):
    """Cross traffic at a rate."""

    def __init__(self, setup: sojourn.Setup, log: list[Packet]) -> None:
        super().__init__(setup, log)
        self.rate = setup.params["rate"]

    def gap(self) -> float:
        """Return a constant gap."""
        return self.bits * 1e9 / float(self.rate)


@dataclass(frozen=True)
class Pair:
    """Two consecutive packets of the stream."""

    number: int
    gap: int
    """Time between the arrivals, in ns."""
    left_gap: int
    crossing: int
    """Number of cross-traffic packets that arrived between them."""
    is_busy: bool
    """Whether the second packet arrived before the first had left."""

    @property
    def grew(self) -> bool:
        """Whether the gap increased."""
        return self.left_gap > self.gap

    @property
    def probes_too_fast(self) -> bool:
        """r_2 > C - R_CT, in packets: 1 / gap > C - crossing / gap."""
        return PACKET_NS * (1 + self.crossing) > self.gap


def trace(lab: Lab, burst_us: int) -> list[Pair]:
    """Simulate a burst of this duration, and return the pairs that arrived after it."""
    streams: list[Packet] = []
    others: list[Packet] = []
    # Without a burst, its start lies after the measurement.
    burst: dict[str, Any] = {"flow.burst.start": "199ms"}
    if burst_us:
        burst = {"flow.burst.source.on": f"{burst_us}us"}
    sojourn.run(
        lab.folder / SCENARIO,
        set=burst,
        controllers={
            "p-stream": _factory(PStream, streams),
            "constant": _factory(Constant, others, {"rate": sojourn.Param("310Mbit", "1kbit")}),
        },
        jobs=1,
    )
    crossed = sorted(one.arrived for one in others)
    known = crossed[-1]
    return [
        Pair(
            b.number,
            b.arrived - a.arrived,
            b.left - a.left,
            bisect_right(crossed, b.arrived) - bisect_right(crossed, a.arrived),
            b.arrived <= a.left,
        )
        for a, b in pairwise(sorted(streams, key=lambda one: one.number))
        if a.arrived > _BURST_NS + _BURST_LEFT_NS and b.arrived < known
    ]


def _factory(
    kind: type[_Logged], log: list[Packet], params: Mapping[str, sojourn.Param] | None = None
) -> Any:
    """Create a controller class with its parameters and log, as a scenario requires."""

    def build(self: _Logged, setup: sojourn.Setup) -> None:
        kind.__init__(self, setup, log)

    return type(kind.__name__, (kind,), {"__init__": build, "params": dict(params or {})})
