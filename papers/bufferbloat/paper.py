"""Bufferbloat, measured by three layers at both hosts."""

from itertools import pairwise
from statistics import fmean, median

from sojourn_papers import Claim, Figure, Lab, Paper

from . import live_figures
from .pictures import course, dispersion
from .runs import SIZES_KB, Recording, hosts, in_ms, recordings, spread_ms

READ_MS = 25
"""Reading error of a figure: half of the 50 ms between its grid lines."""


def figure_4(lab: Lab) -> list[Claim]:
    """Reproduce the dispersion by queue size: larger queues increase every RTT."""
    runs = {size: hosts(lab, size) for size in SIZES_KB}
    dispersion(lab, runs)
    ours = {size: sorted(in_ms([run])["application A"]) for size, run in runs.items()}
    medians = [median(each) for each in ours.values()]
    widths = [each[-1] - each[0] for each in ours.values()]
    rows = [
        Claim(
            f"{size} kB: median; minimum to maximum (application, A)",
            None,
            f"{median(each):.0f} ms; {each[0]:.0f} to {each[-1]:.0f} ms",
        )
        for size, each in ours.items()
    ]
    return [
        Claim(
            "RTTs grow with the queue",
            "yes",
            _in_turn(medians),
            "",
            all(a < b for a, b in pairwise(medians)),
            "medians at 10, 100, 200 and 300 kB (application, A)",
        ),
        Claim(
            "range of the RTTs (maximum minus minimum)",
            None,
            _in_turn(widths),
            "",
            None,
            "at 10, 100, 200 and 300 kB. Figure 4 shows the dispersion; the text gives no numbers",
        ),
        _full(ours[300][-1]),
        *rows,
    ]


def _in_turn(of: list[float]) -> str:
    return ", ".join(f"{one:.0f}" for one in of) + " ms"


def _full(greatest_ms: float) -> Claim:
    full = 300e3 * 8 / 10e6 * 1e3
    return Claim(
        "300 kB: maximum RTT",
        None,
        greatest_ms,
        "ms",
        None,
        f"a full queue in one direction adds {full:.0f} ms at 10 Mbit/s; the text does not give "
        "this rate. With a bulk flow in each direction, the longer queue alternates between the "
        "directions: both queues are seldom full at the same time",
    )


def figure_5(lab: Lab) -> list[Claim]:
    """Reproduce the RTTs over time at 300 kB, with CUBIC, Linux's default, and with Reno."""
    published = lab.published()["5"]
    claims = []
    # The window's factor at a loss: RFC 9438 section 4.6, RFC 5681 section 3.1.
    for control, name, leaves in (("cubic", "CUBIC", 0.7), ("reno", "Reno", 0.5)):
        run = hosts(lab, published["kB"], control)
        course(lab, f"figure-5-{control}", run, f"RTTs with a queue of 300 kB: {name}")
        claims += _sawtooth(run, name, leaves, published)
    lab.note(
        "A fall from 250 ms to 100 ms exceeds one reduction of either controller. The published "
        "sawtooth therefore contains consecutive reductions. It is closer to Reno's sawtooth than "
        "to CUBIC's. The text names neither the controller nor the kernel; netcat uses the default "
        "controller of its host."
    )
    return claims


def _sawtooth(run: Recording, name: str, leaves: float, published: dict[str, float]) -> list[Claim]:
    ours = sorted(ms for each in in_ms([run]).values() for ms in each)
    low, high = _quantile(ours, 0.01), _quantile(ours, 0.99)
    greatest, least = published["greatest_ms"], published["least_ms"]
    how = "99th percentile. Holds within half the distance of the figure's grid lines, 25 ms"
    why = f"1st percentile. {name} multiplies its window by {leaves}: {leaves * high:.0f} ms"
    return [
        Claim(
            f"{name}: top of the sawtooth",
            greatest,
            high,
            "ms",
            abs(high - greatest) <= READ_MS,
            how,
        ),
        Claim(
            f"{name}: bottom of the sawtooth", least, low, "ms", abs(low - least) <= READ_MS, why
        ),
    ]


def _quantile(of: list[float], share: float) -> float:
    return sorted(of)[round(share * (len(of) - 1))]


def layers(lab: Lab) -> list[Claim]:
    """Compare the means and medians of the three layers at both hosts."""
    within = lab.published()["layers"]["within_ms"]
    claims = [
        claim for size in SIZES_KB for claim in _agreement(recordings(lab, size), size, within)
    ]
    means, medians = spread_ms(recordings(lab, 300, apart_ms=250))
    claims.append(
        Claim(
            "300 kB, probes 250 ms apart: means; medians within",
            None,
            f"{means:.1f} ms; {medians:.1f} ms",
            "",
            None,
            "each probe then samples another phase of the sawtooth",
        )
    )
    late = in_ms([hosts(lab, 300, ack_every=2)])
    claims.append(
        Claim(
            "300 kB, delayed acknowledgements: TCP's mean minus the application's",
            None,
            fmean(late["TCP A"]) - fmean(late["application A"]),
            "ms",
            None,
            "40 ms (Linux TCP_DELACK_MIN), plus the growth of the queue in this time",
        )
    )
    lab.note(
        "The probes of all layers start 20 ms apart, so they measure the same queue. A full run "
        "has six recordings of 180 s, a quick run two. The recordings differ in the start time of "
        "the second bulk flow. `sojourn rtt` computes TCP's RTTs from captures at the two hosts. "
        "The receiver acknowledges every packet at once, like Linux in quick-ack mode; the last "
        "row shows the effect of delayed acknowledgements."
    )
    return claims


def _agreement(runs: list[Recording], size: int, within: float) -> list[Claim]:
    of = in_ms(runs)
    means, medians = spread_ms(runs)
    alone = [spread_ms([run]) for run in runs]
    worst_mean, worst_median = (max(kind) for kind in zip(*alone, strict=True))
    each = ", ".join(f"{name} {fmean(ms):.1f}" for name, ms in of.items())
    middle = ", ".join(f"{name} {median(ms):.1f}" for name, ms in of.items())
    return [
        Claim(f"{size} kB: means within", within, means, "ms", means <= within, each),
        Claim(f"{size} kB: medians within", within, medians, "ms", medians <= within, middle),
        Claim(
            f"{size} kB: worst single recording: means; medians within",
            None,
            f"{worst_mean:.1f} ms; {worst_median:.1f} ms",
            "",
            None,
            f"{len(runs)} recordings; the rows above combine them",
        ),
    ]


PAPER = Paper(
    "Bufferbloat at three layers",
    "Strowes: Passively measuring TCP round-trip times, ACM Queue 11 (8), 2013, experiment 3",
    {
        "4": Figure("RTTs by queue size", figure_4),
        "5": Figure("RTTs over time with a queue of 300 kB", figure_5),
        "layers": Figure("RTTs measured by ICMP, TCP and the application", layers),
    },
    live={
        "4": Figure("RTTs by queue size", live_figures.figure_4),
        "5": Figure("RTTs over time with the largest queue", live_figures.figure_5),
        "layers": Figure("RTTs measured by five layers on one clock", live_figures.layers),
    },
)
