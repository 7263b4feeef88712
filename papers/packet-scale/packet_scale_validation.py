"""Figures 6 and 8: two settings as the paper validates them, model against simulation over time."""

from collections.abc import Mapping
from dataclasses import replace

from packet_scale_cases import FIGURE_6, FIGURE_8, FLUID, SHARE, claim_used, claim_wait, line_of
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

_PROBING = replace(AS_PRINTED, filter="linear")
_KINDS = (MODEL_SENDER, _PROBING, AS_PRINTED)

# Neighbouring packets of a stream probe 4.5 % apart, and the lower of two rates counts: the mean
# estimate is 2 to 3 % low.
_GRAIN = 0.03


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
    paper_used = published["utilisation"]
    where = f"RTT {worst.round_trip():.0f} ms, the worst phase; {FLUID}"
    claims = [
        claim_used(
            "utilisation, worst phase", published["utilisation"], at_worst.used, SHARE, where
        ),
        claim_wait("greatest queue (D), worst phase", published["delay_ms"], at_worst.delay),
        Claim(
            "utilisation, least over all phases",
            paper_used,
            least,
            "",
            least > paper_used - SHARE,
            "the phase with the greatest queue is the one that costs most",
        ),
    ]
    for kind in _KINDS:
        claims += _over_time_claims(kind, runs[kind], model, found[kind], setting)
    return claims


def _over_time(setting: Setting, runs: Mapping[Kind, Timeline], model: Timeline) -> list[Panel]:
    shown = (MODEL_SENDER, AS_PRINTED)
    rates = [line_of(kind, runs[kind].rate) for kind in shown]
    waits = [line_of(kind, runs[kind].wait) for kind in shown]
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
    why = FLUID if is_model else _WHY[kind.filter]
    rate = Claim(
        f"rate over time, {kind.name}: mean departure from the model",
        0,
        100 * mean,
        "% of C",
        mean < 0.005 if is_model else None,
        why,
    )
    used = claim_used(
        f"utilisation, {kind.name}", expected.used, found.used, SHARE if is_model else _GRAIN, why
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


_STREAMS = (
    "the rates of a stream are 4.5 % apart and the lower of two counts, which loses; while a burst "
    "lasts, packets of others between its own may lift the estimate, which gains"
)
_WHY = {
    "linear": _STREAMS,
    "exponential": (
        "as printed the filter is exponential: it leaves the top sooner, and is at 63 % of the "
        f"way after tau; besides, {_STREAMS}"
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
            "rates 4.5, 2.25, 1.1 % apart, with the same reach: the difference falls with the "
            "grain",
        )
    ]
