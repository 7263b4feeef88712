"""How much queueing delay do the bursts of segmentation and receive offload add?

The scenario is the shipped `bursts`: an interface of 10 Gbit/s before the bottleneck, and a base
RTT of 20 ms.
"""

from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 3

CONTROLS = [("cubic", False), ("cubic", True), ("bbr", False), ("dctcp", False)]
"""Controllers, and whether the transport paces them; BBR paces itself."""
QUEUES: dict[str, dict[str, str]] = {
    "droptail, 2 ms": {"link.bottleneck.queue": "droptail", "link.bottleneck.buffer": "2ms"},
    "codel": {"link.bottleneck.queue.kind": "codel"},
    "fq_codel": {},
}
OFFLOADS = [(0, 0), (16, 0), (64, 0), (0, 50), (64, 50)]
"""`tso` in kB and `gro` in microseconds."""


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs at the lower rate."""
    seconds, rates = (1, [100]) if small else (20, [100, 1000])
    cases = [
        (rate, queue, control, offload)
        for rate in rates
        for queue in QUEUES
        for control in (CONTROLS[:1] if small else CONTROLS)
        for offload in OFFLOADS
    ]
    ideal = [(rate, tso) for rate in [10, *rates] for tso in (0, 16, 64)]
    return {
        "controllers": each(lambda case: controllers(*case, seconds), cases),
        "ideal": each(lambda case: ideal_sender(*case, seconds), ideal),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the median delays without and with both offloads as a table in Markdown."""
    lines = [["queue", "control", "100 Mbit/s", "with offload", "1 Gbit/s", "with offload"]]
    for queue in ("droptail, 2 ms", "codel"):
        for control in CONTROLS:
            shown = [
                row
                for row in tables["controllers"]
                if (row["queue"], row["control"], row["paced"]) == (queue, *control)
                and (row["tso_kb"], row["gro_us"]) in ((0, 0), (64, 50))
            ]
            cells = [f"{row['delay_p50_ms']:.2f}" for row in shown]
            lines.append([queue, "cubic, paced" if control[1] else control[0], *cells])
    return markdown(lines)


def simulate(
    rate: int, control: str, offload: tuple[int, int], seconds: int, **more: object
) -> sojourn.Run:
    """Simulate one upload with these offloads."""
    tso, gro = offload
    settings: dict[str, object] = {
        "duration": f"{seconds}s",
        "record.interval": "0s",
        "link.bottleneck.rate": f"{rate}Mbit",
        "flow.upload.transport.tso": f"{tso}kB",
        "flow.upload.transport.gro": f"{gro}us",
        **more,
    }
    return sojourn.run("bursts", control=control, set=settings, jobs=1)


def controllers(
    rate: int, queue: str, control: tuple[str, bool], offload: tuple[int, int], seconds: int
) -> Row:
    """Measure one controller over one queue: one run, with its start.

    If slow start ends without a drop, it mostly sets the 99th percentile.
    """
    name, paced = control
    pacing = {"flow.upload.transport.pacing": paced}
    run = simulate(rate, name, offload, seconds, **pacing, **QUEUES[queue])
    bottleneck, back = run.link("bottleneck").summary, run.link("back").summary
    goodput = run.flow("upload").summary["goodput_bps"]
    return {
        "rate_mbps": rate,
        "queue": queue,
        "control": name,
        "paced": paced,
        "tso_kb": offload[0],
        "gro_us": offload[1],
        "delay_p50_ms": round(1e3 * (bottleneck["queue_delay_p50_s"] or 0), 2),
        "delay_p99_ms": round(1e3 * (bottleneck["queue_delay_p99_s"] or 0), 2),
        "dropped_packets": bottleneck["dropped_packets"],
        "marked_packets": bottleneck["marked_packets"],
        "goodput_share": round(goodput / (rate * 1e6), 2),
        "packets_per_ack": round(bottleneck["delivered_packets"] / back["arrived_packets"], 1),
    }


def ideal_sender(rate: int, tso: int, seconds: int) -> Row:
    """Measure a sender at exactly the bottleneck's rate, whose queue is its bursts."""
    link = simulate(rate, "ideal", (tso, 0), seconds).link("bottleneck").summary
    delay_s = link["queue_delay_max_s"] or 0.0
    return {"rate_mbps": rate, "tso_kb": tso, "delay_max_ms": round(1e3 * delay_s, 2)}
