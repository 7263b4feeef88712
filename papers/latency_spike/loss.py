"""Equation 3, and the effect of CoDel, PIE, FQ-CoDel and DualPI2 on the same drop.

The paper leaves queue disciplines to future work. It expects them between its two bounds: no loss
and a delay of Q, or a strict limit on the delay and the loss of equation 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Ask, Claim, Lab

BEFORE_BPS, R, PACKET_BYTES = 60e6, 4.0, 1500
AFTER_BPS = BEFORE_BPS / R
DELAYS_MS = (50, 200)
CAPS = (0.2, 0.4, 0.6, 0.8)
"""Limits on the delay, as fractions of Q."""
QUEUES = {
    "droptail": "droptail",
    "codel": "codel",
    "pie": "pie",
    "fq_codel": "fq_codel",
    "dualpi2": "dualpi2",
}
"""Without ECN, all of them drop; the first is a FIFO with a sufficient buffer."""
TARGETS_MS = {"codel": 5, "pie": 15, "fq_codel": 5, "dualpi2": 15}
"""RFC 8289, section 4.3; RFC 8033, section 4.2; RFC 8290, section 5.2.2; RFC 9332, appendix A.1."""
PACKET_MS = 0.8
"""Transmission time of a packet after the drop."""
CONTROLS = ("ideal", "cubic", "bbr")
# Time after the drop, the same as for the spike.
WINDOW_S = 5.0


@dataclass(frozen=True)
class Paid:
    """The result of a drop, as medians over all runs."""

    peak_ms: float
    dropped: float
    """Packets dropped since the capacity drop."""
    marked: float

    def share(self, delay_ms: float) -> float:
        """Dropped packets, relative to the excess arrivals in [t0, t0 + d]."""
        return self.dropped / excess(delay_ms)


def q_ms(delay_ms: float) -> float:
    """Equation 2."""
    return (R - 1) * delay_ms


def excess(delay_ms: float) -> float:
    """Return packets that arrive in [t0, t0 + d] in excess of the link's capacity."""
    return (BEFORE_BPS - AFTER_BPS) * delay_ms / 8e3 / PACKET_BYTES


def loss(lab: Lab) -> list[Claim]:
    """Compare limits with equation 3, and queue disciplines with both bounds, by controller."""
    capped = {d: _capped(lab, d) for d in DELAYS_MS}
    found = {
        (control, delay_ms): _disciplines(lab, control, delay_ms)
        for control in CONTROLS
        for delay_ms in DELAYS_MS
    }
    lab.draw("loss", _picture(capped, found))
    if lab.quick:
        lab.note("A quick run: CUBIC, BBR, DCTCP and Prague run 3 times instead of 15.")
    lab.note(
        "A cap trades loss for delay as in equation 3. CoDel and PIE drop with a delay: CoDel "
        "after an interval of 100 ms above its target, PIE after its drop probability has risen. "
        "If the ideal sender has reduced its rate before that, the queue has already reached its "
        "peak. The drops then cause loss without a lower peak, unlike the trade that the paper "
        "expects."
    )
    claims = [_equation_3(capped)]
    for (control, delay_ms), by_queue in found.items():
        claims += [
            _between(lab, control, delay_ms, queue, paid)
            for queue, paid in by_queue.items()
            if queue != "droptail"
        ]
    return claims + _with_ecn(lab)


def _capped(lab: Lab, delay_ms: int) -> list[Paid]:
    """Simulate the ideal sender over a FIFO limited to a fraction of Q."""
    sizes = [round(cap * q_ms(delay_ms) * AFTER_BPS / 8e3) for cap in CAPS]
    changes = [
        {"link.bottleneck.buffer": f"{size}B", "link.back.delay": f"{delay_ms}ms"} for size in sizes
    ]
    runs = lab.runs([Ask("aqm.toml", one, "ideal") for one in changes], keep=False)
    return [paid(run) for run in runs]


def _disciplines(lab: Lab, control: str, delay_ms: int) -> dict[str, Paid]:
    delay = {"link.back.delay": f"{delay_ms}ms"}
    asks = [
        Ask("aqm.toml", {**delay, "link.bottleneck.queue": queue}, control)
        for queue in QUEUES.values()
    ]
    # The ideal sender has no cycle, so the time of the drop does not matter.
    count = 1 if control == "ideal" else lab.pick(15, 3)
    runs = lab.runs(asks, count, keep=False)
    return dict(zip(QUEUES, map(paid, runs), strict=True))


def paid(run: Run) -> Paid:
    """Return the median peak, and the losses and marks after the drop."""
    links = {seed: one for (seed,), one in run.links.filter(link="bottleneck").group_by("seed")}
    spikes = [one["spikes"][0] for one in run.runs]
    after = [
        links[one["seed"]].filter(pl.col("t_s").is_between(spike["at_s"], spike["at_s"] + WINDOW_S))
        for one, spike in zip(run.runs, spikes, strict=True)
    ]
    return Paid(
        median(1e3 * (spike["spike_s"] or 0.0) for spike in spikes),
        median(_grown(one["dropped_packets"]) for one in after),
        median(_grown(one["marked_packets"]) for one in after),
    )


def _grown(counts: pl.Series) -> int:
    return int(counts[-1] - counts[0])


def _equation_3(capped: dict[int, list[Paid]]) -> Claim:
    apart = [
        abs(one.dropped - (1 - cap) * excess(delay_ms))
        for delay_ms, all_caps in capped.items()
        for cap, one in zip(CAPS, all_caps, strict=True)
    ]
    why = f"maximum difference of {len(apart)} capped queues, with "
    why += " and ".join(f"{excess(d):.0f}" for d in DELAYS_MS)
    why += " packets of excess. Holds within three packets: the cap, the drop and the last packet "
    why += "may each fall within a packet"
    name = "ideal sender, capped delay: difference of the loss from equation 3"
    return Claim(name, 0.0, max(apart), "packets", max(apart) <= 3, why)


