"""The metrics that the summary table can show, with their headings and explanations."""

from dataclasses import dataclass
from typing import Literal

from sojourn.formatting import MISSING, Unit

Subject = Literal["flow", "link", "spike", "size", "media"]
"""The entry of a summary that has the figure."""


@dataclass(frozen=True)
class Metric:
    """One column: the summary key of its figure, its heading and its unit."""

    subject: Subject
    key: str
    head: str
    unit: Unit
    meaning: str


GOODPUT = Metric(
    "flow", "goodput_bps", "goodput", "rate", "payload delivered over the measured part of its life"
)
UTILISATION = Metric("link", "utilisation", "util.", "percent", "share of the capacity used")
BEFORE = Metric(
    "spike", "utilisation_before", "util. before", "percent", "share used before the change"
)
AFTER = Metric(
    "spike", "utilisation_after", "util. after", "percent", "share used after the change"
)
BASE_RTT = Metric("flow", "base_rtt_s", "base RTT", "ms", "round-trip time without any queue")
P50 = Metric("link", "queue_delay_p50_s", "queue p50", "ms", "median queueing delay")
P99 = Metric("link", "queue_delay_p99_s", "queue p99", "ms", "99th percentile of queueing delay")
SPIKE = Metric("spike", "spike_s", "spike", "ms", "peak queueing delay after the change")
BOUND = Metric(
    "spike",
    "bound_s",
    "bound",
    "ms",
    "smallest possible spike for the rate that the link carried before the change",
)
EXCESS = Metric("spike", "excess_s", "excess", "ms", "spike minus bound")
RECOVERY = Metric(
    "spike", "recovery_s", "recovery", "ms", "until the queueing delay is back for good"
)
MAX = Metric("link", "queue_delay_max_s", "queue max", "ms", "greatest queueing delay")
LINK_DROPS = Metric("link", "dropped_packets", "drops", "count", "packets dropped")
LINK_MARKS = Metric("link", "marked_packets", "marks", "count", "packets marked CE")
DROPS = Metric("flow", "dropped_packets", "drops", "count", "packets dropped")
MARKS = Metric("flow", "marked_packets", "marks", "count", "packets marked CE")
RESENT = Metric("flow", "retransmitted_packets", "re-sent", "count", "retransmitted packets")
RESPONSE_P50 = Metric("flow", "response_p50_s", "resp. p50", "ms", "median response time")
RESPONSE_P99 = Metric(
    "flow", "response_p99_s", "resp. p99", "ms", "99th percentile of response times"
)
STARTED = Metric("size", "started_transfers", "started", "count", "transfers that started")
COMPLETED = Metric("size", "completed_transfers", "done", "count", "transfers that were completed")
COMPLETION_P50 = Metric("size", "completion_p50_s", "compl. p50", "ms", "median completion time")
COMPLETION_P95 = Metric(
    "size", "completion_p95_s", "compl. p95", "ms", "95th percentile of completion times"
)
COMPLETION_P99 = Metric(
    "size", "completion_p99_s", "compl. p99", "ms", "99th percentile of completion times"
)
COMPLETION_MEAN = Metric(
    "size", "completion_mean_s", "compl. mean", "ms", "mean of the completion times"
)
FRAME_P50 = Metric("media", "frame_delay_p50_s", "frame p50", "ms", "median delay of a frame")
FRAME_P99 = Metric(
    "media", "frame_delay_p99_s", "frame p99", "ms", "99th percentile of the delays of frames"
)
MEDIA_RATE = Metric("media", "media_bps", "rate", "rate", "rate of the encoder")
PLAYED = Metric("media", "played_frames", "played", "count", "frames that were played")
PLAYOUT = Metric(
    "media", "playout_delay_p95_s", "playout p95", "ms", "95th percentile of the playout delays"
)
FROZEN = Metric("media", "frozen_s", "frozen", "ms", "time without a new frame")
AVOIDABLE = Metric(
    "media", "avoidable_share", "avoidable", "percent", "share of the frames' delay above the least"
)
QUALITY = Metric("media", "quality_mos", "MOS", "ratio", "estimated quality, 1 to 5")
SLOWDOWN_P50 = Metric("size", "slowdown_p50", "slowd. p50", "ratio", "median slowdown")
SLOWDOWN_P99 = Metric("size", "slowdown_p99", "slowd. p99", "ratio", "99th percentile of slowdowns")
SLOWDOWN_MEAN = Metric("size", "slowdown_mean", "slowd. mean", "ratio", "mean of the slowdowns")
COMPLETION = Metric(
    "flow",
    "completion_s",
    "completion",
    "ms",
    "from the flow's start until all data were delivered",
)
RTT_P50 = Metric("flow", "rtt_p50_s", "RTT p50", "ms", "median round-trip time")
RTT_P99 = Metric("flow", "rtt_p99_s", "RTT p99", "ms", "99th percentile of round-trip times")

