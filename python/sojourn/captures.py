"""Round-trip times of TCP flows, from a capture alone (docs/captures.md)."""

import json
from os import PathLike, fspath
from typing import Literal, TypedDict, cast, get_args

from sojourn import _core

FORMAT = 1
"""Version of what `rtt --json` prints; it grows where a reader of the one before would misread
it, not where something is added."""

Method = Literal["auto", "timestamps", "acks"]

MAX_FLOWS = 1 << 18
"""Flows that are held at most: with a few samples each, in some 400 MB."""


class Endpoint(TypedDict):
    """One end of a flow."""

    address: str
    port: int


class _Direction(TypedDict):
    """From a segment of `from` seen by the capture until it sees the answer of `to`."""

    to: str
    method: Literal["timestamps", "acks"] | None
    samples: int
    min_s: float | None
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float | None
    packets: int
    payload_bytes: int
    resent_packets: int
    backward_pairs: int


_From = TypedDict("_From", {"from": str})


class Direction(_Direction, _From, total=False):
    """One direction of a flow; null where there are no samples.

    `series` is there where points were asked for: seconds since the capture's first packet, the
    RTT in seconds, and the number of the answer's packet.
    """

    series: list[tuple[float, float, int]]


class Flow(TypedDict):
    """One TCP connection: `a` opened it, or sent the first packet of it in the capture."""

    a: Endpoint
    b: Endpoint
    opened: bool
    begin_s: float
    duration_s: float
    directions: list[Direction]


class Skipped(TypedDict):
    """Packets that were read and not looked at, by reason."""

    link_type: int
    not_ip: int
    not_tcp: int
    fragments: int
    cut: int
    malformed: int
    without_time: int
    beyond_max_flows: int


class Malformed(TypedDict):
    """Where a capture cannot be read on, in bytes from its beginning, and why."""

    offset: int
    message: str


class Whole(TypedDict):
    """What is told of the whole capture."""

    format: int
    file: str
    capture: Literal["pcap", "pcapng"] | None
    read_bytes: int
    packets: int
    begin_s: float | None
    duration_s: float
    flow_count: int
    skipped: Skipped
    error: Malformed | None


class CaptureRtt(Whole):
    """What `rtt --json` prints."""

    flows: list[Flow]


def rtt(
    file: str | PathLike[str],
    method: Method = "auto",
    points: int = 0,
    max_flows: int = MAX_FLOWS,
) -> CaptureRtt:
    """The round-trip times of every TCP flow in a pcap or pcapng file, both directions.

    `auto` pairs by timestamps in directions where they give samples, and by acknowledgements in
    all others. With `points`, each direction has a `series`: all samples where they are no more,
    or else the least and greatest of stretches with equally many. A malformed file gives what
    could be read before the fault, which is then in `error`.
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
    """The same with the flows as text, which takes a fraction of the memory.

    Of the flows only the `listed` with most samples; of these only the first `drawn` with points.
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
    """Both parts of the answer together."""
    # A cast, since mypy does not take keys out of another TypedDict.
    return cast(CaptureRtt, {**whole, "flows": json.loads(flows)})
