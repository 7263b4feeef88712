"""A second reader of qlog, written from the documents alone.

The forms of a file are those of draft-marx-qlog-main-schema-00 to -02 and of
draft-ietf-quic-qlog-main-schema-13; the events those of draft-ietf-quic-qlog-quic-events-12. What
is counted follows RFC 9000, 9002 and 9221, and draft-ietf-quic-multipath-19. It keeps whole files
in memory and reads sound files alone.
"""

import gzip
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = Any
DATA = ("stream", "crypto", "datagram")
ACKS = ("ack", "path_ack")
# Not ack-eliciting (RFC 9002 section 2; draft-ietf-quic-multipath; draft-huitema-quic-ts).
SILENT = (*ACKS, "padding", "connection_close", "application_close", "time_stamp")
FRAMELESS = ("retry", "version_negotiation", "stateless_reset")
SPACES = ("initial", "handshake")


@dataclass
class Flying:
    """A packet in flight: its time, its data, and whether it asks for an acknowledgement."""

    at: float
    loads: list[Json]
    asks: bool
    is_lost: bool = False


@dataclass
class Found:
    """What a trace says about one path."""

    sent: int = 0
    lost: int = 0
    resent_packets: int = 0
    resent_bytes: dict[str, int] = field(default_factory=dict)
    acked_bytes: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    rtts_s: list[float] = field(default_factory=list)
    # The log's own samples, each with the number of samples before it.
    reported: list[tuple[float, int]] = field(default_factory=list)

    def samples_s(self) -> list[float]:
        """Return the samples; those that the log reports, if its packets give none."""
        return self.rtts_s or [rtt_s for rtt_s, _ in self.reported]

    def confirmed(self) -> int:
        """Return how many reported samples equal the one before or behind them, within 1 %.

        Stacks log a sample before or after the packet that gives it, and round it differently.
        """
        return sum(
            any(
                abs(rtt_s - one) <= max(0.01 * rtt_s, 2e-4)
                for one in self.rtts_s[max(0, place - 1) : place + 1]
            )
            for rtt_s, place in self.reported
        )


