"""Round-trip times of TCP flows, from a capture alone (docs/guide/captures.md)."""

import json
from os import PathLike, fspath
from typing import Literal, TypedDict, cast, get_args

from sojourn import _core

FORMAT = 1
"""Version of the output of `rtt --json`. It increases only if a reader of the previous version
would misread the output; added keys do not increase it."""

Method = Literal["auto", "timestamps", "acks", "sack"]

MAX_FLOWS = 1 << 18
"""Maximum number of flows in memory: with a few samples each, they take some 700 MB."""
# More panels below one another cannot be compared.
DRAWN = 8
"""Flows that the figure of a capture shows."""


class Endpoint(TypedDict):
    """One end of a flow."""

    address: str
    port: int


class _Direction(TypedDict):
    """RTT samples from a segment of `from` at the capture point until the answer of `to` there.

    `payload_bytes` include retransmissions; `acked_bytes` have each acknowledged byte once, and
    `goodput_bps` is their rate over the flow's duration.
    """

    to: str
    method: Literal["timestamps", "acks", "sack"] | None
    samples: int
    sack_samples: int
    unsampled_share: float | None
    min_s: float | None
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float | None
    packets: int
    payload_bytes: int
    acked_bytes: int | None
    goodput_bps: float | None
    resent_packets: int
    backward_pairs: int


_From = TypedDict("_From", {"from": str})


class Direction(_Direction, _From, total=False):
    """One direction of a flow; figures are null without samples.

    `sack_samples` of the `samples` are those of SACK blocks. `unsampled_share` is the share of the
    time with unacknowledged data in which no segment was under way that gave a sample.

    `series` is present if points were requested. Each point has the seconds since the capture's
    first packet, the RTT in seconds, and the packet number of the answer.
    """

    series: list[tuple[float, float, int]]


class Flow(TypedDict):
    """One TCP connection: `a` opened it, or sent its first packet in the capture."""

    a: Endpoint
    b: Endpoint
    opened: bool
    begin_s: float
    duration_s: float
    directions: list[Direction]


class Skipped(TypedDict):
    """Counts of packets that were read but not analysed, by reason.

    `copies` are packets captured before, at another interface or by another mirror port.
    """

    link_type: int
    not_ip: int
    not_tcp: int
    fragments: int
    cut: int
    malformed: int
    without_time: int
    beyond_max_flows: int
    copies: int


class Malformed(TypedDict):
    """The byte offset at which a capture cannot be parsed, and the reason.

    In a compressed file it is an offset in its content.
    """

    offset: int
    message: str


class Whole(TypedDict):
    """Figures of the whole capture; `read_bytes` are those of a compressed file's content."""

    format: int
    file: str
    capture: Literal["pcap", "pcapng"] | None
    compression: Literal["gzip", "zstd"] | None
    read_bytes: int
    packets: int
    begin_s: float | None
    duration_s: float
    flow_count: int
    skipped: Skipped
    error: Malformed | None


class CaptureRtt(Whole):
    """Output of `rtt --json`."""

    flows: list[Flow]


def rtt(
    file: str | PathLike[str],
    method: Method = "auto",
    points: int = 0,
    max_flows: int = MAX_FLOWS,
) -> CaptureRtt:
    """Measure the round-trip times of every TCP flow in a pcap or pcapng file, in both directions.

    The file may be compressed with gzip or zstd.

    `auto` matches packets by timestamps in directions whose timestamps give samples, and by
    acknowledgements in all others; and by SACK blocks during loss recoveries. With `points`, each
    direction has a `series`: all samples if they are at most that many, else the minimum and
    maximum of equally large groups. For a malformed file, the result covers everything before the
    error, which is in `error`.
    """
    whole, flows = as_json(file, method, max_flows, points=points)
    return with_flows(whole, flows)


def as_json(
    file: str | PathLike[str],
    method: Method,
    max_flows: int,
    *,
    points: int = 0,
    drawn: int | None = None,
    listed: int | None = None,
) -> tuple[Whole, str]:
    """Like `rtt`, with the flows as JSON text, which takes a fraction of the memory.

    The text has only the `listed` flows with most samples; only the first `drawn` have points.
    """
    if method not in get_args(Method):
        raise ValueError(f"method is {method!r}; it is one of {', '.join(get_args(Method))}")
    path = fspath(file)
    wanted = {
        "listed": max_flows if listed is None else listed,
        "drawn": max_flows if drawn is None else drawn,
        "points": points,
    }
    whole, flows = _core.capture_rtt(path, method, max_flows, wanted)
    return cast(Whole, {"format": FORMAT, "file": path, **json.loads(whole)}), flows


def with_flows(whole: Whole, flows: str) -> CaptureRtt:
    """Combine both parts of the result."""
    # A cast, because mypy does not accept keys from another TypedDict.
    return cast(CaptureRtt, {**whole, "flows": json.loads(flows)})
