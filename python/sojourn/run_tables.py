"""Rows of the Parquet files of a run directory.

The text after a column is its meaning in the reference (`sojourn columns`). A column that may be
null is optional for other programs that write a run directory.
"""

from typing import TypedDict


class FlowSample(TypedDict):
    """A sample of a flow.

    In the row of a flow with random arrivals, `cwnd_bytes` and the counts are sums over its
    transfers, `response_s` is the longest completion time, and columns of a single sender are null.
    """

    control: str
    """the run's controller, as in `summary.json`"""
    seed: int
    """the run's seed, as in `summary.json`"""
    flow: str
    """the flow's name"""
    phase: str | None
    """phase of its controller, such as `slow_start`; empty if it has no phases"""
    t_s: float
    """time since the start of the run; once for each flow of a run"""
    cwnd_bytes: float | None
    """congestion window at that time; null if it has none"""
    ssthresh_bytes: float | None
    """slow-start threshold; null if it has none, or none yet"""
    srtt_s: float | None
    """smoothed round-trip time; null before its first sample"""
    rtt_s: float | None
    """longest round-trip time since the previous sample; null if no acknowledgement (for pings: no
    reply) came"""
    min_rtt_s: float | None
    """the minimum round-trip time that its sender uses"""
    pacing_bps: float | None
    """pacing rate; the mean rate if the controller sets the gap of each packet and reports a rate;
    null if it is not paced"""
    goodput_bps: float | None
    """payload delivered since the previous sample, over that time"""
    alpha: float | None
    """DCTCP's estimate of the share of marked packets; null for others"""
    bandwidth_bps: float | None
    """the controller's estimate of the bandwidth, or the rate that a controller of media wants;
    null if it keeps none"""
    response_s: float | None
    """longest time from a request to the end of its response, of those that ended since the
    previous sample; of media: longest time from the capture of a frame to the arrival of its last
    packet; null if none did"""
    in_flight_bytes: int | None
    """bytes in flight at that time"""
    delivered_bytes: int | None
    """payload delivered since the start, each byte once; never falls"""
    lost_packets: int | None
    """packets that the sender declared lost, since the start"""
    retransmitted_packets: int | None
    """retransmitted data packets since the start"""
    marked_packets: int | None
    """data packets that arrived with CE, since the start"""


class LinkSample(TypedDict):
    """A sample of a link."""

    control: str
    """the run's controller, as in `summary.json`"""
    seed: int
    """the run's seed, as in `summary.json`"""
    link: str
    """the link's name"""
    t_s: float
    """time since the start of the run; once for each link of a run"""
    capacity_bps: float | None
    """mean capacity since the previous sample; null for a link without a rate"""
    carried_bps: float | None
    """bytes sent since the previous sample, over that time"""
    queue_delay_s: float | None
    """longest wait of the packets that left the queue since the previous sample; null if none
    left. Over a queue that serves flows separately, it is that of the flow that waits longest"""
    queue_delay_mean_s: float | None
    """their mean wait"""
    queue_bytes: int | None
    queue_packets: int | None
    """queue length at that time"""
    dropped_packets: int | None
    """packets that its queue dropped or its wire lost, since the start; never falls"""
    marked_packets: int | None
    """packets that its queue marked CE, since the start; never falls"""


class Transfer(TypedDict):
    """A transfer of a flow that draws the sizes of its transfers, or makes them in batches."""

    control: str
    """the run's controller, as in `summary.json`"""
    seed: int
    """the run's seed, as in `summary.json`"""
    flow: str
    """the flow's name"""
    start_s: float
    """when the transfer started"""
    size_bytes: int
    """its size"""
    completion_s: float | None
    """from its start until its last byte was delivered, as in `transfers_by_size`; null if it was
    incomplete at the end"""
    slowdown: float | None
    """`completion_s` over the least time on the empty path; null likewise"""


class Frame(TypedDict):
    """A frame of a flow of media."""

    control: str
    """the run's controller, as in `summary.json`"""
    seed: int
    """the run's seed, as in `summary.json`"""
    flow: str
    """the flow's name"""
    captured_s: float
    """when the frame was captured"""
    size_bytes: int
    """its size without headers"""
    key: int | None
    """1 for a key frame, else 0"""
    late: int | None
    """1 if it was complete after its playout time, else 0"""
    delay_s: float | None
    """from its capture to the arrival of its last packet; null if it is incomplete"""
    least_delay_s: float | None
    """the least possible delay, over its path without other traffic"""
    played_s: float | None
    """when it was played; null if it was not"""


class Acknowledgement(TypedDict):
    """An acknowledgement at a sender of the kernel's TCP (`sojourn live --tcp-probe DIR`).

    The state is that before the kernel processes it.
    """

    control: str
    """the run's controller, as in `summary.json`"""
    seed: int
    """the run's seed, as in `summary.json`"""
    flow: str
    """the flow's name"""
    t_s: float
    """time of arrival since the start of the run"""
    cwnd_bytes: float
    """congestion window"""
    ssthresh_bytes: float | None
    """slow-start threshold; null without one"""
    srtt_s: float | None
    """smoothed round-trip time; null before its first sample"""
    pacing_bps: float | None
    """pacing rate; null without one"""
    in_flight_bytes: int
    """bytes in flight"""
    acked_bytes: int
    """bytes that it acknowledges for the first time; 0 for a duplicate"""
    lost_packets: int
    """packets deemed lost, so far"""
    retransmitted_packets: int
    """retransmitted packets, so far"""
    delivered_packets: int
    """packets acknowledged, also selectively, so far"""
    marked_packets: int
    """packets acknowledged with marks, so far"""
