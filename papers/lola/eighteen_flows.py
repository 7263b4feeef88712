"""Figure 6: eighteen LoLa flows, which start every four seconds and run for 200 s each."""

from collections.abc import Sequence

import polars as pl
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn.sweep.matrix.measure import jain
from sojourn_papers import Ask, Claim, Lab

from .measure import MSS, Q_TARGET_MS, WIRE, between, goodput_bps, peak_bound_ms, queue_ms
from .measure import used as used_part
from .testbed import GIGABIT, LOOKS, QUICK, QUICK_GIGABIT, scale
from .two_flows import TIME, goodput, megabytes, rtt

FLOWS = [f"f{number:02}" for number in range(1, 19)]
EVERY_S, FIRST_STOP_S = 4.0, 200.0
"""Section V-C."""
# All eighteen flows have started and left slow start.
SETTLED_S = 80.0
RTT_MS = 21.0


def ask(lab: Lab, control: str) -> Ask:
    """Return the scenario for one controller."""
    return Ask("eighteen-flows.toml", lab.pick({}, QUICK), control)


def many(lab: Lab) -> list[Claim]:
    """Draw windows and RTTs; measure the queue, losses, and the convergence of a new flow."""
    (run,) = lab.runs([ask(lab, "lola")])
    rate_bps = lab.pick(GIGABIT, QUICK_GIGABIT)
    lab.draw("figure-6", _picture(run, rate_bps, scale(lab)))
    return [
        _queue(lab, run, rate_bps),
        _queue_while_starting(run),
        _losses(lab, run),
        _convergence(lab, run),
        _fairness(lab, run),
        _utilisation(lab, run),
    ]


def _picture(run: Run, rate_bps: float, rate: str) -> chart.Document:
    fills_mb = rate_bps * MSS / WIRE / 8e9 * (RTT_MS + Q_TARGET_MS)
    windows = [
        chart.line("eighteen flows", chart.thin(megabytes(_alive(run, place)), 700), width=1)
        for place in range(len(FLOWS))
    ]
    share = [
        (t, fills_mb / count)
        for count, start in enumerate(_starts(), 1)
        for t in (start, start + EVERY_S if count < len(FLOWS) else FIRST_STOP_S)
    ]
    windows.append(chart.line("published: equal shares", share, chart.PUBLISHED, (5, 3)))
    top: chart.Scale = {"domain": [0, 1.3 * fills_mb]}
    target = [(0.0, RTT_MS + Q_TARGET_MS), (268.0, RTT_MS + Q_TARGET_MS)]
    queue = [
        chart.line("flow 1", rtt(_alive(run, 0)), *LOOKS["first"], width=1),
        chart.line("flow 18", rtt(_alive(run, 17)), *LOOKS["second"], width=1),
        chart.line("published: the target", target, chart.PUBLISHED, (5, 3)),
    ]
    panels = [
        chart.Panel(
            "Congestion windows (MB)", "s", "MB", windows, height=260, x_scale=TIME, y_scale=top
        ),
        chart.Panel("Round-trip time (ms)", "s", "ms", queue, x_scale=TIME),
    ]
    return chart.Document("Figure 6: eighteen flows, one more every four seconds", rate, panels)


def _alive(run: Run, place: int) -> pl.DataFrame:
    """Return a flow's samples while it sends."""
    start_s = EVERY_S * place
    return between(run.flow(FLOWS[place]).series, start_s, start_s + FIRST_STOP_S)


def _starts() -> list[float]:
    return [EVERY_S * place for place in range(len(FLOWS))]


def _queue(lab: Lab, run: Run, rate_bps: float) -> Claim:
    bound = peak_bound_ms(rate_bps, RTT_MS, 1 / len(FLOWS), len(FLOWS), lagging=False)
    tens = range(int(SETTLED_S), int(FIRST_STOP_S), 10)
    peaks = [queue_ms(run, begin, begin + 10) for begin in tens]
    holds = all(Q_TARGET_MS < peak <= bound for peak in peaks)
    why = "maximum of the peaks of twelve intervals of 10 s, from 80 s to 200 s; the minimum is "
    why += f"{min(peaks):.2f} ms. Holds between Q_target and the bound for eighteen equal flows, "
    why += f"{bound:.2f} ms"
    published = lab.value("Q_target_ms")
    return Claim("queueing delay near the target", published, max(peaks), "ms", holds, why)


def _queue_while_starting(run: Run) -> Claim:
    why = (
        "beyond the paper: slow start doubles the window until a round trip later it sees its queue"
    )
    ours = queue_ms(run, 0, SETTLED_S)
    return Claim("maximum queueing delay while flows start", None, ours, "ms", None, why)


def _losses(lab: Lab, run: Run) -> Claim:
    flows = run.runs[0]["flows"]
    lost = run.link("switch").summary["dropped_packets"]
    lost += sum(flow["retransmitted_packets"] for flow in flows)
    sent = sum(flow["sent_packets"] for flow in flows)
    published = lab.value("lost_packets")
    why = f"dropped or retransmitted, of {sent / 1e6:.1f} million packets"
    return Claim("lost packets", published, lost, "", lost == published, why)


def _convergence(lab: Lab, run: Run) -> Claim:
    """Measure the time from the last flow's start until all eighteen shares are about equal."""
    places = range(len(FLOWS))
    steps = [goodput(_alive(run, place), 1.0, 1.0) for place in places]
    rates = [{round(t): rate for t, rate in one} for one in steps]
    last_s = _starts()[-1]
    seconds = range(int(last_s) + 1, int(FIRST_STOP_S))
    index = {t: jain([flow[t] for flow in rates]) for t in seconds}
    took = next((t - last_s for t in seconds if index[t] > 0.95), FIRST_STOP_S)
    why = "time from the last start until Jain's index of the goodput in one second exceeds 0.95. "
    why += "Holds within a tenth of a flow's 200 s"
    name = "new flows converge to a fair share"
    return Claim(name, lab.value("converge"), f"in {took:.0f} s", "", took <= 20, why)


def _fairness(lab: Lab, run: Run) -> Claim:
    rates = shares(run)
    index = jain(rates)
    why = "Jain's index from 150 s to 200 s. Holds above 0.99: the shares are then within 10 % of "
    why += "their mean"
    return Claim("windows converge", lab.value("shares"), round(index, 4), "", index > 0.99, why)


def shares(run: Run, control: str | None = None) -> Sequence[float]:
    """Return every flow's goodput in the last 50 s with all eighteen flows."""
    return [goodput_bps(run.flow(flow, control).series, 150, FIRST_STOP_S) for flow in FLOWS]


def _utilisation(lab: Lab, run: Run) -> Claim:
    part = used_part(run, SETTLED_S, FIRST_STOP_S)
    why = (
        "from 80 s to 200 s. Holds above gamma: a reduction leaves 95 % of the data that fill the "
    )
    why += "link"
    return Claim("link utilisation", lab.value("utilisation"), round(part, 4), "", part > 0.95, why)


def median_queue_ms(run: Run, begin_s: float, end_s: float, control: str | None = None) -> float:
    """Return the median over time of the longest queueing delay in each sample."""
    waits = between(run.link("switch", control).series, begin_s, end_s)
    return 1e3 * float(waits.select(pl.col("queue_delay_s").median()).item())
