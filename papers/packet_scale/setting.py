"""The parameters of all figures: bursts, Rapid's filter and RTT; and their evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any

import polars as pl
import sojourn.theory
from sojourn.theory import RapidTheory
from sojourn_papers import Lab
from sojourn_papers.lab import Cell

SCENARIO = "dumbbell.toml"
CAPACITY_MBIT = 1000.0
"""C, in all of the paper's figures."""
WIRE = 1500 / 1448
"""Bytes on the link per byte of payload: IPv4, TCP and timestamps take 52 bytes."""
_STEP_MS = 5
# The minimum round trip, if the phase alone is given.
_LEAST_RTT_MS = 10.0


@dataclass(frozen=True)
class Kind:
    """The variant of Rapid and the distribution of the bursts."""

    estimator: str = "ideal"
    filter: str = "linear"
    distribution: str = "periodic"
    packets: int = 30
    """N, the number of packets in a p-stream; each probes `spread` times as fast as the last."""
    spread: float = 1.045

    @property
    def name(self) -> str:
        """The name for legends and tables."""
        estimate = {"ideal": "perfect estimate", "probe": "probing"}[self.estimator]
        bursts = "" if self.distribution == "periodic" else "; exponential bursts"
        return f"{estimate}, {self.filter} filter{bursts}"

    @property
    def short(self) -> str:
        """A shorter name for narrow panels."""
        bursts = "" if self.distribution == "periodic" else "; random"
        return f"{'perfect' if self.estimator == 'ideal' else 'probing'}, {self.filter}{bursts}"

    @property
    def colour(self) -> str:
        """The colour, the same in every figure."""
        return _COLOURS[self.estimator, self.filter]


_COLOURS = {
    ("ideal", "linear"): "#0072b2",
    ("ideal", "exponential"): "#56b4e9",
    ("probe", "linear"): "#e69f00",
    ("probe", "exponential"): "#d55e00",
}

MODEL_SENDER = Kind()
"""The assumptions of the model: exact estimates and linear ramps."""
AS_PRINTED = Kind("probe", "exponential")
"""The published protocol: p-streams measure, and the filter is the printed formula."""


@dataclass(frozen=True)
class Setting:
    """One point of a figure; times in ms, the load (R_avg) in Mbit/s."""

    on: float
    off: float
    load: float
    tau: float
    eta: float
    rtt: float | None = None
    """None selects the worst phase."""

    @property
    def period(self) -> float:
        """T_on + T_off."""
        return self.on + self.off

    @property
    def burst(self) -> float:
        """R_on, in Mbit/s."""
        return self.load * self.period / self.on

    def model(self) -> RapidTheory:
        """Return the fluid model at its worst phase."""
        times = (f"{_us(ms)}us" for ms in (self.on, self.off, self.tau, self.eta))
        rates = (f"{round(1e6 * mbit)}bit" for mbit in (CAPACITY_MBIT, self.load))
        return sojourn.theory.rapid(*rates, *times)

    def round_trip(self) -> float:
        """Return the round trip in ms: the given one, or one in the middle of the worst phases."""
        if self.rtt is not None:
            return self.rtt
        model = self.model()
        rtt = 500 * (model["rtt_remainder_s"] + model["rtt_remainder_max_s"])
        return rtt if rtt >= _LEAST_RTT_MS else rtt + self.period

    def at(self, rtt: float) -> "Setting":
        """Return the same setting with this round trip, in ms."""
        return replace(self, rtt=rtt)


@dataclass(frozen=True)
class Found:
    """The steady-state results of a run."""

    used: float
    """Utilisation of the link by both flows."""
    delay: float
    """Maximum queueing delay, in ms."""


