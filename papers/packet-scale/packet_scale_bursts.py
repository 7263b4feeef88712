"""Figures 5 to 8: the eight cases, and two of them as the paper validates them, over time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from packet_scale_fluid import steady
from packet_scale_setting import (
    AS_PRINTED,
    CAPACITY_MBIT,
    MODEL_SENDER,
    Found,
    Job,
    Kind,
    Setting,
    measure,
)
from packet_scale_time import (
    Timeline,
    available,
    model_line,
    modelled,
    rates_panel,
    simulated,
    wait_panel,
)
from sojourn.papers import Claim, Lab
from sojourn.report import chart
from sojourn.report.chart import Panel

FIGURE_6 = Setting(on=100, off=350, load=111, tau=150, eta=75, rtt=125)
FIGURE_8 = Setting(on=100, off=200, load=111, tau=200, eta=175, rtt=100)
# One setting a case, each at its worst phase.
_LARGE = {
    "L1": replace(FIGURE_6, rtt=None),
    "L2": Setting(on=300, off=200, load=240, tau=80, eta=50),
    "L3": Setting(on=200, off=250, load=180, tau=100, eta=80),
}
_SMALL = {
    "S1": Setting(on=50, off=400, load=50, tau=200, eta=180),
    "S2": Setting(on=100, off=260, load=111, tau=200, eta=180),
    "S3": Setting(on=300, off=100, load=300, tau=200, eta=100),
    "S4": Setting(on=100, off=120, load=200, tau=200, eta=100),
    "S5": replace(FIGURE_8, rtt=None),
}
_PROBING = replace(AS_PRINTED, filter="linear")
_KINDS = (MODEL_SENDER, _PROBING, AS_PRINTED)

# A stream of 30 packets adds up to 0.1 ms to the queue at its end, and learns of a change
# when it is out, at 1 Gbit/s after 0.36 ms: half the capacity for that is 0.2 ms.
_WAIT_MS = 0.3
# The same as a share of the shortest period here, 220 ms.
_SHARE = 0.002
# Neighbouring packets of a stream probe 4.5 % apart, and the lower of two rates counts: the mean
# estimate is 2 to 3 % low.
_GRAIN = 0.03


def figure_5(lab: Lab) -> list[Claim]:
    """Bursts so long that Rapid's rate arrives at both ends: cases L1 to L3."""
    claims, found = _cases(lab, "figure-5", "Figure 5: large-scale bursts", _LARGE)
    return [*claims, *_ramps(found["L1"])]


def figure_7(lab: Lab) -> list[Claim]:
    """Bursts, or pauses, too short for that: cases S1 to S5."""
    claims, found = _cases(lab, "figure-7", "Figure 7: small-scale bursts", _SMALL)
    model, rates = _SMALL["S5"].model(), [rate for _, rate in found["S5"].rate]
    return [
        *claims,
        _rate("S5: R_H, below C", model["rate_high_bps"], max(rates)),
        _rate("S5: R_L, above C - R_on", model["rate_low_bps"], min(rates)),
    ]


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
    lab.draw(name, chart.document(title, _CASES_SUBTITLE, rows))
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
            [_line(MODEL_SENDER, found.rate), model_line(model.rate)],
            **size,
        ),
        wait_panel(
            f"queue; RTT {setting.round_trip():.0f} ms, R_avg {setting.load:g} Mbit/s",
            [_line(MODEL_SENDER, found.wait), model_line(model.wait)],
            **size,
        ),
    ]


def _line(kind: Kind, points: Sequence[chart.Point]) -> chart.Layer:
    return chart.line(kind.name, points, kind.colour)


def _case(case: str, setting: Setting, found: Found) -> list[Claim]:
    model = setting.model()
    if model["case"] != case:
        raise ValueError(f"{setting} is of case {model['case']}, not {case}")
    return [
        _used(f"{case}: utilisation", model["utilisation"], found.used, _SHARE, _FLUID),
        _wait(f"{case}: greatest queue, D", 1e3 * model["D_s"], found.delay),
    ]


_FLUID = "packets are not fluid: a stream of 30 goes on at the old rate until it is out"


