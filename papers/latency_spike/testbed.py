"""The spikes of runs of the published testbed, beside its measurements.

The measurements have one run for each cell of the testbed of "A Lower Bound on Latency Spikes":
smoothed round-trip times that `ss` reported every 0.23 s. studies/testbed compares more of them.
"""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import sojourn
from sojourn.record.record_types import SpikeSummary

SAMPLING_S = 0.23
# Sampling interval of the simulation: `record.interval`.
INTERVAL_S = 0.01
# The peak lies in the five seconds after the drop, as in the measurements.
WINDOW_S = 5.0


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

    @property
    def is_inside(self) -> bool:
        """Whether the measured spike lies between the simulated 5th and 95th percentile."""
        return self.quantile(0.05) <= self.measured_ms <= self.quantile(0.95)


def rows(data: Path) -> list[dict[str, str]]:
    """Load the measurements, one row per cell."""
    with data.open(newline="") as file:
        return list(csv.DictReader(file))


def cell(row: dict[str, str], run: sojourn.Run) -> Cell:
    """Combine a cell of the measurements with its runs."""
    found = spikes(run, row["cc"], float(row["d_ms"]))
    return Cell(**vars(found), measured_ms=float(row["peak_minus_d_drop_aligned_ms"]))


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
        bounds_ms=[(spike["from_bps"] / spike["to_bps"] - 1) * delay_ms for spike in found],
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
