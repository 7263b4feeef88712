"""The metrics that the summary table can show, with their headings and explanations."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sojourn import _core
from sojourn.record.formatting import MISSING, Unit, unit_of

Subject = Literal["flow", "link", "spike", "size", "media"]
"""The entry of a summary that has the figure."""
_PLACES: dict[Subject, str] = {
    "flow": "flows[]",
    "link": "links[]",
    "spike": "spikes[]",
    "size": "flows[].transfers_by_size[]",
    "media": "flows[].media",
}


@dataclass(frozen=True)
class Metric:
    """One column: the entry and the summary key of its figure."""

    subject: Subject
    key: str

    @property
    def head(self) -> str:
        """Its heading."""
        return _core.heading(self.key)

    @property
    def unit(self) -> Unit:
        """The kind of its unit."""
        return unit_of(self.key)

    @cached_property
    def meaning(self) -> str:
        """Its meaning in the reference."""
        from sojourn.record import columns

        place = f"summary.json: runs[].{_PLACES[self.subject]}"
        (table,) = (one for one in columns.tables() if one.place == place)
        return next(key.meaning for key in table.keys if key.name == self.key)


def _all(subject: Subject, *keys: str) -> list[Metric]:
    return [Metric(subject, key) for key in keys]


GOODPUT, BASE_RTT, DROPS, MARKS, RESENT, COMPLETION = _all(
    "flow",
    *("goodput_bps", "base_rtt_s", "dropped_packets", "marked_packets"),
    *("retransmitted_packets", "completion_s"),
)
UTILISATION, P50, P99 = _all("link", "utilisation", "queue_delay_p50_s", "queue_delay_p99_s")
BEFORE, AFTER = _all("spike", "utilisation_before", "utilisation_after")

# In the order of their weight: a narrow terminal drops the last ones.
AT_REST = [GOODPUT, P50, P99, UTILISATION, BASE_RTT, DROPS, RESENT, MARKS]
SPIKES = _, BOUND, EXCESS, RECOVERY = _all("spike", "spike_s", "bound_s", "excess_s", "recovery_s")
RESPONSES = RESPONSE_P50, _ = _all("flow", "response_p50_s", "response_p99_s")
RTTS = RTT_P50, _ = _all("flow", "rtt_p50_s", "rtt_p99_s")
COMPLETIONS = _all(
    "size",
    *("started_transfers", "completed_transfers"),
    *("completion_p50_s", "completion_p95_s", "completion_p99_s", "completion_mean_s"),
    *("slowdown_p50", "slowdown_p99", "slowdown_mean"),
)
COMPLETION_P50, SLOWDOWN_P50 = COMPLETIONS[2], COMPLETIONS[6]
MEDIA = _all(
    "media",
    *("frame_delay_p50_s", "frame_delay_p99_s", "avoidable_share", "playout_delay_p95_s"),
    *("quality_mos", "frozen_s", "media_bps", "played_frames"),
)
FRAME_P50, _, AVOIDABLE, PLAYOUT, QUALITY, FROZEN = MEDIA[:6]
FEWEST_TRANSFERS = 20
"""Fewest transfers of which 5 % are one or more."""
FEWEST_OF = {
    one: 100 if "_p99" in one.key else FEWEST_TRANSFERS
    for one in COMPLETIONS
    if one.key.startswith(("completion_p", "slowdown_p"))
}
"""The fewest transfers for each percentile: with fewer, a 95th or 99th one is the greatest."""
LINKS = [P50, P99, *_all("link", "queue_delay_max_s"), UTILISATION]
LINKS += _all("link", "dropped_packets", "marked_packets")
CHANGING = [*SPIKES, GOODPUT, P50, P99, AFTER, BEFORE, BASE_RTT, DROPS, RESENT, MARKS]

# Explanations that are too long for a heading; related columns share a line. The time over which
# the figures were taken replaces `{measured}`, and its begin after a warm-up `{in_life}`.
NOTES: list[dict[Metric, str]] = [
    {
        BEFORE: "util. before: share used from the change before (or the start) to this one",
        AFTER: "after: from it to the next (or the end)",
        UTILISATION: "util.: share of the capacity used, {measured}",
    },
    {
        GOODPUT: "goodput: payload delivered over the flow's life{in_life}",
        P50: "queue p50, p99: queueing delay per packet, {measured}",
        DROPS: "drops: of the flow, on its whole path, over the whole run",
    },
    {
        BOUND: "bound: smallest spike for the rate that the link carried in the loop delay before",
        EXCESS: "excess: spike minus bound",
        RECOVERY: "recovery: from the change until the queueing delay stays at or below the bound, "
        f"or the 95th percentile of the 10 s before; {MISSING} if it does not before the next "
        "change or the end",
    },
    {
        RTT_P50: "RTT p50, p99: of all round trips that the flow measured, or its pings took, "
        "{measured}"
    },
    {
        COMPLETION_P50: "compl. p50, p95, p99, mean: from the start of a transfer until its last "
        "byte was delivered, of the completed transfers (done) of those that started; of fewer "
        f"than {FEWEST_TRANSFERS}, no percentiles, and of fewer than 100, no p99",
    },
    {COMPLETION: "completion: from the flow's start until all its data were delivered"},
    {
        FRAME_P50: "frame p50, p99: from the capture of a frame until its last packet arrived, "
        "{measured}",
        AVOIDABLE: "avoidable: its share above the least delay over the path alone",
    },
    {
        PLAYOUT: "playout p95: from the capture of a frame until it was played",
        FROZEN: "frozen: intervals between frames of three mean ones and 150 ms more (W3C)",
        QUALITY: "MOS: estimated quality from 1 to 5; that of voice counts the delay (G.107), that "
        "of video does not (P.1203)",
    },
    {SLOWDOWN_P50: "slowd.: slowdown, the completion time over the least one on the empty path"},
    {
        RESPONSE_P50: "resp. p50, p99: from a request until its response has arrived in full, "
        "{measured}"
    },
]
