"""Observation 1, packet by packet: a residual queue does not show in what a p-stream finds.

The paper's appendix IX: for packets of one busy period the departure gap is
(P + B_CT(a1, a2)) / C, whatever waits (equation 5), so that it exceeds the arrival gap where the
probing rate exceeds C - R_CT, and only there.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sojourn
from packet_scale_setting import CAPACITY_MBIT, MODEL_SENDER, WIRE, Job, Setting, measure
from sojourn.papers import Claim, Lab
from sojourn.report import chart
from sojourn.report.chart import Panel, Point

_SCENARIO = "residual.toml"
_WAY_NS = 10_000_000
_PACKET_NS = 12_000
"""P / C: 1500 bytes at 1 Gbit/s."""
_BURST_NS = 40_000_000
_BURST_LEFT_NS = 6_000_000
"""The longest burst, with which comparisons wait."""
# The residual queue in ms, by how long the burst lasts (us): it adds 7.3 Gbit/s for so long.
_BURSTS = {"none": 0, "10 ms": 1370, "40 ms": 5480}


@dataclass(frozen=True)
class Packet:
    """When it arrived at the bottleneck, and when it left, in ns."""

    number: int
    arrived: int
    left: int


class _Logged:
    """A sender that follows nothing; what the receiver says of its packets is kept."""

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

    def gap(self) -> float:
        raise NotImplementedError

    def limits(self) -> sojourn.Limits:
        return sojourn.Limits(cwnd_bytes=1e9, gap_ns=self.gap())


class PStream(_Logged):
    """Streams of 30 packets, each 4.5 % faster than the last, around what is available."""

    packets, spread, mean_mbit = 30, 1.045, 660.0

    def gap(self) -> float:
        """To the next packet: the mean rate, times the spread for each packet from the middle."""
        place = self.sent % self.packets - self.packets / 2
        rate: float = self.mean_mbit * self.spread**place
        return 1e3 * self.bits / rate


class Constant(_Logged):
    """Cross traffic at a rate."""

    def __init__(self, setup: sojourn.Setup, log: list[Packet]) -> None:
        super().__init__(setup, log)
        self.rate = setup.params["rate"]

    def gap(self) -> float:
        """Always the same."""
        return self.bits * 1e9 / float(self.rate)


@dataclass(frozen=True)
class Pair:
    """Two packets of the stream that follow on each other."""

    number: int
    gap: int
    """Between arrivals, ns."""
    left_gap: int
    crossing: int
    """Packets of cross traffic that arrived between them."""
    is_busy: bool
    """The second came before the first had left."""

    @property
    def grew(self) -> bool:
        """Whether the gap did."""
        return self.left_gap > self.gap

    @property
    def probes_too_fast(self) -> bool:
        """r_2 > C - R_CT, in packets: 1 / gap > C - crossing / gap."""
        return _PACKET_NS * (1 + self.crossing) > self.gap


def trace(lab: Lab, burst_us: int) -> list[Pair]:
    """The pairs that arrived after the burst, with one that lasts so long."""
    streams: list[Packet] = []
    others: list[Packet] = []
    # Without one it comes when all is over.
    burst: dict[str, Any] = {"flow.burst.start": "199ms"}
    if burst_us:
        burst = {"flow.burst.source.on": f"{burst_us}us"}
    sojourn.run(
        lab.folder / _SCENARIO,
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
    """A class of its own, as a scenario needs it: with its parameters, and this log."""

    def build(self: _Logged, setup: sojourn.Setup) -> None:
        kind.__init__(self, setup, log)

    return type(kind.__name__, (kind,), {"__init__": build, "params": dict(params or {})})


def observation_1(lab: Lab) -> list[Claim]:
    """P-streams behind residual queues of different length; and Rapid's own estimates."""
    found = {name: trace(lab, burst) for name, burst in _BURSTS.items()}
    means, estimates = _estimates(lab)
    _draw(lab, found, estimates)
    return [*_gaps(found), *_means(means), *_for_good(lab)]


def _gaps(found: Mapping[str, Sequence[Pair]]) -> list[Claim]:
    busy = [pair for pairs in found.values() for pair in pairs if pair.is_busy]
    exact = sum(pair.left_gap == _PACKET_NS * (1 + pair.crossing) for pair in busy)
    agree = sum(pair.grew == pair.probes_too_fast for pair in busy)
    short, long = found["10 ms"], found["40 ms"]
    both = [(a, b) for a, b in zip(short, long, strict=False) if a.is_busy and b.is_busy]
    same = sum(a.left_gap == b.left_gap and a.number == b.number for a, b in both)
    every = "pairs of packets of one busy period"
    return [
        Claim(
            "equation 5: the departure gap is (P + B_CT) / C",
            "all",
            f"{exact} of {len(busy)}",
            "",
            exact == len(busy) > 0,
            f"to the nanosecond, of {every}",
        ),
        Claim(
            "it exceeds the arrival gap exactly where r_2 > C - R_CT",
            "all",
            f"{agree} of {len(busy)}",
            "",
            agree == len(busy) > 0,
            every,
        ),
        Claim(
            "the gaps are the same behind 10 ms of queue and behind 40 ms",
            "all",
            f"{same} of {len(both)}",
            "",
            same == len(both) > 0,
            "the same packets, to the nanosecond",
        ),
    ]


