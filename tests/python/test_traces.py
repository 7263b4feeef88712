"""Traces are read once: changes to the files during a command have no effect."""

import json
from pathlib import Path

import sojourn
from sojourn import _core
from sojourn.run import api
from support import Sojourn

SCENARIO = """\
title    = "Traces"
duration = "2s"
controls = ["cubic"]
[link.a]
rate  = { trace = "b-x.trace" }
delay = "5ms"
[link.a-b]
rate  = { trace = "x.trace" }
delay = "5ms"
[flow.one]
path = ["a"]
back = ["a-b"]
[flow.two]
path = ["a-b"]
back = ["a"]
"""


def write(place: Path, slow: int = 1, fast: int = 1) -> Path:
    """Write traces with one packet per interval of this many ms."""
    (place / "b-x.trace").write_text("".join(f"{ms}\n" for ms in range(slow, 100, slow)))
    (place / "x.trace").write_text("".join(f"{ms}\n" for ms in range(fast, 100, fast)))
    file = place / "scenario.toml"
    file.write_text(SCENARIO)
    return file


def goodputs(run: sojourn.Run) -> list[list[float]]:
    return [[flow["goodput_bps"] for flow in one["flows"]] for one in run.runs]


def test_a_trace_that_changes_during_the_runs_changes_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, slow=5, fast=2)
    expected = goodputs(sojourn.run(file, runs=6, jobs=1))
    core = sojourn.Scenario.load(file).compile()
    core.check()

    def change(done_s: float, total_s: float) -> None:
        (tmp_path / "b-x.trace").write_text("1\n")
        (tmp_path / "x.trace").unlink(missing_ok=True)

    run = api.record(core, "scenario.toml", 6, 1, change)
    assert not (tmp_path / "x.trace").exists(), "it changed during the runs"
    assert goodputs(run) == expected
    assert run.files["a-b-x.trace"].startswith("5\n10\n")
    assert run.files["a-b-x-2.trace"].startswith("2\n4\n")


def test_traces_of_the_same_name_are_told_apart(without_report: Sojourn, tmp_path: Path) -> None:
    write(tmp_path, slow=5, fast=2)
    for scenario, out in (("scenario.toml", "first"), ("first/scenario.toml", "second")):
        done = without_report("run", scenario, "--out", out)
        assert done.returncode == 0, done.stderr
    first, second = tmp_path / "first", tmp_path / "second"
    traces = {"a-b-x.trace", "a-b-x-2.trace"}
    for place in (first, second):
        assert {path.name for path in place.glob("*.trace")} == traces
    runs = [json.loads((place / "summary.json").read_text())["runs"] for place in (first, second)]
    assert runs[0] == runs[1]
    assert (first / "scenario.toml").read_text() == (second / "scenario.toml").read_text()


def test_a_trace_does_not_take_the_name_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("1\n2\n")
    text = SCENARIO.replace("link.a-b", "link.controller").replace('"a-b"', '"controller"')
    text = text.replace("b-x.trace", "mine.py").replace('"x.trace"', '"mine.py"')
    core = _core.Scenario.from_toml("x.toml", text, str(tmp_path))
    core.check()
    names = [name for name, _ in core.portable()[1]]
    assert names == ["a-mine.py", "controller-mine.py.trace"]
