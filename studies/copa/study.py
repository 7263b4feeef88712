"""Does Copa hold the queue of its paper, and what happens outside of the paper's assumptions?

The paper is Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
Internet" (NSDI 2018). By its section 3, each packet of the flows' 1/delta lets the queue swing
between 0 and 2.5 packets, every five round trips; the middle is at 1.25.
"""

from dataclasses import dataclass
from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 1

PACKET_BITS = 1500 * 8


@dataclass(frozen=True)
class Path:
    """A bottleneck, with its base RTT and with its buffer in bandwidth-delay products."""

    mbps: int
    rtt_ms: int
    buffer_bdp: float = 10

    def columns(self) -> Row:
        """Return the columns of the path."""
        return {"rate_mbps": self.mbps, "rtt_ms": self.rtt_ms, "buffer_bdp": self.buffer_bdp}

    def packets(self, delay_s: float | None) -> float:
        """Return a queueing delay as a length of the queue."""
        return round((delay_s or 0.0) * self.mbps * 1e6 / PACKET_BITS, 1)

    def run(
        self, control: str | dict[str, Any], flows: int, seconds: float, cubic: bool = False
    ) -> sojourn.Run:
        """Simulate flows that start at intervals of 0.1 s, beside one CUBIC if asked.

        The receiver acknowledges every packet, as the authors' does.
        """
        half = f"{self.rtt_ms * 500}us"
        scenario = (
            sojourn.Scenario(
                host="rfc",
                duration=f"{seconds}s",
                start_jitter="0s",
                noise="none",
                record={"interval": "0s"},
            )
            .link(
                "a",
                rate=f"{self.mbps}Mbit",
                delay=half,
                buffer=f"{round(self.rtt_ms * self.buffer_bdp * 1e3)}us",
            )
            .link("back", delay=half)
            .flow(
                "one",
                control=control,
                path=["a"],
                back=["back"],
                count=flows,
                stagger="100ms",
                host={"ack_every": 1, "handshake": "none"},
            )
        )
        if cubic:
            scenario.flow(
                "cubic",
                control="cubic",
                path=["a"],
                back=["back"],
                host={"handshake": "none"},
            )
        return sojourn.run(scenario)


QUEUES = [
    (path, delta, flows)
    for path in (Path(12, 40), Path(50, 40), Path(100, 20))
    for delta, flows in ((0.5, 1), (0.5, 4), (0.1, 1))
    # Section 3 assumes a path that is longer than the queue. From a third of the path on, a
    # standing queue appears (the table `misses`).
    if 2.5 * flows / delta <= path.mbps * path.rtt_ms * 1e3 / PACKET_BITS / 3
]
MISSES = [
    (Path(50, 40), 1, 0.5, True),
    (Path(50, 40), 4, 0.5, False),
    (Path(50, 40), 4, 0.5, True),
    (Path(12, 40), 1, 0.1, False),
]
SMALL_BUFFERS = [
    (Path(12, 20, 1), 4, True),
    (Path(12, 20, 1), 4, False),
    (Path(12, 20, 1), 8, False),
    (Path(12, 20, 0.5), 4, True),
    (Path(12, 20, 2), 8, False),
    (Path(50, 20, 0.25), 8, False),
]
BESIDE_CUBIC = [(bdps, switching) for bdps in (0.5, 1.0) for switching in (True, False)]


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs."""
    long, short = (5, 2) if small else (200, 30)
    return {
        "queue": each(lambda case: queue(*case, long), QUEUES),
        "beside_cubic": each(lambda case: beside_cubic(*case, long), BESIDE_CUBIC),
        "misses": each(lambda case: misses(*case, long), MISSES),
        "small_buffer": each(lambda case: small_buffer(*case, short), SMALL_BUFFERS),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the queues at 40 ms beside the paper's as a table in Markdown."""
    heads = ["path", "flows", "delta", "middle by the paper", "median", "greatest by the paper"]
    lines = [[*heads, "99 %"]]
    for row in tables["queue"]:
        if row["rtt_ms"] != 40:
            continue
        path = f"{row['rate_mbps']} Mbit/s"
        names = ["middle_by_paper", "median", "max_by_paper", "p99"]
        lengths = [f"{row[f'{name}_packets']:g}" for name in names]
        lines.append([path, str(row["flows"]), str(row["delta"]), *lengths])
    return markdown(lines)


def copa(**params: object) -> dict[str, Any]:
    """Return the controller with these parameters."""
    return {"kind": "copa", **params}


def queue(path: Path, delta: float, flows: int, seconds: float) -> Row:
    """Measure the queue without mode switching, whose few minutes would be in the figures."""
    run = path.run(copa(delta=delta, mode_switching=False), flows, seconds)
    link = run.link("a").summary
    return {
        **path.columns(),
        "flows": flows,
        "delta": delta,
        "middle_by_paper_packets": 1.25 * flows / delta,
        "median_packets": path.packets(link["queue_delay_p50_s"]),
        "max_by_paper_packets": 2.5 * flows / delta,
        "p99_packets": path.packets(link["queue_delay_p99_s"]),
    }


def beside_cubic(bdps: float, switching: bool, seconds: float) -> Row:
    """Measure the share beside one CUBIC, with and without mode switching."""
    path = Path(50, 40, bdps)
    run = path.run(copa(mode_switching=switching), 1, seconds, cubic=True)
    one, cubic = (run.flow(name).summary["goodput_bps"] for name in ("one", "cubic"))
    return {**path.columns(), "mode_switching": switching, "ratio": round(one / cubic, 2)}


def misses(path: Path, flows: int, delta: float, switching: bool, seconds: float) -> Row:
    """Measure the queue, in the last two cases outside of the paper's assumptions."""
    run = path.run(copa(delta=delta, mode_switching=switching), flows, seconds)
    link = run.link("a").summary
    return {
        **path.columns(),
        "flows": flows,
        "delta": delta,
        "modes": "both" if switching else "default",
        "duration_s": seconds,
        "aim_packets": 1.25 * flows / delta,
        "median_packets": path.packets(link["queue_delay_p50_s"]),
        "p99_packets": path.packets(link["queue_delay_p99_s"]),
        "dropped_share": dropped_share(run),
    }


def small_buffer(path: Path, flows: int, switching: bool, seconds: float) -> Row:
    """Measure the effect of the loss ceiling with a buffer below the swing of the queue."""
    row = {**path.columns(), "flows": flows, "modes": "both" if switching else "default"}
    for limit, name in ((1.0, "no_ceiling"), (0.3, "ceiling_30"), (0.1, "ceiling_10")):
        run = path.run(copa(mode_switching=switching, loss_limit=limit), flows, seconds)
        goodputs = [flow["goodput_bps"] for flow in run.runs[0]["flows"]]
        row[f"dropped_share_{name}"] = dropped_share(run)
        row[f"goodput_share_{name}"] = round(sum(goodputs) / (path.mbps * 1e6), 3)
        row[f"jain_{name}"] = round(jain(goodputs), 2)
    return row


def dropped_share(run: sojourn.Run) -> float:
    """Return the share of the packets that the bottleneck dropped."""
    sent = sum(flow["sent_packets"] for flow in run.runs[0]["flows"])
    return round(run.link("a").summary["dropped_packets"] / sent, 3)


def jain(shares: list[float]) -> float:
    """Return Jain's fairness index."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