class Bytes:
    """The bytes of one stream that were seen, as disjoint ranges."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    def add(self, begin: int, end: int) -> int:
        """Add a range; return how many of its bytes are new."""
        first = bisect_left(self.ends, begin)
        last = bisect_right(self.begins, end)
        old = sum(
            max(0, min(end, self.ends[place]) - max(begin, self.begins[place]))
            for place in range(first, last)
        )
        if first < last:
            begin2, end2 = min(begin, self.begins[first]), max(end, self.ends[last - 1])
        else:
            begin2, end2 = begin, end
        self.begins[first:last], self.ends[first:last] = [begin2], [end2]
        return end - begin - old


def read(file: Path) -> list[dict[int, Found]]:
    """Return the paths of each trace of a file, by their identifiers."""
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    # A replacement character in a name changes no figure.
    found = traces(data.decode("utf-8", "replace"))
    return [Trace(events).paths for events in found if events]


def traces(text: str) -> Iterator[list[Json]]:
    """Yield the events of each trace as objects with a time in seconds."""
    if text.startswith("\x1e"):
        head, *events = [json.loads(part) for part in text.split("\x1e") if part.strip()]
        yield timed(head["trace"], events)
        return
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        head = json.loads(lines[0])
    except ValueError:
        head = {}
    if "trace" in head and "traces" not in head:
        yield timed(head["trace"], [json.loads(line) for line in lines[1:]])
        return
    for trace in json.loads(text, strict=False)["traces"]:
        if "error_description" not in trace:
            yield timed(trace, trace["events"])


def timed(about: Json, events: Sequence[Json]) -> list[Json]:
    """Name the fields of events and convert their times."""
    names = [name.lower() for name in about.get("event_fields", ())]
    common, setup = about.get("common_fields", {}), about.get("configuration", {})
    units = setup.get("time_units", common.get("time_units", "ms"))
    scale = 1e-6 if units == "us" else 1e-3
    differences = common.get("time_format") in ("delta", "relative_to_previous_event")
    now, found = 0.0, []
    for given in events:
        event = dict(zip(names, given, strict=False)) if isinstance(given, list) else dict(given)
        keys = [key for key in ("time", "relative_time", "delta_time", "timestamp") if key in event]
        if keys:
            value = float(event[keys[0]]) * scale
            now = now + value if differences or keys[0] == "delta_time" else value
        name = str(event.get("name") or event.get("event") or event.get("event_type") or "")
        event["data"] = event.get("data") or {}
        about_it = {"now": now, "scale": scale, "kind": name.rpartition(":")[2].lower()}
        found.append({**event, **about_it})
    return found


class Trace:
    """The packets of a trace, event by event."""

    def __init__(self, events: Sequence[Json]) -> None:
        self.several = is_multipath(events)
        self.paths: dict[int, Found] = {}
        self.flight: dict[tuple[int, str], dict[int, Flying]] = {}
        self.seen: dict[tuple[str, str], Bytes] = {}
        take = {
            "packet_sent": self.sent,
            "packet_received": self.received,
            "packet_lost": self.lost,
            "metrics_updated": self.metrics,
            "metric_update": self.metrics,
            "recovery_metrics_updated": self.metrics,
        }
        for event in events:
            own = self.path(path_of(event) if self.several else 0)
            if event["kind"] in take:
                take[event["kind"]](event, own)

    def path(self, path: int) -> Found:
        """Return the counts of a path."""
        return self.paths.setdefault(path, Found())

    def space_of(self, path: int, level: str) -> dict[int, Flying]:
        """Return the packets in flight of a space; each path has one for application data."""
        own = path if self.several and level == "application" else 0
        return self.flight.setdefault((own, level), {})

    def new_bytes(self, way: str, level: str, frame: Json) -> int:
        """Return how many bytes of a frame were not seen before, in one of three ways."""
        length = size(frame)
        if kind(frame) == "datagram" or not length:
            return length
        begin = int(frame.get("offset", 0))
        seen = self.seen.setdefault((way, stream_of(level, frame)), Bytes())
        return seen.add(begin, begin + length)

    def sent(self, event: Json, own: Found) -> None:
        """Count a sent packet and what it sends again."""
        data, level = event["data"], space(event["data"])
        frames = frames_of(data)
        loads = [frame for frame in frames or () if carries(frame)]
        again = 0
        for frame in loads:
            new = self.new_bytes("sent", level, frame)
            own.sent_bytes += new
            if old := size(frame) - new:
                stream = stream_of(level, frame)
                own.resent_bytes[stream] = own.resent_bytes.get(stream, 0) + old
                again = 1
        own.sent += bool(loads) or frames is None
        own.resent_packets += again
        if (number := number_of(data)) is not None:
            asks = frames is None or any(kind(frame) not in SILENT for frame in frames)
            self.space_of(path_of(event), level)[number] = Flying(event["now"], loads, asks)

    def received(self, event: Json, own: Found) -> None:
        """Count the data of a received packet and what it acknowledges."""
        level, frames = space(event["data"]), frames_of(event["data"]) or ()
        for frame in frames:
            if carries(frame):
                own.received_bytes += self.new_bytes("received", level, frame)
        for frame in frames:
            if kind(frame) in ACKS:
                path = int(frame.get("path_id", 0)) if kind(frame) == "path_ack" else 0
                self.acknowledge(event["now"], path, level, frame)

    def acknowledge(self, now: float, path: int, level: str, frame: Json) -> None:
        """Take the sample of an acknowledgement (RFC 9002 section 5.1) and what it delivers."""
        whose, flight = self.path(path), self.space_of(path, level)
        taken = {number: flight.pop(number) for number in acknowledged(frame, flight)}
        greatest = max((high for _, high in ranges(frame)), default=-1)
        last = taken.get(greatest)
        asks = any(one.asks and not one.is_lost for one in taken.values())
        if last is not None and not last.is_lost and asks:
            whose.rtts_s.append(now - last.at)
        for one in taken.values():
            whose.acked_bytes += sum(self.new_bytes("acked", level, load) for load in one.loads)

    def lost(self, event: Json, own: Found) -> None:
        """Count a packet declared lost; without its path, its number may be another's."""
        own.lost += 1
        if self.several and path_named(event) is None:
            return
        flight = self.space_of(path_of(event), space(event["data"]))
        if (one := flight.get(number_of(event["data"]) or 0)) is not None:
            one.is_lost = True

    def metrics(self, event: Json, own: Found) -> None:
        """Note the stack's own sample."""
        if (rtt := event["data"].get("latest_rtt")) is not None:
            own.reported.append((float(rtt) * event["scale"], len(own.rtts_s)))


