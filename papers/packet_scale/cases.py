"""Figures 5 and 7: the eight cases of the model over time, each at its worst phase."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sojourn.picture import chart
from sojourn.picture.chart import Panel
from sojourn_papers import Claim, Lab
from sojourn_papers.page import value

from .setting import (
    CAPACITY_MBIT,
    MODEL_SENDER,
    Found,
    Job,
    Kind,
    Setting,
    measure,
)
from .timeline import (
    Timeline,
    model_line,
    modelled,
    rates_panel,
    simulated,
    wait_panel,
)

FIGURE_6 = Setting(on=100, off=350, load=111, tau=150, eta=75, rtt=125)
FIGURE_8 = Setting(on=100, off=200, load=111, tau=200, eta=175, rtt=100)
# One setting per case, each at its worst phase.
LARGE = {
    "L1": replace(FIGURE_6, rtt=None),
    "L2": Setting(on=300, off=200, load=240, tau=80, eta=50),
    "L3": Setting(on=200, off=250, load=180, tau=100, eta=80),
}
SMALL = {
    "S1": Setting(on=50, off=400, load=50, tau=200, eta=180),
    "S2": Setting(on=100, off=260, load=111, tau=200, eta=180),
    "S3": Setting(on=300, off=100, load=300, tau=200, eta=100),
    "S4": Setting(on=100, off=120, load=200, tau=200, eta=100),
    "S5": replace(FIGURE_8, rtt=None),
}
# At its end, a stream of 30 packets adds up to 0.1 ms to the queue. It takes 0.36 ms at 1 Gbit/s,
# and reacts only afterwards: an excess of half the capacity for that time is 0.2 ms.
WAIT_MS = 0.3
# The same as a fraction of the shortest period in these cases, 220 ms.
SHARE = 0.002
# A rate has reached an end of its range within this distance, half a percent of C.
_THERE_MBIT = 5


def figure_5(lab: Lab) -> list[Claim]:
    """Reproduce long bursts, in which Rapid's rate reaches both ends: cases L1 to L3."""
    claims, found = _cases(lab, "figure-5", "Figure 5: large-scale bursts", LARGE)
    return [*claims, *_ramps(found["L1"])]


def figure_7(lab: Lab) -> list[Claim]:
    """Reproduce bursts or pauses that are too short for that: cases S1 to S5."""
    claims, found = _cases(lab, "figure-7", "Figure 7: small-scale bursts", SMALL)
    return [*claims, *_between(SMALL["S5"], found["S5"])]


def _cases(
    lab: Lab, name: str, title: str, cases: Mapping[str, Setting]
) -> tuple[list[Claim], dict[str, Timeline]]:
    jobs = [Job(one, MODEL_SENDER, lab.pick(5, 1)) for one in cases.values()]
    measured = dict(zip(cases, measure(lab, jobs), strict=True))
    rows: list[list[Panel]] = []
    timelines: dict[str, Timeline] = {}
    claims: list[Claim] = []
    for case, setting in cases.items():
        periods = max(1, round(600 / setting.period))
        found, model = simulated(lab, setting, MODEL_SENDER, periods), modelled(setting, periods)
        timelines[case] = found
        rows.append(_pair(case, setting, periods, found, model))
        claims += _case(case, setting, measured[case])
    lab.draw(name, chart.Document(title, _CASES_SUBTITLE, rows))
    lab.note(
        "Blue: Rapid with a perfect estimate and the linear filter; black, dashed: the model; "
        "grey: cross traffic."
    )
    return claims, timelines


_CASES_SUBTITLE = [
    "1 Gbit/s, each at its worst round trip; blue: simulation, with a perfect estimate and the",
    "linear filter; black, dashed: the model; grey: cross traffic",
]


