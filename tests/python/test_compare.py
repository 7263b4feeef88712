"""Comparison of two runs: figures computed by hand from hand-made series."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import Columns, change_summary, run_of, write
from sojourn.cli import main
from sojourn.record import key_names, legend
from sojourn.record.comparison import align, scenarios
from sojourn.record.comparison.matching import Pair
from support import SMALL

# Five samples make four cells: (0, 1], (1, 2], (2, 3], (3, 4].
FLOW_A: Columns = {
    "t_s": [0.0, 1.0, 2.0, 3.0, 4.0],
    "cwnd_bytes": [10_000, 10_000, 20_000, 20_000, 40_000],
    "delivered_bytes": [0, 1000, 2000, 3000, 4000],
    "rtt_s": [0.9, 0.1, 0.2, 0.3, 0.4],
}
FLOW_B: Columns = {
    "t_s": [0.0, 1.0, 2.0, 3.0, 4.0],
    "cwnd_bytes": [10_000, 20_000, 20_000, 10_000, 40_000],
    "delivered_bytes": [0, 500, 1000, 3000, 8000],
    "rtt_s": [0.9, 0.2, 0.2, 0.2, 0.2],
}
LINK_A: Columns = {
    "t_s": [0.0, 1.0, 2.0, 3.0, 4.0],
    "queue_delay_s": [0.0, 0.01, 0.02, 0.03, 0.04],
    "carried_bps": [0.0, 4e6, 4e6, 4e6, 4e6],
    "capacity_bps": [0.0, 8e6, 8e6, 8e6, 8e6],
    "dropped_packets": [0, 0, 1, 1, 3],
    "marked_packets": [0, 1, 2, 3, 4],
}
LINK_B: Columns = {
    "t_s": [0.0, 1.0, 2.0, 3.0, 4.0],
    "queue_delay_s": [0.0, 0.02, 0.02, None, 0.02],
    "carried_bps": [0.0, 4e6, 4e6, 4e6, 4e6],
    "capacity_bps": [0.0, 8e6, 4e6, 4e6, 4e6],
    # The counter starts before the first sample.
    "dropped_packets": [5, 5, 6, 6, 6],
    "marked_packets": [0, 0, 0, 0, 0],
}

Both = tuple[Path, Path]


@pytest.fixture
def pair(tmp_path: Path) -> Both:
    """Two directories with one run each, with the same names."""
    a = write(tmp_path / "one", {("cubic", 1, "up"): FLOW_A}, {("cubic", 1, "neck"): LINK_A})
    b = write(tmp_path / "two", {("cubic", 7, "up"): FLOW_B}, {("cubic", 7, "neck"): LINK_B})
    return a, b


def compared(
    a: Any, b: Any, difference: Any, ratio: Any, cells: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Return a compared figure; figures over steps also have the number of steps with a value."""
    figure = {
        "a": None if a is None else pytest.approx(a),
        "b": None if b is None else pytest.approx(b),
        "difference": None if difference is None else pytest.approx(difference),
        "ratio": None if ratio is None else pytest.approx(ratio),
    }
    return figure if cells is None else {**figure, "cells_a": cells[0], "cells_b": cells[1]}


def of_windows(times: list[float], windows: list[float], **more: list[Any]) -> Columns:
    return {"t_s": times, "cwnd_bytes": windows, **more}


def only_flow(a: Path, b: Path, **choice: Any) -> Any:
    (flow,) = sojourn.compare(a, b, **choice).summary["flows"]
    return flow


def test_flows_have_the_figures_computed_by_hand(pair: Both) -> None:
    flow = only_flow(*pair)
    assert (flow["from_s"], flow["until_s"], flow["interval_s"]) == (0, 4, 1)
    assert (flow["seeds_a"], flow["seeds_b"]) == ([1], [7])
    # 4000 and 8000 bytes in four seconds.
    assert flow["goodput_bps"] == compared(8000, 16000, 8000, 2, (4, 4))
    # 0.1, 0.2, 0.3, 0.4: the median is between the second and the third; p95 and p99 are 0.95 x 3
    # and 0.99 x 3 steps up.
    assert flow["rtt_column"] == "rtt_s"
    assert flow["rtt_peak_p50_s"] == compared(0.25, 0.2, -0.05, 0.8, (4, 4))
    assert flow["rtt_peak_p95_s"] == compared(0.385, 0.2, -0.185, 0.2 / 0.385, (4, 4))
    assert flow["rtt_peak_p99_s"] == compared(0.397, 0.2, -0.197, 0.2 / 0.397, (4, 4))


