"""One trace: its events, by whatever draft, as figures over time."""

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.qlog.order import Order

# Rows are kept for each of these at most; samples are made of them at the end.
ROW_S = 1e-3
# Times beyond are those of a calendar: 1973 in milliseconds.
_CALENDAR_MS = 1e11
# RTTs and windows beyond are a fault of the writer's.
_MOST = 1e18

# Packets that are overtaken by as many others are never acknowledged: RFC 9002 (section 6.1.1)
# takes them for lost after 3. An acknowledgement that comes later is not heard.
_LATEST = 1 << 16

_TIME_KEYS = ("time", "relative_time", "delta_time", "timestamp")
_METRICS = ("metrics_updated", "metric_update", "recovery_metrics_updated")
_WINDOWS = ("congestion_window", "cwnd")
_FLIGHTS = ("bytes_in_flight", "in_flight")
_DATA_FRAMES = ("stream", "crypto", "datagram")


@dataclass
class Row:
    """How things stand at the end of a row; `rtt` is the greatest in it."""

    t: float = 0.0
    cwnd: float | None = None
    ssthresh: float | None = None
    srtt: float | None = None
    rtt: float | None = None
    min_rtt: float | None = None
    pacing: float | None = None
    in_flight: int | None = None
    sent: int = 0
    received: int = 0
    acked: int = 0
    lost: int = 0
    again: int = 0
    marked: int = 0
    phase: str = ""


class Ranges:
    """Bytes of a stream that were seen."""

    def __init__(self) -> None:
        self._starts = Order()
        self._ends: dict[int, int] = {}

    def add(self, start: int, end: int) -> int:
        """Adds `start..end`; says how much of it is new."""
        before = self._starts.before(start)
        low = start if before is None or self._ends[before] < start else before
        high, new = end, end - start
        for one in self._starts.take(low, end):
            one_end = self._ends.pop(one)
            new -= max(0, min(end, one_end) - max(start, one))
            high = max(high, one_end)
        self._starts.add(low)
        self._ends[low] = high
        return new


