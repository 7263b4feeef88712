"""Inputs of the controllers of media: frames, packets and reports over a path.

The rate of the source follows the capacity at random, and hears no controller: each side of a pair
gets the same events.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import NamedTuple

FRAME_US = 40_000
PACKET_BYTES = 1200
DELAY_US = 20_000
"""Delay of each way."""
BUFFER_US = 250_000
STEP_US = 8_000_000
"""Time between two changes of the capacity, and of the share of losses."""
SHARE_US = 1_000_000
"""Time between two changes of the source's share of the capacity."""
PACING = 1.5
# Queueing delays at which a queue begins to mark, and marks all.
RAMP_US = (5_000, 25_000)

COLUMNS = (
    *("event", "now", "bytes", "waiting", "queued", "interval", "min_rate", "max_rate"),
    *("number", "in_flight_before", "in_flight", "acked", "acked_packets", "lost", "lost_packets"),
    *("lost_numbers", "ce_packets", "ect1_packets", "loss_event", "ecn_event", "rtt", "srtt"),
    *("min_rtt", "delivered", "largest_acked", "next_number", "cwnd_limited", "received"),
)


class Path(NamedTuple):
    """A path: its random losses in each step, its jitter, and whether its queue marks."""

    name: str
    losses: tuple[float, ...] = (0.0,)
    jitter_us: int = 0
    marks: bool = False
    shares: tuple[float, float] = (0.6, 1.2)
    """Range of the shares of the capacity that the source sends."""


class Load(NamedTuple):
    """Capacities in bit/s, the range of the encoder, and the time between two reports."""

    capacities: tuple[int, ...]
    min_rate: int
    max_rate: int
    report_us: int
    gap_us: int
    """Longer than the mean time between two events, so that a trace has enough of them."""


class Frame(NamedTuple):
    """A frame, with the sender's queue before it."""

    at: int
    bytes: int
    waiting: int
    queued: int


class Packet(NamedTuple):
    """A packet; a lost one has no time of arrival. Times are in microseconds."""

    number: int
    at: int
    bytes: int
    arrived: int | None
    marked: bool


class Report(NamedTuple):
    """A report of the packets that have arrived since the one before."""

    at: int
    sent: int
    packets: list[Packet]


