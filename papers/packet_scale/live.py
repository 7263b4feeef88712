"""Figures 6 and 8 live: Rapid over UDP at a tenth of the paper's rates.

Utilisation and queueing delay of the fluid model depend on the loads' shares of the capacity. With
a tenth of C and of R_avg, the published values stay the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from statistics import fmean, median
from typing import Any

import polars as pl
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Claim, Lab, Table
from sojourn_papers.live_runs import stolen_ms
from sojourn_papers.measured import Value

from .cases import FIGURE_6, FIGURE_8, WAIT_MS
from .fluid import steady
from .setting import AS_PRINTED, CAPACITY_MBIT, SCENARIO, Found, Job, Kind, Setting
from .timeline import (
    STEP_MS,
    Timeline,
    available,
    model_line,
    modelled,
    rates_panel,
    timeline,
    wait_panel,
)
from .validation import LOSS, course, estimates_by_time

_MBIT = 100.0
_SHARE = _MBIT / CAPACITY_MBIT
_PROBING = replace(AS_PRINTED, filter="linear")
# Streams last ten times as long as at the paper's rate, and so do the additions to the queue.
_WAIT_MS = WAIT_MS / _SHARE
_PERIODS = 2
# Live hosts take time to answer, and so do those of the simulation beside them.
_HOSTS = {"host": "udp", "noise": "process"}


@dataclass(frozen=True)
class Measured:
    """One run, live or simulated."""

    run: Run
    course: Timeline
    found: Found


@dataclass(frozen=True)
class Both:
    """The runs of one kind of Rapid, and the simulation of the same scenario."""

    kind: Kind
    live: Sequence[Measured]
    simulated: Measured

    def used(self) -> list[float]:
        """Return the utilisation of each live run."""
        return [one.found.used for one in self.live]

    def delays_ms(self) -> list[float]:
        """Return the longest queueing delay of each live run."""
        return [one.found.delay for one in self.live]


def figure_6(lab: Lab) -> list[Claim]:
    """Measure large-scale bursts with live hosts."""
    return _validation(lab, "6", "large-scale bursts", FIGURE_6)


def figure_8(lab: Lab) -> list[Claim]:
    """Measure small-scale bursts with live hosts."""
    return _validation(lab, "8", "small-scale bursts", FIGURE_8)


def _validation(lab: Lab, name: str, title: str, setting: Setting) -> list[Claim]:
    kinds = lab.pick((_PROBING, AS_PRINTED), (AS_PRINTED,))
    found = [_both(lab, setting, kind) for kind in kinds]
    model = modelled(setting, _PERIODS)
    _draw(lab, f"figure-{name}-live", f"Figure {name}, live: {title}", setting, found, model)
    lab.table(_table(setting, found))
    lab.note(
        "Rates are a tenth of the paper's, so that the model's utilisation and delay stay the "
        "same. A stream of 30 packets lasts ten times as long: 3.6 ms at the capacity. A run is "
        "without estimate if Rapid did not leave its start-up: no stream left on schedule. Stolen: "
        "the greatest processor time that a hypervisor took from a run."
    )
    published = lab.published()[name]
    return [claim for one in found for claim in _claims(published, setting, one, model)]


def _both(lab: Lab, setting: Setting, kind: Kind) -> Both:
    job = Job(setting, kind, lab.pick(4.5, 0.45))
    changes = _assignments(job)
    live = [
        _measured(lab.live(SCENARIO, changes, seed=seed, stack="udp"), job)
        for seed in range(1, lab.live_count(3) + 1)
    ]
    simulated = lab.run(SCENARIO, {**changes, **_HOSTS})
    return Both(kind, live, _measured(simulated, job))


def _assignments(job: Job) -> dict[str, Any]:
    """Return the scenario's values at a tenth of the rates."""
    slower = replace(job.setting, load=job.setting.load * _SHARE)
    source = replace(job, setting=slower).assignments()["flow.cross.source"]
    return {
        **job.assignments(),
        "flow.cross.source": source,
        "link.bottleneck.rate": f"{_MBIT:g}Mbit",
        "record.interval": f"{STEP_MS:g}ms",
    }


def _measured(run: Run, job: Job) -> Measured:
    end_s = run.runs[0]["duration_s"]
    series = run.link("bottleneck").series
    steady_state = series.filter(pl.col("t_s") > end_s - job.measured())
    carried: Any = steady_state["carried_bps"].mean()
    delay: Any = steady_state["queue_delay_s"].max()
    return Measured(run, _last_periods(run, job.setting), Found(carried / 1e6 / _MBIT, 1e3 * delay))


def _last_periods(run: Run, setting: Setting) -> Timeline:
    """Return the last whole periods of a run."""
    periods = floor(1e3 * run.runs[0]["duration_s"] / setting.period)
    whole = timeline(run, 1e-3 * setting.period * (periods - _PERIODS), _MBIT)
    end = _PERIODS * setting.period
    parts = (
        [point for point in part if point[0] <= end]
        for part in (whole.rate, whole.wait, whole.estimate)
    )
    return Timeline(*parts)


