"""JSON of a run: `run --json` and `summary.json`.

Changes may add keys but never rename one. Keys end in their unit (`_s`, `_bps`, `_bytes`,
`_packets`); ratios have no suffix.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

FORMAT = 1
"""Version of the run directory's format (docs/run-directory.md). It increases only if a reader of
the previous version would misread the files; added keys do not increase it."""


Item = Mapping[str, Any]
"""A run, a flow, a link or a change of capacity: its figures, or their spreads over runs."""


class _Slowdowns(TypedDict, total=False):
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    slowdown_mean: float | None


class SizeClass(_Slowdowns):
    """The transfers of more than `from_bytes`, up to `to_bytes` (null for no limit).

    A slowdown is the completion time over the least time on the empty path of the flow.
    """

    from_bytes: int
    to_bytes: int | None
    started_transfers: int
    completed_transfers: int
    completion_p50_s: float | None
    completion_p95_s: float | None
    completion_p99_s: float | None
    completion_mean_s: float | None


class MediaSummary(TypedDict):
    """The frames of a flow of media. Delays are null without a frame."""

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


class _Optional(TypedDict, total=False):
    transfers_by_size: list[SizeClass]
    media: MediaSummary
    closed: str
    ecn_failure: str


class FlowSummary(_Optional):
    """One flow of one run.

    `transfers_by_size` is present if the sizes of its transfers are drawn: all of them first, then
    those of each class of sizes. `media` is present for a flow of media. `closed` is the reason if
    a stack has ended the connection. `ecn_failure` is the damage to ECN for which the sender
    stopped its use (docs/damage.md).
    """

    name: str
    control: str
    start_s: float | None
    goodput_bps: float
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    rtt_max_s: float | None
    rtt_mean_s: float | None
    sent_packets: int
    retransmitted_packets: int
    spurious_retransmissions: int
    undone_reductions: int
    marked_packets: int
    completion_s: float | None
    base_rtt_s: float
    dropped_packets: int
    timeouts: int
    completed_transfers: int
    response_p50_s: float | None
    response_p99_s: float | None
    response_mean_s: float | None


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
    duplicated_packets: int
    reordered_packets: int


class SpikeSummary(TypedDict):
    """One change of a link's capacity, and the queueing delay that followed.

    Both kinds of excess are null if the capacity rises, because a rise builds up no queue.
    """

    link: str
    at_s: float
    complete_at_s: float | None
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
    queue_delay_before_s: float | None
    carried_before_bps: float | None
    loop_s: float | None
    carried_loop_bps: float | None
    offered_loop_bps: float | None
    dropped_to_peak_packets: int | None


class Departures(TypedDict):
    """The lateness of a sender's paced packets; null if none has waited for its time."""

    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None


class LiveSummary(TypedDict):
    """The timing of a live run, and the packets that no link counts.

    Lateness is the time from a packet's ideal arrival until its write by the bottleneck has
    returned. If the links are the kernel's (`bottleneck` is `tc`), it is the time by which a
    reading of their counters came late, or a change took effect late, and queueing delays are
    estimates (`queue_delays`). `departure` is the time until the write began, without the work of
    the receiving host; null if the links are the kernel's.
    The packets that flows lost are estimates too (`flow_drops`) if the kernel's links copied
    packets of several flows.
    `device` is the kind of the hosts' devices, `tun` or `veth`; null if the links are the kernel's.
    `timing_note` says why the timing is not guaranteed; null if the machine has all that it needs.
    `warning` says why the timing was bad; null if it was good. A hypervisor gave `stolen_s` of the
    processor's time to other machines. A capture has the captured packets and lacks the
    uncaptured ones; both are null without a capture. So are `ack_rows` without a trace of the
    acknowledgements, which lacks `missed_ack_rows`. `departures` has the lateness of the paced
    packets of each flow that a QUIC stack carries. `transports` has that of each flow: the name of
    its stack, `tcp` of the kernel, `udp` for Sojourn's transport over UDP, `icmp` for echo
    requests, `simulated` for datagrams of simulated hosts. `paced_by` is the keeper of the
    departure times of Sojourn's transport over UDP, `timer` or `kernel`; null if the hosts are the
    kernel's.
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


class TransferSummary(TypedDict):
    """A transfer of `sojourn send`.

    The server's receipt counts the `received_...` packets and bytes; they are null if it did not
    arrive. `paced_by` is the keeper of departure times: `timer` for the sender's thread, or
    `kernel`. Lateness is the time by which a paced packet left after its departure time; with
    `kernel`, the time by which the kernel got it late.
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


