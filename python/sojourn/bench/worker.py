"""One measurement in a process of its own: a job as JSON on standard input, its figures as JSON.

CPU time is the process's own, user and system. A case's has everything from building the
simulation of a scenario that was read and checked to its summary; reading and checking, and
writing series as Parquet, are not in it.
"""

import json
import sys
import time
from typing import Any, TypedDict, cast

from sojourn import _core
from sojourn.bench import child, resident
from sojourn.bench.plan import Case

# Simulated time of each run of the bare loop: case A's.
_BARE_LOOP_S = 60.0
# Payload of a full packet, which no case changes.
_MSS = 1448


class Job(TypedDict):
    """What is to be measured."""

    file: str
    changes: list[str]
    case_cpu_s: float
    bare_cpu_s: float
    count_in_flight: bool
    # How often to look, at least, at which part is at work; 0: not at all.
    looks: int


class Figures(TypedDict):
    """What was measured: figures of one run, speed of all together."""

    pps: float
    bare_loop_pps: float
    setup_cpu_s: float
    peak_memory_bytes: int
    delivered_packets: int
    dropped_packets: int
    in_flight_packets: int | None
    # Looks that found each part at work, in metered runs.
    looks: dict[str, int]


def scenario(case: Case) -> _core.Scenario:
    """The scenario of a case, checked."""
    return _scenario(case.file, case.changes)


def _scenario(file: str, changes: list[str] | tuple[str, ...]) -> _core.Scenario:
    text = dict(_core.bench_cases())[file]
    core = _core.Scenario.from_toml(f"benches/cases/{file}.toml", text, ".")
    for change in changes:
        core.set(change)
    core.check()
    return core


def measure(job: Job) -> Figures:
    """The bare loop, the case, the bare loop again."""
    core = _scenario(job["file"], job["changes"])
    before = _bare_loop(job["bare_cpu_s"])
    baseline = resident.begin()
    outcome, setup_s, spent = _run(core)
    # Before anything reads the outcome: that is no state of the simulation.
    peak = resident.peak() - baseline
    link = _bottleneck(outcome)
    in_flight = _most_in_flight(outcome) if job["count_in_flight"] else None
    runs = 1
    while spent < job["case_cpu_s"]:
        # The same packets each time: the scenario and the seed are the same.
        outcome, setup_s, cpu_s = _run(core)
        spent += cpu_s
        runs += 1
    after = _bare_loop(job["bare_cpu_s"])
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
    """One run: its outcome, the CPU time to set it up, and of all."""
    began = time.process_time()
    simulation = core.simulation(0, core.seed())
    built = time.process_time()
    simulation.advance(simulation.duration_s)
    outcome = simulation.finish()
    return outcome, built - began, time.process_time() - began


def _bottleneck(outcome: _core.Outcome) -> dict[str, Any]:
    """It carries data alone, so what it delivers are data packets."""
    links = json.loads(outcome.summary_json())["links"]
    found: dict[str, Any] = next(link for link in links if link["name"] == "bottleneck")
    return found


def _most_in_flight(outcome: _core.Outcome) -> int:
    """Packets sent and not yet acknowledged by any means, at the sample where they are most."""
    import io

    import polars as pl

    series = pl.read_parquet(io.BytesIO(_core.series_parquet([outcome], "flows")))
    in_flight = series.group_by("t_s").agg(pl.col("in_flight_bytes").sum())["in_flight_bytes"]
    return cast(int, in_flight.max()) // _MSS


def _bare_loop(least_cpu_s: float) -> float:
    """Packets a CPU second of the bare loop."""
    began, packets, spent = time.process_time(), 0, 0.0
    while spent < least_cpu_s:
        packets += _core.bare_loop(_BARE_LOOP_S)
        spent = time.process_time() - began
    return packets / spent


def main() -> None:
    """Measures one job."""
    child.end_with_parent()
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
