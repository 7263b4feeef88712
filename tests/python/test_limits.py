"""Limits of memory and sizes, from the command line and from Python."""

import runpy
from pathlib import Path

import pytest
import sojourn
from sojourn import _core
from sojourn.run import experiment
from sojourn.user.controllers import UserControllers

ROOT = Path(__file__).parents[2]
ONE = """
duration = "1s"
host = "rfc"
[link.a]
rate = "10Mbit"
delay = "10ms"
[flow.f]
path = ["a"]
control = "reno"
"""


class Window:
    """A constant window, independent of the path."""

    size: float = 0.0

    def __init__(self, setup: sojourn.Setup) -> None:
        pass

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        """Ignore all feedback."""

    def limits(self) -> sojourn.Limits:
        return sojourn.Limits(self.size)


@pytest.mark.parametrize("size", [1e9, 1e12, 1e30])
def test_a_window_beyond_the_path_is_an_error_with_both_figures(size: float) -> None:
    wide = type("Wide", (Window,), {"size": size})
    with pytest.raises(sojourn.ControllerError, match=r"\d+ packets of flow `f` in flight"):
        sojourn.run(sojourn.Scenario.parse(ONE), control="wide", controllers={"wide": wide})


@pytest.mark.parametrize("name", ["bufferbloat", "capacity-drop", "fair-share"])
def test_the_documented_controller_runs_shipped_scenarios(name: str) -> None:
    scenario = sojourn.Scenario.load(ROOT / "scenarios" / f"{name}.toml")
    namespace = runpy.run_path(str(ROOT / "docs/own_controller.py"))
    run = sojourn.run(scenario, control="mine", controllers={"mine": namespace["Mine"]})
    assert all(flow["sent_packets"] > 0 for flow in run.summary["runs"][0]["flows"])


@pytest.mark.parametrize("host", ["rfc", "linux-6.18"])
def test_flows_with_own_controllers_share_the_memory_of_their_link(host: str) -> None:
    """The packets that the link holds count once, and not for each of a thousand flows.

    The lower limit is the memory that such a run takes: 12 kB for each flow, and the 64 packets
    that it sends before it is checked.
    """
    core = sojourn.Scenario.parse(
        f'duration = "1s"\nhost = "{host}"\n[link.a]\nrate = "10Gbit"\ndelay = "25ms"\n'
        '[link.b]\ndelay = "25ms"\n'
        '[flow.f]\npath = ["a"]\nback = ["b"]\ncontrol = "wide"\ncount = 1000\n'
        '[record]\ninterval = "0s"\n'
    ).compile()
    core.use_controllers(UserControllers({"wide": Window}).catalogue)
    assert 50 << 20 < core.memory_bytes() < 200 << 20


@pytest.mark.parametrize("size", [float("nan"), -5.0, 0.0, float("inf")])
def test_a_window_that_is_none_is_refused(size: float) -> None:
    odd = type("Odd", (Window,), {"size": size})
    with pytest.raises(sojourn.ControllerError, match=r"cwnd_bytes is .*; it must be 1 or more"):
        sojourn.run(sojourn.Scenario.parse(ONE), control="odd", controllers={"odd": odd})


def test_a_large_initial_window_is_refused_before_it_is_sent() -> None:
    with pytest.raises(sojourn.NotEnoughMemoryError, match="of memory"):
        sojourn.run(sojourn.Scenario.parse(ONE), set=["flow.f.host.initial_window=1000000000"])


def test_a_hundred_million_runs_are_refused_before_they_are_listed() -> None:
    with pytest.raises(sojourn.NotEnoughMemoryError, match="ask for fewer runs"):
        sojourn.run(sojourn.Scenario.parse(ONE), runs=100_000_000)


def test_jobs_are_made_when_they_are_asked_for() -> None:
    core = sojourn.Scenario.parse(ONE).compile()
    core.set_controls(["reno", "cubic"])
    jobs = experiment.jobs_of(core, 10**9)
    assert len(jobs) == 2 * 10**9
    assert (jobs[10**9 + 5].control, jobs[10**9 + 5].seed) == (1, 6)
    assert [job.seed for job in jobs[2:4]] == [3, 4]
    few = experiment.jobs_of(core, 2)
    assert [(job.control, job.seed) for job in few] == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_a_trace_is_read_once_for_all_runs(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    trace.write_text("1\n2\n3\n", "utf-8")
    core = _core.Scenario.from_toml(
        "x", ONE.replace('"10Mbit"', '{ trace = "a.trace" }'), str(tmp_path)
    )
    core.check()
    trace.unlink()
    core.simulation(0, 1).finish()
    assert core.duration_s() == 1.0
    core.set("seed=2")
    core.check()
