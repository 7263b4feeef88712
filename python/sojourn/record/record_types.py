"""Types of the tables that a run leaves.

Written by docs/record_types.py from the declaration in crates/record.
"""

from typing import Any, Literal, TypedDict


class FlowSample(TypedDict):
    """A sample of a flow.

    In the row of a flow with random arrivals, `cwnd_bytes` and the counts are sums over its
    transfers, `response_s` is the longest completion time, and columns of a single sender are
    null.
    """

    control: str
    seed: int
    flow: str
    phase: str | None
    t_s: float
    cwnd_bytes: float | None
    ssthresh_bytes: float | None
    srtt_s: float | None
    rtt_s: float | None
    min_rtt_s: float | None
    pacing_bps: float | None
    goodput_bps: float | None
    alpha: float | None
    bandwidth_bps: float | None
    response_s: float | None
    in_flight_bytes: int | None
    delivered_bytes: int | None
    lost_packets: int | None
    retransmitted_packets: int | None
    marked_packets: int | None


class LinkSample(TypedDict):
    """A sample of a link."""

    control: str
    seed: int
    link: str
    t_s: float
    capacity_bps: float | None
    carried_bps: float | None
    queue_delay_s: float | None
    queue_delay_mean_s: float | None
    queue_bytes: int | None
    queue_packets: int | None
    dropped_packets: int | None
    marked_packets: int | None


class Transfer(TypedDict):
    """A transfer of a flow that draws the sizes of its transfers, or makes them in batches."""

    control: str
    seed: int
    flow: str
    start_s: float
    size_bytes: int
    completion_s: float | None
    slowdown: float | None


class Frame(TypedDict):
    """A frame of a flow of media."""

    control: str
    seed: int
    flow: str
    captured_s: float
    size_bytes: int
    key: int | None
    late: int | None
    delay_s: float | None
    least_delay_s: float | None
    played_s: float | None


class Acknowledgement(TypedDict):
    """An acknowledgement at a sender of the kernel's TCP (`sojourn live --tcp-probe DIR`).

    The state is that before the kernel processes it.
    """

    control: str
    seed: int
    flow: str
    t_s: float | None
    cwnd_bytes: float | None
    ssthresh_bytes: float | None
    srtt_s: float | None
    pacing_bps: float | None
    in_flight_bytes: int | None
    acked_bytes: int | None
    lost_packets: int | None
    retransmitted_packets: int | None
    delivered_packets: int | None
    marked_packets: int | None


class SizeClass(TypedDict):
    """The transfers of a class of sizes; all of them first, then each class that has any.

    The classes are up to 100 kB, up to 10 MB, and above. Percentiles are by nearest rank.
    """

    from_bytes: int
    to_bytes: int | None
    started_transfers: int
    completed_transfers: int
    completion_p50_s: float | None
    completion_p95_s: float | None
    completion_p99_s: float | None
    completion_mean_s: float | None
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    slowdown_mean: float | None


class MediaSummary(TypedDict):
    """The frames of a flow of media, since the end of the warm-up.

    Delays are null without a frame.
    """

    frames: int
    complete_frames: int
    played_frames: int
    late_frames: int
    key_frames: int
    frame_delay_p50_s: float | None
    frame_delay_p95_s: float | None
    frame_delay_p99_s: float | None
    frame_delay_max_s: float | None
    frame_delay_mean_s: float | None
    playout_delay_p50_s: float | None
    playout_delay_p95_s: float | None
    playout_delay_p99_s: float | None
    playout_delay_max_s: float | None
    playout_delay_mean_s: float | None
    least_frame_delay_mean_s: float | None
    avoidable_share: float | None
    freezes: int
    frozen_s: float
    media_bps: float
    played_bps: float
    quality_mos: float | None
    quality_model: str


class _LinkSummary(TypedDict, total=False):
    warning: str


class LinkSummary(_LinkSummary):
    """One link of one run."""

    name: str
    utilisation: float | None
    capacity_bps: float | None
    queue_delay_p50_s: float | None
    queue_delay_p99_s: float | None
    queue_delay_max_s: float | None
    arrived_packets: int
    delivered_packets: int
    dropped_packets: int
    marked_packets: int
    duplicated_packets: int
    reordered_packets: int


class SpikeSummary(TypedDict):
    """One change of a link's capacity, and the queueing delay that followed.

    A step and a ramp are a change each. The capacity of a trace is averaged over intervals of
    200 ms; a change leads from one turning point to the next, over a factor of two or more.
    """

    link: str
    at_s: float
    complete_at_s: float
    from_bps: float
    to_bps: float
    spike_s: float | None
    bound_s: float | None
    bound_lost_fraction: float
    excess_s: float | None
    recovery_s: float | None
    peak_at_s: float
    queue_delay_before_s: float
    carried_before_bps: float
    loop_s: float
    carried_loop_bps: float
    offered_loop_bps: float | None
    dropped_to_peak_packets: int
    utilisation_before: float | None
    utilisation_after: float | None


class Departures(TypedDict):
    """The lateness of a sender's paced packets."""

    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None


