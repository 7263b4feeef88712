"""Observation 1 at packet level: a residual queue does not affect the estimate of a p-stream.

The paper's appendix IX: for packets of one busy period, the departure gap is
(P + B_CT(a1, a2)) / C for any queue length (equation 5). It therefore exceeds the arrival gap
exactly if the probing rate exceeds C - R_CT.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from sojourn.picture import chart
from sojourn.picture.chart import Panel, Point
from sojourn_papers import Claim, Lab

from .pairs import BURSTS, PACKET_NS, SCENARIO, Pair, trace
from .setting import CAPACITY_MBIT, MODEL_SENDER, WIRE, Job, Setting, measure


def observation_1(lab: Lab) -> list[Claim]:
    """Compare p-streams behind residual queues of different lengths, and Rapid's own estimates."""
    found = {name: trace(lab, burst) for name, burst in BURSTS.items()}
    means, estimates = _estimates(lab)
    _draw(lab, found, estimates)
    return [*_gaps(found), *_means(means), *_for_good(lab)]


def _gaps(found: Mapping[str, Sequence[Pair]]) -> list[Claim]:
    busy = [pair for pairs in found.values() for pair in pairs if pair.is_busy]
    exact = sum(pair.left_gap == PACKET_NS * (1 + pair.crossing) for pair in busy)
    agree = sum(pair.grew == pair.probes_too_fast for pair in busy)
    short, long = found["10 ms"], found["40 ms"]
    both = [(a, b) for a, b in zip(short, long, strict=False) if a.is_busy and b.is_busy]
    same = sum(a.left_gap == b.left_gap and a.number == b.number for a, b in both)
    every = "pairs of packets in one busy period"
    return [
        Claim(
            "equation 5: the departure gap is (P + B_CT) / C",
            "all",
            f"{exact} of {len(busy)}",
            "",
            exact == len(busy) > 0,
            f"exact to the nanosecond; {every}",
        ),
        Claim(
            "it exceeds the arrival gap exactly if r_2 > C - R_CT",
            "all",
            f"{agree} of {len(busy)}",
            "",
            agree == len(busy) > 0,
            every,
        ),
        Claim(
            "the gaps are the same with residual queues of 10 ms and 40 ms",
            "all",
            f"{same} of {len(both)}",
            "",
            same == len(both) > 0,
            "the same packets, to the nanosecond",
        ),
    ]


def _estimates(lab: Lab) -> tuple[dict[str, float], dict[str, list[Point]]]:
    """Rapid's own estimates at a nearly constant rate (tau 60 s), with and without a queue."""
    means: dict[str, float] = {}
    points: dict[str, list[Point]] = {}
    rapid = {"kind": "rapid", "tau": "60s", "eta": "60s"}
    for name, burst_us in BURSTS.items():
        begin = {"flow.burst.source.on": f"{burst_us}us"} if burst_us else {}
        run = lab.run(
            SCENARIO,
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
            # The burst's own estimates have arrived by then: a round trip plus its queue.
            if t > 0.48
        ]
        points[name] = told
        means[name] = sum(mbit for _, mbit in told) / len(told)
    return means, points


def _means(means: Mapping[str, float]) -> list[Claim]:
    return [
        Claim(
            f"beyond the paper: Rapid's mean estimate, residual queue: {name}",
            None,
            mean,
            "Mbit/s",
            None,
            "mean of the p-streams' estimates over 0.42 s; 700 Mbit/s are available. The "
            "cross-traffic packets between the packets of a stream differ from run to run",
        )
        for name, mean in means.items()
    ]


_HIGH = Setting(on=25, off=25, load=100, tau=1000, eta=999)


def _for_good(lab: Lab) -> list[Claim]:
    """Check a consequence of the observation: a queue from Rapid's start-up may persist."""
    job = Job(_HIGH, MODEL_SENDER, lab.pick(4, 2))
    [below] = measure(lab, [job])
    [above] = measure(lab, [job], {"flow.rapid.start": "0s"})
    text = f"{below.delay:.1f}, {above.delay:.1f}"
    return [
        Claim(
            "beyond the paper: maximum queue, with a start at a lower rate, and at C",
            None,
            text,
            "ms",
            None,
            "T_on 25, T_off 25, tau 1000, eta 999 ms, 100 Mbit/s, perfect estimate. The queue "
            "grows while the rate falls from C. Rapid cannot detect this queue, so it persists; "
            f"the model gives {1e3 * _HIGH.model()['D_s']:.1f} ms",
        )
    ]


_SHOWN = 60


def _draw(
    lab: Lab, found: Mapping[str, Sequence[Pair]], estimates: Mapping[str, Sequence[Point]]
) -> None:
    colours = dict(zip(BURSTS, chart.COLOURS, strict=False))
    gaps = []
    for place, (name, pairs) in enumerate(found.items()):
        first = pairs[0].number
        points = [(p.number - first, (p.left_gap - p.gap) / 1e3) for p in pairs[:_SHOWN]]
        gaps.append(
            chart.dots(f"residual queue: {name}", points, colours[name], size=150 - 60 * place)
        )
    told = []
    for place, (name, heard) in enumerate(estimates.items()):
        counts = Counter(5.0 * round(mbit / 5) for _, mbit in heard)
        shares = [(mbit, 100 * count / len(heard)) for mbit, count in sorted(counts.items())]
        size = 150 - 60 * place
        told.append(chart.dots(f"residual queue: {name}", shares, colours[name], size=size))
    truth = chart.line("available", [(700, 0), (700, 40)], chart.PUBLISHED, dash=(6, 4))
    lab.draw(
        "observation-1",
        chart.Document(
            "Observation 1: a residual queue does not change the estimates",
            f"{CAPACITY_MBIT:g} Mbit/s; p-streams of 30 packets beside traffic at a constant rate",
            [
                Panel(
                    "growth of each gap between two packets of a stream",
                    "packet (two streams)",
                    "departure gap - arrival gap, us",
                    gaps,
                ),
                Panel(
                    "Rapid's estimates",
                    "estimate of a stream, Mbit/s",
                    "streams, %",
                    [*told, truth],
                ),
            ],
        ),
    )
