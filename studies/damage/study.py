"""Which controllers survive damaged ECN and damaged acknowledgements?

One flow of each controller sends over each damaged path: over TCP and QUIC, with and without
validation of ECN, and as a video over RTP. Prague also runs beside CUBIC over queues that mark as
classic ECN does.
"""

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

import sojourn
from tables import markdown

Row = dict[str, Any]

MINUTES = 2

RUNS = 5
"""Consecutive seeds behind a median."""
# A flow survives if it keeps this share of its goodput, and the queue delays at most so much more.
GOODPUT_SHARE, QUEUE_FACTOR, QUEUE_EXTRA_S = 0.5, 2.0, 0.010

SCENARIO = """
duration = "{seconds}s"
host = "rfc"
record = {{ interval = "0s" }}
measure = {{ from = "{from_s}s" }}
[link.before]
rate = "1Gbit"
{before}
[link.bottleneck]
rate = "20Mbit"
delay = "10ms"
buffer = "200ms"
queue = "dualpi2"
{behind}
[link.back]
delay = "10ms"
{back}
[flow.upload]
path = ["before", "bottleneck"]
back = ["back"]
control = {control}
{carrier}
"""


class Damage(NamedTuple):
    """A damaged path: keys of its links before and behind the queue, and of the way back."""

    name: str
    before: str = ""
    behind: str = ""
    back: str = ""


WIFI = 'slots = { least = "800us", most = "10ms", packets = 42, bytes = "64kB"'
DAMAGES = (
    Damage("no damage"),
    Damage("ECN bleached before the queue", before='ecn = "bleach"'),
    Damage("ECN bleached behind the queue", behind='ecn = "bleach"'),
    Damage("half of ECN bleached behind it", behind='ecn = { kind = "bleach", probability = 0.5 }'),
    Damage("ECT(1) to ECT(0) before the queue", before='ecn = "ect1-to-ect0"'),
    Damage("CE on every packet", behind='ecn = "mark"'),
    Damage("ECN-capable packets dropped", behind='ecn = "drop"'),
    Damage("ECN SYNs dropped", behind='ecn = "drop-syn"'),
    Damage("10 % of ACKs lost", back="loss = 0.1"),
    Damage("50 % of ACKs lost", back="loss = 0.5"),
    Damage("one ACK of 8 passes", back="ack_thinning = 8"),
    Damage("one ACK of 32 passes", back="ack_thinning = 32"),
    Damage("ACKs in slots as in WiFi", back=f"{WIFI} }}"),
    Damage("the same, filtered", back=f"{WIFI}, filter_acks = true }}"),
    Damage("data in slots as in WiFi", behind=f"{WIFI} }}"),
)
FEW_DAMAGES = (DAMAGES[0], DAMAGES[1], DAMAGES[5])
# RAPID and LEDBAT need the arrival time of each packet, which QUIC reports anyway.
TCP, QUIC = 'like = "rfc", receive_times = true', 'like = "quic"'
VALIDATING = "ecn_validation = true"
MEDIA = "RTP"
CARRIERS = {
    "TCP": f"host = {{ {TCP} }}",
    "TCP, validating": f"host = {{ {TCP}, {VALIDATING} }}",
    "QUIC": f"host = {{ {QUIC} }}",
    "QUIC, validating": f"host = {{ {QUIC}, {VALIDATING} }}",
    MEDIA: 'source = { kind = "media", start_rate = "8Mbit", max_rate = "16Mbit" }',
}
# GCC takes a minute from its own start rate.
STARTS = {"gcc": '{ kind = "gcc", start_rate = "8Mbit" }'}
# Parameters that have a column of their own. BBR v3 ignores marks if the least round trip is above
# `ecn_max_rtt`, and that of this path is 20 ms.
VARIANTS = {
    "cubic": {"cubic, search": '{ kind = "cubic", slow_start = "search" }'},
    "bbr3": {"bbr3, ecn": '{ kind = "bbr3", ecn = true, ecn_max_rtt = "50ms" }'},
}
FEW_CONTROLS = ("cubic", "prague", "scream")

