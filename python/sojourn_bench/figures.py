"""Types of the output of `bench --json`: changes may add keys but never rename one.

`pps` is packets per CPU second.
"""

from typing import Any, TypedDict


class Parts(TypedDict):
    """The CPU time of a data packet by component, in nanoseconds.

    The run records a sample of every flow and link each 10 ms. The sum is the packet's total time.
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
    """One case: medians of all rounds, with the lowest and highest ratio.

    Keys with `sampled_` are from runs that record a sample of every flow and link each 10 ms. All
    other runs have no samples.
    """

    parts_ns: Parts


class Scaling(TypedDict):
    """One link with this many flows: medians of the rounds, and the range of `ns_per_packet`."""

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
    """A pipe full of packets: the whole state, divided by the number of packets in flight."""

    peak_memory_bytes: int
    in_flight_packets: int
    bytes_per_packet: float


class Startup(TypedDict):
    """Wall-clock time of whole commands, including Python."""

    help_best_s: float
    help_median_s: float
    run_best_s: float
    run_median_s: float


Jobs = TypedDict("Jobs", {"1": float, "2": float, "speedup": float})
"""Wall-clock seconds of the same simulations with one thread and with two."""


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
    """All results; the optional ones are absent if only some cases were requested."""

    memory: Memory
    startup: Startup
    jobs: Jobs
