"""Comparison of simulations with the published testbed, cell by cell, as in studies/testbed."""

import fcntl
import pickle
from statistics import median
from typing import Any

import measure
import polars as pl
import pytest

study = measure.load("testbed")
SERIES = study.DATA / "latency-spike-testbed-series.csv"
# Cells at the shortest delay, and at all delays.
ALL = pytest.param("all", marks=pytest.mark.long)

Cell = dict[str, Any]


@pytest.fixture(scope="module", params=["shortest", ALL])
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, testrun_uid: str
) -> list[Cell]:
    """Simulated cells, with thirty runs each; one worker simulates them, and the others wait."""
    size: str = request.param
    delays = study.DELAYS_MS if size == "all" else study.DELAYS_MS[:1]
    file = tmp_path_factory.getbasetemp().parent / f"testbed-{size}-{testrun_uid}.pickle"
    with file.open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        if file.stat().st_size == 0:
            shared.write(pickle.dumps([simulate(c, d) for c in study.CONTROLS for d in delays]))
        shared.seek(0)
        found: list[Cell] = pickle.load(shared)
    return found


def simulate(control: str, delay_ms: int) -> Cell:
    """Return a row of the study with its dips, and the drops of its runs."""
    run = study.simulated(control, delay_ms, study.RUNS)
    dips = study.dips_of(control, delay_ms, run) if delay_ms in study.RECORDED_MS else {}
    drops = [one["spikes"][0] for one in run.runs]
    return {**study.cell(control, delay_ms, run), **dips, "drops": drops}


def with_dips(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["delay_ms"] in study.RECORDED_MS]


def test_no_spike_of_bbr_or_dctcp_is_below_the_bound(simulated: list[Cell]) -> None:
    for cell in simulated:
        if cell["control"] in ("bbr", "dctcp"):
            full_s = 1e-3 * cell["bound_ms"]
            bounds = [max(full_s, one["bound_s"]) for one in cell["drops"]]
            spikes = [one["spike_s"] for one in cell["drops"]]
            assert all(s > b for s, b in zip(spikes, bounds, strict=True)), cell


def test_cubic_peaks_at_its_window_over_the_new_capacity(simulated: list[Cell]) -> None:
    # 5 %: the testbed data agree with the formula to within -2 to +5 %.
    for cell in simulated:
        if cell["control"] == "cubic":
            assert cell["window_ratio_least"] >= 0.95, cell
            assert cell["window_ratio_most"] <= 1.05, cell


def test_dctcp_peaks_at_its_window_over_the_new_capacity(simulated: list[Cell]) -> None:
    # 15 %: the window is sampled only every 10 ms, and the end of a reduction adds a burst to it.
    # The measurements agree with the formula to within 5 %.
    for cell in simulated:
        if cell["control"] == "dctcp":
            assert cell["window_ratio_least"] >= 0.95, cell
            assert cell["window_ratio_most"] <= 1.15, cell


@pytest.mark.parametrize("simulated", [ALL], indirect=True)
def test_measured_spikes_lie_among_the_simulated(simulated: list[Cell]) -> None:
    outside = [(c["control"], c["delay_ms"]) for c in simulated if not c["inside_widened"]]
    # One of the twelve may miss a range that excludes a tenth of the runs.
    assert len(outside) <= 1, outside
    # Without the widening, most of them still do. A simulation that is off by 5 % would miss all
    # four of BBR, whose ranges are 1 to 3 % wide, two of DCTCP and one of CUBIC, which leaves five.
    assert sum(cell["inside"] for cell in simulated) > len(simulated) / 2


def test_the_median_cell_is_within_15_percent(simulated: list[Cell]) -> None:
    # A single run of CUBIC may meet the drop at any phase of its sawtooth, which is 30 % deep.
    ratios = [cell["spike_p50_ms"] / cell["measured_spike_ms"] for cell in simulated]
    assert median(abs(ratio - 1) for ratio in ratios) < 0.15


def test_windows_before_the_drop_are_the_measured_ones(simulated: list[Cell]) -> None:
    # 10 %: CUBIC's greatest window in one second depends on the phase of its sawtooth.
    for cell in simulated:
        measured = pytest.approx(cell["measured_window_packets"], rel=0.1)
        assert cell["window_packets"] == measured, cell


@pytest.mark.long
def test_dctcp_needs_bursts_and_linux_s_rule_together() -> None:
    # The candidates differ most at the shortest delay.
    shortest = ("dctcp", study.DELAYS_MS[0])
    runs = {name: study.simulated(*shortest, study.RUNS, c) for name, c in study.CAUSES.items()}
    inside = [name for name, run in runs.items() if study.cell(*shortest, run)["inside_widened"]]
    assert inside == list(study.CAUSES)[:1]


@pytest.mark.skipif(not SERIES.exists(), reason=f"the recorded series are not here: {SERIES.name}")
@pytest.mark.parametrize("delay_ms", study.RECORDED_MS)
def test_the_recorded_rate_falls_to_where_two_packets_make_a_burst(delay_ms: int) -> None:
    # A burst has three packets per 1/1024 s; below this nominal rate it has two. The threshold does
    # not distinguish this cause from half the window, below which `sk_pacing_rate` uses two windows
    # instead of 1.2: 0.6 of the capacity is 34.4 Mbit/s.
    least_mbps = 3 * 1024 * study.MSS * 8 / 1e6
    before = pl.col("t_since_drop_s").is_between(-study.BEFORE_S, -study.UP_TO_S)
    series = pl.read_csv(SERIES).filter(before, cc="dctcp", d_ms=float(delay_ms))
    # 5 %: the smoothed RTT continues to fall with the queue, or rises again.
    assert min(series["pacing_rate_mbps"]) == pytest.approx(least_mbps, rel=0.05)


def test_only_dctcp_dips(simulated: list[Cell]) -> None:
    for cell in with_dips(simulated):
        recorded, ours = cell["recorded_dips_percent"], cell["p50_dips_percent"]
        if cell["control"] == "dctcp":
            # A third of the recorded samples. Ours are fewer at 25 ms, an open difference, but
            # twice the share that other controllers may have below: the dips are those of DCTCP.
            assert recorded > 30
            assert ours > 20
        else:
            # Four of 87 samples, and the same again for CUBIC's own reductions and BBR's probes.
            assert recorded <= 5
            assert ours < 10, cell


def test_dctcp_s_dips_are_as_deep_and_as_short(simulated: list[Cell]) -> None:
    for cell in with_dips(simulated):
        if cell["control"] == "dctcp":
            # 10 %, as for the spikes: the recording is a single run, with windows every 0.23 s.
            low, high = (cell[f"{one}_lowest_nominal_mbps"] for one in ("least", "most"))
            assert 0.9 * low < cell["recorded_lowest_nominal_mbps"] < 1.1 * high
            # The window recovers within two samples. 5 %: since then it has grown by a packet per
            # round trip.
            recoveries = [cell[f"{one}_recovery"] for one in ("recorded", "least", "most")]
            assert recoveries == pytest.approx([1, 1, 1], abs=0.05)
