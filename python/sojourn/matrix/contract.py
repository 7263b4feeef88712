"""What `matrix --json` prints: add to it, never rename."""

from typing import Any, TypedDict


class Cell(TypedDict):
    """One simulation: one or two flows over a queue.

    `rtt` is as asked for; `base_rtt_s` counts the transmission of a packet and of its
    acknowledgement as well. `goodput_bps`, each over the life of its flow, is in the order of
    `controls`, and so are the round-trip times that each flow measured (None without a sample);
    the second flow starts a second later. `jain` is Jain's fairness index of the
    goodputs, None for a flow alone. Counts and percentiles are of the bottleneck's queue and of
    the whole run.

    Of several `runs`, `distinct` differ in a goodput. Every figure is then the mean, `intervals`
    has the lower and the upper end of its 95 % confidence interval under the same name (Student;
    None without a value in some run), and `each` has the figures run by run. Both are empty for
    one run.
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
    """A combination that cannot be: which, and why."""

    queue: str
    controls: list[str]
    reason: str


class MatrixSummary(TypedDict):
    """Every controller over every queue: what was asked, and what came out."""

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