# In the order of their weight: a narrow terminal drops the last ones.
AT_REST = [GOODPUT, P50, P99, UTILISATION, BASE_RTT, DROPS, RESENT, MARKS]
SPIKES = [SPIKE, BOUND, EXCESS, RECOVERY]
RESPONSES = [RESPONSE_P50, RESPONSE_P99]
RTTS = [RTT_P50, RTT_P99]
COMPLETIONS = [
    *(STARTED, COMPLETED),
    *(COMPLETION_P50, COMPLETION_P95, COMPLETION_P99, COMPLETION_MEAN),
    *(SLOWDOWN_P50, SLOWDOWN_P99, SLOWDOWN_MEAN),
]
MEDIA = [FRAME_P50, FRAME_P99, AVOIDABLE, PLAYOUT, QUALITY, FROZEN, MEDIA_RATE, PLAYED]
FEWEST_TRANSFERS = 20
"""Fewest transfers of which 5 % are one or more."""
FEWEST_OF = {
    one: 100 if "_p99" in one.key else FEWEST_TRANSFERS
    for one in COMPLETIONS
    if one.key.startswith(("completion_p", "slowdown_p"))
}
"""The fewest transfers for each percentile: with fewer, a 95th or 99th one is the greatest."""
LINKS = [P50, P99, MAX, UTILISATION, LINK_DROPS, LINK_MARKS]
CHANGING = [*SPIKES, GOODPUT, P50, P99, AFTER, BEFORE, BASE_RTT, DROPS, RESENT, MARKS]

# Explanations that are too long for a heading; related columns share a line. The time over which
# the figures were taken replaces `{measured}`, and its begin after a warm-up `{in_life}`.
NOTES: list[list[tuple[Metric, str]]] = [
    [
        (
            BEFORE,
            "util. before: share used from the change before (or the start) to this one",
        ),
        (AFTER, "after: from it to the next (or the end)"),
        (UTILISATION, "util.: share of the capacity used, {measured}"),
    ],
    [
        (GOODPUT, "goodput: payload delivered over the flow's life{in_life}"),
        (P50, "queue p50, p99: queueing delay per packet, {measured}"),
        (DROPS, "drops: of the flow, on its whole path, over the whole run"),
    ],
    [
        (
            BOUND,
            "bound: smallest spike for the rate that the link carried in the loop delay before",
        ),
        (EXCESS, "excess: spike minus bound"),
        (
            RECOVERY,
            "recovery: from the change until the queueing delay stays at or below the bound, or the"
            f" 95th percentile of the 10 s before; {MISSING} if it does not before the next change "
            "or the end",
        ),
    ],
    [
        (
            RTT_P50,
            "RTT p50, p99: of all round trips that the flow measured, or its pings took, "
            "{measured}",
        )
    ],
    [
        (
            COMPLETION_P50,
            "compl. p50, p95, p99, mean: from the start of a transfer until its last byte was "
            "delivered, of the completed transfers (done) of those that started; of fewer than "
            f"{FEWEST_TRANSFERS}, no percentiles, and of fewer than 100, no p99",
        )
    ],
    [(COMPLETION, "completion: from the flow's start until all its data were delivered")],
    [
        (
            FRAME_P50,
            "frame p50, p99: from the capture of a frame until its last packet arrived, {measured}",
        ),
        (AVOIDABLE, "avoidable: its share above the least delay over the path alone"),
    ],
    [
        (
            PLAYOUT,
            "playout p95: from the capture of a frame until it was played",
        ),
        (FROZEN, "frozen: intervals between frames of three mean ones and 150 ms more (W3C)"),
        (
            QUALITY,
            "MOS: estimated quality from 1 to 5; that of voice counts the delay (G.107), that of "
            "video does not (P.1203)",
        ),
    ],
    [
        (
            SLOWDOWN_P50,
            "slowd.: slowdown, the completion time over the least one on the empty path",
        )
    ],
    [
        (
            RESPONSE_P50,
            "resp. p50, p99: from a request until its response has arrived in full, {measured}",
        )
    ],
]
