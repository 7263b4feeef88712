"""The four downloads with each sender, and what is measured of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from sojourn.contract import FlowSummary
from sojourn.papers import Lab
from sojourn.record import Run

SCENARIO = "download.toml"
HANDSHAKE_S = 0.020
"""A round trip that a connection of QUIC takes before its first request (RFC 9001 section 4):
published times have it in them; here a connection begins with its first request."""
WIRE_S = 4e6 / 1413 * 1440 * 8 / 10e6
"""What four files take on the wire: 1440 bytes for 1413 of payload, at 10 Mbit/s."""
PACKET_MS = 1440 * 8 / 10e6 * 1e3
PAYLOAD = 1413
"""Bytes of a packet that are the application's."""

# Prague as that stack does it: it answers when an epoch ends, and begins with alpha at zero.
BY_EPOCHS = {"kind": "prague", "response": "epoch", "alpha_init": 0, "max_burst_delay": "6ms"}


@dataclass(frozen=True)
class Sender:
    """A controller of the four downloads."""

    title: str
    control: str | Mapping[str, Any]
    ecn: bool
    """The text's New Reno, and whatever has no use for early marks, is not ECN-capable."""


SENDERS = {
    "repaired": Sender("Prague with the repair", BY_EPOCHS, True),
    "unrepaired": Sender("Prague before the repair", {**BY_EPOCHS, "suspect_epoch": False}, True),
    "draft": Sender("Prague as in the draft", {"kind": "prague", "max_burst_delay": "6ms"}, True),
    "reno": Sender("New Reno", "reno", False),
    "cubic": Sender("CUBIC", "cubic", False),
    "bbr": Sender("BBR v1", "bbr", False),
    "bbr3": Sender("BBR v3", "bbr3", False),
}
PUBLISHED = ("unrepaired", "reno", "repaired")
BESIDE = ("draft", "cubic", "bbr", "bbr3")


def download(lab: Lab, name: str, burst_ms: float | None = None, qlog: Path | None = None) -> Run:
    """The four downloads with a sender; with another bucket than the text's stack has, or with
    its events written to a new folder.
    """
    sender = SENDERS[name]
    control = sender.control
    if burst_ms is not None and isinstance(control, Mapping):
        control = {**control, "max_burst_delay": f"{burst_ms}ms"}
    changes = {"flow.files.control": control, "flow.files.transport.ecn": sender.ecn}
    return lab.run(SCENARIO, set=changes, qlog=qlog)


def flow_of(run: Run) -> FlowSummary:
    """The figures of the flow."""
    return run.runs[0]["flows"][0]


def completion_s(run: Run) -> float:
    """From the first packet of the handshake to the end of the last file."""
    done = flow_of(run)["completion_s"]
    if done is None:
        raise ValueError("four files did not come in six seconds")
    return done + HANDSHAKE_S


def rtt_over_least_ms(run: Run) -> float:
    """The 99th percentile of round-trip times over the least: the peaks, without the few
    of slow start and those that an acknowledgement held back made longer.
    """
    flow = flow_of(run)
    assert flow["rtt_p99_s"] is not None
    assert flow["rtt_min_s"] is not None
    return 1e3 * (flow["rtt_p99_s"] - flow["rtt_min_s"])


def reductions(run: Run) -> int:
    """How often the window fell by more than a quarter: to answer a few marks takes less."""
    window = run.flow("files").series.drop_nulls("cwnd_bytes")["cwnd_bytes"]
    return int((window < 0.75 * window.shift(1)).sum())


def ends_s(run: Run) -> list[float]:
    """When each file had come, to the sample."""
    return run.flow("files").series.drop_nulls("response_s")["t_s"].to_list()


def rate_mbps(run: Run, over_ms: int = 50) -> list[tuple[float, float]]:
    """What was delivered, as a mean of the time before."""
    series = run.flow("files").series
    delivered = series["delivered_bytes"].cast(pl.Int64)
    rates = (delivered - delivered.shift(over_ms, fill_value=0)) * 8 / (over_ms * 1e3)
    return list(zip(series["t_s"], rates, strict=True))


def handshake_note(lab: Lab) -> None:
    """What is added to the times measured here."""
    lab.note(
        "Times have the handshake in them, a round trip of 20 ms, which published ones have; here "
        "a connection begins with its first request, and 20 ms are added. New Reno and what stands "
        "beside Prague are not ECN-capable, as in the text's test."
    )
