"""What `bench --json` prints: add to it, never rename. `pps` is packets a CPU second."""

from typing import Any, TypedDict


class Parts(TypedDict):
    """Where the time of a data packet goes, in nanoseconds of CPU time.

    Of a run with a sample of every flow and link each 10 ms; together they are its time.
    """

    queue: float
    transport: float
    controller: float
    engine: float
    recording: float


class _Case(TypedDict):
    pps: float
    ratio: float
    ratio_low: float
    ratio_high: float
    sampled_pps: float
    sampled_ratio: float
    peak_memory_bytes: int
    delivered_packets: int
    dropped_packets: int


class Case(_Case, total=False):
    """One case: medians of all rounds, with the least and greatest ratio.

    `sampled_` is with a sample of every flow and link each 10 ms; the rest records nothing.
    """

    parts_ns: Parts


class Scaling(TypedDict):
    """The same link with so many flows: medians of the rounds, and the range of `ns_per_packet`."""

    flows: int
    rate: str
    rounds: int
    ns_per_packet: float
    ns_per_packet_low: float
    ns_per_packet_high: float
    ratio: float
    setup_cpu_s: float
    peak_memory_bytes: int
    delivered_packets: int
    dropped_packets: int


class Memory(TypedDict):
    """A pipe full of packets; all state is counted, divided by those in flight."""

    peak_memory_bytes: int
    in_flight_packets: int
    bytes_per_packet: float


class Startup(TypedDict):
    """Wall time of whole commands, Python included."""

    help_best_s: float
    help_median_s: float
    run_best_s: float
    run_median_s: float


Jobs = TypedDict("Jobs", {"1": float, "2": float, "speedup": float})
"""Wall seconds of the same simulations with one thread and with two."""


class _Bench(TypedDict):
    version: str
    quick: bool
    machine: dict[str, Any]
    bare_loop_pps: float
    bare_loop_low_pps: float
    bare_loop_high_pps: float
    cases: dict[str, Case]
    scaling: list[Scaling]


class Bench(_Bench, total=False):
    """Everything; the rest is there unless only some cases were asked for."""

    memory: Memory
    startup: Startup
    jobs: Jobs
