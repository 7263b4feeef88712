"""Are Sojourn's latency spikes those that a published testbed of Linux hosts measured?

The measurements are not part of this repository. SOJOURN_TESTBED_DATA names the folder of
`latency-spike-testbed.csv` and `latency-spike-testbed-series.csv`; the default is `shared/data`
beside the checkout. Without them, the study keeps the measured figures of its last result.
"""

import csv
import json
import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import sojourn

MINUTES = 1

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Change = Callable[[sojourn.Scenario], None]

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SOJOURN_TESTBED_DATA") or HERE.parents[2] / "shared" / "data")
CONTROLS = ("bbr", "cubic", "dctcp")
DELAYS_MS = (25, 50, 75, 100)
# Recordings are published for two of the four delays.
RECORDED_MS = (25, 75)
RUNS = 30
# Time between two lines of `ss`, and between two samples of the simulation.
SAMPLING_S, INTERVAL_S = 0.23, 0.01
# The peak lies in the five seconds after the drop, as in the measurements.
PEAK_S = 5.0
MSS = 1448
# Capacity after the drop in payload: 1448 of 1514 bytes. A slower delivery than LOW_BPS is a dip.
AFTER_BPS = 30e6 * MSS / 1514
LOW_BPS = 0.8 * 2 * AFTER_BPS
# Dips are looked for in this time before the drop.
BEFORE_S, UP_TO_S = 20.0, 0.05


def measure(small: bool) -> Tables:
    """Simulate each cell of the measurements, and each candidate cause of DCTCP's spike."""
    delays, runs = (DELAYS_MS[:1], 2) if small else (DELAYS_MS, RUNS)
    cells, dips = [], []
    for control in CONTROLS:
        for delay_ms in delays:
            run = simulated(control, delay_ms, runs)
            cells.append(cell(control, delay_ms, run))
            if delay_ms in RECORDED_MS:
                dips.append(dips_of(control, delay_ms, run))
    names = list(CAUSES)[:2] if small else list(CAUSES)
    causes = [cause("measured", delay_ms, *measured("dctcp", delay_ms)) for delay_ms in delays]
    for name in names:
        for delay_ms in delays:
            found = simulated("dctcp", delay_ms, runs, CAUSES[name])
            causes.append(
                cause(name, delay_ms, median(spikes(found, delay_ms)), median(windows(found)))
            )
    return {"cells": cells, "dips": dips, "causes": causes}


def simulated(
    control: str, delay_ms: float, runs: int, change: Change | None = None
) -> sojourn.Run:
    """Run the testbed, with the drop spread over five seconds."""
    scenario = sojourn.Scenario.load("testbed")
    scenario["duration"] = f"{DURATION_S}s"
    scenario["link"]["netem"]["delay"] = f"{delay_ms}ms"
    if change:
        change(scenario)
    return sojourn.run(scenario, control=control, runs=runs)


def cell(control: str, delay_ms: int, run: sojourn.Run) -> Row:
    """Compare one cell of the measurements with its runs."""
    spike_ms, window = measured(control, delay_ms)
    ours, ratios = sorted(spikes(run, delay_ms)), window_ratios(run)
    low, high = nearest_rank(ours, 0.05), nearest_rank(ours, 0.95)
    drop = run.runs[0]["spikes"][0]
    return {
        "control": control,
        "delay_ms": delay_ms,
        "bound_ms": round((drop["from_bps"] / drop["to_bps"] - 1) * delay_ms),
        "measured_spike_ms": round(spike_ms, 1),
        "spike_p50_ms": round(median(ours), 1),
        "spike_p5_ms": round(low, 1),
        "spike_p95_ms": round(high, 1),
        "inside": low <= spike_ms <= high,
        "inside_widened": 0.9 * low <= spike_ms <= 1.1 * high,
        "spike_least_ms": round(ours[0], 1),
        "spike_most_ms": round(ours[-1], 1),
        "inside_all": ours[0] <= spike_ms <= ours[-1],
        "measured_window_packets": window,
        "window_packets": round(median(windows(run))),
        "window_ratio_least": round(min(ratios), 3),
        "window_ratio_most": round(max(ratios), 3),
    }


def measured(control: str, delay_ms: int) -> tuple[float, int]:
    """Return the measured spike in ms, and the greatest window in the second before it."""
    file = DATA / "latency-spike-testbed.csv"
    if file.exists():
        with file.open(newline="") as lines:
            (row,) = (
                row
                for row in csv.DictReader(lines)
                if (row["cc"], float(row["d_ms"])) == (control, delay_ms)
            )
        spike_ms = float(row["peak_minus_d_drop_aligned_ms"])
        return spike_ms, int(row["cwnd_max_last1s_pkts"])
    kept = stored("cells", control, delay_ms)
    return kept["measured_spike_ms"], kept["measured_window_packets"]


