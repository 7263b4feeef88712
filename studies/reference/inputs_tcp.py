"""Seeded traces of a sender's events over one bottleneck, for the controllers of TCP.

A script decides how much is in flight, and not a controller, so that an input never depends on
the code under test. Times are whole microseconds, as a kernel has them.
"""

import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

MSS = 1448
US = 1_000
"""Nanoseconds."""
SECOND = 1_000_000_000
REORDERING = 3
"""Packets acknowledged beyond a lost one (RFC 6675 DupThresh)."""
RTO = 300_000_000

COLUMNS = (
    "event,now,acked,acked_packets,lost,lost_packets,lost_numbers,ce_packets,ect0_packets,"
    "ect1_packets,loss_event,ecn_event,in_recovery,after_timeout,rtt,srtt,min_rtt,rate_delivered,"
    "rate_number,rate_interval,rate_prior_delivered,rate_app_limited,delivered,in_flight_before,"
    "in_flight,cwnd_limited,cwnd_filled,largest_acked,next_number,number,bytes,retransmission,"
    "app_limited,idle,rto"
)


@dataclass(frozen=True)
class Path:
    """A bottleneck with a FIFO, and the way back."""

    mbps: tuple[tuple[float, float], ...]
    """The rate from each time in seconds on."""
    rtt_ms: float
    buffer: float = 1.0
    """In units of the first rate times the RTT."""
    loss: float = 0.0
    mark_from_us: int = 0
    """Queueing delay from which packets are marked; 0: none."""
    mark_ramp_us: int = 1
    """Further delay to certain marks."""
    marks_first: bool = False
    """Whether the first packet is marked, from which a controller may count."""
    slot_us: int = 1
    """Acknowledgements wait for the end of a slot, and are then one."""
    ect1: bool = False

    def rate_bps(self, now: int) -> float:
        """Return the rate now."""
        return 1e6 * next(mbps for begin, mbps in reversed(self.mbps) if now >= begin * SECOND)

    def bdp(self, now: int) -> float:
        """Return the packets of a round trip without a queue."""
        return self.rate_bps(now) * self.rtt_ms / 8e3 / MSS


@dataclass(frozen=True)
class Script:
    """The packets in flight: a doubling start, then a cycle of shares of the BDP."""

    shares: tuple[float, ...]
    """Each lasts a round trip."""
    start: float = 2.5
    """Flight at the end of the start, in BDPs."""
    dip_every_s: float = 0.0
    """Four packets for 0.3 s, as often as this; 0: never."""
    idle_every_s: float = 0.0
    """A pause of 0.15 s, as often as this; 0: never."""
    limited_every_s: float = 0.0
    """The application limits the sender for half a second, as often as this; 0: never."""
    timeout_every_s: float = 0.0
    """All packets in flight are lost, as often as this; 0: never."""


class Trace(NamedTuple):
    """A trace: its path and its script, and the settings of the controller."""

    path: Path
    script: Script
    seed: int
    settings: tuple[str, ...] = ()
    every_packet: bool = False
    """Whether the controller hears of each departure."""

    def events(self, count: int) -> Iterator[str]:
        """Yield the columns and so many events as CSV; a longer series begins as a shorter one."""
        yield COLUMNS
        names = COLUMNS.split(",")
        for event in islice(happenings(self), count):
            yield ",".join(str(event.get(name, "")) for name in names)


@dataclass
class Packet:
    """A packet in flight, with the snapshot of its departure."""

    number: int
    sent: int
    delivered: int
    delivered_at: int
    first_sent: int
    limited: bool
    marked: bool = False


@dataclass
class Sender:
    """The state of the sender and of the bottleneck."""

    given: Trace
    now: int = 0
    next_number: int = 0
    next_send: int = 0
    last_send: int = 0
    link_free: int = 0
    flight: dict[int, Packet] = field(default_factory=dict)
    arrivals: deque[tuple[int, Packet]] = field(default_factory=deque)
    delivered: int = 0
    delivered_at: int = 0
    first_sent: int = 0
    largest: int = 0
    srtt: int = 0
    min_rtt: int = 0
    recovers_to: int = 0
    recovery: str = ""
    retransmissions: int = 0
    limited_until: int = 0
    timeouts: int = 0


