"""One trace of any draft: its events, converted to figures over time."""

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sojourn.qlog.ranges import Ranges, UnderWay

# Minimum time between two rows; samples are made from rows at the end.
ROW_S = 1e-3
# Greater times are calendar times: in milliseconds since 1970, this is the year 1973.
_CALENDAR_MS = 1e11
# Greater RTTs and windows are errors of the writer.
_MOST = 1e18

_TIME_KEYS = ("time", "relative_time", "delta_time", "timestamp")
_METRICS = ("metrics_updated", "metric_update", "recovery_metrics_updated")
_WINDOWS = ("congestion_window", "cwnd")
_FLIGHTS = ("bytes_in_flight", "in_flight")
_DATA_FRAMES = ("stream", "crypto", "datagram")


JsonObject = Mapping[str, object]


@dataclass
class Row:
    """The state at the end of a row; `rtt` is the greatest RTT within the row."""

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


def number(value: object) -> float | None:
    """Parse a finite number; early drafts write whole numbers as text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(value) if -_MOST < value < _MOST else None


def count(value: object) -> int | None:
    """Parse a whole number of zero or more."""
    found = number(value)
    return None if found is None or found < 0 else int(found)


def mapping(value: object) -> JsonObject:
    """Return an object; any other value becomes an empty one."""
    return value if isinstance(value, dict) else {}


class Trace:
    """The log of one endpoint of a connection."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title: str | None = None
        self.vantage = "unknown"
        self.events = 0
        """Number of events, including unknown ones."""
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
        """Whether RTT samples come from packets and acknowledgements."""
        self._sent: dict[str, UnderWay] = {}
        self._streams: dict[tuple[str, str], Ranges] = {}
        self.sent_packets = 0
        self.received_packets = 0

    def describe(self, about: JsonObject) -> None:
        """Read the properties of all events: the time format and the endpoint."""
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

    def add(self, event: object) -> None:
        """Add the next event; events of unknown types only count."""
        self.events += 1
        if isinstance(event, list):
            event = dict(zip(self._fields, event, strict=False))
        if not isinstance(event, dict):
            return
        self._tick(event)
        # The name is `transport:packet_sent`, `quic:packet_sent`, or split into two fields.
        named = event.get("name", event.get("event", event.get("event_type")))
        name = str(named).lower().rpartition(":")[2]
        self._take(name, mapping(event.get("data")))

    def finish(self) -> None:
        """Finish the last row after all events."""
        if self.events:
            self.rows.append(self._row)

    def _tick(self, event: JsonObject) -> None:
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

    def _take(self, name: str, data: JsonObject) -> None:
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

    def _metrics(self, data: JsonObject) -> None:
        row = self._row
        latest = self._time(data, "latest_rtt")
        # Writers omit unchanged values, so a repeated value is a new sample.
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

    def _time(self, data: JsonObject, key: str, otherwise: float | None = None) -> float | None:
        found = number(data.get(key))
        return otherwise if found is None or found < 0 else found * self._scale

    def _sample(self, rtt: float) -> None:
        if rtt < 0.0:
            # The log's clock ran backwards between packet and acknowledgement.
            return
        self.samples.append(rtt)
        self._row.rtt = max(rtt, self._row.rtt or 0.0)

    def _packet_sent(self, data: JsonObject) -> None:
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

    def _packet_received(self, data: JsonObject) -> None:
        pieces = _pieces(data)
        self.received_packets += bool(pieces)
        self._row.received += sum(self._cover("received", *piece) for piece in pieces)
        space, _ = _number(data)
        for frame in _frames(data):
            if frame.get("frame_type") == "ack":
                self._acknowledged(space, frame)

    def _packet_lost(self, data: JsonObject) -> None:
        self._row.lost += 1
        space, place = _number(data)
        if place is not None and space in self._sent:
            self._sent[space].take(place, place)

    def _acknowledged(self, space: str, frame: JsonObject) -> None:
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

    def _own_marks(self, data: JsonObject) -> None:
        """Take the CE count from the acknowledgements that a receiver sends."""
        for frame in _frames(data):
            if frame.get("frame_type") == "ack":
                self._row.marked = max(self._row.marked, count(frame.get("ce")) or 0)

    def _cover(self, what: str, stream: str, start: int, length: int) -> int:
        return self._streams.setdefault((what, stream), Ranges()).add(start, start + length)


def _first(data: JsonObject, keys: tuple[str, ...], otherwise: float | None) -> float | None:
    found = next((count(data[key]) for key in keys if key in data), None)
    return otherwise if found is None else float(found)


def _frames(data: JsonObject) -> list[JsonObject]:
    frames = data.get("frames")
    return [one for one in frames if isinstance(one, dict)] if isinstance(frames, list) else []


def _is_unknown(data: JsonObject) -> bool:
    """Return whether the log omits the frames of a packet."""
    return not isinstance(data.get("frames"), list)


def _number(data: JsonObject) -> tuple[str, int | None]:
    """Return the number space and the number of a packet."""
    header = mapping(data.get("header"))
    kinds = (header.get("packet_type"), data.get("packet_type"), data.get("type"), "1RTT")
    kind = str(next(one for one in kinds if one is not None)).lower()
    space = kind if kind in ("initial", "handshake") else "application"
    return space, count(header.get("packet_number", data.get("packet_number")))


def _pieces(data: JsonObject) -> list[tuple[str, int, int]]:
    """Return the data of a packet: stream, offset, length."""
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


def _acked(frame: JsonObject) -> Iterator[tuple[int, int]]:
    """Yield the packet ranges that a frame acknowledges, as first and last number."""
    ranges = frame.get("acked_ranges")
    for one in ranges if isinstance(ranges, list) else []:
        ends = [count(end) for end in one] if isinstance(one, list) else [count(one)]
        low, high = (ends[0], ends[-1]) if ends else (None, None)
        if low is not None and high is not None:
            yield low, high
