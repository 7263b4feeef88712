"""One measurement in its own process: reads a job as JSON and prints its figures as JSON.

CPU time is the user and system time of this process. The time of a case covers everything from
building the simulation of a checked scenario to its summary. It excludes reading and checking
the scenario, and writing series as Parquet.
"""

import json
import sys
import time
from typing import Any, TypedDict, cast

from sojourn import _core
from sojourn.bench import bare, child, resident
from sojourn.bench.plan import Case

# Payload of a full packet, the same in all cases.
_MSS = 1448


class Job(TypedDict):
    """The description of a measurement."""

    file: str
    changes: list[str]
    case_cpu_s: float
    bare_cpu_s: float
    count_in_flight: bool
    # Minimum number of profile samples; 0 disables the profile.
    looks: int


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
    looks: dict[str, int]


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


def measure(job: Job) -> Figures:
    """Run the bare loop, the case, and the bare loop again."""
    core = _scenario(job["file"], job["changes"])
    before = bare.pps(job["bare_cpu_s"])
    baseline = resident.begin()
    outcome, setup_s, spent = _run(core)
    # Before reading the outcome, whose memory is not part of the simulation's state.
    peak = resident.peak() - baseline
    link = _bottleneck(outcome)
    in_flight = _most_in_flight(outcome) if job["count_in_flight"] else None
    runs = 1
    while spent < job["case_cpu_s"]:
        # Scenario and seed are the same, so every run has the same packets.
        outcome, setup_s, cpu_s = _run(core)
        spent += cpu_s
        runs += 1
    after = bare.pps(job["bare_cpu_s"])
    looks = dict(_core.bench_parts(core, job["looks"])) if job["looks"] else {}
    return {
        "pps": runs * link["delivered_packets"] / spent,
        "bare_loop_pps": (before + after) / 2,
        "setup_cpu_s": setup_s,
        "peak_memory_bytes": peak,
        "delivered_packets": link["delivered_packets"],
        "dropped_packets": link["dropped_packets"],
        "in_flight_packets": in_flight,
        "looks": looks,
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
    """The bottleneck carries only data, so its delivered packets are data packets."""
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


def main() -> None:
    """Measure one job."""
    child.end_with_parent()
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