def stream_of(level: str, frame: Json) -> str:
    """Name the space and stream of a frame's data (RFC 9000 sections 7.5 and 19.6)."""
    stream = frame.get("stream_id", frame.get("id"))
    return f"{level} crypto" if kind(frame) == "crypto" else f"stream {stream}"


def frames_of(data: Json) -> list[Json] | None:
    """Return the frames of a packet; `None` if the log omits them."""
    frames: list[Json] | None = data.get("frames")
    return [] if packet_type(data) in FRAMELESS else frames


def packet_type(data: Json) -> str:
    """Return the type of a packet in small letters."""
    header = data.get("header") or {}
    return str(header.get("packet_type") or data.get("packet_type") or data.get("type")).lower()


def space(data: Json) -> str:
    """Return the packet number space (RFC 9000 section 12.3)."""
    return packet_type(data) if packet_type(data) in SPACES else "application"


def number_of(data: Json) -> int | None:
    """Return the number of a packet."""
    number = (data.get("header") or {}).get("packet_number", data.get("packet_number"))
    return None if number is None else int(number)


def kind(frame: Json) -> str:
    """Return the type of a frame in small letters."""
    return str(frame.get("frame_type")).lower()


def size(frame: Json) -> int:
    """Return the length of a frame's data in bytes; 0 if the log omits it."""
    raw = frame.get("raw") or {}
    return int(frame.get("length", raw.get("payload_length", raw.get("length", 0))))


def carries(frame: Json) -> bool:
    """Return whether a frame has data, of unknown length too."""
    raw = frame.get("raw") or {}
    known = "length" in frame or "length" in raw or "payload_length" in raw
    return kind(frame) in DATA and (size(frame) > 0 or not known)


def ranges(frame: Json) -> Iterator[tuple[int, int]]:
    """Yield the acknowledged ranges, each of one or two numbers."""
    for part in frame.get("acked_ranges", ()):
        ends = part if isinstance(part, list) else [part]
        yield int(ends[0]), int(ends[-1])


def acknowledged(frame: Json, flight: Mapping[int, object]) -> list[int]:
    """Return the packets in flight that a frame acknowledges."""
    found: set[int] = set()
    for low, high in ranges(frame):
        few = range(low, high + 1) if high - low < len(flight) else flight
        found |= {number for number in few if low <= number <= high and number in flight}
    return sorted(found)


def path_named(event: Json) -> Json:
    """Return the path that an event names."""
    data = event["data"]
    header = data.get("header") or {}
    places = (header.get("path_id"), data.get("path_id"), event.get("path_id"))
    named = [path for path in (*places, event.get("tuple"), event.get("path")) if path is not None]
    return named[0] if named else None


def path_of(event: Json) -> int:
    """Return the identifier of an event's path; 0 if it names none."""
    digits = "".join(letter for letter in str(path_named(event)) if letter.isdigit())
    return int(digits or 0)


def is_multipath(events: Sequence[Json]) -> bool:
    """Return whether each path has a space of packet numbers: PATH_ACK, or a repeated number."""
    sent: dict[int, Json] = {}
    for event in events:
        data = event["data"]
        if any(kind(frame) == "path_ack" for frame in data.get("frames") or ()):
            return True
        number = number_of(data)
        is_sent = event["kind"] == "packet_sent" and space(data) == "application"
        if is_sent and number is not None:
            path = path_named(event)
            if sent.setdefault(number, path) != path:
                return True
    return False
