"""The RTT samples of a capture by tshark and by Sojourn, and the reason of each difference."""

import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import captures

FIELDS = (
    "frame.number",
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.analysis.ack_rtt",
    "ip.fragment.count",
    "ipv6.fragment.count",
    "frame.time_invalid",
    "frame.len",
    "ip.len",
)
SYN, FIN, RST, ACK = 0x02, 0x01, 0x04, 0x10
HALF = 1 << 31
UNEXPLAINED = "unexplained"
# TCP_MAX_UNACKED_SEGMENTS of epan/dissectors/packet-tcp.c.
MOST_UNACKED = 10_000
# More samples of a direction than any of these files has.
POINTS = 1 << 20

# A sample: the end that sent the segment, the other end, and the RTT in seconds.
Sample = tuple[str, str, float]
Samples = dict[int, Sample]


@dataclass(frozen=True)
class Packet:
    """A TCP segment as tshark decodes it; `layers` counts the IP headers in front of it."""

    number: int
    protocols: str
    layers: int
    of: str
    to: str
    stream: str
    seq: int
    ack: int
    length: int
    flags: int
    rtt_s: float | None
    is_reassembled: bool
    has_time: bool
    is_longer: bool


@dataclass
class Half:
    """One direction of a stream: what was sent, and which of it twice or out of order."""

    next: int | None = None
    acked: int | None = None
    again: list[tuple[int, int]] = field(default_factory=list)
    segments: dict[int, int] = field(default_factory=dict)
    is_reset: bool = False


def tshark(file: Path) -> list[Packet]:
    """Return the TCP segments of a capture, up to the first damage."""
    asked = [word for name in FIELDS for word in ("-e", name)]
    command = ["tshark", "-n", "-r", str(file), "-Y", "tcp", "-T", "fields", "-E", "separator=|"]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, check=False)
    rows = (line.split("|") for line in done.stdout.splitlines())
    return [packet(row) for row in rows if row[7]]


def packet(row: Sequence[str]) -> Packet:
    """Return the segment of a line of tshark, in which commas separate the layers' values."""
    values = {name: cell.split(",") for name, cell in zip(FIELDS, row, strict=True)}
    protocols = row[1].split(":")
    behind = [one for one in protocols[: protocols.index("tcp")] if one in ("ip", "ipv6")]
    name, place = behind[-1], behind.count(behind[-1]) - 1
    own = {side: values[f"{name}.{side}"][place] for side in ("src", "dst")}
    of, to = (f"[{own[side]}]" if name == "ipv6" else own[side] for side in ("src", "dst"))
    rtt = values["tcp.analysis.ack_rtt"][0]
    return Packet(
        number=int(row[0]),
        protocols=row[1],
        layers=len(behind),
        of=f"{of}:{values['tcp.srcport'][0]}",
        to=f"{to}:{values['tcp.dstport'][0]}",
        stream=values["tcp.stream"][0],
        seq=int(values["tcp.seq_raw"][0] or 0),
        ack=int(values["tcp.ack_raw"][0] or 0),
        length=int(values["tcp.len"][0] or 0),
        flags=int(values["tcp.flags"][0] or "0", 16),
        rtt_s=float(rtt) if rtt else None,
        is_reassembled=bool(values["ip.fragment.count"][0] or values["ipv6.fragment.count"][0]),
        has_time=not values["frame.time_invalid"][0],
        is_longer=int(values["ip.len"][0] or 0) > int(values["frame.len"][0]),
    )


def theirs(packets: Iterable[Packet]) -> Samples:
    """Return tshark's samples by the frame of the answer; it prints none of zero."""
    return {one.number: (one.to, one.of, one.rtt_s) for one in packets if one.rtt_s}


def ours(found: captures.CaptureRtt) -> Samples:
    """Return Sojourn's samples by the packet of the answer."""
    return {
        number: (way["from"], way["to"], rtt_s)
        for flow in found["flows"]
        for way in flow["directions"]
        for _, rtt_s, number in way.get("series", ())
        if rtt_s
    }


def same(left: Sample | None, right: Sample | None) -> bool:
    """Return whether two samples agree: to the ns, or as doubles if they are long."""
    if left is None or right is None or left[:2] != right[:2]:
        return left is right
    return abs(left[2] - right[2]) < max(0.5e-9, 1e-15 * left[2])


