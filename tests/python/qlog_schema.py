"""The parts of qlog's schema that our files use, as JSON Schema.

The source is draft-ietf-quic-qlog-main-schema-13 (MAIN) and
draft-ietf-quic-qlog-quic-events-12 (EVENTS): names, types, and required fields. Features that we
do not write are left out, so that the schema refuses anything unexpected.
"""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}
MS: Schema = {"type": "number", "minimum": 0}
TEXT: Schema = {"type": "string"}


def thing(required: dict[str, Schema], **optional: Schema) -> Schema:
    """Return an object with exactly these fields."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


# EVENTS, PacketHeader; packets of an established connection have a short header.
PACKET_HEADER = thing({"packet_type": {"const": "1RTT"}}, packet_number=COUNT)
# MAIN, RawInfo.
RAW = thing({}, length=COUNT, payload_length=COUNT)
# EVENTS, StreamFrame and AckFrame; a range has one number or two.
STREAM = thing({"frame_type": {"const": "stream"}, "stream_id": COUNT}, offset=COUNT, raw=RAW)
RANGE: Schema = {"type": "array", "items": COUNT, "minItems": 1, "maxItems": 2}
ACK = thing(
    {"frame_type": {"const": "ack"}},
    ack_delay=MS,
    acked_ranges={"type": "array", "items": RANGE, "minItems": 1},
    ect0=COUNT,
    ect1=COUNT,
    ce=COUNT,
)
PACKET = thing(
    {"header": PACKET_HEADER},
    raw=RAW,
    frames={"type": "array", "items": {"oneOf": [STREAM, ACK]}},
)
# EVENTS, TupleEndpointInfo.
ENDPOINT = thing({}, ip_v4=TEXT, port_v4={**COUNT, "maximum": 2**16 - 1})
ECN_STATE: Schema = {"enum": ["testing", "unknown", "failed", "capable"]}

DATA: dict[str, Schema] = {
    "quic:connection_started": thing({"local": ENDPOINT, "remote": ENDPOINT}),
    "quic:parameters_set": thing(
        {},
        initiator={"enum": ["local", "remote"]},
        max_ack_delay=COUNT,
        initial_max_data=COUNT,
        unknown_parameters={"type": "array", "maxItems": 0},
    ),
    "quic:recovery_parameters_set": thing(
        {},
        reordering_threshold=COUNT,
        time_threshold={"type": "number"},
        timer_granularity={**COUNT, "maximum": 2**16 - 1},
        initial_rtt=MS,
        max_datagram_size=COUNT,
        initial_congestion_window=COUNT,
        persistent_congestion_threshold=COUNT,
    ),
    "quic:packet_sent": PACKET,
    "quic:packet_received": PACKET,
    "quic:packet_lost": thing(
        {},
        header=PACKET_HEADER,
        trigger={"enum": ["reordering_threshold", "time_threshold", "pto_expired"]},
    ),
    "quic:recovery_metrics_updated": {
        **thing(
            {},
            **dict.fromkeys(("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"), MS),
            pto_count={**COUNT, "maximum": 2**16 - 1},
            **dict.fromkeys(("congestion_window", "bytes_in_flight"), COUNT),
            **dict.fromkeys(("ssthresh", "pacing_rate"), COUNT),
        ),
        "minProperties": 1,
    },
    "quic:congestion_state_updated": thing({"new": TEXT}, old=TEXT, trigger=TEXT),
    "quic:ecn_state_updated": thing({"new": ECN_STATE}, old=ECN_STATE),
}

# MAIN, Event: all three fields are required.
EVENT: Schema = {
    "oneOf": [
        thing({"time": MS, "name": {"const": name}, "data": data}) for name, data in DATA.items()
    ]
}

# MAIN, QlogFileSeq, TraceSeq, CommonFields, ReferenceTime, VantagePoint.
HEADER = thing(
    {
        "file_schema": {"const": "urn:ietf:params:qlog:file:sequential"},
        "serialization_format": {"const": "application/qlog+json-seq"},
        "trace": thing(
            {
                "event_schemas": {
                    "type": "array",
                    "items": {"const": "urn:ietf:params:qlog:events:quic-12"},
                    "minItems": 1,
                }
            },
            title=TEXT,
            description=TEXT,
            common_fields=thing(
                {},
                group_id=TEXT,
                time_format={"enum": ["relative_to_epoch", "relative_to_previous_event"]},
                reference_time=thing({"clock_type": {"const": "system"}, "epoch": TEXT}),
                protocol_types={"type": "array", "items": {"enum": ["QUIC", "TCP"]}},
            ),
            vantage_point=thing({"type": {"enum": ["client", "server"]}}, name=TEXT),
        ),
    }
)


def require(*files: Path) -> set[str]:
    """Require that every line keeps to the schema; return the names of the events."""
    header = Draft202012Validator(HEADER)
    data = {name: Draft202012Validator(one) for name, one in DATA.items()}
    seen = set()
    for file in files:
        first, *events = texts(file)
        header.validate(first)
        for event in events:
            assert set(event) == {"time", "name", "data"}
            assert event["time"] >= 0
            data[event["name"]].validate(event["data"])
            seen.add(event["name"])
    return seen


def texts(file: Path) -> list[Any]:
    """Return the header of a file, then its events."""
    return [json.loads(text) for text in file.read_text().split("\x1e")[1:]]