def number(value: Any) -> float | None:
    """A number that is one; early drafts write whole ones as text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(value) if -_MOST < value < _MOST else None


def count(value: Any) -> int | None:
    """A whole number of zero or more."""
    found = number(value)
    return None if found is None or found < 0 else int(found)


def mapping(value: Any) -> Mapping[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


Sent = tuple[float, list[tuple[Any, int, int]]]
"""A packet under way: when it left, and its data: stream, offset, length."""


class UnderWay:
    """Packets of one space that are neither acknowledged nor lost, in order of their numbers.

    A range may be as long as its writer likes, and what nobody tells the end of stays: so a
    range costs what is found in it, whatever else is under way.
    """

    def __init__(self) -> None:
        self._sent: dict[int, Sent] = {}
        self._order = Order()

    def __len__(self) -> int:
        return len(self._sent)

    def add(self, place: int, sent: Sent) -> None:
        """A packet leaves; one of the same number is no more."""
        if place not in self._sent:
            self._order.add(place)
        self._sent[place] = sent

    def take(self, low: int, high: int) -> list[tuple[int, Sent]]:
        """Removes those from `low` to `high`, both included."""
        return [(place, self._sent.pop(place)) for place in self._order.take(low, high)]

    def forget_before(self, acked: int) -> None:
        """Gives up those `_LATEST` and more numbers before one that is acknowledged."""
        first = self._order.first()
        if first is not None and first <= acked - _LATEST:
            self.take(0, acked - _LATEST)


class Trace:
    """What one end of a connection logged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title: str | None = None
        self.vantage = "unknown"
        self.events = 0
        """Events read, known or not."""
        self.rows: list[Row] = []
        self.samples = array("d")
        self.is_absolute = False
        self.timeouts = 0
        self._row = Row()
        self._scale = 1e-3
        self._is_delta = False
        self._fields: list[str] = []
        self._now = 0.0
        self._offset = 0.0
        self._pto = 0.0
        self._measured = False
        """Round trips are known from packets and acknowledgements."""
        self._sent: dict[str, UnderWay] = {}
        self._streams: dict[tuple[str, Any], Ranges] = {}
        self.sent_packets = 0
        self.received_packets = 0

    def describe(self, about: Mapping[str, Any]) -> None:
        """What is said of all events: how time is written, and who writes."""
        common, setup = mapping(about.get("common_fields")), mapping(about.get("configuration"))
        vantage = mapping(about.get("vantage_point"))
        self.vantage = str(vantage.get("type", "unknown"))
        name = vantage.get("name")
        self.name = name if isinstance(name, str) and name else self.name
        title = about.get("title")
        self.title = title if isinstance(title, str) else None
        form = str(common.get("time_format", "relative"))
        self._is_delta = form in ("delta", "relative_to_previous_event")
        units = setup.get("time_units", common.get("time_units"))
        self._scale = 1e-6 if units == "us" else 1e-3
        self._offset = (number(setup.get("time_offset")) or 0.0) * self._scale
        fields = about.get("event_fields")
        self._fields = [str(one).lower() for one in fields] if isinstance(fields, list) else []

    def add(self, event: Any) -> None:
        """The next event; one that is of no known form counts, and says nothing."""
        self.events += 1
        if isinstance(event, list):
            event = dict(zip(self._fields, event, strict=False))
        if not isinstance(event, dict):
            return
        self._tick(event)
        # `transport:packet_sent`, `quic:packet_sent`, or two fields.
        named = event.get("name", event.get("event", event.get("event_type")))
        name = str(named).lower().rpartition(":")[2]
        self._take(name, mapping(event.get("data")))

    def finish(self) -> None:
        """All has been read."""
        if self.events:
            self.rows.append(self._row)

    def _tick(self, event: Mapping[str, Any]) -> None:
        given = next((number(event[key]) for key in _TIME_KEYS if key in event), None)
        if given is None:
            return
        is_delta = self._is_delta or "delta_time" in event
        now = given * self._scale + (self._now if is_delta else self._offset)
        if given * self._scale * 1e3 > _CALENDAR_MS:
            self.is_absolute = True
        self._now = max(self._now, now) if self.rows or self._row.t else now
        if self._now - self._row.t >= ROW_S:
            if self.events > 1:
                self.rows.append(self._row)
            self._row = replace(self._row, t=self._now, rtt=None)

    def _take(self, name: str, data: Mapping[str, Any]) -> None:
        if name in _METRICS:
            self._metrics(data)
        elif name == "packet_sent":
            self._packet_sent(data)
        elif name == "packet_received":
            self._packet_received(data)
        elif name == "packet_lost":
            self._packet_lost(data)
        elif name == "congestion_state_updated":
            self._row.phase = str(data.get("new", ""))

    def _metrics(self, data: Mapping[str, Any]) -> None:
        row = self._row
        latest = self._time(data, "latest_rtt")
        # Writers leave out what is as it was: two samples may be equal.
        if latest is not None and not self._measured:
            self._sample(latest)
        row.srtt = self._time(data, "smoothed_rtt", row.srtt)
        row.min_rtt = self._time(data, "min_rtt", row.min_rtt)
        row.cwnd = _first(data, _WINDOWS, row.cwnd)
        row.ssthresh = _first(data, ("ssthresh",), row.ssthresh)
        row.pacing = _first(data, ("pacing_rate",), row.pacing)
        flight = _first(data, _FLIGHTS, None)
        row.in_flight = row.in_flight if flight is None else int(flight)
        pto = number(data.get("pto_count"))
        if pto is not None:
            self.timeouts += pto > self._pto
            self._pto = pto

    def _time(
        self, data: Mapping[str, Any], key: str, otherwise: float | None = None
    ) -> float | None:
        found = number(data.get(key))
        return otherwise if found is None or found < 0 else found * self._scale

    def _sample(self, rtt: float) -> None:
        self.samples.append(rtt)
        self._row.rtt = max(rtt, self._row.rtt or 0.0)

    def _packet_sent(self, data: Mapping[str, Any]) -> None:
        space, place = _number(data)
        pieces = _pieces(data)
        self._own_marks(data)
        if not pieces and not _is_unknown(data):
            return
        self.sent_packets += 1
        size = sum(length for _, _, length in pieces)
        new = sum(self._cover("sent", *piece) for piece in pieces)
        self._row.sent += new
        self._row.again += new < size
        if place is not None:
            self._sent.setdefault(space, UnderWay()).add(place, (self._now, pieces))

    def _packet_received(self, data: Mapping[str, Any]) -> None:
        pieces = _pieces(data)
        self.received_packets += bool(pieces)
        self._row.received += sum(self._cover("received", *piece) for piece in pieces)
        space, _ = _number(data)
        for frame in _frames(data):
            if frame.get("frame_type") == "ack":
                self._acknowledged(space, frame)

    def _packet_lost(self, data: Mapping[str, Any]) -> None:
        self._row.lost += 1
        space, place = _number(data)
        if place is not None and space in self._sent:
            self._sent[space].take(place, place)

    def _acknowledged(self, space: str, frame: Mapping[str, Any]) -> None:
        self._row.marked = max(self._row.marked, count(frame.get("ce")) or 0)
        newest: tuple[int, float] | None = None
        under_way = self._sent.setdefault(space, UnderWay())
        for low, high in _acked(frame):
            for place, (at, pieces) in under_way.take(low, high):
                self._row.acked += sum(self._cover("acked", *piece) for piece in pieces)
                newest = max(newest or (place, at), (place, at))
        if newest is not None:
            under_way.forget_before(newest[0])
            if not self._measured:
                self._measured = True
                del self.samples[:]
            self._sample(self._now - newest[1])

    def _own_marks(self, data: Mapping[str, Any]) -> None:
        """What a receiver counts and says of itself."""
        for frame in _frames(data):
            if frame.get("frame_type") == "ack":
                self._row.marked = max(self._row.marked, count(frame.get("ce")) or 0)

    def _cover(self, what: str, stream: Any, start: int, length: int) -> int:
        return self._streams.setdefault((what, stream), Ranges()).add(start, start + length)


