"""Comparison of simulations with the published testbed, cell by cell."""

import fcntl
import pickle
from statistics import median

import polars as pl
import pytest

from papers.latency_spike.causes import CAUSES, dctcp
from papers.latency_spike.dips import (
    CONTROLS,
    DELAYS_MS,
    FROM_S,
    TO_S,
    Features,
    features,
    recorded,
)
from papers.latency_spike.dips import simulated as simulated_samples
from papers.latency_spike.testbed import DATA, Cell, rows, simulate

pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason=f"the testbed's measurements are not here: {DATA.name}"
)


# Cells at the shortest delay, and at all delays.
ALL = pytest.param("all", marks=pytest.mark.long)


@pytest.fixture(scope="module", params=["shortest", ALL])
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, testrun_uid: str
) -> list[Cell]:
    """Simulated cells, with thirty runs each; one worker simulates them, and the others wait."""
    size: str = request.param
    wanted = [row for row in rows() if size == "all" or float(row["d_ms"]) == DELAYS_MS[0]]
    file = tmp_path_factory.getbasetemp().parent / f"testbed-{size}-{testrun_uid}.pickle"
    with file.open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        if file.stat().st_size == 0:
            shared.write(pickle.dumps([simulate(row) for row in wanted]))
        shared.seek(0)
        found: list[Cell] = pickle.load(shared)
    return found


def test_no_spike_of_bbr_or_dctcp_is_below_the_bound(simulated: list[Cell]) -> None:
    for cell in simulated:
        if cell.control in ("bbr", "dctcp"):
            assert min(cell.true_spikes_ms) > max(cell.bounds_ms), cell


def test_cubic_peaks_at_its_window_over_the_new_capacity(simulated: list[Cell]) -> None:
    # 5 %: the testbed data agree with the formula to within -2 to +5 %.
    for cell in simulated:
        if cell.control == "cubic":
            assert all(0.95 <= ratio <= 1.05 for ratio in cell.window_ratios), cell


def test_dctcp_peaks_at_its_window_over_the_new_capacity(simulated: list[Cell]) -> None:
    # 15 %: the window is sampled only every 10 ms, and the end of a reduction adds a burst to it.
    # The measurements agree with the formula to within 5 %.
    for cell in simulated:
        if cell.control == "dctcp":
            assert all(0.95 <= ratio <= 1.15 for ratio in cell.window_ratios), cell


@pytest.mark.parametrize("simulated", [ALL], indirect=True)
def test_measured_spikes_lie_among_the_simulated(simulated: list[Cell]) -> None:
    outside = [(c.control, c.delay_ms) for c in simulated if not c.is_inside_widened]
    # One of the twelve may miss a range that excludes a tenth of the runs.
    assert len(outside) <= 1, outside
    # Without the widening, most of them still do. A simulation that is off by 5 % would miss all
    # four of BBR, whose ranges are 1 to 3 % wide, two of DCTCP and one of CUBIC, which leaves five.
    assert sum(cell.is_inside for cell in simulated) > len(simulated) / 2


def test_the_median_cell_is_within_15_percent(simulated: list[Cell]) -> None:
    # A single run of CUBIC may meet the drop at any phase of its sawtooth, which is 30 % deep.
    assert median(cell.distance for cell in simulated) < 0.15


def test_windows_before_the_drop_are_the_measured_ones(simulated: list[Cell]) -> None:
    # 10 %: CUBIC's greatest window in one second depends on the phase of its sawtooth.
    for cell in simulated:
        assert median(cell.windows) == pytest.approx(cell.measured_window, rel=0.1), cell


@pytest.mark.long
def test_dctcp_needs_bursts_and_linux_s_rule_together() -> None:
    # The candidates differ most at the shortest delay.
    shortest = dctcp()[0]
    inside = [
        name for name, change in CAUSES.items() if simulate(shortest, change).is_inside_widened
    ]
    assert inside == list(CAUSES)[:1]


@pytest.mark.parametrize("delay_ms", DELAYS_MS)
def test_the_recorded_rate_falls_to_where_two_packets_make_a_burst(delay_ms: float) -> None:
    # A burst has three packets per 1/1024 s; below this nominal rate it has two. The threshold does
    # not distinguish this cause from half the window, below which `sk_pacing_rate` uses two windows
    # instead of 1.2: 0.6 of the capacity is 34.4 Mbit/s.
    least_mbps = 3 * 1024 * 1448 * 8 / 1e6
    series = pl.read_csv(DATA.with_name("latency-spike-testbed-series.csv"))
    before = pl.col("t_since_drop_s").is_between(-FROM_S, -TO_S)
    rates = series.filter(before, cc="dctcp", d_ms=delay_ms)["pacing_rate_mbps"]
    # 5 %: the smoothed RTT continues to fall with the queue, or rises again.
    assert float(rates.min()) == pytest.approx(least_mbps, rel=0.05)  # type: ignore[arg-type]


@pytest.fixture(
    scope="module",
    params=[DELAYS_MS[0], *(pytest.param(ms, marks=pytest.mark.long) for ms in DELAYS_MS[1:])],
)
def dips(request: pytest.FixtureRequest) -> dict[str, tuple[Features, list[Features]]]:
    """Recorded and simulated figures of each controller at one delay."""
    delay_ms: float = request.param
    return {
        control: (
            features(recorded(control, delay_ms)),
            [features(run) for run in simulated_samples(control, delay_ms)],
        )
        for control in CONTROLS
    }


def test_only_dctcp_dips(dips: dict[str, tuple[Features, list[Features]]]) -> None:
    for control, (theirs, ours) in dips.items():
        simulated_share = median(one.dips for one in ours)
        if control == "dctcp":
            # A third of the recorded samples. Ours are fewer at 25 ms, an open difference, but
            # twice the share that other controllers may have below: the dips are those of DCTCP.
            assert theirs.dips > 0.3
            assert simulated_share > 0.2
        else:
            # Four of 87 samples, and the same again for CUBIC's own reductions and BBR's probes.
            assert theirs.dips < 0.05
            assert simulated_share < 0.1, control


def test_dctcp_s_dips_are_as_deep_and_as_short(
    dips: dict[str, tuple[Features, list[Features]]],
) -> None:
    theirs, ours = dips["dctcp"]
    lowest = [one.lowest_nominal_bps for one in ours]
    # 10 %, as for the spikes: the recording is a single run, with windows every 0.23 s.
    assert 0.9 * min(lowest) < theirs.lowest_nominal_bps < 1.1 * max(lowest)
    # The window recovers within two samples. 5 %: since then it has grown by a packet per round
    # trip.
    recoveries = [theirs.recovery, *(one.recovery for one in ours)]
    assert all(part == pytest.approx(1, abs=0.05) for part in recoveries), recoveries
