"""What `run --json` prints and `summary.json` holds: add to it, never rename.

Keys end in their unit (`_s`, `_bps`, `_bytes`, `_packets`; none for ratios).
"""

from typing import Any, TypedDict


class FlowSummary(TypedDict):
    """One flow of one run."""

    name: str
    control: str
    goodput_bps: float
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    rtt_max_s: float | None
    sent_packets: int
    retransmitted_packets: int
    marked_packets: int
    completion_s: float | None
    base_rtt_s: float
    dropped_packets: int
    timeouts: int
    completed_transfers: int
    response_p50_s: float | None
    response_p99_s: float | None


class LinkSummary(TypedDict):
    """One link of one run."""

    name: str
    utilisation: float | None
    queue_delay_p50_s: float | None
    queue_delay_p99_s: float | None
    queue_delay_max_s: float | None
    dropped_packets: int
    marked_packets: int
    capacity_bps: float | None
    arrived_packets: int
    delivered_packets: int


class SpikeSummary(TypedDict):
    """One change of a link's capacity, and the queueing delay that followed.

    Both kinds of excess are null where capacity rises: a rise calls for no queue.
    """

    link: str
    at_s: float
    from_bps: float
    to_bps: float
    spike_s: float | None
    bound_s: float | None
    bound_corrected_s: float | None
    bound_lost_fraction: float
    excess_s: float | None
    excess_corrected_s: float | None
    duration_s: float | None
    utilisation_before: float | None
    utilisation_after: float | None
    peak_at_s: float | None
    carried_before_bps: float | None


class RunSummary(TypedDict):
    """One simulation: a controller with a seed."""

    control: str
    seed: int
    duration_s: float
    flows: list[FlowSummary]
    links: list[LinkSummary]
    spikes: list[SpikeSummary]


class Spread(TypedDict):
    """A figure over repeated runs; `low` and `high` need six runs or more."""

    n: int
    median: float
    low: float | None
    high: float | None
    p5: float
    p95: float


class Medians(TypedDict):
    """All runs of one controller; every figure in the lists is a `Spread` or null."""

    control: str
    runs: int
    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    spikes: list[dict[str, Any]]


class _Required(TypedDict):
    scenario: str
    version: str
    runs: list[RunSummary]


class Summary(_Required, total=False):
    """Everything: `medians` is there where a controller ran more than once."""

    medians: list[Medians]


class SpikeTheory(TypedDict):
    """What `theory spike --json` prints."""

    r: float
    delay_s: float
    spike_s: float
    lost_fraction: float
    time_to_peak_s: float