def _estimates(lab: Lab) -> tuple[dict[str, float], dict[str, list[Point]]]:
    """Rapid's own, at a rate that all but stands (tau 60 s), with and without a queue."""
    means: dict[str, float] = {}
    points: dict[str, list[Point]] = {}
    rapid = {"kind": "rapid", "tau": "60s", "eta": "60s"}
    for name, burst_us in _BURSTS.items():
        begin = {"flow.burst.source.on": f"{burst_us}us"} if burst_us else {}
        run = lab.run(
            _SCENARIO,
            set={
                "duration": "900ms",
                "record.interval": "500us",
                "flow.stream.control": rapid,
                "flow.cross.control": "none",
                "flow.cross.source": {
                    "kind": "on-off",
                    "rate": f"{round(300e6 / WIRE)}bit",
                    "on": "1s",
                    "off": "0s",
                },
                "flow.burst.start": "400ms" if burst_us else "899ms",
                **begin,
            },
        )
        series = run.flow("stream").series.drop_nulls("bandwidth_bps")
        told = [
            (1e3 * t, bps * WIRE / 1e6)
            for t, bps in series.select("t_s", "bandwidth_bps").iter_rows()
            # The burst's own news is over a round trip and its queue later.
            if t > 0.48
        ]
        points[name] = told
        means[name] = sum(mbit for _, mbit in told) / len(told)
    return means, points


def _means(means: Mapping[str, float]) -> list[Claim]:
    none = means["none"]
    why = (
        "mean over 0.42 s of the p-streams' estimates, 700 Mbit/s being available; which packets "
        "of the others fall between its own differs from run to run"
    )
    return [
        Claim(
            f"Rapid's estimate behind a queue of {name}, beside that without one",
            none,
            mean,
            "Mbit/s",
            abs(mean / none - 1) < 0.03,
            f"within 3 %, less than a step of the stream (4.5 %); {why}",
        )
        for name, mean in means.items()
        if name != "none"
    ]


_HIGH = Setting(on=25, off=25, load=100, tau=1000, eta=999)


def _for_good(lab: Lab) -> list[Claim]:
    """What the observation brings with it: a queue that Rapid makes at its start may stay."""
    job = Job(_HIGH, MODEL_SENDER, lab.pick(4, 2))
    [below] = measure(lab, [job])
    [above] = measure(lab, [job], {"flow.rapid.start": "0s"})
    text = f"{below.delay:.1f}, {above.delay:.1f}"
    return [
        Claim(
            "beyond the paper: greatest queue, started from below, and from above",
            None,
            text,
            "ms",
            None,
            "T_on 25, T_off 25, tau 1000, eta 999 ms, 100 Mbit/s, perfect estimate: what queued "
            "while the rate came down from C hides from Rapid, and stays; the model has "
            f"{1e3 * _HIGH.model()['D_s']:.1f} ms",
        )
    ]


_SHOWN = 60


def _draw(
    lab: Lab, found: Mapping[str, Sequence[Pair]], estimates: Mapping[str, Sequence[Point]]
) -> None:
    colours = dict(zip(_BURSTS, chart.COLOURS, strict=False))
    gaps = []
    for place, (name, pairs) in enumerate(found.items()):
        first = pairs[0].number
        points = [(p.number - first, (p.left_gap - p.gap) / 1e3) for p in pairs[:_SHOWN]]
        gaps.append(
            chart.dots(f"residual queue: {name}", points, colours[name], size=150 - 60 * place)
        )
    told = [
        chart.dots(f"residual queue: {name}", points, colours[name], size=6)
        for name, points in estimates.items()
    ]
    truth = chart.line("available", [(480, 700), (900, 700)], chart.PUBLISHED, dash=(6, 4))
    lab.draw(
        "observation-1",
        chart.document(
            "Observation 1: a residual queue does not show",
            f"{CAPACITY_MBIT:g} Mbit/s; p-streams of 30 packets beside traffic at a constant rate",
            [
                Panel(
                    "growth of each gap between two packets of a stream",
                    "packet (two streams)",
                    "departure gap - arrival gap, us",
                    gaps,
                ),
                Panel("what Rapid makes of it", "ms", "estimate, Mbit/s", [*told, truth]),
            ],
        ),
    )