def _pair(
    case: str, setting: Setting, periods: int, found: Timeline, model: Timeline
) -> list[Panel]:
    size: Any = {"width": 290, "height": 130, "legend": False}
    text = (
        f"{case}: T_on {setting.on:g}, T_off {setting.off:g}, "
        f"tau {setting.tau:g}, eta {setting.eta:g} ms"
    )
    return [
        rates_panel(
            text,
            setting,
            periods,
            [line_of(MODEL_SENDER, found.rate), model_line(model.rate)],
            **size,
        ),
        wait_panel(
            f"queue; RTT {setting.round_trip():.0f} ms, R_avg {setting.load:g} Mbit/s",
            [line_of(MODEL_SENDER, found.wait), model_line(model.wait)],
            **size,
        ),
    ]


def line_of(kind: Kind, points: Sequence[chart.Point]) -> chart.Layer:
    """Draw a run's line in the colour of its kind."""
    return chart.line(kind.name, points, kind.colour)


def _case(case: str, setting: Setting, found: Found) -> list[Claim]:
    model = setting.model()
    if model["case"] != case:
        raise ValueError(f"{setting} is of case {model['case']}, not {case}")
    return [
        beside(f"{case}: utilisation", model["utilisation"], found.used, "", FLUID),
        beside(f"{case}: maximum queue, D", 1e3 * model["D_s"], found.delay, "ms", _LATE),
    ]


_LATE = "a stream of 30 packets adds up to 0.1 ms, and reacts up to 0.36 ms late"
FLUID = "packets are not fluid: a stream of 30 keeps its rate until its last packet is sent"


def _ramps(found: Timeline) -> list[Claim]:
    """Measure both ramps of L1 over their middle three fifths, away from the rounded corners."""
    setting = LARGE["L1"]
    low, burst = CAPACITY_MBIT - setting.burst, setting.burst
    falls, rises = ([], [])  # type: tuple[list[float], list[float]]
    for share in (0.2, 0.8):
        for at, is_rise in found.crossings(low + share * burst):
            (rises if is_rise else falls).append(at)
    eta, tau = (abs(two[1] - two[0]) / 0.6 for two in (falls, rises))
    why = "from the middle three fifths of the ramp; sampled every ms"
    return [
        Claim("L1: the fall lasts eta", setting.eta, eta, "ms", abs(eta - setting.eta) < 3, why),
        Claim("L1: the rise lasts tau", setting.tau, tau, "ms", abs(tau - setting.tau) < 3, why),
    ]


def _between(setting: Setting, found: Timeline) -> list[Claim]:
    """Check section VI.E: in case S5 the rate reaches neither end."""
    model, rates = setting.model(), [rate for _, rate in found.rate]
    low, high = CAPACITY_MBIT - setting.burst, CAPACITY_MBIT
    text = "the closed form, with its errors corrected, gives {:.1f} Mbit/s; " + FLUID
    return [
        Claim(
            "S5: R_H, its highest rate",
            f"< C, {high:g}",
            max(rates),
            "Mbit/s",
            max(rates) < high - _THERE_MBIT,
            text.format(model["rate_high_bps"] / 1e6),
        ),
        Claim(
            "S5: R_L, its lowest rate",
            f"> C - R_on, {low:g}",
            min(rates),
            "Mbit/s",
            min(rates) > low + _THERE_MBIT,
            text.format(model["rate_low_bps"] / 1e6),
        ),
    ]


def beside(claim: str, model: float, ours: float, unit: str, why: str) -> Claim:
    """Compare a run with the model without a verdict, because the paper prints no value."""
    text = f"{value(ours, unit)}; model {value(model, unit)}"
    return Claim(claim, None, text, "", None, why)


def claim_used(claim: str, published: float, ours: float, why: str) -> Claim:
    """Check a utilisation."""
    return Claim(claim, published, ours, "", abs(ours - published) < SHARE, why)


def claim_wait(claim: str, published: float, ours: float) -> Claim:
    """Check a maximum queueing delay, in ms."""
    return Claim(claim, published, ours, "ms", abs(ours - published) < WAIT_MS, _LATE)