def _ramps(found: Timeline) -> list[Claim]:
    """How long the two ramps of L1 last, from their middle fifths, where no corner blurs them."""
    setting = _LARGE["L1"]
    low, burst = CAPACITY_MBIT - setting.burst, setting.burst
    falls, rises = ([], [])  # type: tuple[list[float], list[float]]
    for share in (0.2, 0.8):
        for at, is_rise in found.crossings(low + share * burst):
            (rises if is_rise else falls).append(at)
    eta, tau = (abs(two[1] - two[0]) / 0.6 for two in (falls, rises))
    why = "the time for three fifths of the way; sampled every ms"
    return [
        Claim("L1: the fall lasts eta", setting.eta, eta, "ms", abs(eta - setting.eta) < 3, why),
        Claim("L1: the rise lasts tau", setting.tau, tau, "ms", abs(tau - setting.tau) < 3, why),
    ]


def _rate(claim: str, published_bps: float, ours_mbit: float) -> Claim:
    published = published_bps / 1e6
    held = abs(ours_mbit - published) < 5
    return Claim(claim, published, ours_mbit, "Mbit/s", held, "within 0.5 % of C; " + _FLUID)


def _used(claim: str, published: float, ours: float, within: float, why: str) -> Claim:
    return Claim(claim, published, ours, "", abs(ours - published) < within, why)


def _wait(claim: str, published: float, ours: float) -> Claim:
    why = "a stream of 30 packets adds up to 0.1 ms, and learns up to 0.36 ms late"
    return Claim(claim, published, ours, "ms", abs(ours - published) < _WAIT_MS, why)


def figure_6(lab: Lab) -> list[Claim]:
    """Large-scale bursts: model against simulation over time."""
    return _validation(lab, "6", "Figure 6: large-scale bursts", FIGURE_6)


def figure_8(lab: Lab) -> list[Claim]:
    """Small-scale bursts: model against simulation over time."""
    claims = _validation(lab, "8", "Figure 8: small-scale bursts", FIGURE_8)
    return [*claims, *_finer(lab)]


def _validation(lab: Lab, name: str, title: str, setting: Setting) -> list[Claim]:
    published = lab.published()[name]
    runs = {kind: simulated(lab, setting, kind, 2) for kind in _KINDS}
    model = modelled(setting, 2)
    seconds = lab.pick(9.0, 3.0)
    found = dict(
        zip(_KINDS, measure(lab, [Job(setting, kind, seconds) for kind in _KINDS]), strict=True)
    )
    phases, least = _phases(lab, setting, published["utilisation"])
    rows = [*_over_time(setting, runs, model), phases]
    subtitle = (
        f"T_on {setting.on:g} ms, T_off {setting.off:g} ms, R_avg 111 Mbit/s, "
        f"tau {setting.tau:g} ms, eta {setting.eta:g} ms, RTT {setting.rtt:g} ms"
    )
    lab.draw(f"figure-{name}", chart.document(title, subtitle, rows))
    worst = setting.at(replace(setting, rtt=None).round_trip())
    [at_worst] = measure(lab, [Job(worst, MODEL_SENDER, seconds)])
    where = f"RTT {worst.round_trip():.0f} ms, the worst phase; {_FLUID}"
    claims = [
        _used("utilisation, worst phase", published["utilisation"], at_worst.used, _SHARE, where),
        _wait("greatest queue (D), worst phase", published["delay_ms"], at_worst.delay),
        Claim(
            "utilisation, least over all phases",
            published["utilisation"],
            least,
            "",
            least > published["utilisation"] - _SHARE,
            "the phase with the greatest queue is the one that costs most",
        ),
    ]
    for kind in _KINDS:
        claims += _over_time_claims(kind, runs[kind], model, found[kind], setting)
    return claims


def _over_time(setting: Setting, runs: Mapping[Kind, Timeline], model: Timeline) -> list[Panel]:
    shown = (MODEL_SENDER, AS_PRINTED)
    rates = [_line(kind, runs[kind].rate) for kind in shown]
    waits = [_line(kind, runs[kind].wait) for kind in shown]
    truth = chart.line("available, as it arrives", available(setting, 2), "#999999")
    told = chart.dots(
        "estimate of the p-streams", runs[AS_PRINTED].estimate, AS_PRINTED.colour, size=8
    )
    axis = "ms after a burst begins"
    return [
        rates_panel("Rapid's rate", setting, 2, [*rates, model_line(model.rate)]),
        wait_panel("queue", [*waits, model_line(model.wait)], height=140),
        Panel(
            "available bandwidth, and a round trip later what the streams say of it",
            axis,
            "Mbit/s",
            [truth, told],
            height=140,
            x_scale={"nice": False},
        ),
    ]


