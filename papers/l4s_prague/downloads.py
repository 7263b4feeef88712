"""The four downloads with each sender, and their measurements."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from sojourn.record.record_types import FlowSummary
from sojourn.run.results import Run
from sojourn_papers import Lab

SCENARIO = "download.toml"
HANDSHAKE_S = 0.020
"""Duration of a QUIC handshake, one round trip (RFC 9001 section 4). The published times include
it; a connection here begins with its first request."""
WIRE_S = 4e6 / 1413 * 1440 * 8 / 10e6
"""Transmission time of the four files: 1440 bytes per 1413 of payload, at 10 Mbit/s."""
PACKET_MS = 1440 * 8 / 10e6 * 1e3
PAYLOAD = 1413
"""Application bytes per packet."""

# The stack's variant of Prague responds at the end of an epoch, and starts with alpha at zero.
BY_EPOCHS = {"kind": "prague", "response": "epoch", "alpha_init": 0, "max_burst_delay": "6ms"}
REPAIRED = {**BY_EPOCHS, "suspect_epoch": True}


@dataclass(frozen=True)
class Sender:
    """A controller of the four downloads."""

    title: str
    control: str | Mapping[str, Any]
    ecn: bool
    """False for the text's New Reno, and for controllers that cannot use early marks."""


SENDERS = {
    "repaired": Sender("Prague with the repair", REPAIRED, True),
    "unrepaired": Sender("Prague before the repair", BY_EPOCHS, True),
    "draft": Sender("Prague as in the draft", {"kind": "prague", "max_burst_delay": "6ms"}, True),
    "reno": Sender("New Reno", "reno", False),
    "cubic": Sender("CUBIC", "cubic", False),
    "bbr": Sender("BBR v1", "bbr", False),
    "bbr3": Sender("BBR v3", "bbr3", False),
}
PUBLISHED = ("unrepaired", "reno", "repaired")
BESIDE = ("draft", "cubic", "bbr", "bbr3")


def download(lab: Lab, name: str, burst_ms: float | None = None, qlog: Path | None = None) -> Run:
    """Simulate the four downloads with a sender.

    `burst_ms` replaces the bucket size of the text's stack; `qlog` is a new folder for events.
    """
    sender = SENDERS[name]
    control = sender.control
    if burst_ms is not None and isinstance(control, Mapping):
        control = {**control, "max_burst_delay": f"{burst_ms}ms"}
    changes = {"flow.files.control": control, "flow.files.host.ecn": sender.ecn}
    return lab.run(SCENARIO, set=changes, qlog=qlog)


def flow_of(run: Run) -> FlowSummary:
    """Return the figures of the flow."""
    return run.runs[0]["flows"][0]


def completion_s(run: Run) -> float:
    """Time from the first packet of the handshake to the end of the last file."""
    done = flow_of(run)["completion_s"]
    if done is None:
        raise ValueError("the four files did not arrive in six seconds")
    return done + HANDSHAKE_S


def rtt_over_least_ms(run: Run) -> float:
    """Return the 99th percentile of the RTT minus its minimum, to represent the peaks.

    It excludes the few samples of slow start and those with a delayed acknowledgement.
    """
    flow = flow_of(run)
    assert flow["rtt_p99_s"] is not None
    assert flow["rtt_min_s"] is not None
    return 1e3 * (flow["rtt_p99_s"] - flow["rtt_min_s"])


def reductions(run: Run) -> int:
    """Count the reductions by more than a quarter; the response to a few marks is smaller."""
    window = run.flow("files").series.drop_nulls("cwnd_bytes")["cwnd_bytes"]
    return int((window < 0.75 * window.shift(1)).sum())


def ends_s(run: Run) -> list[float]:
    """Completion time of each file, to the precision of the sampling interval."""
    return run.flow("files").series.drop_nulls("response_s")["t_s"].to_list()


def rate_mbps(run: Run, over_ms: int = 50) -> list[tuple[float, float]]:
    """Delivery rate, averaged over the preceding time."""
    series = run.flow("files").series
    delivered = series["delivered_bytes"].cast(pl.Int64)
    rates = (delivered - delivered.shift(over_ms, fill_value=0)) * 8 / (over_ms * 1e3)
    return list(zip(series["t_s"], rates, strict=True))


def handshake_note(lab: Lab) -> None:
    """Note the handshake time that is added to the measured times."""
    lab.note(
        "All times include the handshake, a round trip of 20 ms, as the published times do. A "
        "simulated connection begins with its first request, so 20 ms are added. Only the variants "
        "of Prague are ECN-capable; New Reno is not, as in the text's test."
    )
