"""JSON of a run: `run --json` and `summary.json`.

Changes may add keys but never rename one. Keys end in their unit (`_s`, `_bps`, `_bytes`,
`_packets`); ratios have no suffix. The text after a key is its meaning in the reference
(`sojourn columns`), and of the keys before it that have none.
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
    """completion time over the least time on the empty path, which has the propagation delays after
    the start of the transfer, the handshake's round trip of a random arrival or the way of a
    request, the transmission of all packets at the mean capacity of the slowest link, and no slow
    start; 1 or more over links of constant capacity and delay"""


class SizeClass(_Slowdowns):
    """The transfers of a class of sizes; all of them first, then each class that has any.

    The classes are up to 100 kB, up to 10 MB, and above. Percentiles are by nearest rank.
    """

    from_bytes: int
    to_bytes: int | None
    """the transfers have more bytes than `from_bytes`, and at most `to_bytes`; null for no limit"""
    started_transfers: int
    """transfers that started, since the end of the warm-up"""
    completed_transfers: int
    """those that were completed before the end"""
    completion_p50_s: float | None
    completion_p95_s: float | None
    completion_p99_s: float | None
    completion_mean_s: float | None
    """from the start of a transfer (the handshake of a random arrival, or the request of a
    response) until its last byte was delivered, of the completed transfers; null if there is
    none"""


class MediaSummary(TypedDict):
    """The frames of a flow of media, since the end of the warm-up.

    Delays are null without a frame.
    """

    frames: int
    """frames that the encoder made"""
    complete_frames: int
    """frames whose packets all arrived"""
    played_frames: int
    """frames that were played"""
    late_frames: int
    """frames that were complete after their playout time"""
    key_frames: int
    """frames that refer to no other one"""
    frame_delay_p50_s: float | None
    frame_delay_p95_s: float | None
    frame_delay_p99_s: float | None
    frame_delay_max_s: float | None
    frame_delay_mean_s: float | None
    """from the capture to the arrival of the last packet, of complete frames"""
    playout_delay_p50_s: float | None
    playout_delay_p95_s: float | None
    playout_delay_p99_s: float | None
    playout_delay_max_s: float | None
    playout_delay_mean_s: float | None
    """from the capture to the playout, of played frames"""
    least_frame_delay_mean_s: float | None
    """mean of the least delays: the propagation of the path, and the transmission of the frame
    alone at the capacity of that time"""
    avoidable_share: float | None
    """share of the frames' delay above the least"""
    freezes: int
    """intervals between two played frames of at least three mean intervals, and of the mean plus
    150 ms (W3C, Identifiers for WebRTC's Statistics API, `freezeCount`); a pause of the source
    does not count"""
    frozen_s: float
    """duration of these intervals"""
    media_bps: float
    """rate of the encoder's frames"""
    played_bps: float
    """rate of the played frames"""
    quality_mos: float | None
    """estimated quality from 1 to 5. Video: the mean over all seconds of ITU-T P.1203.1 (10/2017)
    mode 0 for the frames played in each, for H.264 at the resolution of the source; a second
    without a frame has the score 1, the seconds of a pause have none, and the delay does not
    count. Voice: the E-model, ITU-T G.107, for G.711 with the mean playout delay and the share of
    frames that were not played"""
    quality_model: str
    """the model of that estimate"""


class _Optional(TypedDict, total=False):
    transfers_by_size: list[SizeClass]
    """only of a flow that draws the sizes of its transfers (`sizes` of its `source`) or makes them
    in batches (`batch`): a class of sizes each"""
    media: MediaSummary
    """only of a flow of media: the figures of its frames"""
    host: str
    """the host at both ends (`sojourn hosts`), `A to B` if these differ, or the real QUIC stack;
    absent for datagrams, pings, media and live hosts"""
    closed: str
    """the reason, if a QUIC stack has ended the connection"""
    rwnd_limited_s: float
    """time in which the receive window alone kept data from leaving (`tcpi_rwnd_limited`)"""
    ecn_failure: str
    """the damage to ECN for which the sender stopped its use: `bleached`, `rewritten`,
    `all_marked`, `lost` or `setup`"""


