"""Figures 3 and 4: the effect of the round-trip time if the rate follows estimates at once."""

from collections.abc import Sequence
from typing import Any

from sojourn.picture import chart
from sojourn.picture.chart import Layer, Panel, Point
from sojourn_papers import Claim, Lab

from .fluid import steady
from .setting import CAPACITY_MBIT, MODEL_SENDER, Job, Setting, measure
from .timeline import (
    model_line,
    modelled,
    rates_panel,
    simulated,
    wait_panel,
)

# The cross traffic of figure 6 with the filter of section IV: none (tau = eta = L).
_AT_ONCE = Setting(on=100, off=350, load=111, tau=0, eta=0)
_WORST_MS = 125.0
_NAME = MODEL_SENDER.name.replace("linear", "no")
# One sampling step, plus the current stream, which keeps its rate until its end: 0.7 ms at half
# the capacity.
_TURN_MS = 2.0
# Packet-level error: a stream of 30 packets adds 0.1 ms to the queue at its end.
_PACKETS_MS = 0.15


def _delay(setting: Setting) -> float:
    """D = T_on R_on / C in ms, the worst case of section IV."""
    return setting.on * setting.burst / CAPACITY_MBIT


def _utilisation(setting: Setting) -> float:
    """U at the worst phase, the last formula of section IV."""
    load = setting.load / CAPACITY_MBIT
    return 1 - load**2 * setting.period / setting.on


def figure_3(lab: Lab) -> list[Claim]:
    """Draw 1.5 periods: a burst, the rate's fall one RTT later, and its rise delayed by D."""
    setting = _AT_ONCE.at(_WORST_MS)
    found, model = simulated(lab, setting, MODEL_SENDER, 2), modelled(setting, 2)
    lab.draw(
        "figure-3",
        chart.Document(
            "Figure 3: a burst, and Rapid's reaction",
            "T_on 100 ms, T_off 350 ms, R_avg 111 Mbit/s, RTT 125 ms, no smoothing",
            [
                rates_panel("rates", setting, 2, [_line(found.rate), model_line(model.rate)]),
                wait_panel("queue", [_line(found.wait), model_line(model.wait)]),
            ],
        ),
    )
    turns = found.crossings(CAPACITY_MBIT - setting.burst / 2)
    fall = next(at for at, rises in turns if not rises)
    rise = next(at for at, rises in turns if rises and at > fall)
    expected = setting.on + _WORST_MS + _delay(setting)
    [used] = measure(lab, [Job(setting, MODEL_SENDER, lab.pick(9, 3))])
    throughput = CAPACITY_MBIT * used.used - setting.load
    published = CAPACITY_MBIT - setting.load * (setting.on + _delay(setting)) / setting.on
    why = "sampled every ms; a stream in progress keeps its rate, for up to 0.7 ms"
    return [
        Claim(
            "rate falls at t0 + RTT", _WORST_MS, fall, "ms", abs(fall - _WORST_MS) < _TURN_MS, why
        ),
        Claim(
            "rate rises at t0 + T_on + RTT + D",
            expected,
            rise,
            "ms",
            abs(rise - expected) < _TURN_MS,
            f"D = T_on R_on / C = {_delay(setting):.2f} ms; {why}",
        ),
        Claim(
            "throughput by equation 3",
            published,
            throughput,
            "Mbit/s",
            abs(throughput - published) < 2,
            "Holds within 0.2 % of the capacity: the rate changes are late by half a stream",
        ),
    ]


def figure_4(lab: Lab) -> list[Claim]:
    """Draw the best phase, the worst phase, and the queue over all phases."""
    rows: list[Panel | list[Panel]] = []
    for title, rtt in (("best: RTT 450 ms, one period", 450.0), ("worst: RTT 125 ms", _WORST_MS)):
        setting = _AT_ONCE.at(rtt)
        found, model = simulated(lab, setting, MODEL_SENDER, 1), modelled(setting, 1)
        rates = [_line(found.rate), model_line(model.rate)]
        waits = [_line(found.wait), model_line(model.wait)]
        size: Any = {"width": 290, "height": 160, "legend": False}
        rows.append(
            [
                rates_panel(title, setting, 1, rates, **size),
                wait_panel("queue", waits, y_scale={"domain": [0, 60]}, **size),
            ]
        )
    phases, claims = _over_phases(lab)
    rows.append(phases)
    lab.note("Grey: cross traffic, as it arrives at the bottleneck.")
    lab.draw(
        "figure-4",
        chart.Document(
            "Figure 4: best-case and worst-case queue",
            "T_on 100 ms, T_off 350 ms, R_avg 111 Mbit/s, no smoothing",
            rows,
        ),
    )
    return claims


def _line(points: Sequence[Point]) -> Layer:
    return chart.line(_NAME, points, MODEL_SENDER.colour)


def _over_phases(lab: Lab) -> tuple[Panel, list[Claim]]:
    period = _AT_ONCE.period
    step = lab.pick(25, 75)
    remainders = [float(ms) for ms in range(0, round(period), step)]
    settings = [_AT_ONCE.at(ms or period) for ms in remainders]
    seconds = lab.pick(5.0, 2.0)
    found = measure(lab, [Job(one, MODEL_SENDER, seconds) for one in settings])
    model = [
        (ms, steady(_AT_ONCE.at(ms or period), 0.5).delay) for ms in range(0, 451, lab.pick(10, 30))
    ]
    dots = [(ms, one.delay) for ms, one in zip(remainders, found, strict=True)]
    panel = Panel(
        "maximum queue by phase",
        "RTT modulo T_on + T_off, ms",
        "maximum queueing delay, ms",
        [model_line(model), chart.dots(_NAME, dots, MODEL_SENDER.colour)],
    )
    share = _AT_ONCE.burst / CAPACITY_MBIT
    partial = [abs(one - share * ms) for ms, one in dots if ms < _AT_ONCE.on]
    worst = [measure(lab, [Job(_AT_ONCE.at(rtt), MODEL_SENDER, seconds)])[0] for rtt in _RTTS]
    used = [one.used for one in worst]
    best_ms, apart = dots[0][1], max(used) - min(used)
    packets = "the model is fluid: a stream of 30 packets adds up to 0.1 ms"
    return panel, [
        Claim("maximum queue at RTT_rem = 0", 0, best_ms, "ms", best_ms < _TURN_MS / 2, _LATE),
        Claim(
            "maximum queue in the worst phase, T_on R_on / C",
            _delay(_AT_ONCE),
            worst[0].delay,
            "ms",
            abs(worst[0].delay - _delay(_AT_ONCE)) < _PACKETS_MS,
            packets,
        ),
        Claim(
            "for RTT_rem below T_on the queue is R_on RTT_rem / C: maximum deviation",
            0,
            max(partial),
            "ms",
            max(partial) < _TURN_MS / 2,
            _LATE,
        ),
        Claim(
            "utilisation in the worst phase",
            _utilisation(_AT_ONCE),
            used[0],
            "",
            abs(used[0] - _utilisation(_AT_ONCE)) < 0.002,
            packets,
        ),
        Claim(
            "it is independent of the RTT: maximum difference between 125, 575 and 1025 ms",
            0,
            apart,
            "",
            apart < 0.002,
            "these RTTs have the same phase",
        ),
    ]


_RTTS = (125.0, 575.0, 1025.0)
_LATE = "a stream in progress when the estimate arrives keeps its rate: 0.36 ms of a burst"
