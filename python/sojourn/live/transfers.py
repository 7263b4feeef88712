"""Transfers over UDP between two machines: `sojourn serve` and `sojourn send`."""

import json
import socket
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypedDict, cast

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.live.real_time import Departures
from sojourn.record.record_types import RunSummary
from sojourn.record.summary import FORMAT, Summary
from sojourn.run.experiment import toml_value

PORT = 4433
"""The port of a server unless another is given."""

# A scenario takes no longer time.
_LONGEST = "1000000s"
_FLOW = "flow.upload"


class Host(NamedTuple):
    """A server's name or address, and its port."""

    name: str
    port: int

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{name}:{self.port}"


class Settings(NamedTuple):
    """The settings of a transfer, in the units and with the keys of a scenario's flow."""

    control: str = "cubic"
    size: str | None = None
    """Bytes to send; without it, data for the whole duration."""
    duration: str | None = None
    seed: int | None = None
    assignments: Iterable[str] = ()
    """Changes of the flow, such as `control.beta=0.5` or `host.mss=1200B`."""


class Peer(TypedDict):
    """A transfer as the server reports it; counts are null if they are unknown."""

    peer: str
    bytes: int
    duration_s: float
    goodput_bps: float | None
    packets: int
    marked_packets: int
    lost_packets: int | None
    duplicated_packets: int
    beyond_window_packets: int
    ending: str


class Strays(TypedDict):
    """Counts of what belongs to no transfer, and of datagrams that were not read in time.

    `empty`: connections without data.
    """

    malformed: int
    unknown: int
    empty: int
    retries: int
    refused: int
    overflowed: int


def parse_host(text: str) -> Host:
    """Parse `HOST`, `HOST:PORT`, an IPv6 address, or `[IPv6 address]:PORT`."""
    name, port = text, str(PORT)
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r} is not a host such as [2001:db8::1]:{PORT}")
        port = rest[1:] if rest else port
    elif text.count(":") == 1:
        name, _, port = text.partition(":")
    if not name:
        raise ValueError(f"{text!r} names no host; write HOST or HOST:PORT")
    return Host(name, parse_port(port, least=1))


def parse_port(text: str, least: int = 0) -> int:
    """Parse a port number."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else -1
    if not least <= number <= 65_535:
        raise ValueError(f"{text!r} is not a port number from {least} to 65535")
    return number


def addresses(host: Host) -> list[str]:
    """Return the addresses of a host, the system's preferred one first."""
    try:
        found = socket.getaddrinfo(*host, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(
            f"{host.name} has no address: {reason or error}; check the name, or give the address "
            "of the machine"
        ) from error
    each = [Host(str(place[0]), host.port) for *_, place in found]
    return list(dict.fromkeys(map(str, each)))


def scenario(settings: Settings) -> _core.Scenario:
    """Return the scenario of one flow that describes a transfer; its link is a placeholder."""
    flow: dict[str, Any] = {
        "path": ["path"],
        "back": ["path"],
        "control": {"kind": "cubic"},
        "source": {"kind": "bulk" if settings.size is None else "file"},
        "host": "udp",
    }
    document = {
        "title": "A transfer",
        "duration": _LONGEST if settings.size is not None else "10s",
        "start_jitter": "0s",
        "link": {"path": {"delay": "1ms"}},
        "flow": {"upload": flow},
    }
    core = _core.Scenario.from_json("the transfer", json.dumps(document), ".")
    core.set(f"{_FLOW}.control.kind={toml_value(settings.control)}")
    if settings.size is not None:
        core.set(f"{_FLOW}.source.size={settings.size}")
    if settings.duration is not None:
        core.set(f"duration={settings.duration}")
    if settings.seed is not None:
        core.set(f"seed={settings.seed}")
    for assignment in settings.assignments:
        core.set(f"{_FLOW}.{assignment}")
    core.check()
    return core


# Another system than Linux lacks these classes, so the annotations that name them are text.
def start(
    core: _core.Scenario, host: Host, patience: str, departures: Departures = "timer"
) -> "_core.Transfer":
    """Start a transfer to the first address of a host that is reachable."""
    found = addresses(host)
    try:
        return core.send(found, patience, departures)
    except ValueError as error:
        raise UsageError(str(error)) from error


def ended(serving: "_core.Serving", within_s: float) -> Iterator[Peer]:
    """Wait for the end of a transfer; yield it, and all others that have ended."""
    while (text := serving.next(within_s)) is not None:
        yield cast(Peer, json.loads(text))
        within_s = 0.0


def record(core: _core.Scenario, host: Host, transfer: "_core.Transfer") -> tuple[Summary, bytes]:
    """Wait for the end of a transfer; return its summary and its series in Parquet."""
    text, series = transfer.finish()
    run = cast(RunSummary, json.loads(text))
    flow = json.loads(core.to_json())["flow"]["upload"]
    run["transfer"]["settings"] = {
        key: value for key, value in flow.items() if key not in ("path", "back")
    }
    summary: Summary = {
        "format": FORMAT,
        "scenario": f"transfer to {host}",
        "version": _core.__version__,
        "runs": [run],
    }
    return summary, series
