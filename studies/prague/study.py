"""How do Prague and CUBIC share a link, and which effects make the share?

Prague is draft-briscoe-iccrg-prague-congestion-control-04. The download is the test of Huitema, "A
Low Latency Internet with L4S" (2022); the law of shares is that of RFC 9332.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 1

LINE_MBPS = 50
MSS_BYTES = 1448
OPEN = {"handshake": "none"}
"""The connections are open at their start, as the law assumes."""
HANDSHAKE_S = 0.020
"""The published times include a handshake of one round trip."""


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs and fewer cases."""
    minute, minutes = (5, 20) if small else (60, 300)
    rtts = [20] if small else [10, 20, 40]
    return {
        "beside_cubic": beside_cubic(rtts, minute, runs=1 if small else 5),
        "alone": each(lambda queue: alone(queue, minute), COUPLED),
        "four_files": each(four_files, DOWNLOADS),
        "bucket": each(bucket, [3, 4] if small else range(1, 9)),
        "share": shares(rtts, [1] if small else [1, 10], minutes),
        "one_change": each(lambda change: one_change(change, minutes), CHANGES),
        "real_kernels": each(lambda rtt: real_kernels(rtt, minutes), PUBLISHED_MBPS),
        "long_path": each(lambda window: long_path(window, minute / 2), [10, 4]),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the shares beside one CUBIC as a table in Markdown."""
    rtts = sorted({row["rtt_ms"] for row in tables["beside_cubic"]})
    first = f"Prague / CUBIC at {rtts[0]} ms"
    lines = [["queue", first, *(f"{rtt} ms" for rtt in rtts[1:]), "Prague's delay", "CUBIC's"]]
    for queue in BOTTLENECKS:
        rows = {row["rtt_ms"]: row for row in tables["beside_cubic"] if row["queue"] == queue}
        ratios = [f"{rows[rtt]['ratio']:.2f}" for rtt in rtts]
        delays = [f"{rows[20][f'{name}_delay_p99_ms']:.1f} ms" for name in ("prague", "cubic")]
        lines.append([queue, *ratios, *delays])
    return markdown(lines)


# One bottleneck of 50 Mbit/s.

COUPLED = ["dualpi2", "dualpi2_linux"]
BOTTLENECKS: dict[str, dict[str, Any]] = {
    "dualpi2": {"queue": "dualpi2"},
    "dualpi2_linux": {"queue": "dualpi2_linux"},
    "threshold, 1 ms": {"queue": {"kind": "threshold", "ce_threshold": "1ms"}},
    "droptail, 40 ms": {"buffer": "40ms"},
}


def bulk(
    bottleneck: Mapping[str, Any],
    rtt_ms: int,
    seconds: float,
    *controls: str,
    **host: object,
) -> sojourn.Scenario:
    """Return the scenario of a bulk flow for each controller."""
    half = f"{rtt_ms * 500}us"
    scenario = (
        sojourn.Scenario(host="rfc", duration=f"{seconds}s", record={"interval": "0s"})
        .link("out", rate=f"{LINE_MBPS}Mbit", delay=half, **bottleneck)
        .link("back", delay=half)
    )
    for name in controls:
        scenario.flow(name, control=name, path=["out"], back=["back"], host={**OPEN, **host})
    return scenario


def alone(queue: str, seconds: float) -> Row:
    """Measure one Prague: all packets of the link are in the L queue."""
    run = sojourn.run(bulk(BOTTLENECKS[queue], 20, seconds, "prague"))
    link = run.link("out").summary
    return {
        "queue": queue,
        "rtt_ms": 20,
        "utilisation": rounded(link["utilisation"], 3),
        "l_queue_p50_ms": rounded(link["queue_delay_p50_s"], 2, 1e3),
        "l_queue_p99_ms": rounded(link["queue_delay_p99_s"], 2, 1e3),
    }


def beside_cubic(rtts: list[int], seconds: float, runs: int) -> list[Row]:
    """Measure one Prague beside one CUBIC over each queue."""
    cases = [(queue, rtt) for queue in BOTTLENECKS for rtt in rtts]
    return each(lambda case: pair(*case, seconds, runs), cases)


def pair(queue: str, rtt_ms: int, seconds: float, runs: int) -> Row:
    """Return the run with the median ratio of the rates."""
    scenario = bulk(BOTTLENECKS[queue], rtt_ms, seconds, "prague", "cubic")
    done = sojourn.run(scenario, seed=1, runs=runs, jobs=1)

    def flow(name: str, seed: int) -> Mapping[str, Any]:
        return done.flow(name, seed=seed).summary

    def ratio(seed: int) -> float:
        rates = (float(flow(name, seed)["goodput_bps"]) for name in ("prague", "cubic"))
        return next(rates) / next(rates)

    seed = sorted(range(1, runs + 1), key=ratio)[runs // 2]
    prague, cubic = flow("prague", seed), flow("cubic", seed)
    return {
        "queue": queue,
        "rtt_ms": rtt_ms,
        "prague_mbps": rounded(prague["goodput_bps"], 1, 1e-6),
        "cubic_mbps": rounded(cubic["goodput_bps"], 1, 1e-6),
        "ratio": rounded(ratio(seed), 2),
        "prague_delay_p99_ms": rounded(delay_s(prague), 1, 1e3),
        "cubic_delay_p99_ms": rounded(delay_s(cubic), 1, 1e3),
        "utilisation": rounded(done.link("out", seed=seed).summary["utilisation"], 3),
    }


def delay_s(flow: Mapping[str, Any]) -> float:
    """Return the 99th percentile of the RTT less propagation.

    It has the queueing delay and the packet's own transmission (0.24 ms).
    """
    return float(flow["rtt_p99_s"] - flow["base_rtt_s"])


def long_path(initial_window: int, seconds: float) -> Row:
    """Measure one Prague over a round trip of 160 ms.

    The initial window leaves at once, because the sender has no RTT to pace it by. Ten packets are
    2.4 ms of queue, so that some are marked. The first mark ends slow start.
    """
    scenario = bulk(BOTTLENECKS["dualpi2"], 160, seconds, "prague", initial_window=initial_window)
    link = sojourn.run(scenario).link("out").summary
    return {
        "initial_window_packets": initial_window,
        "rtt_ms": 160,
        "utilisation": rounded(link["utilisation"], 2),
    }


# Four files of 1 MB in sequence over QUIC.


@dataclass(frozen=True)
class Download:
    """A controller, and the figures that its test published."""

    name: str
    control: str | dict[str, Any]
    published: tuple[str | None, int | None, int | None] = (None, None, None)
    ecn: bool = True


BY_EPOCHS: dict[str, Any] = {
    "kind": "prague",
    "max_burst_delay": "6ms",
    "response": "epoch",
    "alpha_init": 0,
}
"""The response of picoquic. The pacer's bucket is a quarter of the window, as in its code."""
DRAFT: dict[str, Any] = {"kind": "prague", "max_burst_delay": "6ms"}
REPAIR = {"suspect_epoch": True}
DOWNLOADS = [
    Download("Prague by epochs, with the repair", BY_EPOCHS | REPAIR, ("under 3.5", 5, 6)),
    Download("Prague by epochs, without", BY_EPOCHS, ("3.7", None, None)),
    Download("Prague as in the draft, with the repair", DRAFT | REPAIR),
    Download("Prague as in the draft, without", DRAFT),
    Download("New Reno", "reno", ("3.8 to 4", 35, 25), ecn=False),
]


def download(control: str | dict[str, Any], ecn: bool) -> Mapping[str, Any]:
    """Return the flow over 10 Mbit/s, 10 ms each way and 1440 bytes a packet.

    The FIFO marks at 5 ms of queue and drops at 20 ms. `scenarios/l4s-download.toml` has the same
    test with its handshakes.
    """
    scenario = (
        sojourn.Scenario(host="rfc", duration="6s", start_jitter="0s", noise="none")
        .link(
            "down",
            rate="10Mbit",
            delay="10ms",
            buffer="20ms",
            queue={"kind": "threshold", "ce_threshold": "5ms"},
        )
        .link("up", rate="10Mbit", delay="10ms")
        .flow(
            "files",
            control=control,
            path=["down"],
            back=["up"],
            host={"like": "picoquic", "ecn": ecn, **OPEN},
            source={"kind": "request", "request": "257B", "response": "1MB", "count": 4},
        )
    )
    return sojourn.run(scenario).flow("files").summary


def four_files(case: Download) -> Row:
    """Measure a download beside the published figures.

    Huitema's stack increases its window by another rule, and it counts epochs after a reduction,
    which do not count here. Its slow start lasts one round trip longer, which costs five losses.
    Here slow start ends with a mark before the buffer is full.
    """
    flow = download(case.control, case.ecn)
    published_s, published_lost, published_ms = case.published
    return {
        "controller": case.name,
        "completion_s": rounded(flow["completion_s"], 2),
        "with_handshake_s": rounded(flow["completion_s"] + HANDSHAKE_S, 2),
        "published_s": published_s,
        "dropped_packets": flow["dropped_packets"],
        "published_dropped_packets": published_lost,
        "rtt_p99_over_min_ms": rounded(flow["rtt_p99_s"] - flow["rtt_min_s"], 0, 1e3),
        "published_rtt_over_min_ms": published_ms,
    }


def bucket(burst_ms: int) -> Row:
    """Measure the download by epochs with this size of the pacer's bucket.

    Below 4 ms, no packet is marked after a pause. The repair then matters only if an epoch at the
    threshold is slightly longer than the smoothed round trip.
    """
    control = {**BY_EPOCHS, "max_burst_delay": f"{burst_ms}ms"}
    repaired, unrepaired = (download({**control, **more}, ecn=True) for more in (REPAIR, {}))
    return {
        "bucket_ms": burst_ms,
        "repaired_s": rounded(repaired["completion_s"], 2),
        "unrepaired_s": rounded(unrepaired["completion_s"], 2),
    }


# The law of the share, and the measured value of each of its factors.

CLASSIC = 1.5**0.5
"""W sqrt(p) of Reno (Mathis et al., 1997), and of CUBIC's Reno-friendly region (RFC 9438, 4.3)."""
TARGET_MS = 15
"""The queue that the PI controller of DualPI2 holds for Classic traffic."""


@dataclass(frozen=True)
class Share:
    """Pairs of a Prague and a Classic flow over DualPI2, 50 Mbit/s a pair."""

    rtt_ms: int = 20
    pairs: int = 1
    queue: str | dict[str, Any] = "dualpi2"
    classic: str | dict[str, Any] = "cubic"
    prague: str | dict[str, Any] = "prague"
    rtt_virt_min_ms: float = 25

    def run(self, seconds: float) -> sojourn.Run:
        """Simulate the pairs."""
        half = f"{self.rtt_ms * 500}us"
        scenario = (
            sojourn.Scenario(host="rfc", duration=f"{seconds}s", record={"interval": "0s"})
            .link("out", rate=f"{LINE_MBPS * self.pairs}Mbit", delay=half, queue=self.queue)
            .link("back", delay=half)
        )
        flows = [("prague", self.prague, "37ms"), ("classic", self.classic, "31ms")]
        for name, control, stagger in flows:
            scenario.flow(
                name,
                control=control,
                path=["out"],
                back=["back"],
                count=self.pairs,
                stagger=stagger,
                host=OPEN,
            )
        return sojourn.run(scenario)

    def ratio_by_law(self) -> float:
        """Return Prague's rate over the Classic flow's by the law k = 2.

        RFC 9332 couples p_CL = k p' and p_C = p'^2, so that p_CL = 2 sqrt(p_C). Classic: W_C =
        1.22 / sqrt(p_C) packets, over a round trip with 15 ms of queue. Prague: an increase of one
        packet and a decrease of p_CL W_L / 2 in a round trip give W_L = 2 / p_CL, almost without
        queue. Below 25 ms, with M = 25 ms / RTT, it increases by 1/M^2 of a packet and reduces once
        in M round trips (section 2.4.4 of the draft): W_L = 2 / (M p_CL).
        """
        m = max(self.rtt_virt_min_ms / self.rtt_ms, 1.0)
        return 2 / m / (2 * CLASSIC) * (self.rtt_ms + TARGET_MS) / self.rtt_ms

    def factors(self, seconds: float) -> Row:
        """Measure the factors by which the law misses the ratio.

        `marks_per_virtual_rtt` is 2 by the law. Prague reduces at the first
        mark, waits for a round trip, and reduces at the next mark. If a round trip has v randomly
        spread marks, the next mark is 1/v of a round trip away. Then v / 2 = 1 + 1/v, and v is 1 +
        sqrt(3) = 2.73. Evenly spaced marks give between 2 and sqrt(6) = 2.45.

        `classic_w_sqrt_p` is W_C sqrt(p_C): 1.22 by the law. `coupling` is p_CL / (2 sqrt(p_C)): 1
        by the law. One CUBIC moves p'. It sees the mean of p'^2, and Prague sees the mean of p'. By
        Jensen's inequality the coupling is then below 1. `ratio` is the product of the law's ratio,
        marks / 2, 1.22 / (W_C sqrt(p_C)) and 1 / coupling, if the Classic queue is 15 ms long.
        """
        flows = self.run(seconds).runs[0]["flows"]
        prague = Kind([flow for flow in flows if flow["control"] == "prague"])
        classic = Kind([flow for flow in flows if flow["control"] != "prague"])
        m = max(self.rtt_virt_min_ms / 1e3 / prague.rtt_s, 1.0)
        return {
            "ratio_by_law": rounded(self.ratio_by_law(), 2),
            "marks_per_virtual_rtt": rounded(prague.window * prague.p * m, 2),
            "classic_w_sqrt_p": rounded(classic.window * classic.p**0.5, 2),
            "coupling": rounded(prague.p / (2 * classic.p**0.5), 2),
            "ratio": rounded(prague.goodput_bps / classic.goodput_bps, 2),
        }


class Kind:
    """Totals and means of the flows of one kind."""

    def __init__(self, flows: list[Any]) -> None:
        self.goodput_bps = float(sum(flow["goodput_bps"] for flow in flows))
        signals = sum(flow["marked_packets"] + flow["dropped_packets"] for flow in flows)
        self.p = signals / sum(flow["sent_packets"] for flow in flows)
        self.rtt_s = statistics.fmean(flow["rtt_mean_s"] for flow in flows)
        self.window = self.goodput_bps * self.rtt_s / len(flows) / (MSS_BYTES * 8)
        """Mean window of one flow, in packets."""


def shares(rtts: list[int], pairs: list[int], seconds: float) -> list[Row]:
    """Measure the factors over both queues."""
    cases = [(queue, count, rtt) for queue in COUPLED for count in pairs for rtt in rtts]

    def row(case: tuple[str, int, int]) -> Row:
        queue, count, rtt = case
        found = Share(rtt, count, queue).factors(seconds)
        return {"queue": queue, "rtt_ms": rtt, "pairs": count, **found}

    return each(row, cases)


BASE = Share()
LINUX = replace(BASE, queue="dualpi2_linux")
CWR = {"kind": "prague", "cwr": "linux"}
"""The rule of Linux's module 0.7 below 25 ms.

Its state CWR lasts for a real round trip. A mark after CWR, but within 25 ms of the last reduction,
enters CWR again without a reduction (`prague_enter_cwr`): the sender ignores the marks of another
round trip.
"""
CHANGES = [
    ("nothing", BASE),
    ("the L queue's own marking off", replace(BASE, queue={"kind": "dualpi2", "min_th": "1s"})),
    (
        "a time-shifted FIFO for the scheduler",
        replace(BASE, queue={"kind": "dualpi2", "scheduler": "ts-fifo"}),
    ),
    (
        "no fast convergence",
        replace(BASE, classic={"kind": "cubic", "fast_convergence": False}),
    ),
    ("no cubic region", replace(BASE, classic={"kind": "cubic", "c": 0.001})),
    ("Reno", replace(BASE, classic="reno")),
    (
        "each its own round trip",
        replace(BASE, prague={"kind": "prague", "rtt_virt_min": "0s"}, rtt_virt_min_ms=0),
    ),
    ("alpha of the last round trip", replace(BASE, prague={"kind": "prague", "g": 1.0})),
    ("alpha of 256 round trips", replace(BASE, prague={"kind": "prague", "g": 1 / 256})),
    ("nothing", LINUX),
    ("Linux's CWR", replace(LINUX, prague=CWR)),
    ("Linux's CWR", replace(BASE, prague=CWR)),
]
"""One change at a time, at 20 ms."""


def one_change(change: tuple[str, Share], seconds: float) -> Row:
    """Measure the factors after one change."""
    name, share = change
    queue = share.queue if isinstance(share.queue, str) else str(share.queue["kind"])
    classic = share.classic if isinstance(share.classic, str) else str(share.classic["kind"])
    return {"changed": name, "queue": queue, "classic": classic, **share.factors(seconds)}


PUBLISHED_MBPS = {
    10: [(34.57, 12.65), (34.09, 13.04)],
    20: [(32.39, 14.94), (31.85, 15.51)],
    80: [(29.58, 17.85), (29.92, 17.48)],
}
"""Mbit/s of Prague and CUBIC by base RTT in ms, for either order of the flows.

Heist and Morton, "L4S Tests" (github.com/heistp/l4s-tests, 2020, scenario 1): the last of three
minutes over L4STeam's kernel of August 2020. The ratio at 10 ms is that of a Prague without
RTT-independence.
"""


def real_kernels(rtt_ms: int, seconds: float) -> Row:
    """Compare the ratio with that of real kernels."""
    own = {"kind": "prague", "rtt_virt_min": "0s"}
    found = Share(rtt_ms, 1, "dualpi2_linux", prague=own, rtt_virt_min_ms=0).factors(seconds)
    first, second = (prague / cubic for prague, cubic in PUBLISHED_MBPS[rtt_ms])
    return {
        "rtt_ms": rtt_ms,
        "ratio_by_law": found["ratio_by_law"],
        "ratio": found["ratio"],
        "published_ratio_first": rounded(first, 2),
        "published_ratio_second": rounded(second, 2),
    }


def rounded(value: float | None, digits: int, scale: float = 1.0) -> float | None:
    """Return a figure in the unit of its column."""
    return None if value is None else round(value * scale, digits or None)
