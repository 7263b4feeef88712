"""The hosts live: kernel TCP and ICMP, and two more measurements of the same round trips."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from sojourn.run.results import Run
from sojourn_papers import Lab

from .echoes import in_links
from .runs import (
    HOSTS,
    LAYERS,
    SCENARIO,
    SENT,
    SIZES_KB,
    Points,
    Recording,
    Sent,
    assignments,
    passive,
    samples,
)

MORE = ("TCP_INFO", "links")
"""Layers beyond the paper's: the sender's own RTT, and the time on the links."""
EVERY = (*LAYERS, *MORE)
# Longer than every RTT, since a late response delays the next request, and no multiple of one, so
# that the probes meet all phases of the bursts that acknowledgements cause.
_INTERVAL = "350ms"
# Layers then differ by the layer, not by the time of the probes.
_APART_MS = 5
# Finer than the time between responses, each of which changes the smoothed RTT once.
_STEP = "10ms"
# The server on this host sends the responses of this flow.
_RESPONSES = {"A": "client_b", "B": "client_a"}
# The fifth and the sixth flow.
_PINGS = {"A": 5, "B": 6}


@dataclass(frozen=True)
class Both:
    """A live recording, and the simulation of the same scenario."""

    live: Recording
    simulated: Recording


def sizes(lab: Lab) -> tuple[int, ...]:
    """Return the queue sizes in kB."""
    return lab.pick(SIZES_KB, (10, 100))


def span_s(lab: Lab) -> float:
    """Return the duration of the measurement, from the start of the clients."""
    return lab.pick(32.0, 3.0)


def recordings(lab: Lab, size_kb: int) -> list[Both]:
    """Record live and simulated hosts; recordings differ in the start of the second bulk flow."""
    return [recording(lab, size_kb, place) for place in range(lab.live_count(1))]


def recording(lab: Lab, size_kb: int, place: int = 0) -> Both:
    """Return one of the recordings."""
    return _both(lab, size_kb, 500 + 137 * place)


def _both(lab: Lab, size_kb: int, bulk_ms: int) -> Both:
    # The clients connect up to 2 s before they start.
    begin_s = lab.pick(8.0, 2.0)
    changes: dict[str, object] = {**assignments(size_kb, "cubic", _APART_MS, bulk_ms, begin_s)}
    changes |= {"duration": f"{begin_s + span_s(lab):g}s", "record.interval": _STEP}
    for host in ("a", "b"):
        changes[f"flow.client_{host}.source.interval"] = _INTERVAL
        changes[f"flow.ping_{host}.source"] = {"kind": "ping", "interval": _INTERVAL}
    return lab.once(
        f"both {sorted(changes.items())}",
        lambda: Both(_record(lab, changes, begin_s, True), _record(lab, changes, begin_s, False)),
    )


def _record(lab: Lab, changes: Mapping[str, object], begin_s: float, is_live: bool) -> Recording:
    senders, receivers = _ADDRESSES[is_ipv6(lab)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "captures"
        more: dict[tuple[str, str], Points] = {}
        if is_live:
            run = lab.live(SCENARIO, changes, pcapng=folder)
            tcp = passive(folder, _sent(senders, receivers), begin_s)
            for host, flow in _PINGS.items():
                echoes = in_links(folder, senders.format(flow))
                more["links", host] = [(at_s - begin_s, ms) for at_s, ms in echoes]
        else:
            run = lab.run(SCENARIO, set=changes, pcapng=folder)
            tcp = passive(folder, SENT, begin_s)
    recording = Recording(run, tcp, begin_s)
    for host in HOSTS:
        more["TCP_INFO", host] = tcp_info(run, host, begin_s)
        # Simulated hosts take no time.
        more.setdefault(("links", host), samples(recording, "ICMP", host))
    return replace(recording, more=more)


def is_ipv6(lab: Lab) -> bool:
    """Return whether the live hosts use IPv6."""
    return lab.live_runs is not None and lab.live_runs.ipv6


# Addresses of senders and receivers of live runs by the number of the flow, in IPv4 and IPv6.
_ADDRESSES = (
    ("10.53.0.{}", "10.54.0.{}"),
    ("fd53:6f6a:6f75:726e::{}", "fd53:6f6a:6f75:726e::1:{}"),
)


def _sent(senders: str, receivers: str) -> Sent:
    """Return the addresses of live hosts; the clients are flows 3 and 4."""
    return {
        "A": (("sender", senders.format(4)), ("receiver", receivers.format(3))),
        "B": (("sender", senders.format(3)), ("receiver", receivers.format(4))),
    }


def tcp_info(run: Run, host: str, begin_s: float) -> Points:
    """Return the RTT samples behind each change of the server's smoothed RTT.

    A sample moves the smoothed RTT by an eighth of the difference (RFC 6298 section 2.3), so that
    two consecutive values give the sample. A response is one packet, and the record is finer than
    the interval between responses.
    """
    series = run.flow(_RESPONSES[host]).series.drop_nulls("srtt_s")
    values = list(zip(series["t_s"], series["srtt_s"], strict=True))
    return [
        (at_s - begin_s, 1e3 * (8 * new - 7 * old))
        for (_, old), (at_s, new) in pairwise(values)
        if new != old and at_s >= begin_s
    ]