def _phases(lab: Lab, setting: Setting, worst: float) -> tuple[Panel, float]:
    """Utilisation over the phase; and the least that the model's sender had."""
    count = lab.pick(12, 4)
    trips = [setting.period * (1 + place / count) for place in range(count)]
    kinds = lab.pick(_KINDS, (MODEL_SENDER, AS_PRINTED))
    seconds = lab.pick(4.0, 1.5)
    jobs = [Job(setting.at(rtt), kind, seconds) for kind in kinds for rtt in trips]
    found = measure(lab, jobs)
    fluid = [setting.period * (1 + place / 24) for place in range(25)]
    layers = [
        model_line([(rtt - setting.period, steady(setting.at(rtt), 1).used) for rtt in fluid])
    ]
    for place, kind in enumerate(kinds):
        part = found[place * count : (place + 1) * count]
        points = [(rtt - setting.period, one.used) for rtt, one in zip(trips, part, strict=True)]
        layers.append(chart.dots(kind.name, points, kind.colour))
    name = "the paper's worst phase"
    layers.append(chart.line(name, [(0, worst), (setting.period, worst)], "#666666", dash=(2, 4)))
    axis = "RTT modulo T_on + T_off, ms"
    scale = {"padding": 10}
    panel = Panel(
        "utilisation over the phase", axis, "utilisation", layers, height=160, y_scale=scale
    )
    return panel, min(one.used for one in found[:count])


def _over_time_claims(
    kind: Kind, run: Timeline, model: Timeline, found: Found, setting: Setting
) -> list[Claim]:
    course, expected = dict(model.rate), steady(setting)
    apart = [abs(rate - course[round(at, 3)]) for at, rate in run.rate if round(at, 3) in course]
    mean = sum(apart) / len(apart) / CAPACITY_MBIT
    is_model = kind is MODEL_SENDER
    why = _FLUID if is_model else _WHY[kind.filter]
    rate = Claim(
        f"rate over time, {kind.name}: mean departure from the model",
        0,
        100 * mean,
        "% of C",
        mean < 0.005 if is_model else None,
        why,
    )
    used = _used(
        f"utilisation, {kind.name}", expected.used, found.used, _SHARE if is_model else _GRAIN, why
    )
    return [rate, used, *_estimates(kind, run, setting)]


def _estimates(kind: Kind, run: Timeline, setting: Setting) -> list[Claim]:
    """How right the streams are on average; the same for any filter."""
    if kind is not _PROBING:
        return []
    ratios: dict[float, list[float]] = {CAPACITY_MBIT - setting.burst: [], CAPACITY_MBIT: []}
    for _, told in run.estimate:
        truth = min(ratios, key=lambda one: abs(one - told))
        ratios[truth].append(told / truth)
    busy, free = (sum(all_of) / len(all_of) for all_of in ratios.values())
    return [
        Claim(
            "beyond the paper: mean estimate of the streams while a burst lasts, and beside it",
            None,
            f"{busy:.3f}, {free:.3f}",
            "of what is available",
            None,
            "packets of the burst between single packets of a stream lift and lower its delays",
        )
    ]


_WHY = {
    "linear": (
        "the rates of a stream are 4.5 % apart and the lower of two counts, and it sees no more "
        "than twice its rate"
    ),
    "exponential": (
        "as printed the filter is exponential: it leaves the top sooner, and is at 63 % of the "
        "way after tau; besides, the rates of a stream are 4.5 % apart"
    ),
}


def _finer(lab: Lab) -> list[Claim]:
    """Streams of the same reach with finer steps come nearer to the model."""
    expected = steady(FIGURE_8).used
    streams = [(30, 1.045), (60, 1.0225), (120, 1.0112)]
    kinds = [replace(_PROBING, packets=n, spread=spread) for n, spread in streams]
    found = measure(lab, [Job(FIGURE_8, kind, lab.pick(9, 3)) for kind in kinds])
    below = [expected - one.used for one in found]
    text = ", ".join(f"{100 * one:.1f}" for one in below)
    return [
        Claim(
            "beyond the paper: utilisation below the model with 30, 60, 120 packets a stream",
            None,
            text,
            "points",
            None,
            "rates 4.5, 2.25, 1.1 % apart: what is left of the difference is mostly the grain of "
            "the streams",
        )
    ]
