"""The fuzz target of qlog files and its mutations, usable without the fuzzing library."""

import json
import math
import random
import tempfile
from pathlib import Path
from typing import Any

from sojourn import summary_table
from sojourn.errors import UsageError
from sojourn.qlog import reading, run

# Values outside of any schema; below, the keys and names that the reader looks for.
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e-9, 1e300, -1e300, 10**25, 2**63, "", "0", "1RTT", "us", "delta", "ü\x00",
    [], {}, [[]], [0, 2], [2, 0], [[0, 10**12]],
)  # fmt: skip
_WORDS = (
    "time", "relative_time", "delta_time", "timestamp", "name", "event", "event_type", "data",
    "trace", "traces", "events", "event_fields", "common_fields", "configuration", "time_format",
    "time_units", "time_offset", "vantage_point", "title", "type", "header", "packet_type",
    "packet_number", "frames", "frame_type", "ack", "acked_ranges", "ce", "stream", "stream_id",
    "offset", "length", "raw", "payload_length", "congestion_window", "bytes_in_flight",
    "latest_rtt", "smoothed_rtt", "min_rtt", "pto_count", "pacing_rate", "new",
    "quic:packet_sent", "quic:packet_received", "quic:packet_lost", "transport:packet_sent",
    "recovery:metrics_updated", "congestion_state_updated", "error_description",
)  # fmt: skip


def check(data: bytes) -> None:
    """Read `data` as a file: damage must have its place, and the figures must be valid JSON."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        file = Path(folder) / "fuzz.qlog"
        file.write_bytes(data)
        traces, damage = reading.traces(file)
    if damage is not None:
        assert damage.what
        assert 0 <= damage.at_byte <= len(data), damage
        assert damage.line == data[: damage.at_byte].count(b"\n") + 1, damage
        assert damage.events == sum(trace.events for trace in traces), damage
        assert str(damage).startswith(damage.file)
    if not traces:
        return
    try:
        record = run.to_run(traces, "qlog", None)
    except UsageError:
        return
    json.dumps(record.summary, allow_nan=False)
    for flow in record.summary["runs"][0]["flows"]:
        rtts = [flow[key] for key in ("rtt_min_s", "rtt_p50_s", "rtt_p99_s", "rtt_max_s")]
        known = [rtt for rtt in rtts if rtt is not None]
        assert known == sorted(known), flow
        assert all(math.isfinite(rtt) and rtt >= 0 for rtt in known), flow
    assert summary_table.build_all(record.summary)
    assert record.flows.height > 0


def _memory() -> str | None:
    """Return a folder in memory if there is one, for thousands of files a minute."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def mutate(data: bytes, chance: random.Random) -> bytes | None:
    """Return the file with one part replaced; None if that part is not JSON."""
    separator = next((one for one in (b"\x1e", b"\n") if one in data), None)
    texts = data.split(separator) if separator else [data]
    place = chance.randrange(len(texts))
    kind = chance.randrange(8)
    if kind == 0:
        texts.insert(place, texts[chance.randrange(len(texts))])
    elif kind == 1:
        del texts[place]
    else:
        try:
            value = json.loads(texts[place])
        except (ValueError, RecursionError):
            return None
        texts[place] = json.dumps(_changed(value, chance)).encode()
    return (separator or b"").join(texts)


def _changed(value: Any, chance: random.Random) -> Any:
    if chance.randrange(5) and isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.randrange(4):
            return {**value, key: _changed(value[key], chance)}
        return {**value, chance.choice(_WORDS): value[key]}
    if chance.randrange(5) and isinstance(value, list) and value:
        place = chance.randrange(len(value))
        if chance.randrange(4):
            return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]
        return [*value, value[place]] if chance.randrange(2) else value[:place]
    if isinstance(value, (int, float)) and chance.randrange(2):
        return value * chance.choice((-1, 0.5, 2, 1000, 1e6)) + chance.randrange(-2, 3)
    return chance.choice(_WORDS) if chance.randrange(2) else chance.choice(_ODD)