def test_windows_have_the_figures_computed_by_hand(pair: Both) -> None:
    # 10, 20, 20, 40 kB and 20, 20, 10, 40 kB differ by 1, 0, 1/2 and 0, relative to A. The
    # deviations from the mean of 22.5 kB give 375 over 475.
    assert only_flow(*pair)["window"] == {
        "cells": 4,
        "mean_relative_difference": 0.375,
        "largest_difference_bytes": 10_000,
        "largest_difference_ratio": 1.0,
        "largest_difference_at_s": 1.0,
        "correlation": pytest.approx(15 / 19),
    }


def test_links_have_the_figures_computed_by_hand(pair: Both) -> None:
    (link,) = sojourn.compare(*pair).summary["links"]
    assert (link["control"], link["name"]) == ("cubic", "neck")
    assert link["queue_delay_peak_p50_s"] == compared(0.025, 0.02, -0.005, 0.8, (4, 3))
    assert link["queue_delay_peak_p95_s"] == compared(0.0385, 0.02, -0.0185, 0.02 / 0.0385, (4, 3))
    assert link["queue_delay_peak_p99_s"] == compared(0.0397, 0.02, -0.0197, 0.02 / 0.0397, (4, 3))
    assert link["queue_delay_peak_max_s"] == compared(0.04, 0.02, -0.02, 0.5, (4, 3))
    # 16 Mbit of 32, and of 20 for B.
    assert link["utilisation"] == compared(0.5, 0.8, 0.3, 1.6, (4, 4))
    assert link["dropped_packets"] == compared(3, 1, -2, 1 / 3, (4, 4))
    assert link["marked_packets"] == compared(4, 0, -4, 0, (4, 4))


def test_a_run_differs_in_nothing_from_itself(small: Path, tmp_path: Path) -> None:
    place = sojourn.run(small, runs=2, spread="1s").save(tmp_path / "run", report=())
    comparison = sojourn.compare(place, place)
    summary = comparison.summary
    assert [flow["control"] for flow in summary["flows"]] == ["cubic", "dctcp"]
    assert [link["name"] for link in summary["links"]] == ["bottleneck", "back"] * 2
    figures = [
        figure
        for item in (*summary["flows"], *summary["links"])
        for figure in item.values()
        if isinstance(figure, dict) and "difference" in figure
    ]
    # The figures over steps, and those of the summaries.
    assert len(figures) == 2 * (4 + 9) + 4 * (7 + 6)
    assert {figure["difference"] for figure in figures} <= {0.0, None}
    assert {figure["ratio"] for figure in figures} <= {1.0, None}
    for flow in summary["flows"]:
        assert flow["goodput_bps"]["difference"] == 0.0
        assert flow["window"] is not None
        assert flow["window"]["mean_relative_difference"] == 0.0
        assert flow["window"]["largest_difference_bytes"] == 0.0
        assert flow["window"]["correlation"] == pytest.approx(1.0)
    for only in (summary["only_in_a"], summary["only_in_b"]):
        assert only == {"controls": [], "flows": [], "links": []}
    assert summary["not_compared"] == []


def test_figures_agree_with_the_summary_of_the_run(small: Path, tmp_path: Path) -> None:
    run = sojourn.run(small, control="cubic")
    summary = sojourn.compare(run, run.save(tmp_path / "run", report=())).summary
    flow, link = run.runs[0]["flows"][0], run.runs[0]["links"][0]
    # Six seconds without the first 10 ms.
    goodput, delay = (
        summary["flows"][0]["goodput_bps"],
        summary["links"][0]["queue_delay_peak_max_s"],
    )
    assert goodput["a"] == pytest.approx(flow["goodput_bps"], rel=0.01)
    # The summary's histogram has a relative bucket width of 1/256.
    assert delay["a"] == pytest.approx(link["queue_delay_max_s"], rel=1 / 256)
    assert summary["links"][0]["utilisation"]["a"] == pytest.approx(link["utilisation"], rel=0.01)
    assert summary["links"][0]["marked_packets"]["a"] == link["marked_packets"]


