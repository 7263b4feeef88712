"""The runs at each queue size, and the RTT samples of each layer at each host."""

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from sojourn import captures
from sojourn.run.results import Run
from sojourn_papers import Lab

SCENARIO = "hosts.toml"
BEGIN_S = 10.0
"""Start of the clients and the pings."""
HOSTS = ("A", "B")
LAYERS = ("ICMP", "TCP", "application")
SIZES_KB = (10, 100, 200, 300)

Points = list[tuple[float, float]]
"""Pairs of seconds since the start of the clients, and milliseconds."""


class Probe(NamedTuple):
    """The flow that measures, and its column."""

    flow: str
    column: str


PROBES = {
    ("ICMP", "A"): Probe("ping_a", "rtt_s"),
    ("ICMP", "B"): Probe("ping_b", "rtt_s"),
    ("application", "A"): Probe("client_a", "response_s"),
    ("application", "B"): Probe("client_b", "response_s"),
}
MEASURED = tuple((layer, host) for layer in LAYERS for host in HOSTS)

Sent = Mapping[str, Sequence[tuple[str, str]]]
"""TCP data sent by each host, by file and address.

The host's server sends responses to the client on the other host, and the host's own client sends
requests.
"""

# Addresses of simulated hosts in captures; the clients are flows 2 and 3.
SENT: Sent = {
    "A": (("sender", "10.0.3.1"), ("receiver", "10.0.2.2")),
    "B": (("sender", "10.0.2.1"), ("receiver", "10.0.3.2")),
}
EPOCH_S = 946_684_800
"""The capture's timestamps start on 1 January 2000."""
# More than a client has samples, so that the capture analysis returns all of them.
_ALL = 4096


@dataclass(frozen=True)
class Recording:
    """A run, and the TCP RTTs that its captures give at each host."""

    run: Run
    tcp: Mapping[str, Points]
    begin_s: float = BEGIN_S
    more: Mapping[tuple[str, str], Points] = field(default_factory=dict)
    """Samples of further layers, by layer and host."""


def hosts(
    lab: Lab,
    size_kb: int,
    control: str = "cubic",
    apart_ms: int = 20,
    bulk_ms: int = 500,
    ack_every: int = 1,
) -> Recording:
    """Simulate the hosts with queues of this size.

    The probes begin `apart_ms` one after the other; a bulk flow begins `bulk_ms` after the other.
    """
    changes = assignments(size_kb, control, apart_ms, bulk_ms)
    for client in ("client_a", "client_b"):
        changes[f"flow.{client}.host.ack_every"] = f"{ack_every}"
    return lab.once(f"hosts {sorted(changes.items())}", lambda: _record(lab, changes))


def assignments(
    size_kb: int, control: str, apart_ms: int, bulk_ms: int, begin_s: float = BEGIN_S
) -> dict[str, str]:
    """Return the scenario's values for queues of this size, and for the starts of the flows."""
    changes = {f"link.{link}.buffer": f"{size_kb}kB" for link in ("to_a", "to_b")}
    changes |= {f"flow.{bulk}.control": control for bulk in ("bulk_to_a", "bulk_to_b")}
    for place, probe in enumerate(("client_a", "client_b", "ping_a", "ping_b")):
        changes[f"flow.{probe}.start"] = f"{begin_s * 1e3 + place * apart_ms:.0f}ms"
    changes["flow.bulk_to_a.start"] = f"{bulk_ms}ms"
    return changes


def recordings(lab: Lab, size_kb: int, apart_ms: int = 20) -> list[Recording]:
    """Simulate several recordings that differ in the start time of the second bulk flow."""
    count = lab.pick(6, 2)
    return [hosts(lab, size_kb, apart_ms=apart_ms, bulk_ms=500 + 137 * n) for n in range(count)]


def _record(lab: Lab, changes: Mapping[str, str]) -> Recording:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "captures"
        run = lab.run(SCENARIO, set=changes, pcapng=folder)
        return Recording(run, passive(folder, SENT))


def passive(folder: Path, sent: Sent, begin_s: float = BEGIN_S) -> dict[str, Points]:
    """Return the RTTs at each host that `sojourn rtt` finds in the two captures of a run.

    Times are relative to `begin_s`, the start of the clients. Earlier samples, of handshakes, are
    left out.
    """
    files = {end: next(folder.glob(f"*.{end}.pcapng")) for end in ("sender", "receiver")}
    flows = {end: _directions(file, begin_s) for end, file in files.items()}
    return {
        host: sorted(
            point for end, address in own for point in flows[end][address] if point[0] >= 0
        )
        for host, own in sent.items()
    }


def _directions(file: Path, begin_s: float) -> dict[str, Points]:
    """Return the samples that `sojourn rtt` finds in a capture, by the sender's address."""
    found = captures.rtt(file, points=_ALL)
    first_s = (found["begin_s"] or 0.0) - EPOCH_S - begin_s
    by_address: defaultdict[str, Points] = defaultdict(list)
    for flow in found["flows"]:
        for direction in flow["directions"]:
            address = direction["from"].rpartition(":")[0].strip("[]")
            by_address[address] += [
                (first_s + at_s, 1e3 * rtt_s) for at_s, rtt_s, _ in direction["series"]
            ]
    return by_address


def samples(recording: Recording, layer: str, host: str) -> Points:
    """Return every RTT that a layer measured at a host."""
    if layer == "TCP":
        return recording.tcp[host]
    if (layer, host) in recording.more:
        return recording.more[layer, host]
    probe = PROBES[layer, host]
    series = recording.run.flow(probe.flow).series.drop_nulls(probe.column)
    return [
        (at - recording.begin_s, 1e3 * rtt)
        for at, rtt in zip(series["t_s"], series[probe.column], strict=True)
    ]


def in_ms(of: Sequence[Recording]) -> dict[str, list[float]]:
    """Collect the samples of all recordings, by layer and host."""
    return {
        f"{layer} {host}": [ms for one in of for _, ms in samples(one, layer, host)]
        for layer, host in MEASURED
    }


def spread_ms(of: Sequence[Recording]) -> tuple[float, float]:
    """Return the range of the means of all layers at both hosts, and the range of their medians."""
    each = in_ms(of).values()
    return _width([fmean(one) for one in each]), _width([median(one) for one in each])


def _width(of: Sequence[float]) -> float:
    return max(of) - min(of)
