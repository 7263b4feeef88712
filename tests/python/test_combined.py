"""Runs side by side."""

import json
from pathlib import Path

import pytest
import sojourn
from sojourn.cli import main
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
    assert main(["compare", *files, "--flow", "upload"]) == 2
    assert "leave them out" in capsys.readouterr().err
    assert main(["compare", *files, files[0]]) == 2
    assert "named twice" in capsys.readouterr().err