class FlowSummary(_Optional):
    """One flow of one run.

    Figures of a flow with random arrivals are sums over its transfers, and its round-trip times
    are those of all of them.
    """

    name: str
    """its name"""
    control: str
    """its controller; `none` for datagrams"""
    start_s: float | None
    """when it started in this run, its draw of `start_jitter` included"""
    goodput_bps: float
    """payload delivered, each byte once, over its time from `start_s` (or from `measured_from_s`,
    if that is later) to stop, completion or the end; 0 if it ended in the warm-up"""
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    rtt_max_s: float | None
    rtt_mean_s: float | None
    """of all samples of the round-trip time; of pings, from request to reply"""
    sent_packets: int
    """data packets sent, retransmissions included"""
    retransmitted_packets: int
    """retransmitted data packets"""
    spurious_retransmissions: int
    """of these, the ones that arrived after the segment that they repeat: by DSACK in TCP, by
    packet numbers in QUIC; one whose report was lost is not counted"""
    undone_reductions: int
    """window reductions that the sender undid, because packets were late and not lost"""
    marked_packets: int
    """data packets that arrived with CE"""
    completion_s: float | None
    """from its start, including the handshake, until all data were delivered; null if it has no
    end or did not complete"""
    base_rtt_s: float
    """propagation delay out and back, at the start"""
    dropped_packets: int
    """data packets that a queue dropped or a wire lost"""
    timeouts: int
    """retransmission timeouts of TCP, without its tail loss probes; probe timeouts of QUIC"""
    completed_transfers: int
    """files or responses that were completed, pings that were answered"""
    response_p50_s: float | None
    response_p99_s: float | None
    response_mean_s: float | None
    """from a request to the end of its response"""


class _LinkOptional(TypedDict, total=False):
    warning: str
    """a reason to doubt the link's delays: a threshold of its queue within the grid of its trace"""


class LinkSummary(_LinkOptional):
    """One link of one run."""

    name: str
    """its name"""
    utilisation: float | None
    """share of the capacity that was used; null for a link without a rate"""
    queue_delay_p50_s: float | None
    queue_delay_p99_s: float | None
    """percentiles of the time that packets waited in its queue"""
    queue_delay_max_s: float | None
    """the longest; packets that still wait at the end count as if sent at the last rate"""
    dropped_packets: int
    """packets that its queue dropped or its wire lost"""
    marked_packets: int
    """packets that its queue marked CE"""
    capacity_bps: float | None
    """mean capacity, the rate of the shaper if the link has one; null for a link without a rate"""
    arrived_packets: int
    """packets that came in"""
    delivered_packets: int
    """packets that came out, copies included"""
    duplicated_packets: int
    """copies that its wire made"""
    reordered_packets: int
    """packets that arrived after a packet sent later (RFC 4737 section 3.3)"""


class SpikeSummary(TypedDict):
    """One change of a link's capacity, and the queueing delay that followed.

    A step and a ramp are a change each. The capacity of a trace is averaged over intervals of
    200 ms; a change leads from one turning point to the next, over a factor of two or more.
    """

    link: str
    """the link"""
    at_s: float
    """when its capacity changed; a ramp: began to"""
    complete_at_s: float | None
    """when the change was complete: later than `at_s` for a ramp or a trace"""
    from_bps: float
    """capacity before"""
    to_bps: float
    """capacity after"""
    spike_s: float | None
    """peak queueing delay after it, of the packets that wait at the change (from the change on) and
    of those that arrive until the next change, and at most `record.spike_window` (5 s) after the
    end of this one or a loop delay, if that is longer; null if there were none"""
    bound_s: float | None
    """least spike possible for the rate that the link carried in the loop delay before the change
    (`carried_loop_bps`); null if capacity goes to zero and stays there"""
    bound_lost_fraction: float
    """share of the excess traffic that exceeds the link's buffer; the bound is for the rest"""
    excess_s: float | None
    """spike minus bound; negative if the queue dropped packets that would have waited, or senders
    slowed before they could know of the change; null for a rise, which builds up no queue"""
    duration_s: float | None
    """recovery: from the change until the queueing delay stays at or below the greater of the bound
    and the 95th percentile of up to 10 s before (since the change before and `measure.from`),
    within 1 ms or two packets, to the next change or the end; null if it does not"""
    utilisation_before: float | None
    """share of the capacity used since the change before"""
    utilisation_after: float | None
    """share of the capacity used until the next change"""
    peak_at_s: float | None
    """when the packet that met the peak left the queue"""
    queue_delay_before_s: float | None
    """mean queueing delay in the second before"""
    carried_before_bps: float | None
    """mean rate in the second before"""
    loop_s: float | None
    """the greatest loop delay of the flows over the link, or the time since the last change if
    that is shorter"""
    carried_loop_bps: float | None
    """mean rate that the link carried in `loop_s` before the change"""
    offered_loop_bps: float | None
    """mean arrival rate at the link in the loop delay after the change, before any sender could
    know of it; null if the next change or the end comes first"""
    dropped_to_peak_packets: int | None
    """packets that the queue dropped from the change until the peak"""


class Departures(TypedDict):
    """The lateness of a sender's paced packets."""

    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None
    """time by which a packet left after its departure time; null if none has waited for it"""


