"""Simulation of the published testbed cell by cell, the basis of a test.

The measurements have one run for each cell of the testbed of "A Lower Bound on Latency Spikes":
smoothed round-trip times that `ss` reported every 0.23 s.
`python -m papers.latency_spike.testbed` prints the cells as a table (studies/testbed).
"""

import csv
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl
import sojourn
from sojourn.run_summary import SpikeSummary

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "latency-spike-testbed.csv"
RUNS = 30
SAMPLING_S = 0.23
# Sampling interval of the simulation: `record.interval`.
INTERVAL_S = 0.01
# The peak lies in the five seconds after the drop, as in the measurements.
WINDOW_S = 5.0
# Capacity after the drop in payload: 1448 of 1514 bytes.
AFTER_BPS = 30e6 * 1448 / 1514


# Changes the scenario of a cell.
Change = Callable[[sojourn.Scenario], None]


@dataclass(frozen=True)
class Spikes:
    """The effect of the drop on one controller at one delay, with one value per run."""

    control: str
    delay_ms: float
    spikes_ms: list[float]
    """Peak of the sampled srtt minus the delay, the same quantity as in the measurements."""
    true_spikes_ms: list[float]
    """Peak queueing delay at the bottleneck."""
    bounds_ms: list[float]
    corrected_ms: list[float]
    """The bound for the traffic that the link carried in the last second before the drop."""
    last_round_ms: list[float]
    """The bound for the traffic that the link carried in one delay before the drop."""

    def quantile(self, q: float) -> float:
        """Nearest-rank quantile of the sampled spikes."""
        ranked = sorted(self.spikes_ms)
        return ranked[max(0, -(-round(q * 100) * len(ranked) // 100) - 1)]


@dataclass(frozen=True)
class Cell(Spikes):
    """One cell of the measurements with its runs."""

    measured_ms: float
    measured_window: int
    """Greatest window in the second before the drop, in packets."""
    windows: list[float]
    """The simulated windows, one per run."""
    window_ratios: list[float]
    """Peak RTT over window x MSS / new capacity, one per run."""

    @property
    def distance(self) -> float:
        """The distance of the simulated median from the measured spike, relative to the latter."""
        return abs(median(self.spikes_ms) - self.measured_ms) / self.measured_ms

    @property
    def is_inside(self) -> bool:
        """Whether the measured spike lies between the simulated 5th and 95th percentile."""
        return self.quantile(0.05) <= self.measured_ms <= self.quantile(0.95)

    @property
    def is_among(self) -> bool:
        """Whether the measured spike lies between the minimum and the maximum of the runs."""
        return min(self.spikes_ms) <= self.measured_ms <= max(self.spikes_ms)

    @property
    def is_inside_widened(self) -> bool:
        """Whether the measured spike lies between the 5th and 95th percentile, widened by 10 %."""
        return 0.9 * self.quantile(0.05) <= self.measured_ms <= 1.1 * self.quantile(0.95)


def cells(data: Path = DATA) -> list[Cell]:
    """Simulate every cell of the measurements."""
    return [simulate(row) for row in rows(data)]


def rows(data: Path = DATA) -> list[dict[str, str]]:
    """Load the measurements, one row per cell."""
    with data.open(newline="") as file:
        return list(csv.DictReader(file))


def scenario(delay_ms: float) -> sojourn.Scenario:
    """Load the testbed with one of its delays."""
    loaded = sojourn.Scenario.load(ROOT / "scenarios" / "testbed.toml")
    loaded["link"]["netem"]["delay"] = f"{delay_ms}ms"
    return loaded


def simulate(row: dict[str, str], change: Change | None = None) -> Cell:
    """Simulate thirty runs of one cell, with the drop spread over five seconds."""
    changed = scenario(float(row["d_ms"]))
    if change:
        change(changed)
    return cell(row, sojourn.run(changed, control=row["cc"], runs=RUNS))


def cell(row: dict[str, str], run: sojourn.Run) -> Cell:
    """Combine a cell of the measurements with its runs."""
    windows, ratios = [], []
    for series, at_s in around_drops(run):
        before = series.filter(pl.col("t_s").is_between(at_s - 1, at_s))
        windows.append(float(before["cwnd_bytes"].max()) / 1448)  # type: ignore[arg-type]
        ratios.append(window_ratio(series, at_s))
    return Cell(
        **vars(spikes(run, row["cc"], float(row["d_ms"]))),
        measured_ms=float(row["peak_minus_d_drop_aligned_ms"]),
        measured_window=int(row["cwnd_max_last1s_pkts"]),
        windows=windows,
        window_ratios=ratios,
    )


def spikes(run: sojourn.Run, control: str, delay_ms: float) -> Spikes:
    """Compute the spikes of runs at one delay, both sampled like the testbed and exact."""
    sampled = []
    for one, (series, at_s) in zip(run.runs, around_drops(run), strict=True):
        after = series.filter(pl.col("t_s").is_between(at_s, at_s + WINDOW_S))
        sampled.append(1e3 * peak_srtt(after, one["seed"]) - delay_ms)
    found = [one["spikes"][0] for one in run.runs]
    return Spikes(
        control=control,
        delay_ms=delay_ms,
        spikes_ms=sampled,
        true_spikes_ms=[1e3 * (spike["spike_s"] or 0.0) for spike in found],
        bounds_ms=[1e3 * (spike["bound_s"] or 0.0) for spike in found],
        corrected_ms=[_last_second(spike, delay_ms) for spike in found],
        last_round_ms=_last_rounds(run, delay_ms),
    )


def _last_second(spike: SpikeSummary, delay_ms: float) -> float:
    """Equation 2 with the rate of the last second before the drop, as in the testbed's data."""
    r = min(spike["carried_before_bps"] or 0.0, spike["from_bps"]) / spike["to_bps"]
    return max(0.0, r - 1.0) * delay_ms


def _last_rounds(run: sojourn.Run, delay_ms: float) -> list[float]:
    """Equation 2 with the rate of the last round trip before the drop instead of the capacity.

    The acknowledgements of this traffic clock out the packets that arrive before the sender reacts.
    """
    links = run.links.filter(link="bottleneck").partition_by("seed", as_dict=True)
    bounds = []
    for one in run.runs:
        spike = one["spikes"][0]
        begin_s = spike["at_s"] - 1e-3 * delay_ms - INTERVAL_S
        # A sample describes the interval that it ends.
        part = links[(one["seed"],)].filter(pl.col("t_s").is_between(begin_s, spike["at_s"]))
        carried = float(part["carried_bps"].mean())  # type: ignore[arg-type]
        bounds.append(max(0.0, carried / spike["to_bps"] - 1) * delay_ms)
    return bounds


def around_drops(run: sojourn.Run) -> list[tuple[pl.DataFrame, float]]:
    """Return the upload's samples of each run, and the time of its capacity drop."""
    flows = {seed: frame for (seed,), frame in run.flows.group_by("seed")}
    return [(flows[one["seed"]], one["spikes"][0]["at_s"]) for one in run.runs]


def peak_srtt(after: pl.DataFrame, seed: int) -> float:
    """Return the peak that sampling every 0.23 s with a random phase shows."""
    phase = random.Random(seed).random() * SAMPLING_S
    start = after["t_s"][0]
    place = ((pl.col("t_s") - start - phase) / SAMPLING_S).floor()
    picked = after.with_columns(place=place).group_by("place").agg(pl.col("srtt_s").first())
    return float(picked["srtt_s"].max())  # type: ignore[arg-type]


def window_ratio(series: pl.DataFrame, start_s: float) -> float:
    """Peak RTT over the time that its window takes at the new capacity.

    The packet with the peak RTT left one round trip before its acknowledgement, and its window is
    the one of that time. The result uses the greater of the two adjacent samples, because between
    them a reduction of DCTCP may end with a burst that restores the window.
    """
    after = series.filter(pl.col("t_s").is_between(start_s, start_s + WINDOW_S))
    peak = after.row(int(after["rtt_s"].arg_max() or 0), named=True)
    left_s = peak["t_s"] - peak["rtt_s"]
    around = series.filter(pl.col("t_s").is_between(left_s - INTERVAL_S, left_s + INTERVAL_S))
    return float(peak["rtt_s"]) * AFTER_BPS / (8 * float(around["cwnd_bytes"].max()))  # type: ignore[arg-type]


def table(all_cells: list[Cell]) -> str:
    """Format the cells as a table."""
    lines = [
        "| control | d | bound | measured | simulated median | 5th to 95th "
        "| inside the 5th to 95th | inside, widened by 10 % | least to greatest | inside that "
        "| window measured | simulated | peak RTT / (window / capacity) |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in all_cells:
        low, high = cell.quantile(0.05), cell.quantile(0.95)
        lines.append(
            f"| {cell.control} | {cell.delay_ms:.0f} ms | {median(cell.bounds_ms):.0f} ms "
            f"| {cell.measured_ms:.1f} ms | {median(cell.spikes_ms):.1f} ms "
            f"| {low:.1f} to {high:.1f} ms | {yes(cell.is_inside)} "
            f"| {yes(cell.is_inside_widened)} "
            f"| {min(cell.spikes_ms):.1f} to {max(cell.spikes_ms):.1f} ms | {yes(cell.is_among)} "
            f"| {cell.measured_window} | {median(cell.windows):.0f} "
            f"| {min(cell.window_ratios):.3f} to {max(cell.window_ratios):.3f} |"
        )
    return "\n".join(lines)


def yes(holds: bool) -> str:
    """Format as yes or no."""
    return "yes" if holds else "no"


if __name__ == "__main__":
    print(table(cells()))