class _Real(TypedDict, total=False):
    live: LiveSummary
    transfer: TransferSummary
    measured_from_s: float | None


class RunSummary(_Real):
    """One run: a controller with a seed. `live` is present if it was a live run.

    `transfer` is present if it was a transfer of `sojourn send`.
    """

    control: str
    seed: int
    duration_s: float
    flows: list[FlowSummary]
    links: list[LinkSummary]
    spikes: list[SpikeSummary]


class Spread(TypedDict):
    """A figure over repeated runs: `distinct` of the `n` values differ.

    `low` and `high` are the confidence interval of the median and need at least six runs.
    `mean_low` and `mean_high` are the confidence interval of the mean and need at least two.
    """

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


class Medians(TypedDict):
    """All runs of one controller; every figure in the lists is a `Spread` or null.

    `distinct` counts the runs that differ in the goodput of a flow or in a spike.
    """

    control: str
    runs: int
    distinct: int
    flows: list[Item]
    links: list[Item]
    spikes: list[Item]


UserController = TypedDict(
    "UserController",
    {"name": str, "class": str | None, "file": str | None, "sha256": str | None},
)
"""A user's own controller that ran; fields are null if its source is unknown."""


Outcome = Literal["above", "at", "below", "rise", "unknown"]
Cause = Literal["queue", "faster", "late", "load", "drops", "slower"]


class ControllerVerdict(TypedDict):
    """The response of one controller to a change of capacity; figures of several runs are medians.

    `load` is the share of the old capacity that the link carried in the loop delay before the
    change. `cause` explains the excess over the bound, or a spike below it, and `cause_s` is its
    part of the excess. Unknown values are null.
    """

    control: str
    outcome: Outcome
    bound_s: float | None
    spike_s: float | None
    excess_s: float | None
    recovery_s: float | None
    load: float | None
    utilisation_after: float | None
    cause: Cause | None
    cause_s: float | None


class Verdict(TypedDict):
    """One change of capacity: the unavoidable delay, and the response of every controller.

    Times are those of the first run; `text` says the same in plain words.
    """

    link: str
    at_s: float
    complete_at_s: float | None
    from_bps: float
    to_bps: float
    unavoidable_s: float | None
    controllers: list[ControllerVerdict]
    text: str


class AvoidableDelay(TypedDict):
    """The queueing delay of one controller on a link with a trace; medians of several runs.

    `avoidable_share` is the share of the percentile that a sender could have avoided.
    """

    control: str
    queue_delay_p99_s: float
    avoidable_share: float
    utilisation: float | None


class LinkUnavoidable(TypedDict):
    """The queueing delay that no sender can avoid on a link with a trace, if it fills the link.

    It is that of `sojourn theory trace` for a sender that also drains its queue. `text` compares
    the controllers with it in plain words.
    """

    link: str
    loop_s: float
    mean_rate_bps: float
    queue_delay_p50_s: float
    queue_delay_p99_s: float
    queue_delay_max_s: float
    controllers: list[AvoidableDelay]
    text: str


class _Required(TypedDict):
    format: int
    scenario: str
    version: str
    runs: list[RunSummary]


class Summary(_Required, total=False):
    """The whole summary.

    `medians` is present if a controller ran more than once, `controllers` if a controller was the
    user's own, `verdicts` if the capacity of a link changes, `unavoidable` if it follows a trace.
    """

    verdicts: list[Verdict]
    unavoidable: list[LinkUnavoidable]
    medians: list[Medians]
    controllers: list[UserController]


def entries(summary: Summary) -> Sequence[Item]:
    """Return one entry per run or, for repeated runs, the medians of each controller."""
    medians: Sequence[Item] | None = summary.get("medians")
    return medians if medians else summary["runs"]


def value_of(figure: Any) -> float | None:
    """Return the figure of one run, or the median over several."""
    value: float | None = figure["median"] if isinstance(figure, Mapping) else figure
    return value


def focus_link(summary: Summary) -> str | None:
    """Choose the displayed link: the one whose capacity changes, else the first with a rate."""
    run = summary["runs"][0]
    if run["spikes"]:
        return run["spikes"][0]["link"]
    limited = [link["name"] for link in run["links"] if link["capacity_bps"] is not None]
    return next(iter([*limited, *(link["name"] for link in run["links"])]), None)


def worst_spike(spikes: Sequence[Item]) -> Item | None:
    """Return the greatest spike after a drop of capacity; a rise builds up no queue."""
    drops = [spike for spike in spikes if spike["to_bps"] < spike["from_bps"]]
    return max(drops, key=lambda spike: value_of(spike["spike_s"]) or 0.0, default=None)
