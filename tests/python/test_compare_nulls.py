"""Missing values of a recording are null in a comparison, neither zero nor the previous value."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from made_runs import Columns, write
from sojourn.cli import main
from test_compare import FLOW_A, LINK_A

TIMES = [0.0, 1.0, 2.0, 3.0, 4.0]


def both(tmp_path: Path, flow: Columns, link: Columns) -> sojourn.Comparison:
    """Compare complete recordings as A with these as B."""
    a = write(tmp_path / "a", {("c", 1, "up"): FLOW_A}, {("c", 1, "neck"): LINK_A})
    b = write(tmp_path / "b", {("c", 1, "up"): flow}, {("c", 1, "neck"): link})
    return sojourn.compare(a, b)


def cells_of_b(frame: pl.DataFrame, column: str) -> list[Any]:
    return frame.filter(pl.col("side") == "b").sort("t_s")[column].to_list()


def figure(a: float, b: float, cells_b: int) -> dict[str, Any]:
    """Return a figure with a value in each of A's four steps."""
    between = {"difference": pytest.approx(b - a), "ratio": pytest.approx(b / a)}
    return {
        "a": pytest.approx(a),
        "b": pytest.approx(b),
        **between,
        "cells_a": 4,
        "cells_b": cells_b,
    }


def test_a_null_rate_is_no_rate(tmp_path: Path) -> None:
    flow: Columns = {"t_s": TIMES, "goodput_bps": [None, 1000.0, 2000.0, None, 6000.0]}
    link: Columns = {
        "t_s": TIMES,
        "carried_bps": [None, 2e6, None, 4e6, 6e6],
        "capacity_bps": [None, 8e6, 8e6, None, 8e6],
    }
    found = both(tmp_path, flow, link)
    assert cells_of_b(found.flows, "goodput_bps") == pytest.approx([1000, 2000, None, 6000])
    assert cells_of_b(found.links, "carried_bps") == pytest.approx([2e6, None, 4e6, 6e6])
    assert cells_of_b(found.links, "capacity_bps") == pytest.approx([8e6, 8e6, None, 8e6])
    (one,), (neck,) = found.summary["flows"], found.summary["links"]
    assert (one["cells"], neck["cells"]) == (4, 4)
    # 9000 over the three known steps; over four steps it would be 2250. A has 8000 in each.
    assert one["goodput_bps"] == figure(8000, 3000, 3)
    # 2 + 6 of 8 + 8; in the other steps, one of the two is unknown.
    assert neck["utilisation"] == figure(0.5, 0.5, 2)


def test_a_count_that_is_not_told_leaves_no_rate_around_it(tmp_path: Path) -> None:
    flow: Columns = {"t_s": TIMES, "delivered_bytes": [0, 1000, None, 3000, 5000]}
    found = both(tmp_path, flow, LINK_A)
    # The arrival time of the 2000 bytes from 1 s to 3 s is unknown.
    assert cells_of_b(found.flows, "goodput_bps") == pytest.approx([8000, None, None, 16000])
    assert found.summary["flows"][0]["goodput_bps"] == figure(8000, 12000, 2)


def test_a_step_that_is_known_in_part_has_no_rate(tmp_path: Path) -> None:
    # Steps of A end at whole seconds. B is unknown from 1.5 s to 2 s, and from 2.5 s to 3 s.
    halves = [place / 2 for place in range(9)]
    rates = [None, 1e3, 3e3, 5e3, None, 7e3, None, 1e3, 2e3]
    found = both(tmp_path, {"t_s": halves, "goodput_bps": rates}, LINK_A)
    assert cells_of_b(found.flows, "goodput_bps") == pytest.approx([2000, None, None, 1500])


def test_time_without_rows_is_told_by_the_sample_after_it(tmp_path: Path) -> None:
    # A sample covers the time since the previous one: 2000 bit/s, or 1500 bytes, from 1 s to 4 s.
    times = [0.0, 0.5, 1.0, 4.0]
    by_rate = {"t_s": times, "goodput_bps": [0.0, 8e3, 8e3, 2e3]}
    found = both(tmp_path, by_rate, LINK_A)
    assert cells_of_b(found.flows, "goodput_bps") == pytest.approx([8000, 2000, 2000, 2000])


def test_a_window_is_held_for_one_step(tmp_path: Path) -> None:
    windows = [10_000, 20_000, None, None, 40_000]
    found = both(tmp_path, {"t_s": TIMES, "cwnd_bytes": windows, "srtt_s": [0.1] * 5}, LINK_A)
    # The value of 1 s is one step old at 2 s, and two steps old at 3 s.
    assert cells_of_b(found.flows, "cwnd_bytes") == [20_000, 20_000, None, 40_000]
    assert cells_of_b(found.flows, "srtt_s") == [0.1] * 4
    window = found.summary["flows"][0]["window"]
    assert window is not None
    # A has 10, 20, 20 and 40 kB: relative differences of 1, 0 and 0.
    assert window["cells"] == 3
    assert window["mean_relative_difference"] == pytest.approx(1 / 3)


def test_a_window_is_not_held_over_missing_rows(tmp_path: Path) -> None:
    times = [0.0, 0.5, 1.0, 3.5, 4.0]
    found = both(tmp_path, {"t_s": times, "cwnd_bytes": [1, 2, 3, 4, 5]}, LINK_A)
    assert cells_of_b(found.flows, "cwnd_bytes") == [3, 3, None, 5]


def test_a_count_of_drops_that_is_not_told_is_told_later(tmp_path: Path) -> None:
    link: Columns = {"t_s": TIMES, "dropped_packets": [2, 2, None, None, 5]}
    found = both(tmp_path, FLOW_A, link)
    # At 2 s the count of 1 s is still valid; at 3 s the count is unknown.
    assert cells_of_b(found.links, "dropped_packets") == [0, 0, None, 3]
    assert found.summary["links"][0]["dropped_packets"] == figure(3, 3, 3)


def test_a_stall_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stalled = {**FLOW_A, "delivered_bytes": [0, 1000, None, 3000, 5000]}
    both(tmp_path, {**stalled, "rtt_s": [0.1, 0.1, None, 0.1, 0.1]}, LINK_A)
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert main(["compare", a, b, "--explain", "--plot", str(tmp_path / "x.svg")]) == 0
    assert "flow up of c: of 4 steps B has no goodput in 2, RTT in 1" in capsys.readouterr().out


def test_cells_are_counted_over_all_seeds(tmp_path: Path) -> None:
    short = {**FLOW_A, "rtt_s": [None, 0.1, None, None, 0.1]}
    a = write(tmp_path / "a", {("c", 1, "up"): FLOW_A, ("c", 2, "up"): short})
    (flow,) = sojourn.compare(a, write(tmp_path / "b", {("c", 3, "up"): short})).summary["flows"]
    peaks = flow["rtt_peak_p50_s"]
    assert (flow["cells"], peaks["cells_a"], peaks["cells_b"]) == (4, 6, 2)