def test_the_coarser_interval_counts(tmp_path: Path) -> None:
    fine = [place / 10 for place in range(11)]
    coarse = [0.0, 0.25, 0.5, 0.75, 1.0]
    own: dict[str, list[Any]] = {
        "rtt_s": fine,
        "delivered_bytes": [100 * place for place in range(11)],
    }
    a = write(tmp_path / "a", {("cubic", 1, "up"): of_windows(fine, fine, **own)})
    b = write(tmp_path / "b", {("cubic", 1, "up"): of_windows(coarse, coarse, rtt_s=coarse)})
    comparison = sojourn.compare(a, b)
    assert comparison.summary["flows"][0]["interval_s"] == 0.25
    cells = comparison.flows.filter(pl.col("side") == "a")
    assert cells["t_s"].to_list() == [0.25, 0.5, 0.75, 1.0]
    # The last value at or before the end, and the greatest value since the previous cell.
    assert cells["cwnd_bytes"].to_list() == [0.2, 0.5, 0.7, 1.0]
    assert cells["rtt_s"].to_list() == [0.2, 0.5, 0.7, 1.0]
    # 1000 bytes a second, even if a cell ends between two samples.
    assert cells["goodput_bps"].to_list() == pytest.approx([8000.0] * 4)
    # With the sides swapped, times and windows are the same.
    mirrored = sojourn.compare(b, a).flows.filter(pl.col("side") == "b")
    assert mirrored["cwnd_bytes"].to_list() == [0.2, 0.5, 0.7, 1.0]