def happenings(given: Trace) -> Iterator[dict[str, object]]:
    """Yield the events of a trace: a handshake, then those of its packets, without an end."""
    draw = random.Random(given.seed).random
    base = round(given.path.rtt_ms * 1_000) * US
    sender = Sender(given, now=base)
    yield {"event": "handshake", "now": base, "rtt": base}
    while True:
        arrival = sender.arrivals[0][0] if sender.arrivals else math.inf
        departure = next_departure(sender)
        if departure <= arrival and departure < math.inf:
            sender.now = int(departure)
            sent = send(sender, draw)
            if given.every_packet or sent["in_flight_before"] == 0:
                yield sent
        elif arrival < math.inf:
            sender.now = int(arrival)
            yield acknowledge(sender)
        else:
            yield time_out(sender)


def next_departure(sender: Sender) -> float:
    """Return when the next packet may leave, infinity if an acknowledgement must come first."""
    begin = max(sender.next_send, sender.now)
    begin += idle_from(sender.given.script, begin)
    return begin if len(sender.flight) < target(sender, begin) else math.inf


def is_within(now: int, every_s: float, span_s: float) -> bool:
    """Return whether the last `span_s` of each `every_s` are running."""
    return every_s > 0 and now / SECOND % every_s >= every_s - span_s


def idle_from(script: Script, now: int) -> int:
    """Return the time to the end of an idle period; zero outside of one."""
    if not is_within(now, script.idle_every_s, 0.15):
        return 0
    every = int(script.idle_every_s * SECOND)
    return every - now % every


def target(sender: Sender, now: int) -> float:
    """Return the packets that the script wants in flight."""
    path, script = sender.given.path, sender.given.script
    bdp = path.bdp(now)
    rounds = now / (path.rtt_ms * 1e6) - 1
    if is_within(now, script.dip_every_s, 0.3):
        return 4
    if is_within(now, script.limited_every_s, 0.5):
        return max(0.4 * bdp, 2)
    start = math.log2(max(script.start * path.bdp(0) / 10, 1))
    if rounds < start:
        return 10 * 2**rounds
    return max(script.shares[int(rounds - start) % len(script.shares)] * bdp, 4)


def send(sender: Sender, draw: Callable[[], float]) -> dict[str, object]:
    """Send a packet."""
    path, now = sender.given.path, sender.now
    before = len(sender.flight)
    idle = now - sender.last_send if before == 0 and sender.next_number > 0 else 0
    if before == 0:
        sender.first_sent = sender.delivered_at = now
    limits = is_within(now, sender.given.script.limited_every_s, 0.5)
    if limits:
        sender.limited_until = sender.delivered + MSS * (before + 1)
    packet = Packet(
        sender.next_number,
        now,
        sender.delivered,
        sender.delivered_at,
        sender.first_sent,
        sender.limited_until > 0,
    )
    is_repeated = sender.retransmissions > 0
    sender.retransmissions -= int(is_repeated)
    sender.next_number += 1
    sender.flight[packet.number] = packet
    sender.last_send = now
    gap_ns = MSS * 8 * SECOND / (1.5 * path.rate_bps(now))
    sender.next_send = now + max(US, round(gap_ns / US) * US)
    enter_link(sender, packet, draw)
    return {
        "event": "sent",
        "now": now,
        "number": packet.number,
        "bytes": MSS,
        "in_flight_before": before * MSS,
        "retransmission": int(is_repeated),
        "app_limited": int(packet.limited),
        "idle": idle,
        "rto": RTO,
    }


