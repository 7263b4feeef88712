"""Does LoLa hold its small queue, share it fairly and use the link, as its paper says?

The paper is Hock, Neumeister, Zitterbart and Bless, "TCP LoLa: Congestion Control for Low Latencies
and High Throughput" (IEEE LCN 2017), section V-A.
"""

import statistics
from dataclasses import dataclass
from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 5

Q_TARGET_MS = 5.0
T_MEASURE_MS = 40.0
PHI_MS = 35.0
SECOND_S = 5
"""Start of the second flow."""
STEP_S = 0.01
WIRE_BYTES, MSS_BYTES = 1500, 1448


@dataclass(frozen=True)
class Case:
    """Two flows over one bottleneck, with the base RTT of each."""

    mbps: int
    rtts_ms: tuple[int, int]
    seconds: int


CASES = [
    Case(100, (5, 5), 120),
    Case(100, (21, 21), 120),
    Case(100, (61, 61), 120),
    Case(100, (101, 101), 120),
    Case(100, (21, 101), 120),
    Case(10_000, (5, 5), 25),
    Case(10_000, (21, 21), 45),
    Case(10_000, (61, 61), 80),
    Case(10_000, (101, 101), 150),
    Case(10_000, (21, 101), 50),
]
SMALL = [Case(100, (5, 5), 20), Case(100, (21, 101), 40)]


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs of two cases."""
    return {
        "two_flows": each(two_flows, SMALL if small else CASES),
        "many_flows": each(lambda case: many_flows(*case), [(4, 40) if small else (18, 200)]),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the range of the peaks and of their bounds as a table in Markdown."""
    heads = ["RTT"]
    for mbps in dict.fromkeys(row["rate_mbps"] for row in tables["two_flows"]):
        heads += [f"{'100 Mbit/s' if mbps == 100 else '10 Gbit/s'}: peak", "bound"]
    lines = {"head": heads}
    for row in tables["two_flows"]:
        rtts = dict.fromkeys([row["rtt_first_ms"], row["rtt_second_ms"]])
        name = f"{'/'.join(map(str, rtts))} ms"
        peak, bound = (
            f"{row[f'{of}_min_ms']:.2f}–{row[f'{of}_max_ms']:.2f}" for of in ("peak", "bound")
        )
        lines.setdefault(name, [name]).extend([peak, bound])
    return markdown(lines.values())


def two_flows(case: Case) -> Row:
    """Simulate figures 4 and 5 of the paper: the second flow starts 5 s late, without an AQM."""
    scenario = exact(case.seconds, STEP_S, case.mbps)
    for name, rtt, start in zip(("first", "second"), case.rtts_ms, (0, SECOND_S), strict=True):
        scenario.link(f"back_{name}", delay=f"{rtt - 1}ms").flow(
            name,
            control="lola",
            path=["bottleneck"],
            back=[f"back_{name}"],
            start=f"{start}s",
            host={"handshake": "none"},
        )
    run = sojourn.run(scenario)
    queue = run.link("bottleneck").series.fill_null(0)
    delays = [1e3 * delay for delay in queue["queue_delay_s"]]
    series = [run.flow(name).series for name in ("first", "second")]
    goodputs = [list(flow["goodput_bps"].fill_null(0)) for flow in series]
    found = rounds(case, delays, goodputs, *(list(flow["phase"]) for flow in series))
    second = round(SECOND_S / STEP_S)
    last = len(delays) * 4 // 5
    summary = run.runs[0]
    dropped = run.link("bottleneck").summary["dropped_packets"]
    return {
        "rate_mbps": case.mbps,
        "rtt_first_ms": case.rtts_ms[0],
        "rtt_second_ms": case.rtts_ms[1],
        "duration_s": case.seconds,
        "rounds": len(found),
        "rounds_above_bound": sum(peak > bound for peak, bound in found),
        "peak_min_ms": round(min(peak for peak, _ in found), 2),
        "peak_max_ms": round(max(peak for peak, _ in found), 2),
        "bound_min_ms": round(min(bound for _, bound in found), 2),
        "bound_max_ms": round(max(bound for _, bound in found), 2),
        "used_share": round(
            sum(queue["carried_bps"][second:]) / sum(queue["capacity_bps"][second:]), 4
        ),
        "lost_packets": dropped + sum(f["retransmitted_packets"] for f in summary["flows"]),
        "jain": round(jain([statistics.fmean(goodput[last:]) for goodput in goodputs]), 3),
        "start_delay_max_ms": round(max(delays[:second]), 1),
    }


def exact(seconds: int, step_s: float, mbps: int) -> sojourn.Scenario:
    """Return the bottleneck, with a buffer that never overflows and without randomness."""
    return sojourn.Scenario(
        host="rfc",
        duration=f"{seconds}s",
        start_jitter="0s",
        noise="none",
        record={"interval": f"{step_s}s"},
    ).link("bottleneck", rate=f"{mbps}Mbit", delay="1ms", buffer="100MB")


