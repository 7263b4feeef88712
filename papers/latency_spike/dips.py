"""The dips of DCTCP's window on the testbed, recorded and simulated, compared by three figures.

`python -m papers.latency_spike.dips` prints them as a table (studies/testbed).
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl
import sojourn

from .testbed import AFTER_BPS, DATA, INTERVAL_S, RUNS, SAMPLING_S, scenario

CONTROLS = ("bbr", "cubic", "dctcp")
# Recordings are published for two of the four delays.
DELAYS_MS = (25.0, 75.0)
# The interval before the drop, which ends at the last sample that certainly precedes it.
FROM_S, TO_S = 20.0, 0.05
# A delivery rate below this is a dip.
LOW_BPS = 0.8 * 2 * AFTER_BPS


@dataclass(frozen=True)
class Sample:
    """The state of a flow at one time, as `ss` shows it."""

    delivery_bps: float
    nominal_bps: float
    """1.2 windows per smoothed round-trip time."""
    window: float
    """In packets."""


@dataclass(frozen=True)
class Features:
    """The compared figures of one series, sampled every 0.23 s."""

    dips: float
    """Share of the samples whose delivery rate is a dip."""
    lowest_nominal_bps: float
    recovery: float | None
    """Median over the low windows of the greatest window of the next two samples, relative to the
    greatest of the previous two. A window is low below 0.75 of the latter. None without any."""


def features(samples: Sequence[Sample]) -> Features:
    """Compute the figures of one series."""
    windows = [sample.window for sample in samples]
    around = [
        (max(windows[at - 2 : at]), windows[at], max(windows[at + 1 : at + 3]))
        for at in range(2, len(windows) - 2)
    ]
    after = [later / earlier for earlier, now, later in around if now < 0.75 * earlier]
    return Features(
        dips=sum(sample.delivery_bps < LOW_BPS for sample in samples) / len(samples),
        lowest_nominal_bps=min(sample.nominal_bps for sample in samples),
        recovery=median(after) if after else None,
    )


def recorded(control: str, delay_ms: float) -> list[Sample]:
    """Return the recorded samples of the 20 s before the drop."""
    series = pl.read_csv(DATA.with_name("latency-spike-testbed-series.csv"))
    before = pl.col("t_since_drop_s").is_between(-FROM_S, -TO_S)
    rows = series.filter(before, cc=control, d_ms=delay_ms).iter_rows(named=True)
    return [
        Sample(
            1e6 * row["delivery_rate_mbps"],
            1.2 * 8 * 1448 * row["cwnd_pkts"] / (1e-3 * row["tcp_srtt_ms"]),
            row["cwnd_pkts"],
        )
        for row in rows
    ]


def simulated(control: str, delay_ms: float) -> list[list[Sample]]:
    """Return the samples of our runs, each sampled every 0.23 s with a random phase."""
    run = sojourn.run(scenario(delay_ms), control=control, runs=RUNS)
    flows = {seed: frame for (seed,), frame in run.flows.group_by("seed")}
    return [sampled(flows[one["seed"]], one["spikes"][0]["at_s"], one["seed"]) for one in run.runs]


def sampled(series: pl.DataFrame, drop_s: float, seed: int) -> list[Sample]:
    """Return every 23rd sample before the drop."""
    every = round(SAMPLING_S / INTERVAL_S)
    at_s, delivered = series["t_s"].to_list(), series["delivered_bytes"].to_list()
    rtts = series["rtt_s"].fill_null(strategy="forward").to_list()
    srtts, windows = series["srtt_s"].to_list(), series["cwnd_bytes"].to_list()
    first = bisect_right(at_s, drop_s - FROM_S) + random.Random(seed).randrange(every)
    picked = range(first, bisect_right(at_s, drop_s - TO_S), every)
    return [
        Sample(
            delivery_rate(at_s, delivered, rtts, at),
            1.2 * 8 * windows[at] / srtts[at],
            windows[at] / 1448,
        )
        for at in picked
    ]


def delivery_rate(at_s: list[float], delivered: list[int], rtts: list[float], at: int) -> float:
    """Compute the rate of Linux's `tcp_rate_gen` for the newest acknowledged packet.

    The rate is the bytes delivered since the packet left, over the longer of two times: the
    packet's own round trip, and the time in which it and its predecessors were sent. The latter is
    the round trip of the packet whose acknowledgement arrived when it left. Bytes are interpolated
    between samples.
    """
    left_s = at_s[at] - rtts[at]
    before = bisect_right(at_s, left_s) - 1
    part = (left_s - at_s[before]) / (at_s[before + 1] - at_s[before])
    start = delivered[before] + part * (delivered[before + 1] - delivered[before])
    return 8 * (delivered[at] - start) / max(rtts[at], rtts[before])


def table() -> str:
    """Format recorded and simulated figures, one line per controller and delay.

    The depth of dips is meaningless for CUBIC, and for BBR, which probes for its round trip.
    """
    lines = [
        "| control | d | dips recorded | simulated | lowest nominal rate recorded | simulated "
        "| window after a low one recorded | simulated |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for control in CONTROLS:
        for delay_ms in DELAYS_MS:
            theirs = features(recorded(control, delay_ms))
            ours = [features(run) for run in simulated(control, delay_ms)]
            cells = [f"{100 * theirs.dips:.0f} %", spread([100 * one.dips for one in ours], " %")]
            cells += depth(theirs, ours) if control == "dctcp" else ["–"] * 4
            lines.append(f"| {control} | {delay_ms:.0f} ms | {' | '.join(cells)} |")
    return "\n".join(lines)


def depth(theirs: Features, ours: list[Features]) -> list[str]:
    """Format the depth of the dips, and the recovery after them."""
    nominal = [one.lowest_nominal_bps / 1e6 for one in ours]
    return [
        f"{theirs.lowest_nominal_bps / 1e6:.1f} Mbit/s",
        spread(nominal, " Mbit/s", 1),
        f"{theirs.recovery:.2f}",
        spread([one.recovery for one in ours if one.recovery is not None], "", 2),
    ]


def spread(values: list[float], unit: str, digits: int = 0) -> str:
    """Format the median, with minimum and maximum in brackets."""
    least, middle, most = (f"{v:.{digits}f}" for v in (min(values), median(values), max(values)))
    return f"{middle} ({least} to {most}){unit}"


if __name__ == "__main__":
    print(table())