class LiveSummary(TypedDict):
    """The timing of a live run, and the packets that no link counts.

    Every packet that enters is delivered, refused by a device, dropped by a link, or inside at the
    end. Over the kernel's links (`bottleneck` is `tc`), lateness is that of a reading of their
    counters or of a change.
    """

    bottleneck: str
    """the links: `sojourn`, or `tc` for the kernel's"""
    device: str | None
    """the hosts' devices, `tun` or `veth`; null if the links are the kernel's"""
    timing_note: str | None
    """why the timing is not guaranteed: no TUN device, or no real-time priority; null if it is"""
    queue_delays: str
    """whether queueing delays are `measured` or `estimated`"""
    flow_drops: str
    """whether the dropped packets of each flow are `counted` or `estimated`"""
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_p999_s: float | None
    lateness_max_s: float | None
    """time from a packet's ideal arrival until the bottleneck's write of its group has returned;
    null without a packet"""
    departure_p50_s: float | None
    departure_p99_s: float | None
    departure_p999_s: float | None
    """time from a packet's ideal arrival until that write began, without the receiving host's
    work; null if the links are the kernel's"""
    realtime: bool
    """whether the thread of the bottleneck had real-time priority"""
    locked: bool
    """whether its memory was locked"""
    spun_s: float
    """time that the thread spun"""
    stolen_s: float
    """processor time that a hypervisor gave to other machines"""
    warning: str | None
    """the reason why the timing was bad, with a remedy; null if it was good"""
    entered_packets: int
    """packets that hosts sent into the links"""
    delivered_packets: int
    """packets that were written to hosts"""
    foreign_packets: int
    """packets that belong to no flow, such as those of IPv6's neighbour discovery"""
    overflowed_packets: int
    """packets that were lost at a device before the bottleneck read them"""
    refused_packets: int
    """packets that a receiving host's device refused"""
    inside_packets: int
    """packets on the links at the end"""
    captured_packets: int | None
    uncaptured_packets: int | None
    """packets that the capture has and lacks, one at each of its hosts; null without a capture"""
    ack_rows: int | None
    missed_ack_rows: int | None
    """acknowledgements that the trace of `--tcp-probe` has and lacks; null without it"""
    departures: dict[str, Departures]
    """by flow that a QUIC stack carries: the lateness of its paced packets"""
    transports: dict[str, str]
    """by flow: `tcp` of the kernel, `udp` for Sojourn's transport over UDP, the name of its QUIC
    stack, `icmp` for echo requests, `simulated` for datagrams of simulated hosts"""
    paced_by: str | None
    """keeper of the departure times of Sojourn's transport over UDP, `timer` or `kernel`; null if
    the hosts are the kernel's"""


class TransferSummary(TypedDict):
    """A transfer of `sojourn send`. Counts of the server are null if its receipt did not arrive."""

    peer: str
    """the server's address"""
    settings: dict[str, Any]
    """controller, source and transport as given"""
    complete: bool
    """whether all data were delivered; false if the duration ended the transfer"""
    delivered_bytes: int
    """payload that was acknowledged until the end"""
    received_bytes: int | None
    received_packets: int | None
    duplicated_packets: int | None
    """the server's counts"""
    mss_bytes: int
    """payload of a full packet"""
    ecn: str
    """`carried`, `erased`, `partly erased`, `unused` or `unknown`"""
    sent_ect0_packets: int
    sent_ect1_packets: int
    """data packets sent, by ECN field"""
    received_ect0_packets: int | None
    received_ect1_packets: int | None
    received_ce_packets: int | None
    """data packets received, by ECN field"""
    paced_by: str
    """keeper of departure times: `timer` for the sender's thread, or `kernel`"""
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None
    """time by which a paced packet left after its departure time (with `kernel`, by which the
    kernel got it late); null without one"""
    overflowed_packets: int
    """acknowledgements that overflowed the sender's receive buffer"""
    notes: list[str]
    """the notes below the command's table"""


class _Real(TypedDict, total=False):
    live: LiveSummary
    """only of a live run: its timing"""
    transfer: TransferSummary
    """only of `sojourn send`: the two ends of the transfer"""
    measured_from_s: float | None
    """end of the warm-up (`measure.from`), by default 0: goodput, utilisation, and the figures of
    queueing delays, round-trip times and response times leave out the time before"""


class RunSummary(_Real):
    """One run: a controller with a seed."""

    control: str
    """the controller that the run is for; if flows have their own, all of them joined by `+`"""
    seed: int
    """a whole number; another writer numbers its repetitions with it"""
    duration_s: float
    """how long it ran"""
    flows: list[FlowSummary]
    """the flows"""
    links: list[LinkSummary]
    """the links; the list may be empty"""
    spikes: list[SpikeSummary]
    """the changes of capacity"""


