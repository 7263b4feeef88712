"""One measurement in a process of its own, which reads a job as JSON and prints its figures.

CPU time is the user and system time of this process. The time of a case covers everything from
building the simulation of a checked scenario to its summary. It excludes reading and checking
the scenario, and writing series as Parquet.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, cast

from sojourn import _core
from sojourn.user.modules import installed_paths

from sojourn_bench import bare
from sojourn_bench.cases import Case, Plan

# Payload of a full packet, the same in all cases.
_MSS = 1448

# An isolated interpreter (-I) ignores the environment and the current folder, whose files could
# shadow modules.
_START = """\
import sys
sys.path[:] = {path!r}
sys.argv = {argv!r}
{code}
"""

_STATUS = Path("/proc/self/status")
# proc_pid_clear_refs(5): writing 5 resets the peak to the current value.
_CLEAR_REFS = Path("/proc/self/clear_refs")


class Job(TypedDict):
    """The description of a measurement."""

    file: str
    changes: list[str]
    case_cpu_s: float
    bare_cpu_s: float
    count_in_flight: bool
    # Minimum number of profile samples; 0 disables the profile.
    samples: int


class Figures(TypedDict):
    """The results: figures of one run, and the speed over all runs."""

    pps: float
    bare_loop_pps: float
    setup_cpu_s: float
    peak_memory_bytes: int
    delivered_packets: int
    dropped_packets: int
    in_flight_packets: int | None
    # Number of profile samples per component, in metered runs.
    samples: dict[str, int]


def scenario(case: Case) -> _core.Scenario:
    """Load and check the scenario of a case."""
    return _scenario(case.file, case.changes)


def _scenario(file: str, changes: list[str] | tuple[str, ...]) -> _core.Scenario:
    text = dict(_core.bench_cases())[file]
    core = _core.Scenario.from_toml(f"benches/cases/{file}.toml", text, ".")
    for change in changes:
        core.set(change)
    core.check()
    return core


def run_worker(plan: Plan, case: Case, count_in_flight: bool = False, samples: int = 0) -> Figures:
    """Measure a case in its own process."""
    job: Job = {
        "file": case.file,
        "changes": list(case.changes),
        "case_cpu_s": plan.case_cpu_s,
        "bare_cpu_s": plan.bare_cpu_s,
        "count_in_flight": count_in_flight,
        "samples": samples,
    }
    done = _run_child("from sojourn_bench.worker import main; main()", json.dumps(job))
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise RuntimeError(f"measuring {case.name} failed: {last[0]}")
    figures: Figures = json.loads(done.stdout)
    return figures


def command(code: str, argv: Sequence[str] = ()) -> list[str]:
    """Build the command that runs Python code with this Sojourn and this process's libraries."""
    start = _START.format(path=installed_paths(), argv=["sojourn", *argv], code=code)
    return [sys.executable, "-I", "-c", start]


def _run_child(code: str, text: str) -> "subprocess.CompletedProcess[str]":
    """Run code that calls `_end_with_parent` first; `text` is its standard input.

    The child ends with this process, even after SIGKILL, because the kernel then closes the pipe.
    """
    ours, theirs = os.pipe()
    try:
        # Job and figures may contain any name; -I leaves the encoding to the locale.
        return subprocess.run(
            command(code, [str(ours)]),
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            pass_fds=[ours],
        )
    finally:
        os.close(ours)
        os.close(theirs)


def measure(job: Job) -> Figures:
    """Run the bare loop, the case, and the bare loop again."""
    core = _scenario(job["file"], job["changes"])
    before = bare.pps(job["bare_cpu_s"])
    baseline = _begin_memory()
    outcome, setup_s, spent = _run(core)
    # Before reading the outcome, whose memory is not part of the simulation's state.
    peak = _peak_memory() - baseline
    link = _bottleneck(outcome)
    in_flight = _most_in_flight(outcome) if job["count_in_flight"] else None
    runs = 1
    while spent < job["case_cpu_s"]:
        # Scenario and seed are the same, so every run has the same packets.
        outcome, setup_s, cpu_s = _run(core)
        spent += cpu_s
        runs += 1
    after = bare.pps(job["bare_cpu_s"])
    samples = dict(_core.bench_parts(core, job["samples"])) if job["samples"] else {}
    return {
        "pps": runs * link["delivered_packets"] / spent,
        "bare_loop_pps": (before + after) / 2,
        "setup_cpu_s": setup_s,
        "peak_memory_bytes": peak,
        "delivered_packets": link["delivered_packets"],
        "dropped_packets": link["dropped_packets"],
        "in_flight_packets": in_flight,
        "samples": samples,
    }


def _run(core: _core.Scenario) -> tuple[_core.Outcome, float, float]:
    """Run once; return the outcome, the CPU time of the set-up, and the total CPU time."""
    began = time.process_time()
    simulation = core.simulation(0, core.seed())
    built = time.process_time()
    simulation.advance(simulation.duration_s)
    outcome = simulation.finish()
    return outcome, built - began, time.process_time() - began


def _bottleneck(outcome: _core.Outcome) -> dict[str, Any]:
    """Return the summary of the bottleneck, which carries only data packets."""
    links = json.loads(outcome.summary_json())["links"]
    found: dict[str, Any] = next(link for link in links if link["name"] == "bottleneck")
    return found


def _most_in_flight(outcome: _core.Outcome) -> int:
    """Return the maximum over all samples of packets sent but not yet acknowledged."""
    import io

    import polars as pl

    series = pl.read_parquet(io.BytesIO(_core.series_parquet([outcome], "flows")))
    in_flight = series.group_by("t_s").agg(pl.col("in_flight_bytes").sum())["in_flight_bytes"]
    return cast(int, in_flight.max()) // _MSS


def _begin_memory() -> int:
    """Return the resident bytes, and reset the peak if the system allows it."""
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _status("VmRSS") or _peak_of_process()


def _peak_memory() -> int:
    """Return the peak of the resident bytes since `_begin_memory`."""
    # getrusage includes the parent's peak, because exec keeps the greater of both.
    return _status("VmHWM") or _peak_of_process()


def _status(key: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def _peak_of_process() -> int:
    # macOS reports bytes, other systems KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def _end_with_parent() -> None:
    """End this process when the pipe in its first argument is closed."""
    watched = int(sys.argv[1])

    def watch() -> None:
        os.read(watched, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Measure one job."""
    _end_with_parent()
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