def test_samples_at_other_moments_lose_no_bytes(tmp_path: Path) -> None:
    # A is sampled at whole seconds, B half a second later; both carry 100 bytes a second.
    late = [0.5, 1.5, 2.5, 3.5]
    delivered = {"delivered_bytes": [50, 150, 250, 350]}
    whole = {"delivered_bytes": [0, 100, 200, 300, 400]}
    a = write(tmp_path / "a", {("c", 1, "up"): {"t_s": FLOW_A["t_s"], **whole}})
    b = write(tmp_path / "b", {("c", 1, "up"): {"t_s": late, **delivered}})
    flow = only_flow(a, b)
    assert (flow["from_s"], flow["until_s"]) == (0.5, 3.5)
    assert flow["goodput_bps"] == compared(800, 800, 0, 1, (3, 3))


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 900), min_size=20, max_size=60),
    st.lists(st.integers(1, 900), min_size=20, max_size=60),
)
def test_an_even_rate_is_the_same_however_it_is_sampled(a: list[int], b: list[int]) -> None:
    # Gaps in milliseconds, with 25 bytes in each gap.
    series = []
    for gaps in (a, b):
        times = [sum(gaps[:place]) for place in range(len(gaps))]
        counted = {"ns": [1_000_000 * t for t in times], "delivered_bytes": [25 * t for t in times]}
        others = {key: [None] * len(gaps) for key in ("cwnd_bytes", "rtt_s", "srtt_s")}
        series.append(pl.DataFrame({**counted, **others}).with_columns(goodput_bps=None))
    pair = Pair("flows", "c", "up", {1: series[0]}, {1: series[1]})
    grid = align.grid_of(pair)
    if isinstance(grid, str):
        assert "no time in common" in grid
        return
    assert max(sorted(gaps[:-1])[(len(gaps) - 1) // 2] for gaps in (a, b)) * 1_000_000 == (
        grid.step_ns
    )
    cells = align.aligned(pair, grid)
    assert cells["goodput_bps"].to_list() == pytest.approx([200_000.0] * (2 * grid.cells))


def test_a_clock_that_began_elsewhere_is_moved(tmp_path: Path, pair: Both) -> None:
    moved = {**FLOW_A, "t_s": [t + 100.25 for t in FLOW_A["t_s"]]}
    b = write(tmp_path / "late", {("cubic", 1, "up"): moved})
    with pytest.raises(ValueError, match=r"no time in common: A has 0 s to 4 s, B has 100.25 s"):
        sojourn.compare(pair[0], b)
    flow = only_flow(pair[0], b, shift_b=-100.25)
    assert (flow["from_s"], flow["until_s"]) == (0, 4)
    assert flow["window"]["mean_relative_difference"] == 0
    assert sojourn.compare(pair[0], b, shift_b=-100.25).summary["shift_b_s"] == -100.25


def test_seeds_are_pooled(tmp_path: Path) -> None:
    times = [0.0, 1.0, 2.0]
    windows = {1: [10.0, 10.0, 20.0], 2: [30.0, 30.0, 20.0]}
    bytes_of = {1: [0, 1000, 2000], 2: [0, 3000, 6000]}
    rtts = {1: [0.1, 0.1, 0.1], 2: [0.3, 0.3, 0.3]}
    seeds = {
        ("c", seed, "up"): of_windows(
            times, windows[seed], delivered_bytes=bytes_of[seed], rtt_s=rtts[seed]
        )
        for seed in (1, 2)
    }
    drops: dict[tuple[str, int, str], Columns] = {
        ("c", seed, "neck"): {"t_s": times, "dropped_packets": [0, 0, seed]} for seed in (1, 2)
    }
    one = of_windows(times, [20.0, 20.0, 20.0], delivered_bytes=[0, 1, 2], rtt_s=[0.2] * 3)
    other: Columns = {"t_s": times, "dropped_packets": [0, 0, 4]}
    comparison = sojourn.compare(
        write(tmp_path / "a", seeds, drops),
        write(tmp_path / "b", {("c", 5, "up"): one}, {("c", 5, "neck"): other}),
    )
    (flow,), (link,) = comparison.summary["flows"], comparison.summary["links"]
    assert (flow["seeds_a"], flow["seeds_b"]) == ([1, 2], [5])
    # The medians of 10 and 30, and of 20 and 20.
    assert flow["window"] is not None
    assert flow["window"]["mean_relative_difference"] == 0
    # The windows are constant, so the correlation is undefined.
    assert flow["window"]["correlation"] is None
    # The mean of 8000 and 24000; the percentiles are over 0.1, 0.1, 0.3, 0.3.
    assert flow["goodput_bps"] == compared(16_000, 8, 8 - 16_000, 8 / 16_000, (4, 2))
    assert flow["rtt_peak_p50_s"] == compared(0.2, 0.2, 0, 1, (4, 2))
    assert flow["rtt_peak_p99_s"]["a"] == pytest.approx(0.3)
    assert link["dropped_packets"] == compared(1.5, 4, 2.5, 4 / 1.5, (4, 2))


def test_what_one_alone_has_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(
        tmp_path / "a",
        {("cubic", 1, "up"): FLOW_A, ("cubic", 1, "more"): FLOW_A, ("bbr", 1, "up"): FLOW_A},
        {("cubic", 1, "neck"): LINK_A},
    )
    b = write(tmp_path / "b", {("cubic", 1, "up"): FLOW_B, ("reno", 1, "up"): FLOW_B})
    summary = sojourn.compare(a, b).summary
    assert [(flow["control"], flow["name"]) for flow in summary["flows"]] == [("cubic", "up")]
    assert summary["links"] == []
    assert summary["only_in_a"] == {
        "controls": ["bbr"],
        "flows": [{"control": "cubic", "name": "more"}, {"control": "bbr", "name": "up"}],
        "links": [{"control": "cubic", "name": "neck"}],
    }
    assert summary["only_in_b"]["controls"] == ["reno"]
    assert main(["compare", str(a), str(b), "--plot", str(tmp_path / "x.svg")]) == 0
    shown = capsys.readouterr().out
    assert "only in A: controller bbr, flow more of cubic, link neck of cubic" in shown
    assert "only in B: controller reno" in shown


def test_flows_without_a_common_name_match_by_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other programs name a flow after its connection, whose id differs in every run."""
    a = write(tmp_path / "a", {("q", 1, "8394c8f0"): FLOW_A, ("q", 1, "11"): FLOW_B})
    b = write(tmp_path / "b", {("q", 1, "a1b2c3d4"): FLOW_B, ("q", 1, "22"): FLOW_A})
    found = sojourn.compare(a, b)
    assert found.summary["by_position"] == [
        {"control": "q", "name": "8394c8f0", "name_b": "a1b2c3d4"},
        {"control": "q", "name": "11", "name_b": "22"},
    ]
    assert [flow["name"] for flow in found.summary["flows"]] == ["8394c8f0", "11"]
    assert found.summary["flows"][0]["goodput_bps"]["a"] == 8000
    assert found.summary["flows"][0]["goodput_bps"]["b"] == 16000
    assert set(found.flows["flow"]) == {"8394c8f0", "11"}
    assert main(["compare", str(a), str(b), "--plot", str(tmp_path / "x.svg")]) == 0
    assert "by their position: 8394c8f0 and a1b2c3d4, 11 and 22" in capsys.readouterr().out


def test_other_flows_are_not_matched_by_position(tmp_path: Path) -> None:
    """One common name, or another number of flows, says that the others differ."""
    a = write(tmp_path / "a", {("q", 1, "up"): FLOW_A, ("q", 1, "here"): FLOW_A})
    b = write(tmp_path / "b", {("q", 1, "up"): FLOW_B, ("q", 1, "there"): FLOW_B})
    summary = sojourn.compare(a, b).summary
    assert (summary["by_position"], len(summary["flows"])) == ([], 1)
    c = write(tmp_path / "c", {("q", 1, "other"): FLOW_B})
    with pytest.raises(ValueError, match="no flow of"):
        sojourn.compare(a, c)


def test_flows_get_new_names_before_they_match(tmp_path: Path) -> None:
    flows = {("q", 1, "x"): FLOW_A, ("q", 1, "y"): FLOW_B}
    a, b = (write(tmp_path / name, flows) for name in "ab")
    c = write(tmp_path / "c", {("q", 1, "first"): FLOW_B, ("q", 1, "second"): FLOW_A})
    # Both names change at once.
    swapped = sojourn.compare(a, b, rename={"x": "y", "y": "x"}).summary
    assert [flow["name"] for flow in swapped["flows"]] == ["y", "x"]
    named = sojourn.compare(a, c, rename={"first": "y", "second": "x"}).summary
    assert named["by_position"] == []
    assert {flow["goodput_bps"]["difference"] for flow in named["flows"]} == {0}
    with pytest.raises(ValueError, match="two flows of one run would be named `y`"):
        sojourn.compare(a, b, rename={"x": "y"})


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    late = {**FLOW_B, "t_s": [t + 9 for t in FLOW_B["t_s"]]}
    once = {key: values[:1] for key, values in FLOW_B.items()}
    names = ("up", "late", "once", "never")
    a = write(tmp_path / "a", {("c", 1, name): FLOW_A for name in names})
    series = {("c", 1, "up"): FLOW_B, ("c", 1, "late"): late, ("c", 1, "once"): once}
    b = write(tmp_path / "b", series)
    summary = json.loads((b / "summary.json").read_text())
    summary["runs"] = [run_of("c", 1, names, [])]
    (b / "summary.json").write_text(json.dumps(summary))
    found = sojourn.compare(a, b).summary
    assert [flow["name"] for flow in found["flows"]] == ["up"]
    assert [(one["what"], one["name"], one["why"]) for one in found["not_compared"]] == [
        ("flow", "late", "no time in common: A has 0 s to 4 s, B has 9 s to 13 s"),
        ("flow", "once", "B has a single sample of it"),
        ("flow", "never", "B has no samples of it"),
    ]


def test_names_choose(tmp_path: Path) -> None:
    flows = {(c, 1, f): FLOW_A for c in ("cubic", "bbr") for f in ("up", "down")}
    links = {(c, 1, n): LINK_A for c in ("cubic", "bbr") for n in ("neck", "back")}
    a, b = (write(tmp_path / name, flows, links) for name in "ab")
    found = sojourn.compare(a, b, flow="down", link=["back"], control="bbr").summary
    assert [(one["control"], one["name"]) for one in found["flows"]] == [("bbr", "down")]
    assert [(one["control"], one["name"]) for one in found["links"]] == [("bbr", "back")]
    assert found["only_in_a"] == {"controls": [], "flows": [], "links": []}


def test_smoothed_round_trips_stand_in_on_both_sides(tmp_path: Path) -> None:
    times = FLOW_A["t_s"]
    both = {"t_s": times, "rtt_s": [0.5] * 5, "srtt_s": [0.1, 0.1, 0.1, 0.1, 0.1]}
    smoothed = {"t_s": times, "srtt_s": [0.2] * 5}
    a = write(tmp_path / "a", {("c", 1, "up"): both})
    flow = only_flow(a, write(tmp_path / "b", {("c", 1, "up"): smoothed}))
    assert flow["rtt_column"] == "srtt_s"
    assert flow["rtt_peak_p50_s"] == compared(0.1, 0.2, 0.1, 2, (4, 4))


def test_goodput_stands_in_for_bytes(tmp_path: Path) -> None:
    rates = {"t_s": FLOW_A["t_s"], "goodput_bps": [9e9, 1000.0, 2000.0, 3000.0, 4000.0]}
    counted = write(tmp_path / "a", {("c", 1, "up"): FLOW_A})
    flow = only_flow(counted, write(tmp_path / "b", {("c", 1, "up"): rates}))
    # The first sample describes the time before the common time.
    assert flow["goodput_bps"] == compared(8000, 2500, -5500, 2500 / 8000, (4, 4))


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    a = write(tmp_path / "a", {("c", 1, "up"): FLOW_A}, {("c", 1, "neck"): LINK_A})
    bare = {"t_s": FLOW_A["t_s"]}
    b = write(tmp_path / "b", {("c", 1, "up"): bare}, {("c", 1, "neck"): bare})
    found = sojourn.compare(a, b).summary
    (flow,), (link,) = found["flows"], found["links"]
    assert flow["window"] is None
    assert flow["rtt_column"] is None
    assert flow["goodput_bps"] == compared(8000, None, None, None, (4, 0))
    assert link["dropped_packets"] == compared(3, None, None, None, (4, 0))
    assert link["utilisation"] == compared(0.5, None, None, None, (4, 0))


def test_order_of_rows_and_nan_do_not_matter(tmp_path: Path, pair: Both) -> None:
    b = tmp_path / "mixed"
    write(b, {("cubic", 1, "up"): FLOW_A}, {("cubic", 1, "neck"): LINK_A})
    for what in ("flows", "links"):
        file = b / f"{what}.parquet"
        pl.read_parquet(file).reverse().write_parquet(file)
    nan = pl.when(pl.col("t_s") == 1).then(float("nan")).otherwise(pl.col("rtt_s")).alias("rtt_s")
    file = b / "flows.parquet"
    pl.read_parquet(file).with_columns(nan).write_parquet(file)
    flow = only_flow(pair[0], b)
    assert flow["window"]["mean_relative_difference"] == 0
    assert flow["goodput_bps"]["difference"] == 0
    # The remaining samples are 0.2, 0.3, 0.4.
    assert flow["rtt_peak_p50_s"]["b"] == pytest.approx(0.3)


def test_runs_that_are_at_hand_are_compared(small: Path) -> None:
    a = sojourn.run(small, control="cubic")
    b = sojourn.run(small, control="cubic", set={"link.bottleneck.delay": "20ms"})
    comparison = sojourn.compare(a, b)
    assert comparison.summary["a"]["directory"] == "A small drop"
    rtt = comparison.summary["flows"][0]["rtt_peak_p50_s"]
    assert rtt["difference"] is not None
    assert rtt["difference"] > 0.005
    assert "queue p99" in comparison._repr_html_()
    assert {*legend.of(comparison.summary).colours.values()} == {legend.INKS["cubic"].colour}
    assert all(ink.colour in comparison.plot().html for ink in legend.SIDES.values())
    assert SMALL.splitlines()[0].split('"')[1] in repr(comparison)


def test_percentiles_over_all_packets_come_from_the_summaries(tmp_path: Path) -> None:
    flows = {("c", seed, "up"): FLOW_A for seed in (1, 2, 3)}
    a, b = (write(tmp_path / name, flows, {("c", 1, "neck"): LINK_A}) for name in "ab")
    told: dict[Path, list[float | None]] = {a: [0.010, 0.030, 0.020], b: [0.060, None, 0.040]}
    for place, medians in told.items():
        runs = [run_of("c", seed, ["up"], ["neck"] * (seed == 1)) for seed in (1, 2, 3)]
        for run, value in zip(runs, medians, strict=True):
            run["flows"][0]["rtt_p50_s"] = value
        change_summary(place, runs=runs)
    runs[0]["links"][0]["queue_delay_max_s"] = 0.5
    change_summary(b, runs=runs)
    summary = sojourn.compare(a, b).summary
    (flow,), (link,) = summary["flows"], summary["links"]
    # Medians over the seeds: of 10, 20 and 30 ms, and of 40 and 60 ms.
    assert flow["rtt_p50_s"] == compared(0.020, 0.050, 0.030, 2.5)
    assert flow["rtt_p99_s"] == compared(None, None, None, None)
    assert link["queue_delay_max_s"] == compared(None, 0.5, None, None)
    # The series are the same.
    assert flow["rtt_peak_p50_s"]["difference"] == 0


def test_what_differs_is_named_first() -> None:
    given = 'queue = { kind = "codel", ecn = true }'
    texts = [SMALL.replace(given, one) for one in ('queue = "codel"', 'queue = "red"')]
    a, b = (sojourn.run(text) for text in texts)
    summary = sojourn.compare(a, b).summary
    key = "link.bottleneck.queue"
    assert summary["differences"] == [{"key": key, "a": "codel", "b": "red"}]
    controls = [run["control"] for run in summary["runs"]]
    assert "cubic queue=codel" in controls
    assert "dctcp queue=red" in controls


def test_a_default_differs_from_another_value_and_not_from_its_name() -> None:
    given = 'queue = { kind = "codel", ecn = true }'
    link = "link.bottleneck.queue"
    text = SMALL.replace('host     = "rfc"\n', "")
    assert text != SMALL
    plain = f'host = "linux-6.18"\n{text.replace(given, "")}'
    codel = text.replace(given, 'queue = "codel"')
    assert scenarios.differences([plain, codel]) == {link: ["droptail", "codel"]}
    assert scenarios.names({link: ["droptail", "codel"]}) == ["queue=droptail", "queue=codel"]
    table = f"{codel}\n[host]\nlike = "
    assert scenarios.differences([codel, f'{table}"linux-6.18"']) == {}
    assert scenarios.differences([codel, f'{table}"udp"']) == {"host.like": ["linux-6.18", "udp"]}
    # An absent exception of a host has the host's value.
    rare = f'{table}"rfc"\ninitial_window = 4'
    assert scenarios.differences([f'{table}"rfc"', rare]) == {"host.initial_window": ["10", "4"]}
    # A trace has no steps, which are a key of another form of a rate.
    assert key_names.default_of("link.bottleneck.rate.steps") is None
    # A key without a default leaves the names to the directories.
    assert scenarios.names({"link.bottleneck.jitter": [scenarios.ABSENT, "1ms"]}) is None


@pytest.mark.parametrize("key", ["host.like", "link.bottleneck.queue"])
def test_live_and_simulated_runs_are_named_after_their_means(key: str) -> None:
    simulated = sojourn.run(SMALL, control="cubic")
    kernel, udp = (sojourn.run(SMALL, control="cubic") for _ in range(2))
    for run, transport in ((kernel, "tcp"), (udp, "udp")):
        made: Any = run.runs[0]
        made["live"] = {"transports": {"upload": transport, "ping": "icmp"}}
    found = {key: ["a", "a", "b"]}
    # A queue that differs as well is part of no name, so the directories tell the runs apart.
    expected = ["simulated", "kernel", "UDP"] if key == "host.like" else ["x", "y", "z"]
    assert scenarios.run_names([simulated, kernel, udp], found, ["x", "y", "z"]) == expected
    assert scenarios.run_names([kernel, kernel, udp], {}, ["x", "y", "z"]) == ["x", "y", "z"]