def stored(table: str, control: str, delay_ms: int) -> Row:
    """Return a row of the last result."""
    rows: list[Row] = json.loads((HERE / "result.json").read_text("utf-8"))[table]
    (row,) = (r for r in rows if (r["control"], r["delay_ms"]) == (control, delay_ms))
    return row


def nearest_rank(ranked: Sequence[float], q: float) -> float:
    """Return a quantile of sorted values."""
    return ranked[max(0, -(-round(q * 100) * len(ranked) // 100) - 1)]


def around_drops(run: sojourn.Run) -> Iterator[tuple[pl.DataFrame, float, int]]:
    """Return the samples of each run, the time of its drop, and its seed."""
    flows = {seed: frame for (seed,), frame in run.flows.group_by("seed")}
    for one in run.runs:
        yield flows[one["seed"]], one["spikes"][0]["at_s"], one["seed"]


def spikes(run: sojourn.Run, delay_ms: float) -> list[float]:
    """Return the peaks that sampling every 0.23 s with a random phase shows, minus the delay."""
    found = []
    for series, drop_s, seed in around_drops(run):
        after = series.filter(pl.col("t_s").is_between(drop_s, drop_s + PEAK_S))
        start_s = after["t_s"][0] + random.Random(seed).random() * SAMPLING_S
        place = ((pl.col("t_s") - start_s) / SAMPLING_S).floor()
        picked = after.with_columns(place=place).group_by("place").agg(pl.col("srtt_s").first())
        found.append(1e3 * max(picked["srtt_s"].to_list()) - delay_ms)
    return found


def windows(run: sojourn.Run) -> list[float]:
    """Return the greatest window of the second before each drop, in packets."""
    return [
        max(series.filter(pl.col("t_s").is_between(at_s - 1, at_s))["cwnd_bytes"].to_list()) / MSS
        for series, at_s, _ in around_drops(run)
    ]


def window_ratios(run: sojourn.Run) -> list[float]:
    """Return each peak RTT over the time that its window takes at the new capacity.

    The packet with the peak RTT left one round trip before its acknowledgement, and its window is
    the one of that time. The result uses the greater of the two adjacent samples, because between
    them a reduction of DCTCP may end with a burst that restores the window.
    """
    ratios = []
    for series, drop_s, _ in around_drops(run):
        after = series.filter(pl.col("t_s").is_between(drop_s, drop_s + PEAK_S))
        peak = after.row(int(after["rtt_s"].arg_max() or 0), named=True)
        left_s = peak["t_s"] - peak["rtt_s"]
        near = pl.col("t_s").is_between(left_s - INTERVAL_S, left_s + INTERVAL_S)
        window = max(series.filter(near)["cwnd_bytes"].to_list())
        ratios.append(peak["rtt_s"] * AFTER_BPS / (8 * window))
    return ratios


Sample = tuple[float, float, float]
"""The state of a flow as `ss` shows it: its delivery rate, 1.2 windows a smoothed round trip (both
in bit/s), and its window in packets."""

Features = tuple[float, float, float | None]
"""The share of dips in per cent, the lowest nominal rate in Mbit/s, and the recovery: the median
over the low windows of the greatest window of the next two samples, over the greatest of the
previous two. A window is low below 0.75 of the latter."""


def features(samples: Sequence[Sample]) -> Features:
    """Compute the figures of one series, sampled every 0.23 s."""
    seen = [window for _, _, window in samples]
    around = [
        (max(seen[at - 2 : at]), seen[at], max(seen[at + 1 : at + 3]))
        for at in range(2, len(seen) - 2)
    ]
    after = [later / earlier for earlier, now, later in around if now < 0.75 * earlier]
    return (
        100 * sum(rate < LOW_BPS for rate, _, _ in samples) / len(samples),
        min(nominal for _, nominal, _ in samples) / 1e6,
        median(after) if after else None,
    )


def dips_of(control: str, delay_ms: int, run: sojourn.Run) -> Row:
    """Compare the dips of the delivery rate before the drop, recorded and simulated.

    Depth and recovery mean nothing for CUBIC, and for BBR, which probes for its round trip.
    """
    row: Row = {"control": control, "delay_ms": delay_ms}
    theirs = recorded(control, delay_ms)
    ours = [features(sampled(*one)) for one in around_drops(run)]
    for place, (name, digits) in enumerate(FEATURES.items()):
        values = [one[place] for one in ours]
        kept = [v for v in values if v is not None] if control == "dctcp" or place == 0 else []
        shown = (median(kept), min(kept), max(kept)) if kept else (None, None, None)
        row[f"recorded_{name}"] = theirs[place] if kept else None
        for which, value in zip(("p50", "least", "most"), shown, strict=True):
            row[f"{which}_{name}"] = value if value is None else round(value, digits)
    return row


FEATURES = {"dips_percent": 0, "lowest_nominal_mbps": 1, "recovery": 2}


def recorded(control: str, delay_ms: int) -> list[float | None]:
    """Return the recorded figures, rounded."""
    file = DATA / "latency-spike-testbed-series.csv"
    if not file.exists():
        kept = stored("dips", control, delay_ms)
        return [kept[f"recorded_{name}"] for name in FEATURES]
    before = pl.col("t_since_drop_s").is_between(-BEFORE_S, -UP_TO_S)
    rows = pl.read_csv(file).filter(before, cc=control, d_ms=float(delay_ms)).iter_rows(named=True)
    found = features(
        [
            (
                1e6 * row["delivery_rate_mbps"],
                1.2 * 8 * MSS * row["cwnd_pkts"] / (1e-3 * row["tcp_srtt_ms"]),
                row["cwnd_pkts"],
            )
            for row in rows
        ]
    )
    digits = FEATURES.values()
    return [v if v is None else round(v, n) for v, n in zip(found, digits, strict=True)]


def sampled(series: pl.DataFrame, drop_s: float, seed: int) -> list[Sample]:
    """Return every 23rd sample before the drop."""
    every = round(SAMPLING_S / INTERVAL_S)
    at_s, delivered = series["t_s"].to_list(), series["delivered_bytes"].to_list()
    rtts = series["rtt_s"].fill_null(strategy="forward").to_list()
    srtts, bytes_ = series["srtt_s"].to_list(), series["cwnd_bytes"].to_list()
    first = bisect_right(at_s, drop_s - BEFORE_S) + random.Random(seed).randrange(every)
    return [
        (
            delivery_bps(at_s, delivered, rtts, at),
            1.2 * 8 * bytes_[at] / srtts[at],
            bytes_[at] / MSS,
        )
        for at in range(first, bisect_right(at_s, drop_s - UP_TO_S), every)
    ]


def delivery_bps(at_s: list[float], delivered: list[int], rtts: list[float], at: int) -> float:
    """Compute the rate of Linux's `tcp_rate_gen` for the newest acknowledged packet.

    The rate is the bytes delivered since the packet left, over the longer of two times: its own
    round trip, and that of the packet whose acknowledgement arrived when it left. Bytes are
    interpolated between samples.
    """
    left_s = at_s[at] - rtts[at]
    before = bisect_right(at_s, left_s) - 1
    part = (left_s - at_s[before]) / (at_s[before + 1] - at_s[before])
    start = delivered[before] + part * (delivered[before + 1] - delivered[before])
    return 8 * (delivered[at] - start) / max(rtts[at], rtts[before])


def cause(name: str, delay_ms: int, spike_ms: float, window: float) -> Row:
    """Return the columns of one cause at one delay."""
    shown = {"spike_ms": round(spike_ms, 1), "window_packets": round(window)}
    return {"cause": name, "delay_ms": delay_ms, **shown}


JITTER_MS = 10
# Pauses of the acknowledgement path: added delay, duration, and mean time between random pauses.
PAUSE_MS, PAUSED_MS, MEAN_GAP_MS = 20, 30, 700
# The drop comes before 30 s; `spread` moves a pause by up to 5 s, and the run must contain it.
PAUSES_UNTIL_MS, DURATION_S = 40_000, 47


def linux(**keys: str) -> Change:
    """Change keys of the testbed's host."""
    return lambda scenario: scenario.update(host={"like": "linux-5.10", "ecn": True, **keys})


def standard(tso: str) -> Change:
    """Reduce the window by RFC 9937, with the windows and the rounding of the testbed's host."""
    host = {"like": "rfc", "receive_window": "3MiB", "tso": tso}
    controls = ["cubic", "bbr", {"kind": "dctcp", "arithmetic": "linux"}]
    return lambda scenario: scenario.update(host=host, controls=controls)


def plain(scenario: sojourn.Scenario) -> None:
    """Disable bursts, and reduce the window by RFC 9937."""
    standard(tso="0B")(scenario)


def with_jitter(scenario: sojourn.Scenario) -> None:
    """Add random delays to the acknowledgements."""
    plain(scenario)
    scenario["link"]["netem"]["jitter"] = f"{JITTER_MS}ms"


def with_pauses(scenario: sojourn.Scenario) -> None:
    """Pause the acknowledgements at random, which empties the queue like a pause of the host."""
    plain(scenario)
    netem, draws = scenario["link"]["netem"], random.Random(1)
    start_ms = float(netem["delay"].removesuffix("ms"))
    steps, at_ms = [], 2000
    while at_ms < PAUSES_UNTIL_MS:
        steps.append({"at": f"{at_ms}ms", "delay": f"{start_ms + PAUSE_MS}ms"})
        steps.append({"at": f"{at_ms + PAUSED_MS}ms", "delay": f"{start_ms}ms"})
        at_ms += PAUSED_MS + 1 + round(draws.expovariate(1 / (MEAN_GAP_MS - PAUSED_MS)))
    netem["delay"] = {"start": netem["delay"], "steps": steps}


def with_exact_alpha(scenario: sojourn.Scenario) -> None:
    """Use Linux's bursts and reduction, but a floating-point alpha."""
    scenario["controls"] = [{"kind": "dctcp", "arithmetic": "exact"}]


CAUSES: dict[str, Change] = {
    "bursts, and Linux 5.10's rule of reduction": linux(),
    "the same with alpha as a float": with_exact_alpha,
    'bursts alone (prr = "rfc9937")': standard(tso="64KiB"),
    'the rule alone (tso = "0B")': linux(tso="0B"),
    "neither": plain,
    f"neither, {JITTER_MS} ms of jitter on the acknowledgements": with_jitter,
    f"neither, the acknowledgements {PAUSE_MS} ms late for {PAUSED_MS} ms, "
    f"every {MEAN_GAP_MS} ms at random": with_pauses,
}


# Size of a panel, its place, and its scales, in pixels.
WIDE, HIGH, LEFT, TOP, PITCH = 118, 190, 34, 30, 140
GREATEST_MS = 320


def draw(tables: Tables, folder: Path) -> None:
    """Draw the measured and the simulated spikes over the delay, a panel for each controller."""
    width, height = LEFT + 3 * PITCH, TOP + HIGH + 58
    style = (
        "text{font:12px sans-serif;fill:#222}.m{text-anchor:middle}.e{text-anchor:end}"
        ".b{font-weight:bold}.g{stroke:#ddd}.f{stroke:#888;stroke-dasharray:4 3;fill:none}"
        ".a{stroke:#4c78a8;stroke-width:1.5}.q{stroke:#4c78a8;stroke-width:9;stroke-opacity:.45}"
        ".o{fill:none;stroke:#c33;stroke-width:2}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{style}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="4" y="12">spike, ms</text>',
    ]
    for place, control in enumerate(CONTROLS):
        rows = [row for row in tables["cells"] if row["control"] == control]
        parts += panel(control, rows, LEFT + PITCH * place)
    x, y = LEFT, height - 6
    parts += [
        f'<circle cx="{x + 5}" cy="{y - 4}" r="4" class="o"/>',
        f'<text x="{x + 14}" y="{y}">measured</text>',
        f'<path d="M{x + 84} {y - 4}h16" class="q"/><path d="M{x + 78} {y - 4}h28" class="a"/>',
        f'<text x="{x + 110}" y="{y}">30 runs, 5th to 95th percentile</text>',
        f'<path d="M{x + 300} {y - 4}h20" class="f"/><text x="{x + 324}" y="{y}">bound</text>',
        "</svg>",
    ]
    (folder / "spikes.svg").write_text("\n".join(parts) + "\n", "utf-8")


def panel(control: str, rows: list[Row], left: int) -> Iterator[str]:
    """Return the elements of a panel."""
    yield f'<text x="{left + WIDE // 2}" y="{TOP - 6}" class="m b">{control}</text>'
    for ms in range(0, GREATEST_MS, 100):
        yield f'<path d="M{left} {up(ms)}h{WIDE}" class="g"/>'
        if left == LEFT:
            yield f'<text x="{left - 4}" y="{up(ms) + 4}" class="e">{ms}</text>'
    for row in rows:
        x = left + across(row["delay_ms"])
        low, high = up(row["spike_p5_ms"]), up(row["spike_p95_ms"])
        least, most = up(row["spike_least_ms"]), up(row["spike_most_ms"])
        yield f'<path d="M{x} {low + 1}V{high - 1}" class="q"/>'
        yield f'<path d="M{x} {least}V{most}" class="a"/>'
        yield f'<circle cx="{x}" cy="{up(row["measured_spike_ms"])}" r="4" class="o"/>'
        yield f'<text x="{x}" y="{TOP + HIGH + 16}" class="m">{row["delay_ms"]}</text>'
    points = " ".join(f"{left + across(row['delay_ms'])},{up(row['bound_ms'])}" for row in rows)
    yield f'<polyline points="{points}" class="f"/>'
    if control == CONTROLS[1]:
        yield f'<text x="{left + WIDE // 2}" y="{TOP + HIGH + 34}" class="m">delay, ms</text>'


def across(delay_ms: float) -> int:
    """Return the place of a delay in a panel."""
    return round(WIDE * (delay_ms - 10) / 105)


def up(spike_ms: float) -> float:
    """Return the height of a spike."""
    return round(TOP + HIGH * (1 - spike_ms / GREATEST_MS), 1)