PAIR = """
duration = "{seconds}s"
host = "rfc"
record = {{ interval = "0s" }}
measure = {{ from = "{from_s}s" }}
[link.bottleneck]
rate = "{rate}"
delay = "10ms"
buffer = "200ms"
queue = {queue}
[link.back]
delay = "10ms"
[flow.prague]
control = {{ kind = "prague", classic_fallback = {fallback} }}
path = ["bottleneck"]
back = ["back"]
[flow.cubic]
control = "cubic"
path = ["bottleneck"]
back = ["back"]
"""
QUEUES = {
    "CoDel": '{ kind = "codel", ecn = true }',
    "PIE": '{ kind = "pie", ecn = true }',
    "DualPI2": '"dualpi2"',
}


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has few cells, and one short run for each."""
    rows: list[Row] = []
    for carrier in CARRIERS:
        for name, control in controls(carrier == MEDIA).items():
            if small and name not in FEW_CONTROLS:
                continue
            sound: Row = {}
            for damage in FEW_DAMAGES if small else DAMAGES:
                cell = measured(carrier, damage, control, small)
                sound = sound or cell
                row = {"carrier": carrier, "damage": damage.name, "control": name}
                rows.append({**row, **rounded(cell), "fate": fate(cell, sound)})
    return {
        "damage": rows,
        "beside_cubic": [
            beside_cubic(queue, rate, fallback, small)
            for queue in QUEUES
            for rate in ("20Mbit", "100Mbit")
            for fallback in (False, True)
        ],
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Count the controllers that starve, for each damage that starves any."""
    starving = [row for row in tables["damage"] if row["fate"] == "starves"]
    lines = [["controllers that starve", *CARRIERS]]
    for damage in dict.fromkeys(row["damage"] for row in starving):
        own = [row["carrier"] for row in starving if row["damage"] == damage]
        lines.append([damage, *(str(own.count(carrier)) for carrier in CARRIERS)])
    return markdown(lines)


def controls(media: bool) -> Mapping[str, str]:
    """Return the names of the columns, and their values of `control`."""
    found: dict[str, str] = {}
    for one in sojourn.controllers():
        name, needs = one["name"], one["needs"]
        if needs["media"] == media and not needs["signal"]:
            found |= {name: STARTS.get(name, f'"{name}"'), **VARIANTS.get(name, {})}
    return found


def measured(carrier: str, damage: Damage, control: str, small: bool) -> Row:
    """Return the figures of one flow: medians over the seeds."""
    text = SCENARIO.format(
        seconds=3 if small else 20,
        from_s=1 if small else 5,
        before=damage.before,
        behind=damage.behind,
        back=damage.back,
        control=control,
        carrier=CARRIERS[carrier],
    )
    runs = sojourn.run(text, runs=1 if small else RUNS).runs
    flows = [run["flows"][0] for run in runs]
    links = [link for run in runs for link in run["links"] if link["name"] == "bottleneck"]
    return {
        "goodput_bps": median(flow["goodput_bps"] for flow in flows),
        "queue_delay_p99_s": median(link["queue_delay_p99_s"] or 0.0 for link in links),
        "timeouts": median(flow["timeouts"] for flow in flows),
        "ecn_failures": [flow["ecn_failure"] for flow in flows if flow.get("ecn_failure")],
    }


def rounded(cell: Row) -> Row:
    """Return the figures in the units of the result."""
    return {
        "goodput_mbps": round(cell["goodput_bps"] / 1e6, 2),
        "queue_delay_p99_ms": round(cell["queue_delay_p99_s"] * 1e3, 1),
        "timeouts": cell["timeouts"],
        "ecn_failures": cell["ecn_failures"],
    }


def fate(cell: Row, sound: Row) -> str:
    """Whether a flow `starves`, `delays` packets in a long queue, or `survives`."""
    if cell["goodput_bps"] < GOODPUT_SHARE * sound["goodput_bps"]:
        return "starves"
    most_s = QUEUE_FACTOR * sound["queue_delay_p99_s"] + QUEUE_EXTRA_S
    return "delays" if cell["queue_delay_p99_s"] > most_s else "survives"


def beside_cubic(queue: str, rate: str, fallback: bool, small: bool) -> Row:
    """Measure the goodputs of Prague and CUBIC over one queue: medians over the seeds."""
    text = PAIR.format(
        seconds=3 if small else 60,
        from_s=1 if small else 20,
        rate=rate,
        queue=QUEUES[queue],
        fallback=str(fallback).lower(),
    )
    runs = sojourn.run(text, runs=1 if small else RUNS).runs
    goodputs = {
        f"{name}_mbps": round(median(run["flows"][place]["goodput_bps"] for run in runs) / 1e6, 2)
        for place, name in enumerate(("prague", "cubic"))
    }
    return {"queue": queue, "rate": rate, "fallback": fallback, **goodputs}
