"""What `matrix --json` prints: add to it, never rename."""

from typing import TypedDict


class Cell(TypedDict):
    """One simulation: one or two flows over a queue.

    `rtt` is as asked for; `base_rtt_s` counts the transmission of a packet and of its
    acknowledgement as well. `goodput_bps`, each over the life of its flow, is in the order of
    `controls`, and so are the round-trip times that each flow measured (None without a sample);
    the second flow starts a second later. `jain` is Jain's fairness index of the
    goodputs, None for a flow alone. Counts and percentiles are of the bottleneck's queue and of
    the whole run.
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
    marked_packets: int
    dropped_packets: int
    delivered_packets: int
    rtt_p50_s: list[float | None]
    rtt_p99_s: list[float | None]


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
    cells: list[Cell]
    refused: list[Refusal]