def _first(data: Mapping[str, Any], keys: tuple[str, ...], otherwise: float | None) -> float | None:
    found = next((count(data[key]) for key in keys if key in data), None)
    return otherwise if found is None else float(found)


def _frames(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    frames = data.get("frames")
    return [one for one in frames if isinstance(one, dict)] if isinstance(frames, list) else []


def _is_unknown(data: Mapping[str, Any]) -> bool:
    """Whether nobody says what a packet carries."""
    return not isinstance(data.get("frames"), list)


def _number(data: Mapping[str, Any]) -> tuple[str, int | None]:
    """The space and the number of a packet."""
    header = mapping(data.get("header"))
    kinds = (header.get("packet_type"), data.get("packet_type"), data.get("type"), "1RTT")
    kind = str(next(one for one in kinds if one is not None)).lower()
    space = kind if kind in ("initial", "handshake") else "application"
    return space, count(header.get("packet_number", data.get("packet_number")))


def _pieces(data: Mapping[str, Any]) -> list[tuple[Any, int, int]]:
    """Data in a packet: stream, offset, length."""
    found = []
    for frame in _frames(data):
        kind = frame.get("frame_type")
        if kind not in _DATA_FRAMES:
            continue
        raw = mapping(frame.get("raw"))
        length = count(frame.get("length", raw.get("payload_length", raw.get("length"))))
        stream = frame.get("stream_id", frame.get("id")) if kind == "stream" else kind
        if length:
            found.append((str(stream), count(frame.get("offset")) or 0, length))
    return found


def _acked(frame: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """The ranges of packets that a frame acknowledges: the first and the last of each."""
    ranges = frame.get("acked_ranges")
    for one in ranges if isinstance(ranges, list) else []:
        ends = [count(end) for end in one] if isinstance(one, list) else [count(one)]
        low, high = (ends[0], ends[-1]) if ends else (None, None)
        if low is not None and high is not None:
            yield low, high