class TransferSummary(TypedDict):
    """A transfer of `sojourn send`.

    Counts of the server are null if its receipt did not arrive.
    """

    peer: str
    settings: dict[str, Any]
    complete: bool
    delivered_bytes: int
    received_bytes: int | None
    received_packets: int | None
    duplicated_packets: int | None
    mss_bytes: int
    ecn: str
    sent_ect0_packets: int
    sent_ect1_packets: int
    received_ect0_packets: int | None
    received_ect1_packets: int | None
    received_ce_packets: int | None
    paced_by: str
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None
    overflowed_packets: int
    notes: list[str]


class Spread(TypedDict):
    """A figure over repeated runs."""

    n: int
    distinct: int
    median: float
    low: float | None
    high: float | None
    p5: float
    p95: float
    mean: float
    mean_low: float | None
    mean_high: float | None


class ControllerVerdict(TypedDict):
    """The response of one controller to a change of capacity; figures of several runs are medians.

    Unknown values are null.
    """

    control: str
    outcome: Literal["above", "at", "below", "rise", "unknown"]
    bound_s: float | None
    spike_s: float | None
    excess_s: float | None
    recovery_s: float | None
    load: float | None
    limit: Literal["load", "window"] | None
    utilisation_after: float | None
    cause: Literal["drops", "faster", "late", "queue", "slower"] | None
    cause_s: float | None


class AvoidableDelay(TypedDict):
    """The queueing delay of one controller on a link with a trace; medians of several runs."""

    control: str
    queue_delay_p99_s: float
    avoidable_share: float
    utilisation: float | None


class VerdictPart(TypedDict):
    """A part of a bar."""

    part: Literal["unavoidable", "queue", "faster", "late", "avoidable"]
    delay_s: float


class _FlowSummary(TypedDict, total=False):
    host: str
    rwnd_limited_s: float
    closed: str
    ecn_failure: str
    transfers_by_size: list[SizeClass]
    media: MediaSummary


class FlowSummary(_FlowSummary):
    """One flow of one run.

    Figures of a flow with random arrivals are sums over its transfers, and its round-trip times
    are those of all of them.
    """

    name: str
    control: str
    start_s: float
    goodput_bps: float
    base_rtt_s: float
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    rtt_max_s: float | None
    rtt_mean_s: float | None
    rtt_missing_share: float | None
    sent_packets: int
    retransmitted_packets: int
    spurious_retransmissions: int | None
    undone_reductions: int | None
    marked_packets: int
    dropped_packets: int
    timeouts: int | None
    completion_s: float | None
    completed_transfers: int
    response_p50_s: float | None
    response_p99_s: float | None
    response_mean_s: float | None


class LiveSummary(TypedDict):
    """The timing of a live run, and the packets that no link counts.

    Every packet that enters is delivered, refused by a device, dropped by a link, or inside at
    the end. Over the kernel's links (`bottleneck` is `tc`), lateness is that of a reading of
    their counters or of a change.
    """

    bottleneck: str
    device: str | None
    timing_note: str | None
    queue_delays: str
    flow_drops: str
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_p999_s: float | None
    lateness_max_s: float | None
    departure_p50_s: float | None
    departure_p99_s: float | None
    departure_p999_s: float | None
    realtime: bool
    locked: bool
    spun_s: float
    stolen_s: float
    warning: str | None
    entered_packets: int
    delivered_packets: int
    foreign_packets: int
    overflowed_packets: int
    refused_packets: int
    inside_packets: int
    captured_packets: int | None
    uncaptured_packets: int | None
    ack_rows: int | None
    missed_ack_rows: int | None
    departures: dict[str, Departures]
    transports: dict[str, str]
    paced_by: str | None


class Verdict(TypedDict):
    """One change of capacity: the unavoidable delay, and the response of every controller."""

    link: str
    at_s: float
    complete_at_s: float | None
    from_bps: float
    to_bps: float
    unavoidable_s: float | None
    controllers: list[ControllerVerdict]
    text: str


class _LinkUnavoidable(TypedDict, total=False):
    series: list[tuple[float, float]]


class LinkUnavoidable(_LinkUnavoidable):
    """The queueing delay that no sender can avoid on a link with a trace, if it fills the link."""

    link: str
    loop_s: float
    mean_rate_bps: float
    queue_delay_p50_s: float
    queue_delay_p99_s: float
    queue_delay_max_s: float
    controllers: list[AvoidableDelay]
    text: str


class VerdictRow(TypedDict):
    """The bar of one controller."""

    control: str
    parts: list[VerdictPart]
    recovery_s: float | None
    text: str


class _RunSummary(TypedDict, total=False):
    measured_from_s: float
    live: LiveSummary
    transfer: TransferSummary


class RunSummary(_RunSummary):
    """One run: a controller with a seed."""

    control: str
    seed: int
    duration_s: float
    flows: list[FlowSummary]
    links: list[LinkSummary]
    spikes: list[SpikeSummary]


class VerdictPicture(TypedDict):
    """The verdict as a picture: a bar for each controller, in the order of the sentence.

    Its parts follow each other on one scale.
    """

    title: str
    caption: str
    scale_s: float
    rows: list[VerdictRow]
