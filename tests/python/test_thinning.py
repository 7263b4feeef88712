"""Thinning keeps every extreme and limits the number of points."""

from itertools import pairwise

import polars as pl
import pytest
import sojourn
from hypothesis import given
from hypothesis import strategies as st
from sojourn.picture import series
from sojourn.record import legend

DURATION_S = 10.0


def frame(values: list[float]) -> pl.DataFrame:
    step = DURATION_S / len(values)
    times = [place * step for place in range(len(values))]
    return pl.DataFrame({"t": times, "v": values}).with_columns(series=pl.lit("a"), flow=pl.lit(""))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5000), st.floats(0, DURATION_S - 1))
def test_extremes_stay(values: list[float], begin: float) -> None:
    whole = frame(values)
    thinned = series.thin(whole, DURATION_S, [(begin, begin + 1)])
    assert thinned["v"].min() == min(values)
    assert thinned["v"].max() == max(values)
    assert thinned.height <= min(len(values), 1510)
    assert thinned["t"].is_sorted()
    # The result has only original samples.
    assert thinned.join(whole, on=["t", "v"], how="anti").height == 0


def test_a_spike_of_one_sample_stays() -> None:
    values = [1.0] * 100_000
    values[54_321] = 99.0
    assert 99.0 in series.thin(frame(values), DURATION_S, [(2, 3)])["v"]


@given(st.integers(1, 99))
def test_means_show_nothing_before_it_happens(falls: int) -> None:
    values = [5.0] * falls + [1.0] * (100 - falls)
    # A sample describes the interval that it ends.
    whole = frame(values).with_columns(pl.col("t") + DURATION_S / 100)
    means = series.mean_over(whole, 1.0).with_columns(before=pl.col("t") <= falls / 10 + 1e-9)
    assert means.filter("before")["v"].to_list() == pytest.approx([5.0] * falls)
    assert all(mean < 5.0 for mean in means.filter(~pl.col("before"))["v"])
    # Each mean has ten samples: from the tenth on, all of them follow the fall.
    assert means["v"].to_list()[falls + 9 :] == pytest.approx([1.0] * max(91 - falls, 0))


@given(st.lists(st.text(min_size=1), max_size=8, unique=True))
def test_looks_are_fixed_for_the_known_and_differ_for_the_others(names: list[str]) -> None:
    found = legend.inks({name: name for name in [*names, "bbr", "cubic"]})
    assert found["cubic"] == legend.INKS["cubic"]
    assert found["bbr"] == legend.INKS["bbr"]
    assert len(set(found.values())) == len(found)


FLOWS = st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), min_size=1, max_size=60)


def many(flows: list[list[float]]) -> pl.DataFrame:
    return pl.concat(
        frame(values).with_columns(flow=pl.lit(f"f{place}")) for place, values in enumerate(flows)
    )


@given(FLOWS, st.floats(0, DURATION_S - 1))
def test_bands_are_percentiles_and_few(flows: list[list[float]], begin: float) -> None:
    whole = many(flows)
    bands = series.bands(whole, DURATION_S, [(begin, begin + 1)])
    assert bands.height <= 755
    assert bands["t"].is_sorted()
    for lower, upper in pairwise(("p5", "p25", "v", "p75", "p95")):
        assert (bands[lower] <= bands[upper] + 1e-6).all()
    every = whole["v"].to_list()
    assert min(every) - 1e-6 <= min(bands["p5"].to_list())
    assert max(bands["p95"].to_list()) <= max(every) + 1e-6


def test_a_band_has_the_percentiles_of_all_flows_at_a_time() -> None:
    flows = [[float(value)] * 10 for value in range(101)]
    bands = series.bands(many(flows), DURATION_S, [])
    for name, value in (("p5", 5), ("p25", 25), ("v", 50), ("p75", 75), ("p95", 95)):
        assert bands[name].to_list() == pytest.approx([value] * 10)


def test_a_band_of_each_flow_is_over_the_seeds() -> None:
    seeds = [many([[float(seed)] * 10, [100.0 + seed] * 10]) for seed in range(101)]
    whole = pl.concat(one.with_columns(seed=pl.lit(at)) for at, one in enumerate(seeds))
    bands = series.bands(whole, DURATION_S, [], by_flow=True)
    for flow, base in (("f0", 0), ("f1", 100)):
        own = bands.filter(pl.col("flow") == flow)
        for name, value in (("p5", 5), ("v", 50), ("p95", 95)):
            assert own[name].to_list() == pytest.approx([base + value] * 10)


@pytest.mark.parametrize("control", [None, ["reno", "cubic"]])
def test_a_figure_of_many_flows_holds_few_points(control: list[str] | None) -> None:
    flow = {"path": ["neck"], "source": "bulk", "count": 40}
    document = {
        "duration": "2s",
        "controls": ["cubic"],
        "link": {"neck": {"rate": "50Mbit", "delay": "10ms"}},
        "flow": {"up": flow},
    }
    figure = sojourn.run(document, control=control).plot()
    panels = [panel for row in figure.document.panels for panel in row]
    assert sum(len(layer.points) for panel in panels for layer in panel.layers) < 20_000
    assert any("medians of 40 flows" in line for line in figure.document.lines)
