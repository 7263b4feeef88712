"""Runs side by side."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn.cli import main
from sojourn.record import summary_table
from support import ROOT


def test_combined_runs_keep_their_data(small: Path) -> None:
    near = sojourn.run(small)
    far = sojourn.run(small, set={"link.back.delay": "40ms"})
    both = sojourn.combine({"near": near, "far": far})
    names = ["cubic near", "dctcp near", "cubic far", "dctcp far"]
    assert [run["control"] for run in both.runs] == names
    assert both.runs[2]["flows"] == far.runs[0]["flows"]
    own = both.link("bottleneck", "cubic far").series["queue_delay_s"]
    assert own.to_list() == far.link("bottleneck", "cubic").series["queue_delay_s"].to_list()
    # The bounds differ, since the loops do.
    assert "2 changes" not in both.summary["verdicts"][0]["text"]
    assert both.plot().svg.startswith("<svg")


def test_runs_over_one_trace_keep_its_unavoidable_delay() -> None:
    base = ROOT / "scenarios" / "cellular.toml"
    buffers = {
        size: sojourn.run(base, control="cubic", set={"link.downlink.buffer": size})
        for size in ("100kB", "300kB")
    }
    both = sojourn.combine(buffers)
    (found,) = both.summary["unavoidable"]
    assert [one["control"] for one in found["controllers"]] == ["100kB", "300kB"]
    assert both.plot().svg


def test_the_header_names_no_host_for_live_runs(small: Path) -> None:
    runs = {name: sojourn.run(small, control="cubic") for name in ("simulated", "kernel")}
    host = runs["simulated"].runs[0]["flows"][0]["host"]
    made: Any = runs["kernel"].runs[0]
    made["live"] = {"transports": {"upload": "tcp"}, "lateness_p99_s": None}
    made["flows"][0]["host"] = None
    both = sojourn.combine(runs)
    assert summary_table.build(both.summary).caption.endswith(f"host {host} in simulated runs")


def test_more_than_two_directories_are_compared(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [small.parent / name for name in ("a", "b", "c")]
    for seed, place in enumerate(places, start=1):
        sojourn.run(small, control="cubic", seed=seed).save(place, report=())
    files = list(map(str, places))
    assert main(["compare", *files, "--json"]) == 0
    assert [run["control"] for run in json.loads(capsys.readouterr().out)["runs"]] == [*"abc"]
    out = small.parent / "out"
    assert main(["compare", *files, "--out", str(out)]) == 0
    assert (out / "report.html").exists()
    assert main(["compare", *files, "--flow", "download"]) == 2
    assert "has no flow `download`; it has: upload" in capsys.readouterr().err
    assert main(["compare", *files, "--shift-b", "1"]) == 2
    assert "second of two directories" in capsys.readouterr().err


def test_two_runs_and_three_have_the_same_figures(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"flow.upload.start": "1s", "measure": {"from": "2s"}}
    many = sojourn.run(small, control="cubic", set=sets, runs=2).save(small.parent / "many", ())
    one = sojourn.run(small, control="cubic", set=sets).save(small.parent / "one", ())

    def compared(*places: Path) -> Any:
        assert main(["compare", *map(str, places), "--json", "--link", "bottleneck"]) == 0
        return json.loads(capsys.readouterr().out)

    shutil.copytree(one, small.parent / "other")
    two, three = compared(many, one), compared(many, one, small.parent / "other")
    assert two["runs"] == three["runs"][:3]
    (flow,) = two["flows"]
    assert flow["run_goodput_bps"]["a"] == two["medians"][0]["flows"][0]["goodput_bps"]["median"]
    assert [link["name"] for link in two["runs"][0]["links"]] == ["bottleneck"]
    # The goodput leaves out the time before the flow, and the warm-up. A full link has 7.5 Mbit/s
    # after the warm-up, and 7 Mbit/s since the flow's start as a mean over the whole run.
    assert flow["run_goodput_bps"]["b"] > 1.05 * flow["goodput_bps"]["b"]
    assert main(["compare", str(many), str(one), "--plot", str(small.parent / "x.svg")]) == 0
    assert "unequal numbers of runs: 1 run of one; 2 runs of many" in capsys.readouterr().out
