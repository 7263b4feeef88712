"""Do AQMs hold their delay targets, with a few flows and with many, and in nested queues?"""

from statistics import mean
from typing import Any

import polars as pl
import sojourn
from tables import each, markdown

MINUTES = 1

Row = dict[str, Any]
Tables = dict[str, list[Row]]

# 1500 bytes a packet, of which 1448 are payload.
PAYLOAD = 1448 / 1500
EXACT: Row = {"start_jitter": "0s", "noise": "none"}


def measure(small: bool) -> Tables:
    """Measure DualPI2's coupling, the delay of AQMs with CUBIC flows, and nested queues."""
    loads = (0.1,) if small else (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
    links = LINKS[1:2] if small else LINKS
    numbers = (2,) if small else (1, 2, 3, 4, 5, 50)
    coupling = [(queue, load, small) for queue in ("dualpi2", "dualpi2_linux") for load in loads]
    targets = [
        (queue, link, flows, small)
        for link in links
        for queue in ("pie", "dualpi2", "codel")
        for flows in numbers
    ]
    return {
        "coupling": each(lambda cell: coupled(*cell), coupling),
        "targets": each(lambda cell: held(*cell), targets),
        "nested": each(lambda front: shared(*front, small), FRONTS),
    }


RATE_BPS, L4S_SHARE, K = 120e6, 0.2, 2.0
SETTLING_S = 20


class Constant:
    """A sender of L4S packets at a constant rate, which ignores their marks."""

    ecn = "l4s"

    def __init__(self, setup: sojourn.Setup) -> None:
        pass

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        """Ignore an acknowledgement."""

    def limits(self) -> sojourn.Limits:
        """Return a fifth of the link, in payload."""
        return sojourn.Limits(cwnd_bytes=10_000_000, pacing_bps=L4S_SHARE * RATE_BPS * PAYLOAD)


def coupled(queue: str, by_load: float, small: bool) -> Row:
    """Offer L4S traffic, and so much Classic traffic that this share of it must be dropped."""
    classic_share = (1 - L4S_SHARE) / (1 - by_load)
    run = sojourn.run(
        unresponsive(queue, classic_share, SETTLING_S + (2 if small else 200)),
        controllers={"constant": Constant},
    )
    link = run.link("a").series.filter(pl.col("t_s") > SETTLING_S)
    counts = link.select("t_s", "dropped_packets", "marked_packets")
    seconds, dropped, marked = (b - a for a, b in zip(counts.row(0), counts.row(-1), strict=True))
    packets = seconds * RATE_BPS / 12_000
    p_c, p_cl = dropped / (packets * classic_share), marked / (packets * L4S_SHARE)
    waits: list[float] = link["queue_delay_s"].drop_nulls().to_list()
    l4s: Row = dict(run.flow("l4s").summary)
    return {
        "queue": queue,
        "offered_percent": round(100 * (classic_share + L4S_SHARE), 1),
        "p_c_by_load": by_load,
        "p_c": round(p_c, 4),
        "p_cl": round(p_cl, 4),
        "p_cl_over_k_squared": round((p_cl / K) ** 2, 4),
        "off_percent": round(100 * (p_c / (p_cl / K) ** 2 - 1), 1),
        "c_queue_ms": round(1e3 * mean(waits), 2),
        "l_queue_ms": round(1e3 * (l4s["rtt_mean_s"] - l4s["rtt_min_s"]), 2),
    }


def unresponsive(queue: str, classic_share: float, duration_s: int) -> sojourn.Scenario:
    """Return the scenario of L4S and Classic traffic at constant rates."""
    # Above every delay of the L queue here, so that all marks come from the coupling.
    own = "min_th" if queue == "dualpi2" else "step_thresh"
    scenario = sojourn.Scenario(
        EXACT, host="rfc", duration=f"{duration_s}s", record={"interval": "2ms"}
    )
    scenario.link("a", rate="120Mbit", buffer="unlimited", queue={"kind": queue, own: "1s"})
    scenario.link("back")
    opened = {"handshake": "none"}
    scenario.flow("l4s", control="constant", path=["a"], back=["back"], host=opened)
    # Datagrams without ECN, so that drops alone balance the load.
    rate = f"{round(classic_share * RATE_BPS * PAYLOAD)}bit"
    source = {"kind": "on-off", "rate": rate, "on": "1s", "off": "0s"}
    packets = {"mss": "1448B", "header": "52B"}
    return scenario.flow("classic", control="none", path=["a"], source=source, host=packets)


# Rate in Mbit/s, round trip in ms, and time between samples. The last is the setting of Pan et al.,
# "PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem" (HPSR 2013).
LINKS = ((10, 50, "2ms"), (100, 10, "500us"), (10, 100, "2ms"))


def held(queue: str, link: tuple[int, int, str], flows: int, small: bool) -> Row:
    """Share a link with an unlimited buffer among CUBIC flows without ECN."""
    rate_mbps, rtt_ms, interval = link
    # One flow has few sawteeth in a minute; many flows have many.
    duration_s = 11 if small else 25 if flows == 50 else 50
    scenario = sojourn.Scenario(
        host="rfc", duration=f"{duration_s}s", record={"interval": interval}
    )
    scenario.link("bottleneck", rate=f"{rate_mbps}Mbit", buffer="unlimited", queue=queue)
    scenario.link("back", delay=f"{rtt_ms}ms")
    for flow in range(flows):
        scenario.flow(
            f"f{flow}",
            control="cubic",
            path=["bottleneck"],
            back=["back"],
            start=f"{37 * flow}ms",
            host={"ecn": False, "handshake": "none"},
        )
    bottleneck = sojourn.run(scenario).link("bottleneck")
    # Delays of transmitted packets: the length of the queue has packets that the AQM drops later.
    settled = bottleneck.series.filter(pl.col("t_s") > 10)
    delays = sorted(settled["queue_delay_s"].drop_nulls().to_list())
    figures = bottleneck.summary
    lost = figures["dropped_packets"] / figures["arrived_packets"]
    return {
        "queue": queue,
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "flows": flows,
        "mean_delay_ms": round(1e3 * mean(delays), 1),
        "delay_p99_ms": round(1e3 * delays[len(delays) * 99 // 100], 1),
        "utilisation": round(figures["utilisation"] or 0.0, 3),
        "lost_percent": round(100 * lost, 2),
    }


DRR: Row = {"kind": "drr", "inner": {"kind": "codel", "ecn": True}}
FRONTS: list[tuple[str, int, Row]] = [
    ("fq_codel", 50, {"kind": "fq_codel", "ecn": True}),
    ("drr over codel", 50, DRR),
    ("htb over drr over codel", 1000, {"kind": "htb", "rate": "50Mbit", "inner": DRR}),
]


def shared(name: str, rate_mbps: int, queue: Row, small: bool) -> Row:
    """Share 50 Mbit/s between two uploads, of 20 ms and 100 ms."""
    scenario = sojourn.Scenario(
        EXACT, host="rfc", duration="5s" if small else "60s", record={"interval": "0s"}
    )
    scenario.link("bottleneck", rate=f"{rate_mbps}Mbit", delay="5ms", queue=queue)
    for flow, delay in (("near", "15ms"), ("far", "95ms")):
        scenario.link(flow, delay=delay)
        scenario.flow(
            flow,
            control="cubic",
            path=["bottleneck"],
            back=[flow],
            host={"handshake": "none"},
        )
    run = sojourn.run(scenario)
    link = run.link("bottleneck").summary
    return {
        "queue": name,
        "rate_mbps": rate_mbps,
        "near_mbps": round(run.flow("near").summary["goodput_bps"] / 1e6, 2),
        "far_mbps": round(run.flow("far").summary["goodput_bps"] / 1e6, 2),
        "delay_p50_ms": round(1e3 * (link["queue_delay_p50_s"] or 0.0), 2),
        "delay_p99_ms": round(1e3 * (link["queue_delay_p99_s"] or 0.0), 2),
    }


def answer(tables: Tables) -> str:
    """Return the mean delay of each queue and number of flows, over each link."""
    means = {
        (row["queue"], row["flows"], f"{row['rate_mbps']} Mbit/s, {row['rtt_ms']} ms"): row
        for row in tables["targets"]
    }
    links = list(dict.fromkeys(link for _, _, link in means))
    lines = [["queue", "flows", *links]]
    for queue in dict.fromkeys(queue for queue, _, _ in means):
        for flows in (1, 5, 50):
            found = [means.get((queue, flows, link)) for link in links]
            cells = (f"{row['mean_delay_ms']:.1f}" if row else "–" for row in found)
            lines.append([queue, str(flows), *cells])
    return markdown(lines)