def enter_link(sender: Sender, packet: Packet, draw: Callable[[], float]) -> None:
    """Let the bottleneck drop, mark or deliver a packet."""
    path, now = sender.given.path, sender.now
    spared, waits = draw() >= path.loss, max(sender.link_free - now, 0)
    certain = path.mark_from_us + draw() * path.mark_ramp_us
    transmission = round(MSS * 8 * SECOND / path.rate_bps(now) / US) * US
    if waits > path.buffer * path.bdp(0) * transmission or not spared:
        return
    if is_within(now, sender.given.script.timeout_every_s, path.rtt_ms / 500):
        return
    packet.marked = path.mark_from_us > 0 and waits > certain * US
    packet.marked |= path.marks_first and packet.number == 0
    sender.link_free = max(sender.link_free, now) + transmission
    arrival = sender.link_free + round(path.rtt_ms * 1_000) * US
    slot = path.slot_us * US
    sender.arrivals.append((-(-arrival // slot) * slot, packet))


def acknowledge(sender: Sender) -> dict[str, object]:
    """Receive the acknowledgement of all packets that arrive now."""
    now, before = sender.now, len(sender.flight)
    packets = []
    while sender.arrivals and sender.arrivals[0][0] == now:
        packet = sender.arrivals.popleft()[1]
        if sender.flight.pop(packet.number, None):
            packets.append(packet)
    if not packets:
        return feedback(sender, before, [], [], 0)
    newest = packets[-1]
    sender.largest = newest.number
    rtt = now - newest.sent
    sender.srtt = sender.srtt + (rtt - sender.srtt) // 8 if sender.srtt else rtt
    sender.min_rtt = min(sender.min_rtt or rtt, rtt)
    sender.delivered += MSS * len(packets)
    sender.delivered_at = now
    lost = [number for number in sender.flight if number + REORDERING <= newest.number]
    for number in lost:
        del sender.flight[number]
    sender.retransmissions += len(lost)
    if 0 < sender.limited_until < sender.delivered:
        sender.limited_until = 0
    return feedback(sender, before, packets, lost, rtt)


def feedback(
    sender: Sender, before: int, packets: list[Packet], lost: list[int], rtt: int
) -> dict[str, object]:
    """Return the event of an acknowledgement."""
    marked = sum(packet.marked for packet in packets)
    loses, is_marked = turn_recovery(sender, bool(lost), marked > 0)
    codepoint = "ect1_packets" if sender.given.path.ect1 else "ect0_packets"
    event: dict[str, object] = {
        "event": "feedback",
        "now": sender.now,
        "acked": MSS * len(packets),
        "acked_packets": len(packets),
        "lost": MSS * len(lost),
        "lost_packets": len(lost),
        "lost_numbers": " ".join(map(str, lost)),
        "ce_packets": marked,
        codepoint: len(packets) - marked,
        "loss_event": int(loses),
        "ecn_event": int(is_marked),
        "in_recovery": int(sender.recovery in ("loss", "mark")),
        "after_timeout": int(sender.recovery == "timeout"),
        "srtt": sender.srtt,
        "delivered": sender.delivered,
        "in_flight_before": MSS * before,
        "in_flight": MSS * len(sender.flight),
        "cwnd_limited": int(sender.limited_until == 0),
        "cwnd_filled": int(sender.limited_until == 0),
        "largest_acked": sender.largest,
        "next_number": sender.next_number,
    }
    if packets:
        event |= {"rtt": rtt, "min_rtt": sender.min_rtt, **rate_sample(sender, packets[-1])}
    return event


def turn_recovery(sender: Sender, loses: bool, is_marked: bool) -> tuple[bool, bool]:
    """End and begin a recovery; return whether losses, or marks, have begun one."""
    if sender.recovery and sender.largest + 1 >= sender.recovers_to:
        sender.recovery = ""
    begins = loses and sender.recovery not in ("loss", "timeout")
    reduces = is_marked and not sender.recovery and not begins
    if begins or reduces:
        sender.recovery = "loss" if begins else "mark"
        sender.recovers_to = sender.next_number
    return begins, reduces


def rate_sample(sender: Sender, newest: Packet) -> dict[str, object]:
    """Return the delivery-rate sample, without an invalid one."""
    interval = max(newest.sent - newest.first_sent, sender.now - newest.delivered_at)
    sender.first_sent = newest.sent
    if interval < sender.min_rtt:
        return {}
    return {
        "rate_delivered": sender.delivered - newest.delivered,
        "rate_number": newest.number,
        "rate_interval": interval,
        "rate_prior_delivered": newest.delivered,
        "rate_app_limited": int(newest.limited),
    }


def time_out(sender: Sender) -> dict[str, object]:
    """Let the retransmission timer expire, since no acknowledgement can come."""
    in_flight = MSS * len(sender.flight)
    sender.now = max(sender.now, sender.last_send) + RTO
    sender.retransmissions = len(sender.flight)
    sender.flight.clear()
    sender.recovery, sender.recovers_to = "timeout", sender.next_number
    return {"event": "timeout", "now": sender.now, "in_flight": in_flight}


RISE = tuple(0.8 + 0.1 * step for step in range(16))
"""A sawtooth that overflows a buffer of one BDP."""
CALM = tuple(0.9 + 0.025 * step for step in range(20))
"""A sawtooth with a short queue."""
PROBES = (1.25, 0.9, 1, 1, 1, 1, 1, 1)
"""A cycle of BBR."""
NUDGES = (0.9,) * 10 + (1.05, 1.1, 1.15)
"""A queue in some round trips."""


def cubic(*settings: str) -> dict[str, Trace]:
    """Return inputs with losses."""
    return {
        "losses": Trace(Path(((0, 20),), 40), Script(RISE), 1, settings),
        "short path": Trace(Path(((0, 40),), 6, loss=0.001), Script(CALM), 2, settings),
        "long path": Trace(
            Path(((0, 60),), 120, 2, loss=0.0001, slot_us=600), Script((0.8, 1.6, 2.4)), 3, settings
        ),
        "pauses": Trace(
            Path(((0, 15),), 30, loss=0.0006),
            Script(CALM, idle_every_s=3, limited_every_s=4, timeout_every_s=5),
            4,
            settings,
        ),
    }


def vegas(*settings: str) -> dict[str, Trace]:
    """Return inputs whose queue grows and shrinks."""
    return {
        "queue": Trace(Path(((0, 20),), 40), Script(CALM), 5, settings),
        "losses": Trace(Path(((0, 20),), 20, loss=0.0003), Script(RISE), 6, settings),
        "bursts": Trace(Path(((0, 40),), 60, slot_us=2_000), Script(CALM), 7, settings),
    }


def marks(*settings: str, scalable: bool = False) -> dict[str, Trace]:
    """Return inputs with marks, and one with losses."""
    own = {"ect1": scalable, "marks_first": scalable}
    step = Path(((0, 20),), 30, mark_from_us=1_000, **own)
    ramp = Path(((0, 40),), 40, mark_from_us=500, mark_ramp_us=8_000, **own)
    long = Path(((0, 30),), 50, mark_from_us=4_000, mark_ramp_us=30_000, slot_us=700, **own)
    losses = Path(((0, 20),), 30, loss=0.001, **own)
    return {
        "step": Trace(step, Script(NUDGES), 8, settings),
        "ramp": Trace(ramp, Script(CALM), 9, settings),
        "long ramp": Trace(long, Script(RISE[:8]), 10, settings),
        "losses": Trace(losses, Script(CALM), 14, settings),
    }


def bbr(*settings: str, every_packet: bool = False) -> dict[str, Trace]:
    """Return inputs that lead a model of the path through its states."""
    every = (settings, every_packet)
    return {
        "steady": Trace(Path(((0, 12),), 40), Script(PROBES, dip_every_s=9), 11, *every),
        "losses": Trace(
            Path(((0, 12),), 40, 0.3, loss=0.01), Script(PROBES, dip_every_s=9), 12, *every
        ),
        "varying": Trace(
            Path(((0, 12), (6, 24), (12, 6), (18, 12)), 30, 3, slot_us=1_500),
            Script(PROBES, dip_every_s=9, limited_every_s=5, idle_every_s=7),
            13,
            *every,
        ),
    }
