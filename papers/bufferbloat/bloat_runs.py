"""The runs at each size of the queue, and the RTT samples of each layer at each host."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from sojourn import captures
from sojourn.papers import Lab
from sojourn.record import Run

SCENARIO = "hosts.toml"
BEGIN_S = 10.0
"""When the clients and the pings begin."""
HOSTS = ("A", "B")
LAYERS = ("ICMP", "TCP", "application")
SIZES_KB = (10, 100, 200, 300)

Points = list[tuple[float, float]]
"""Seconds since the clients began, and milliseconds."""


class Probe(NamedTuple):
    """Which flow measures, and in which column."""

    flow: str
    column: str


PROBES = {
    ("ICMP", "A"): Probe("ping_a", "rtt_s"),
    ("ICMP", "B"): Probe("ping_b", "rtt_s"),
    ("application", "A"): Probe("client_a", "response_s"),
    ("application", "B"): Probe("client_b", "response_s"),
}
MEASURED = tuple((layer, host) for layer in LAYERS for host in HOSTS)

# What TCP sends from a host, by the file and the address: responses of the server there, which
# sends the data of the other host's client, and requests of its own client (docs/exports.md;
# the clients are flows 2 and 3).
SENT = {
    "A": (("sender", "10.0.3.1:50001"), ("receiver", "10.0.2.2:60002")),
    "B": (("sender", "10.0.2.1:50001"), ("receiver", "10.0.3.2:60002")),
}
# A run begins on 1 January 2000 in its capture.
_EPOCH_S = 946_684_800
# More than a client's samples: all of them are told.
_ALL = 4096


@dataclass(frozen=True)
class Recording:
    """A run, and the RTTs of TCP that its capture gives at either host."""

    run: Run
    tcp: Mapping[str, Points]


def hosts(
    lab: Lab,
    size_kb: int,
    control: str = "cubic",
    apart_ms: int = 20,
    bulk_ms: int = 500,
    ack_every: int = 1,
) -> Recording:
    """The hosts with queues of this size; the probes begin so long one after the other, and the
    second bulk flow so long after the first.
    """
    changes = {f"link.{link}.buffer": f"{size_kb}kB" for link in ("to_a", "to_b")}
    changes |= {f"flow.{bulk}.control": control for bulk in ("bulk_to_a", "bulk_to_b")}
    probes = ("client_a", "client_b", "ping_a", "ping_b")
    for place, probe in enumerate(probes):
        changes[f"flow.{probe}.start"] = f"{BEGIN_S * 1e3 + place * apart_ms:.0f}ms"
        if probe.startswith("client"):
            changes[f"flow.{probe}.transport.ack_every"] = f"{ack_every}"
    changes["flow.bulk_to_a.start"] = f"{bulk_ms}ms"
    return lab.once(f"hosts {sorted(changes.items())}", lambda: _record(lab, changes))


def recordings(lab: Lab, size_kb: int, apart_ms: int = 20) -> list[Recording]:
    """Several recordings, that differ by when the second bulk flow was started."""
    count = lab.pick(6, 2)
    return [hosts(lab, size_kb, apart_ms=apart_ms, bulk_ms=500 + 137 * n) for n in range(count)]


def _record(lab: Lab, changes: Mapping[str, str]) -> Recording:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "captures"
        run = lab.run(SCENARIO, set=changes, pcapng=folder)
        files = {end: next(folder.glob(f"*.{end}.pcapng")) for end in ("sender", "receiver")}
        flows = {end: _directions(file) for end, file in files.items()}
    tcp = {
        host: sorted(point for end, address in sent for point in flows[end][address])
        for host, sent in SENT.items()
    }
    return Recording(run, tcp)


def _directions(file: Path) -> dict[str, Points]:
    """Every round trip that `sojourn rtt` finds in a capture, by the address that it begins at."""
    found = captures.rtt(file, points=_ALL)
    begin_s = (found["begin_s"] or 0.0) - _EPOCH_S - BEGIN_S
    return {
        direction["from"]: [(begin_s + at_s, 1e3 * rtt_s) for at_s, rtt_s, _ in direction["series"]]
        for flow in found["flows"]
        for direction in flow["directions"]
    }


def samples(recording: Recording, layer: str, host: str) -> Points:
    """Every round trip that a layer measured at a host."""
    if layer == "TCP":
        return recording.tcp[host]
    probe = PROBES[layer, host]
    series = recording.run.flow(probe.flow).series.drop_nulls(probe.column)
    return [
        (at - BEGIN_S, 1e3 * rtt)
        for at, rtt in zip(series["t_s"], series[probe.column], strict=True)
    ]


def in_ms(of: Sequence[Recording]) -> dict[str, list[float]]:
    """The samples of every layer at both hosts, of all recordings, under its name."""
    return {
        f"{layer} {host}": [ms for one in of for _, ms in samples(one, layer, host)]
        for layer, host in MEASURED
    }


def spread_ms(of: Sequence[Recording]) -> tuple[float, float]:
    """By how much the means of all layers at both hosts differ at most, and their medians."""
    each = in_ms(of).values()
    return _width([fmean(one) for one in each]), _width([median(one) for one in each])


def _width(of: Sequence[float]) -> float:
    return max(of) - min(of)
