"""Types of the output of `matrix --json`: changes may add keys but never rename one."""

from typing import Any, TypedDict


class Cell(TypedDict):
    """One simulation: one or two flows over a queue.

    `rtt` is the requested value; `base_rtt_s` also includes the transmission of a packet and of its
    acknowledgement. `goodput_bps` has each flow's goodput over its lifetime, in the order of
    `controls`. The round-trip times that each flow measured are in the same order (None without a
    sample). The second flow starts a second later. `jain` is Jain's fairness index of the goodputs,
    None for a single flow. Counts and percentiles are of the bottleneck's queue and of the whole
    run.

    With several `runs`, `distinct` counts those that differ in a goodput. Every figure is then the
    mean. `intervals` has the ends of its 95 % confidence interval under the same name (Student;
    None if some run has no value), and `each` has the figures of each run. Both are empty for one
    run.
    """

    queue: str
    rtt: str
    base_rtt_s: float
    controls: list[str]
    goodput_bps: list[float]
    jain: float | None
    utilisation: float
    queue_delay_p50_s: float
    queue_delay_p99_s: float
    marked_packets: float
    dropped_packets: float
    delivered_packets: float
    rtt_p50_s: list[float | None]
    rtt_p99_s: list[float | None]
    runs: int
    distinct: int
    intervals: dict[str, Any]
    each: list[dict[str, Any]]


class Refusal(TypedDict):
    """An impossible combination and the reason."""

    queue: str
    controls: list[str]
    reason: str


class MatrixSummary(TypedDict):
    """Every controller over every queue: the parameters and the results."""

    version: str
    controls: list[str]
    queues: list[str]
    rtts: list[str]
    rate: str
    buffer: str
    duration: str
    seed: int
    runs: int
    cells: list[Cell]
    refused: list[Refusal]
