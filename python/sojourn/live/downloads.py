"""Downloads over QUIC and HTTP/3: `sojourn quic serve` and `sojourn quic get`."""

import argparse
import json
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from sojourn import _core
from sojourn.errors import DownloadError, UsageError
from sojourn.live.transfers import Host, addresses, parse_host
from sojourn.run.experiment import toml_value

PORT = 4433
"""The port of a server unless another is given."""

_FLOW = "flow.download"
# The stack has no path MTU discovery, and every path carries 1200 bytes (RFC 9000 section 14).
_MTU = "1248B"
# The first signs of a complete handshake, by the end of the file's name: a client has the keys of
# 1-RTT packets only then (RFC 9001 section 5.7, RFC 8446 section 7.1).
_CONNECTED = {".keys.log": "CLIENT_TRAFFIC_SECRET_0", ".sqlog": '"packet_type":"1RTT"'}


class Url(NamedTuple):
    """A URL of HTTP/3."""

    host: Host
    authority: str
    path: str

    def __str__(self) -> str:
        return f"https://{self.authority}{self.path}"


class Datagrams(TypedDict):
    """Datagrams by their ECN field."""

    packets: int
    bytes: int
    not_ect: int
    ect0: int
    ect1: int
    ce: int


class Connection(TypedDict):
    """The figures of a connection; values are null if they are unknown.

    `marked_packets` are those that the peer has reported with CE, and `received` has the fields
    with which the peer's datagrams arrived. `lateness` is that of departures after their time.
    """

    peer: str
    duration_s: float
    sent: Datagrams
    received: Datagrams
    marked_packets: int
    lost_packets: int
    cwnd_bytes: int
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_max_s: float | None
    ending: str
    reason: str | None
    body_bytes: int
    goodput_bps: float | None


class Served(Connection):
    """A connection as the server reports it."""

    requests: int


class Response(TypedDict):
    """A response."""

    status: int
    bytes: int
    complete: bool
    time_s: float
    first_byte_s: float
    goodput_bps: float | None


class Download(Connection):
    """A connection as the client reports it; times begin with the first datagram.

    `uncaptured_packets` are those that the capture lacks, null without one.
    """

    handshake_s: float
    total_s: float
    uncaptured_packets: int | None
    responses: list[Response]


class Strays(TypedDict):
    """Counts of datagrams and attempts that belong to no connection.

    `faults` are panics of the stack, each of which ended one connection. `uncaptured` are packets
    that the capture lacks, null without one.
    """

    ignored: int
    answered: int
    retries: int
    refused: int
    unsent: int
    faults: int
    overflowed: int
    uncaptured: int | None


def parse_url(text: str) -> Url:
    """Parse `https://HOST[:PORT]/PATH`; without a port, a server has 443."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme != "https" or not parts.netloc:
        raise ValueError(f"{text!r} is no URL of HTTP/3; write https://HOST:PORT/PATH")
    if parts.username or parts.password:
        raise ValueError(f"{text!r} has a user name; leave it out")
    if not text.isascii() or any(character <= " " for character in text):
        raise ValueError(f"{text!r} has characters to escape, such as %20 for a space")
    if parts.netloc.count(":") > 1 and not parts.netloc.startswith("["):
        raise ValueError(f"{text!r} has an IPv6 address; put it into brackets")
    has_port = ":" in parts.netloc.rpartition("]")[2]
    host = parse_host(parts.netloc if has_port else f"{parts.netloc}:443")
    query = f"?{parts.query}" if parts.query else ""
    return Url(host, parts.netloc, (parts.path or "/") + query)


def scenario(control: str, seed: int | None, assignments: Iterable[str]) -> _core.Scenario:
    """Return the scenario of one flow that describes connections; its link is a placeholder."""
    flow: dict[str, Any] = {
        "path": ["path"],
        "back": ["path"],
        "control": {"kind": "cubic"},
        "source": {"kind": "bulk"},
        "stack": {"kind": "noq", "mtu": _MTU},
    }
    document = {
        "title": "A download",
        "duration": "10s",
        "link": {"path": {"delay": "1ms"}},
        "flow": {"download": flow},
    }
    core = _core.Scenario.from_json("the download", json.dumps(document), ".")
    core.set(f"{_FLOW}.control.kind={toml_value(control)}")
    if seed is not None:
        core.set(f"seed={seed}")
    for assignment in assignments:
        core.set(f"{_FLOW}.{assignment}")
    core.check()
    return core


# Another system than Linux lacks these classes, so the annotations that name them are text.
def start(
    core: _core.Scenario,
    options: argparse.Namespace,
    out: Path | None,
    files: tuple[str | None, str | None] = (None, None),
) -> "_core.QuicFetch":
    """Start a download, by the options of `sojourn quic get`, from the first reachable address.

    `files` are the path prefixes of the files of packets and of events, if they are wanted.
    """
    try:
        return core.quic_get(addresses(options.url.host), options, out, files)
    except ValueError as error:
        raise UsageError(str(error)) from error


def finished(fetch: "_core.QuicFetch") -> Download | DownloadError:
    """Return the figures of a download, or the fault that ended it; its files are complete."""
    done = json.loads(fetch.finish())
    if "failure" in done:
        return DownloadError(done["failure"])
    return cast(Download, done)


def is_connected(files: tuple[str | None, str | None]) -> bool:
    """Whether the files that `start` wrote have a connection that completed its handshake."""
    folders = {Path(prefix).parent for prefix in files if prefix is not None}
    return any(
        _has_line(file, sign)
        for folder in folders
        for end, sign in _CONNECTED.items()
        for file in folder.glob(f"*{end}")
    )


def _has_line(file: Path, sign: str) -> bool:
    with file.open(encoding="utf-8") as lines:
        return any(sign in line for line in lines)


def ended(serving: "_core.QuicServing", within_s: float) -> Iterator[Served]:
    """Wait for the end of a connection; yield it, and all others that have ended."""
    while (text := serving.next(within_s)) is not None:
        yield cast(Served, json.loads(text))
        within_s = 0.0