def source(
    seed: int, path: Path, load: Load, end_us: int
) -> tuple[list[Frame], list[tuple[int, int]]]:
    """Return the frames, and the time and size of each packet."""
    draw = Random(seed)
    frames: list[Frame] = []
    packets: list[tuple[int, int]] = []
    free_at, share = 0, 1.0
    for at in range(0, end_us, FRAME_US):
        if at % SHARE_US == 0:
            share = draw.uniform(*path.shares)
        rate = min(max(share * capacity(load, at), load.min_rate), load.max_rate)
        size = int(rate * FRAME_US / 8e6 * draw.uniform(0.7, 1.3))
        waiting = [one for one in reversed(packets[-200:]) if one[0] > at]
        oldest = waiting[-1][0] // FRAME_US * FRAME_US if waiting else at
        frames.append(Frame(at, size, at - min(oldest, at), sum(one[1] for one in waiting)))
        count = -(-size // PACKET_BYTES)
        for part in range(count):
            part_bytes = size * (part + 1) // count - size * part // count
            free_at = max(free_at, at)
            packets.append((free_at, part_bytes))
            free_at += max(int(part_bytes * 8e6 / (PACING * rate)), 1)
    return frames, packets


def capacity(load: Load, at: int) -> int:
    """Return the capacity at this time."""
    return load.capacities[at // STEP_US % len(load.capacities)]


def carried(seed: int, path: Path, load: Load, sent: list[tuple[int, int]]) -> list[Packet]:
    """Carry packets over the path: a queue, then random losses, then jitter in order."""
    draw = Random(seed + 1)
    free_at = last = 0
    packets = []
    for number, (at, size) in enumerate(sent):
        chance, jitter, mark = draw.random(), draw.random(), draw.random()
        wait = max(free_at - at, 0)
        arrived, marked = None, False
        if wait <= BUFFER_US:
            free_at = max(free_at, at) + int(size * 8e6 / capacity(load, max(free_at, at)))
            marked = path.marks and mark < (wait - RAMP_US[0]) / (RAMP_US[1] - RAMP_US[0])
            if chance >= path.losses[at // STEP_US % len(path.losses)]:
                last = max(last, free_at + DELAY_US + int(jitter * path.jitter_us))
                arrived = last
        packets.append(Packet(number, at, size, arrived, marked))
    return packets


def reports(packets: list[Packet], interval: int) -> Iterator[Report]:
    """Return the reports that have news, each as it comes to the sender."""
    arrived = [packet for packet in packets if packet.arrived is not None]
    end = packets[-1].at
    place = 0
    for sent in range(interval, end, interval):
        first = place
        while place < len(arrived) and (arrived[place].arrived or 0) < sent:
            place += 1
        if place > first:
            yield Report(sent + DELAY_US, sent, arrived[first:place])


Event = Frame | Packet | Report


class Sender:
    """The sender's counts, which the events contain."""

    def __init__(self, load: Load, packets: list[Packet]) -> None:
        """Begin without a packet in flight."""
        self.limits = {"min_rate": load.min_rate, "max_rate": load.max_rate}
        self.packets = packets
        self.next_number = self.passed = self.loss_end = self.mark_end = 0
        self.in_flight = self.delivered = 0
        self.srtt = self.min_rtt = 0

    def row(self, event: Event) -> dict[str, object]:
        """Return the row of an event."""
        if isinstance(event, Frame):
            return self.on_frame(event)
        return self.on_sent(event) if isinstance(event, Packet) else self.on_report(event)

    def on_frame(self, frame: Frame) -> dict[str, object]:
        """Return the event of a frame."""
        row = {"event": "frame", "now": frame.at * 1000, "bytes": frame.bytes, **self.limits}
        times = {"waiting": frame.waiting * 1000, "interval": FRAME_US * 1000}
        return {**row, **times, "queued": frame.queued}

    def on_sent(self, packet: Packet) -> dict[str, object]:
        """Return the event of a packet that leaves."""
        before = self.in_flight
        self.in_flight += packet.bytes
        self.next_number = packet.number + 1
        now = packet.at * 1000
        row = {"event": "sent", "now": now, "number": packet.number, "bytes": packet.bytes}
        return {**row, "in_flight_before": before}

    def on_report(self, report: Report) -> dict[str, object]:
        """Return the event of a report: a packet before the newest arrival is lost at once."""
        newest = report.packets[-1]
        lost = [
            packet for packet in self.packets[self.passed : newest.number] if packet.arrived is None
        ]
        self.passed = newest.number + 1
        rtt = report.at - newest.at - (report.sent - (newest.arrived or 0))
        self.srtt = rtt if self.srtt == 0 else (7 * self.srtt + rtt) // 8
        self.min_rtt = min(self.min_rtt or rtt, rtt)
        before, acked = self.in_flight, sum(packet.bytes for packet in report.packets)
        lost_bytes = sum(packet.bytes for packet in lost)
        self.in_flight -= acked + lost_bytes
        self.delivered += acked
        marked = sum(packet.marked for packet in report.packets)
        loss_event = any(packet.number >= self.loss_end for packet in lost)
        self.loss_end = self.next_number if loss_event else self.loss_end
        ecn_event = marked > 0 and newest.number >= self.mark_end
        self.mark_end = self.next_number if ecn_event else self.mark_end
        return {
            "event": "feedback",
            "now": report.at * 1000,
            "in_flight_before": before,
            "in_flight": self.in_flight,
            "acked": acked,
            "acked_packets": len(report.packets),
            "lost": lost_bytes,
            "lost_packets": len(lost),
            "lost_numbers": " ".join(str(packet.number) for packet in lost),
            "ce_packets": marked,
            "ect1_packets": len(report.packets) - marked,
            "loss_event": int(loss_event),
            "ecn_event": int(ecn_event),
            "rtt": rtt * 1000,
            "srtt": self.srtt * 1000,
            "min_rtt": self.min_rtt * 1000,
            "delivered": self.delivered,
            "largest_acked": newest.number,
            "next_number": self.next_number,
            "cwnd_limited": 1,
            "received": " ".join(
                f"{one.number}:{one.at * 1000}:{(one.arrived or 0) * 1000}:{one.bytes}"
                for one in report.packets
            ),
        }


class Media(NamedTuple):
    """An input: a load on a path."""

    seed: int
    path: Path
    load: Load
    settings: tuple[str, ...]

    def events(self, count: int) -> Iterator[str]:
        """Yield the columns and so many events."""
        frames, sent = source(self.seed, self.path, self.load, count * self.load.gap_us)
        packets = carried(self.seed, self.path, self.load, sent)
        streams: list[Iterable[Event]] = [frames, packets, reports(packets, self.load.report_us)]
        # Of events at the same time, a frame comes first.
        merged = heapq.merge(*streams, key=lambda event: event.at)
        sender = Sender(self.load, packets)
        yield ",".join(COLUMNS)
        for event in islice(merged, count):
            row = sender.row(event)
            yield ",".join(str(row.get(column, "")) for column in COLUMNS)


PATHS = (
    Path("queue"),
    Path("losses", losses=(0.0, 0.005, 0.02, 0.05, 0.15)),
    Path("jitter", jitter_us=30_000),
)
# Rates of a call, and of video.
SLOW = Load(
    (1_000_000, 2_500_000, 600_000, 1_500_000, 400_000, 2_000_000),
    min_rate=150_000,
    max_rate=3_000_000,
    report_us=100_000,
    gap_us=8_000,
)
FAST = Load(
    (3_000_000, 6_000_000, 2_000_000, 5_000_000, 1_200_000),
    min_rate=300_000,
    max_rate=10_000_000,
    report_us=50_000,
    gap_us=4_000,
)


def media(load: Load, *settings: str, marks: bool = False) -> dict[str, Media]:
    """Return the inputs of a load by name; the queue of `light` may mark."""
    light = Path("light", marks=marks, shares=(0.6, 1.02))
    return {path.name: Media(1, path, load, settings) for path in (*PATHS, light)}