def _between(lab: Lab, control: str, delay_ms: int, queue: str, one: Paid) -> Claim:
    """Check the paper's expectation for queue disciplines with the ideal sender."""
    q = q_ms(delay_ms)
    name = f"{control} over {queue}, d = {delay_ms} ms"
    ours = f"{one.peak_ms:.0f} ms, {_packets(one.dropped)}"
    why = f"peak, and packets lost in 5 s: {one.share(delay_ms):.2f} of the excess"
    if control != "ideal":
        return Claim(name, None, ours, "", None, why)
    lower, most = q - 2 * PACKET_MS, strict_loss(delay_ms, queue)
    needed = max(0.0, 1 - one.peak_ms / q)
    why += f"; equation 3 gives {needed:.2f} for this peak. Holds if the peak is below {lower:.0f} "
    why += (
        f"ms, two packets less than Q, and the loss at most {most:.2f}, equation 3's value for a "
    )
    why += f"cap at {queue}'s target plus three packets. {_failing(one, delay_ms, queue)}"
    holds = is_between(one, delay_ms, queue)
    return Claim(name, lab.value("aqm").format(q=q), ours, "", holds, why.rstrip())


def strict_loss(delay_ms: int, queue: str) -> float:
    """Equation 3 for a delay strictly limited to the target, as a fraction of the excess.

    The loss has a margin of three packets: the limit, the drop and the last packet may each fall
    within a packet.
    """
    return 1 - TARGETS_MS[queue] / q_ms(delay_ms) + 3 / excess(delay_ms)


def is_between(one: Paid, delay_ms: int, queue: str) -> bool:
    """Section II: the peak is below equation 2, and the loss at most equation 3's strict bound."""
    is_lower = one.peak_ms < q_ms(delay_ms) - 2 * PACKET_MS
    return is_lower and one.share(delay_ms) <= strict_loss(delay_ms, queue)


def _failing(one: Paid, delay_ms: int, queue: str) -> str:
    """Describe the violated expectation in a sentence."""
    is_high = one.peak_ms >= q_ms(delay_ms) - 2 * PACKET_MS
    is_much = one.share(delay_ms) > strict_loss(delay_ms, queue)
    if is_high and is_much:
        return "The peak is as high as without loss, and the loss exceeds that of a strict cap"
    if is_high:
        return "The peak is as high as without loss: the loss does not reduce it"
    return "The loss exceeds that of a strict cap" if is_much else ""


def _packets(count: float) -> str:
    return "1 packet" if round(count) == 1 else f"{count:.0f} packets"


def _with_ecn(lab: Lab) -> list[Claim]:
    """Simulate the same disciplines with marking."""
    claims = []
    for control, queue in (("cubic", "codel"), ("dctcp", "codel"), ("prague", "dualpi2")):
        table = queue if queue == "dualpi2" else f'{{ kind = "{queue}", ecn = true }}'
        changed = {"link.bottleneck.queue": table, "flow.upload.host.ecn": True}
        (run,) = lab.runs([Ask("aqm.toml", changed, control)], lab.pick(15, 3), keep=False)
        one = paid(run)
        name = f"{control} over {queue} with ECN, d = 50 ms"
        ours = f"{one.peak_ms:.0f} ms, {_packets(one.dropped)}"
        why = f"beyond the paper: {_packets(one.marked)} marked; Q is {q_ms(50):.0f} ms"
        claims.append(Claim(name, None, ours, "", None, why))
    return claims


_SHAPES = {
    "droptail": "circle",
    "codel": "square",
    "pie": "triangle-up",
    "fq_codel": "diamond",
    "dualpi2": "cross",
}


def _picture(
    capped: dict[int, list[Paid]], found: dict[tuple[str, int], dict[str, Paid]]
) -> chart.Document:
    rows = [
        [_panel(control, d, capped[d], found[control, d]) for d in DELAYS_MS]
        for control in CONTROLS
    ]
    subtitle = [
        "60 to 15 Mbit/s without ECN; x axis: peak queueing delay; y axis: packets lost in 5 s, "
        "relative to the excess",
        "black: equation 3, from loss without delay to a delay of Q without loss",
    ]
    return chart.Document("Latency or loss after a drop", subtitle, rows)


def _panel(
    control: str, delay_ms: int, caps: Sequence[Paid], found: dict[str, Paid]
) -> chart.Panel:
    q = q_ms(delay_ms)
    # Equation 3 is linear, but the axis is a square root: many points make a smooth curve.
    law = [(q * part / 50, 1 - part / 50) for part in range(51)]
    layers = [chart.line("equation 3", law, chart.PUBLISHED, (5, 3))]
    if control == "ideal":
        points = [(one.peak_ms, one.share(delay_ms)) for one in caps]
        layers.append(chart.dots("capped FIFO", points, chart.PUBLISHED))
    for place, (queue, one) in enumerate(found.items()):
        point = [(one.peak_ms, one.share(delay_ms))]
        colour = chart.COLOURS[place]
        layers.append(chart.dots(queue, point, colour, _SHAPES[queue], 90))
    most = max(1.0, *(one.share(delay_ms) for one in found.values()))
    return chart.Panel(
        f"{control}, d = {delay_ms} ms",
        "peak queueing delay (ms)",
        "loss / excess (square-root scale)",
        layers,
        width=290,
        height=170,
        x_scale={"zero": True},
        y_scale={"type": "sqrt", "domain": [0, 1.15 * most]},
        columns=4,
    )