class Spread(TypedDict):
    """A figure over repeated runs."""

    n: int
    """values of the figure"""
    distinct: int
    """how many of them differ"""
    median: float
    """their median"""
    low: float | None
    high: float | None
    """95 % confidence interval of the median; needs at least six runs"""
    p5: float
    p95: float
    """percentiles"""
    mean: float
    """their mean"""
    mean_low: float | None
    mean_high: float | None
    """95 % confidence interval of the mean; needs at least two runs"""


class Medians(TypedDict):
    """All runs of one controller, if controllers ran with several seeds."""

    control: str
    """the controller"""
    runs: int
    """how many runs"""
    distinct: int
    """how many of them differ in the goodput of a flow or in a spike"""
    flows: list[Item]
    links: list[Item]
    spikes: list[Item]
    """as those of a run; every figure is a spread or null"""


_Class = TypedDict("_Class", {"class": str | None})
"""its class or factory function"""


class UserController(_Class):
    """A user's own controller that ran: the code that was run."""

    name: str
    """its name in the scenario"""
    file: str | None
    """the source file, without its folder; null if it is unknown"""
    sha256: str | None
    """hash of the source, as `sha256sum` prints it"""


Outcome = Literal["above", "at", "below", "rise", "unknown"]
Cause = Literal["queue", "faster", "late", "drops", "slower"]


class ControllerVerdict(TypedDict):
    """The response of one controller to a change of capacity; figures of several runs are medians.

    Unknown values are null.
    """

    control: str
    """the controller"""
    outcome: Outcome
    """`above`, `at` or `below` the bound, within 1 ms, 2 % or two packets; `rise` for a rise;
    `unknown` without a spike or a bound"""
    bound_s: float | None
    spike_s: float | None
    excess_s: float | None
    """those of the change"""
    recovery_s: float | None
    """`duration_s` of the change"""
    load: float | None
    """`carried_loop_bps` as a share of the old capacity"""
    limit: Literal["load", "window"] | None
    """what kept the link from being full, with a load below 98 %: `window` if a receive window
    limited a flow for most of every run"""
    utilisation_after: float | None
    """share of the capacity used until the next change"""
    cause: Cause | None
    """of an excess, its largest part: `queue` (the queue before the change, which waits at the new
    rate), `faster` (the senders exceeded the old capacity before they could know), `late` (the
    rest). Of a spike below the bound: `drops`, `slower`"""
    cause_s: float | None
    """the part of the excess that the cause explains"""


class Verdict(TypedDict):
    """One change of capacity: the unavoidable delay, and the response of every controller."""

    link: str
    """the link"""
    at_s: float
    complete_at_s: float | None
    """when its capacity changed, and when the change was complete, in the first run"""
    from_bps: float
    to_bps: float
    """capacity before and after"""
    unavoidable_s: float | None
    """the greatest bound of any run"""
    controllers: list[ControllerVerdict]
    """an entry a controller"""
    text: str
    """all of it in plain words"""


class AvoidableDelay(TypedDict):
    """The queueing delay of one controller on a link with a trace; medians of several runs."""

    control: str
    """the controller"""
    queue_delay_p99_s: float
    """the measured percentile"""
    avoidable_share: float
    """one minus the unavoidable percentile over the measured one"""
    utilisation: float | None
    """share of the capacity used"""


class LinkUnavoidable(TypedDict):
    """The queueing delay that no sender can avoid on a link with a trace, if it fills the link."""

    link: str
    """the link"""
    loop_s: float
    """the loop delay that it holds for"""
    mean_rate_bps: float
    """mean capacity over the run"""
    queue_delay_p50_s: float
    queue_delay_p99_s: float
    queue_delay_max_s: float
    """of the draining sender of `sojourn theory trace`"""
    controllers: list[AvoidableDelay]
    """an entry a controller"""
    text: str
    """all of it in plain words"""


class _Required(TypedDict):
    format: int
    """1"""
    scenario: str
    """the scenario's file, or a short description of the run"""
    version: str
    """the version of Sojourn; another writer names itself, such as `testbed 0.3`"""
    runs: list[RunSummary]
    """the runs, at least one"""


class Summary(_Required, total=False):
    """The whole summary."""

    verdicts: list[Verdict]
    """an entry for each change of capacity of the first run, derived from the runs; computed anew
    when a directory is read"""
    unavoidable: list[LinkUnavoidable]
    """an entry for each link with a trace"""
    medians: list[Medians]
    """an entry for each controller, if controllers ran with several seeds"""
    controllers: list[UserController]
    """an entry for each user controller that ran"""


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