def excluded(packets: Iterable[Packet]) -> dict[int, str]:
    """Return why Sojourn takes no sample from an answer, or another one than tshark.

    A SYN and a FIN take a sequence number each (RFC 9293 section 3.4).
    """
    halves: dict[tuple[str, str], Half] = defaultdict(Half)
    found: dict[int, str] = {}
    for one in packets:
        own, other = halves[one.stream, one.of], halves[one.stream, one.to]
        if one.flags & ACK and (kind := excluding(one, other)):
            found[one.number] = kind
        if one.flags & ACK and (other.acked is None or after(one.ack, other.acked)):
            other.acked = one.ack
        send(one, own)
        if one.flags & RST:
            own.is_reset = other.is_reset = True
        elif one.flags & SYN and not one.flags & ACK:
            own.is_reset = other.is_reset = False
    return found


def excluding(one: Packet, other: Half) -> str | None:
    """Return the reason at an answer to the segments of `other`."""
    if one.flags & RST:
        return "answer is a reset"
    if other.is_reset:
        return "answer behind a reset"
    if one.rtt_s is not None and one.rtt_s < 0:
        return "clock ran backwards"
    is_new = other.acked is None or after(one.ack, other.acked)
    low = other.acked if is_new else None
    begins = [
        begin
        for end, begin in other.segments.items()
        if low is not None and after(end, low) and after(low, begin)
    ]
    if any(overlaps(part, min(begins, default=low), one.ack) for part in other.again):
        return "Karn's rule"
    if other.next is None or after(one.ack, other.next):
        return "data not captured"
    return None if one.ack in other.segments else "answer to a part of a segment"


def send(one: Packet, own: Half) -> None:
    """Follow the sequence numbers of a segment."""
    size = one.length + bool(one.flags & SYN) + bool(one.flags & FIN)
    if not size or one.flags & RST:
        return
    end = (one.seq + size) % (1 << 32)
    own.segments.setdefault(end, one.seq)
    if own.next is not None and after(own.next, one.seq):
        own.again.append((one.seq, end))
    if own.next is None or after(end, own.next):
        own.next = end


def after(number: int, other: int) -> bool:
    """Return whether a sequence number is after another."""
    return 0 < (number - other) % (1 << 32) < HALF


def overlaps(part: tuple[int, int], low: int | None, high: int) -> bool:
    """Return whether a range has numbers from `low` to `high`."""
    return after(high, part[0]) and (low is None or after(part[1], low))


def reason(
    one: Packet | None,
    stream: Sequence[Packet],
    known: Mapping[int, str],
    found: captures.CaptureRtt,
) -> str:
    """Return the kind of the difference at an answer, a packet of this stream."""
    skipped = found["skipped"]
    kinds = {
        "damaged file": found["error"] is not None,
        "tshark sees no TCP": one is None,
        "tunnel": any(other.layers > 1 for other in stream),
        "IP fragments": any(other.is_reassembled for other in stream) or skipped["fragments"],
        "link type": skipped["link_type"],
        "invalid time": not all(other.has_time for other in stream),
        "IP length beyond the packet": any(other.is_longer for other in stream),
        "more segments than tshark keeps": len(stream) > MOST_UNACKED,
    }
    kind = next((kind for kind, is_so in kinds.items() if is_so), None)
    if kind is not None or one is None:
        return kind or UNEXPLAINED
    later = {
        "captured twice": skipped["copies"],
        "headers not read": skipped["not_ip"],
        "headers cut off": skipped["cut"],
        "contradictory headers": skipped["malformed"],
    }
    return known.get(one.number) or next(
        (kind for kind, is_so in later.items() if is_so), UNEXPLAINED
    )


def compare(file: Path) -> dict[str, object]:
    """Compare the samples of a capture; `kind` has the reasons of all differences."""
    packets = tshark(file)
    found = captures.rtt(file, "acks", points=POINTS)
    left, right = theirs(packets), ours(found)
    by_number = {one.number: one for one in packets}
    streams: dict[str, list[Packet]] = defaultdict(list)
    for one in packets:
        streams[one.stream].append(one)
    differing = sorted(n for n in left.keys() | right.keys() if not same(left.get(n), right.get(n)))
    known = excluded(packets) if differing else {}
    answers = (by_number.get(number) for number in differing)
    kinds = {reason(one, streams[one.stream] if one else [], known, found) for one in answers}
    return {
        "packets": found["packets"],
        "segments": len(packets),
        "tshark_samples": len(left),
        "samples": len(right),
        "equal": len(left.keys() | right.keys()) - len(differing),
        "differing": len(differing),
        "kind": ", ".join(sorted(kinds)) or None,
    }