def rounds(
    case: Case,
    delays_ms: list[float],
    goodputs_bps: list[list[float]],
    first: list[str],
    second: list[str],
) -> list[tuple[float, float]]:
    """Return the peak of the queueing delay, and its bound, in each round of the first flow.

    A round goes from the flow's balancing to the end of its reduction. Only rounds after the second
    flow's first reduction count, which removes the queue left by its slow start.
    """
    found = []
    own = next_round(second, 0)
    while own is not None and (own := next_round(first, own[1])):
        rates = [statistics.fmean(goodput[slice(*own)]) for goodput in goodputs_bps]
        bound = bound_ms(case.mbps, max(case.rtts_ms), min(rates) / sum(rates))
        found.append((max(delays_ms[slice(*own)]), bound))
    return found


def next_round(phases: list[str], begin: int) -> tuple[int, int] | None:
    """Return the rows of the next whole round."""
    try:
        free = phases.index("cubic_increase", begin)
        start = phases.index("fair_flow_balancing", free)
        hold = phases.index("cwnd_hold", start)
        return start, phases.index("cubic_increase", hold)
    except ValueError:
        return None


def bound_ms(mbps: int, rtt_ms: int, share: float) -> float:
    """Return the greatest queueing delay of a round in which the smaller flow has this share.

    Q_target is exceeded because a flow measures its own additions a round trip later, and they pass
    its filter after `t_measure`. In the worst case, only the smaller flow adds to its window. Let s
    be its share. Each byte that it adds raises its Q_data by s, so its window grows by X'(t) / s,
    and Q_data is behind X by X'(t) T (1/s - 1). T is the sum of the round trip at Q_target,
    `t_measure`, and the time to its next acknowledgement. The queue of capacity C exceeds Q_target
    when X(t) - X'(t) T (1/s - 1) = s C Q_target, and grows by (X(t + T) - X(t)) / s until the flow
    measures that. One acknowledgement releases two packets at once, so two packets of each flow add
    to this. A share far below one half makes the bound loose: few rounds last long enough for the
    lag that it assumes.
    """
    capacity = mbps * 1e6 / 8e3  # bytes a millisecond
    pair = 2 * WIRE_BYTES / capacity
    span = rtt_ms + Q_TARGET_MS + T_MEASURE_MS + pair / share
    payload = capacity * MSS_BYTES / WIRE_BYTES

    def queued(t: float) -> float:
        return x(t) - 3 * (t / PHI_MS) ** 2 / PHI_MS * span * (1 / share - 1)

    low, high = 0.0, 1e6
    while high - low > 1e-6:
        middle = (low + high) / 2
        if queued(middle) >= share * payload * Q_TARGET_MS:
            high = middle
        else:
            low = middle
    return Q_TARGET_MS + (x(high + span) - x(high)) / share / payload + 2 * pair


def x(t_ms: float) -> float:
    """Return the bytes in the queue that a flow aims at."""
    return (t_ms / PHI_MS) ** 3


def many_flows(flows: int, seconds: int) -> Row:
    """Simulate figure 6 at a hundredth of its rate: one more flow every four seconds."""
    scenario = (
        exact(seconds, 0.1, 100)
        .link("back", delay="20ms")
        .flow(
            "f",
            control="lola",
            path=["bottleneck"],
            back=["back"],
            count=flows,
            stagger="4s",
            host={"handshake": "none"},
        )
    )
    run = sojourn.run(scenario)
    # All have left slow start 12 s after the last start.
    settled_s = 4 * (flows - 1) + 12
    series = run.link("bottleneck").series.fill_null(0)
    settled = series.filter(series["t_s"] > settled_s)
    delays = [1e3 * delay for delay in settled["queue_delay_s"]]
    peaks = [max(delays[at : at + 100]) for at in range(0, len(delays) - 99, 100)]
    late = run.flows.filter(run.flows["t_s"] > seconds * 3 / 4)
    rates = [
        statistics.fmean(late.filter(late["flow"] == name)["goodput_bps"])
        for name in late["flow"].unique(maintain_order=True)
    ]
    return {
        "flows": flows,
        "rate_mbps": 100,
        "rtt_ms": 21,
        "from_s": settled_s,
        "peak_of_10_s_min_ms": round(min(peaks), 2),
        "peak_of_10_s_max_ms": round(max(peaks), 2),
        "bound_ms": round(bound_of_many_ms(flows), 2),
        "used_share": round(statistics.fmean(settled["carried_bps"]) / 100e6, 4),
        "dropped_packets": run.link("bottleneck").summary["dropped_packets"],
        "jain": round(jain(rates), 3),
    }


def bound_of_many_ms(flows: int, mbps: int = 100, rtt_ms: int = 21) -> float:
    """Return the bound for equal flows, which do not lag."""
    capacity = mbps * 1e6 / 8e3
    pair = 2 * WIRE_BYTES / capacity
    payload = capacity * MSS_BYTES / WIRE_BYTES
    span = rtt_ms + Q_TARGET_MS + T_MEASURE_MS + pair * flows
    passes = PHI_MS * (payload * Q_TARGET_MS / flows) ** (1 / 3)
    return Q_TARGET_MS + flows * (x(passes + span) - x(passes)) / payload + flows * pair


def jain(shares: list[float]) -> float:
    """Return Jain's fairness index."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