def _claims(
    published: Mapping[str, Any], setting: Setting, one: Both, model: Timeline
) -> list[Claim]:
    first = one.live[0].course
    over_time = course(published["course"], one.kind, first, model)
    simulated = course(published["course"], one.kind, one.simulated.course, model)
    predicted = steady(setting)
    used = median(one.used())
    lost = 1 - predicted.used
    return [
        replace(over_time, why=f"simulated {simulated.ours}. {over_time.why}"),
        Claim(
            f"utilisation, {one.kind.name}",
            published["match"],
            f"{used:.4f}, predicted {predicted.used:.4f}",
            "",
            abs(used - predicted.used) < LOSS * lost,
            f"median of {len(one.live)} live runs, {_span(one.used(), '.4f')}; simulated "
            f"{one.simulated.found.used:.4f}. Holds within a tenth of the model's prediction, a "
            f"loss of {100 * lost:.1f} points to the bursts",
        ),
        _delay(published, one),
        _estimates(setting, one),
    ]


def _span(of: Sequence[float], digits: str) -> str:
    return f"{min(of):{digits}} to {max(of):{digits}}"


def _delay(published: Mapping[str, Any], one: Both) -> Claim:
    """Compare the longest queueing delay with the paper's closed form, if it has a number."""
    ours, expected = median(one.delays_ms()), published.get("delay_ms")
    why = f"median of {len(one.live)} live runs, {_span(one.delays_ms(), '.1f')} ms; simulated "
    why += f"{one.simulated.found.delay:.1f} ms"
    name = f"maximum queue (D), {one.kind.name}"
    if expected is None:
        return Claim(name, None, ours, "ms", None, why)
    why += f". Holds within {_WAIT_MS:g} ms: what a stream adds to the queue at a tenth of the rate"
    return Claim(name, expected, ours, "ms", abs(ours - expected) < _WAIT_MS, why)


def _estimates(setting: Setting, one: Both) -> Claim:
    """Measure the mean accuracy of the streams: real hosts add noise to their gaps."""
    live, simulated = (
        " and ".join(f"{fmean(part):.3f}" if part else "none" for part in found)
        for found in (estimates_by_time(of.course, setting) for of in (one.live[0], one.simulated))
    )
    return Claim(
        f"mean estimate during bursts and during pauses, {one.kind.name}",
        None,
        live,
        "of the available bandwidth",
        None,
        f"beyond the paper; simulated {simulated}",
    )


def _table(setting: Setting, found: Sequence[Both]) -> Table:
    columns = {
        "kind": "Rapid",
        "runs": "runs",
        "stuck_runs": "without estimate",
        "utilisation_median": "utilisation: live p50",
        "utilisation_min": "min",
        "utilisation_max": "max",
        "simulated_utilisation": "simulated",
        "model_utilisation": "model",
        "delay_median_ms": "greatest queueing delay, ms: live p50",
        "delay_min_ms": "min",
        "delay_max_ms": "max",
        "simulated_delay_ms": "simulated",
        "model_delay_ms": "model",
        "stolen_ms": "stolen, ms",
    }
    model = steady(setting)
    rows = [_row(one, model) for one in found]
    return Table("Utilisation and queue at 100 Mbit/s", columns, rows)


def _row(one: Both, model: Found) -> dict[str, Value]:
    used, delays = one.used(), one.delays_ms()
    return {
        "kind": one.kind.name,
        "runs": len(one.live),
        "stuck_runs": sum(not run.course.estimate for run in one.live),
        "utilisation_median": median(used),
        "utilisation_min": min(used),
        "utilisation_max": max(used),
        "simulated_utilisation": one.simulated.found.used,
        "model_utilisation": model.used,
        "delay_median_ms": median(delays),
        "delay_min_ms": min(delays),
        "delay_max_ms": max(delays),
        "simulated_delay_ms": one.simulated.found.delay,
        "model_delay_ms": model.delay,
        "stolen_ms": stolen_ms(run.run for run in one.live),
    }


def _draw(
    lab: Lab, name: str, title: str, setting: Setting, found: Sequence[Both], model: Timeline
) -> None:
    rows = []
    for one in found:
        courses = [("live", one.live[0].course), ("simulated", one.simulated.course)]
        lines = list(zip(courses, chart.COLOURS, strict=False))
        rates = [chart.line(label, of.rate, colour) for (label, of), colour in lines]
        waits = [chart.line(label, of.wait, colour) for (label, of), colour in lines]
        estimates = [
            chart.dots(f"estimates, {label}", of.estimate, colour, size=8)
            for (label, of), colour in lines
        ]
        truth = chart.line("available bandwidth", available(setting, _PERIODS), "#999999")
        rows += [
            rates_panel(one.kind.name, setting, _PERIODS, [*rates, model_line(model.rate)]),
            wait_panel("queue", [*waits, model_line(model.wait)], height=140),
            chart.Panel(
                "the streams' estimates, a round trip later",
                "ms after a burst begins",
                "Mbit/s x 10",
                [truth, *estimates],
                height=140,
                x_scale={"nice": False},
            ),
        ]
    subtitle = "Rapid over UDP at 100 Mbit/s; rates are drawn ten times, at the paper's scale"
    lab.draw(name, chart.Document(title, subtitle, rows))