@dataclass(frozen=True)
class Job:
    """A setting, a kind, and the measured duration of the steady state (s)."""

    setting: Setting
    kind: Kind
    seconds: float

    def warm_up(self) -> float:
        """Return seconds until the steady state (`settling`)."""
        return (start(self.setting, self.kind) + settling(self.setting)) / 1e3

    def measured(self) -> float:
        """Return seconds: whole periods, to weigh all parts equally, and whole samples."""
        period = self.setting.period
        return (
            _STEP_MS * round(max(1, round(1e3 * self.seconds / period)) * period / _STEP_MS) / 1e3
        )

    def assignments(self) -> dict[str, Any]:
        """Return the values to set in the scenario."""
        # A sample must fall on the start of the measured time, which ends with the run.
        total_ms = _STEP_MS * -(-1e3 * self.warm_up() // _STEP_MS) + 1e3 * self.measured()
        return {"duration": f"{_us(total_ms)}us", **assignments(self.setting, self.kind)}

    def found(self, links: pl.DataFrame) -> Found:
        """Mean utilisation and maximum delay over the measured time."""
        measured = links.tail(round(1e3 * self.measured() / _STEP_MS))
        carried: Any = measured["carried_bps"].mean()
        delay: Any = measured["queue_delay_s"].max()
        return Found(carried / 1e6 / CAPACITY_MBIT, 1e3 * delay)


def settling(setting: Setting) -> float:
    """Return milliseconds until the steady state.

    The start-up takes three round trips, and after 4 tau the filter's memory is below 2 %. D also
    has to converge: each burst passes the share R_on / C of it on to the burst that meets Rapid's
    reaction. The formula counts bursts until the rest is below 2 %; forty suffice for a share of
    0.9.
    """
    rtt = setting.round_trip()
    bursts = ceil((setting.on + rtt) / setting.period)
    handed = min(40, max(4, ceil(log(0.02) / log(min(0.99, setting.burst / CAPACITY_MBIT)))))
    return 3 * rtt + 4 * setting.tau + handed * bursts * setting.period


def start(setting: Setting, kind: Kind) -> float:
    """Start time of Rapid, in ms.

    With a perfect estimate, Rapid starts at the first rate it learns, which must be that of a
    burst. It then approaches its steady state from below; from above it would build up a queue,
    which may persist (see `residual_queue`). With probing, it starts in a pause: at a low rate
    a stream detects at most twice its rate, so the start-up would take long.
    """
    periods = ceil(setting.round_trip() / setting.period) + 1
    news = setting.round_trip() + setting.on / 2
    pause = setting.on + setting.off / 2
    return periods * setting.period + (news if kind.estimator == "ideal" else pause)


def assignments(setting: Setting, kind: Kind) -> dict[str, Any]:
    """Return the scenario's values for a setting and a kind."""
    half = f"{_us(setting.round_trip() / 2)}us"
    return {
        "link.bottleneck.delay": half,
        "link.back.delay": half,
        "flow.rapid.start": f"{_us(start(setting, kind))}us",
        "flow.rapid.control": {
            "kind": "rapid",
            "tau": f"{_us(setting.tau)}us",
            "eta": f"{_us(setting.eta)}us",
            "filter": kind.filter,
            "estimator": kind.estimator,
            "packets": kind.packets,
            "spread": kind.spread,
        },
        "flow.cross.source": {
            "kind": "on-off",
            "rate": f"{round(1e6 * setting.burst / WIRE)}bit",
            "on": f"{_us(setting.on)}us",
            "off": f"{_us(setting.off)}us",
            "distribution": kind.distribution,
        },
    }


def measure(lab: Lab, jobs: Sequence[Job], also: Mapping[str, Any] | None = None) -> list[Found]:
    """Simulate all jobs in one thread pool; random bursts have a different seed in each job.

    `also` sets further values in the scenario.
    """
    cells = [
        {**job.assignments(), "seed": place + 1, **(also or {})} for place, job in enumerate(jobs)
    ]
    series = lab.measure(SCENARIO, cells, _bottleneck)
    return [job.found(links) for job, links in zip(jobs, series, strict=True)]


def _bottleneck(cell: Cell) -> pl.DataFrame:
    links = cell.links.filter(cell.links["link"] == "bottleneck")
    return links.select("t_s", "carried_bps", "queue_delay_s")


def _us(ms: float) -> int:
    return round(1e3 * ms)
