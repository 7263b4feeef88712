"""What all figures vary: bursts, Rapid's filter, the round trip; the model's word and a run's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any

import polars as pl
import sojourn.theory
from sojourn.contract import RapidTheory
from sojourn.papers import Lab
from sojourn.papers.lab import Cell

SCENARIO = "dumbbell.toml"
CAPACITY_MBIT = 1000.0
"""C, in all of the paper's figures."""
WIRE = 1500 / 1448
"""What the link carries of a byte of payload: IPv4, TCP and timestamps are 52 bytes."""
_STEP_MS = 5
# Where a phase is free, the least round trip that is one.
_LEAST_RTT_MS = 10.0


@dataclass(frozen=True)
class Kind:
    """Which Rapid, beside which bursts."""

    estimator: str = "ideal"
    filter: str = "linear"
    distribution: str = "periodic"
    packets: int = 30
    """N, the packets of a p-stream, of which each probes `spread` times as fast as the last."""
    spread: float = 1.045

    @property
    def name(self) -> str:
        """For legends and tables."""
        estimate = {"ideal": "perfect estimate", "probe": "probing"}[self.estimator]
        bursts = "" if self.distribution == "periodic" else "; exponential bursts"
        return f"{estimate}, {self.filter} filter{bursts}"

    @property
    def short(self) -> str:
        """Where there is no room for the name."""
        bursts = "" if self.distribution == "periodic" else "; random"
        return f"{'perfect' if self.estimator == 'ideal' else 'probing'}, {self.filter}{bursts}"

    @property
    def colour(self) -> str:
        """The same in every figure."""
        return _COLOURS[self.estimator, self.filter]


_COLOURS = {
    ("ideal", "linear"): "#0072b2",
    ("ideal", "exponential"): "#56b4e9",
    ("probe", "linear"): "#e69f00",
    ("probe", "exponential"): "#d55e00",
}

MODEL_SENDER = Kind()
"""What the model assumes: the estimate is right, the ramps are straight."""
AS_PRINTED = Kind("probe", "exponential")
"""The protocol: p-streams measure, and the filter is the printed formula."""


@dataclass(frozen=True)
class Setting:
    """One point of a figure; times in ms, the load (R_avg) in Mbit/s."""

    on: float
    off: float
    load: float
    tau: float
    eta: float
    rtt: float | None = None
    """The worst phase where None."""

    @property
    def period(self) -> float:
        """T_on + T_off."""
        return self.on + self.off

    @property
    def burst(self) -> float:
        """R_on, in Mbit/s."""
        return self.load * self.period / self.on

    def model(self) -> RapidTheory:
        """The fluid model at its worst phase."""
        times = (f"{_us(ms)}us" for ms in (self.on, self.off, self.tau, self.eta))
        rates = (f"{round(1e6 * mbit)}bit" for mbit in (CAPACITY_MBIT, self.load))
        return sojourn.theory.rapid(*rates, *times)

    def round_trip(self) -> float:
        """The round trip in ms: the one given, or one in the middle of the worst phases."""
        if self.rtt is not None:
            return self.rtt
        model = self.model()
        rtt = 500 * (model["rtt_remainder_s"] + model["rtt_remainder_max_s"])
        return rtt if rtt >= _LEAST_RTT_MS else rtt + self.period

    def at(self, rtt: float) -> "Setting":
        """The same at that round trip, in ms."""
        return replace(self, rtt=rtt)


@dataclass(frozen=True)
class Found:
    """What a run gave once its course repeats."""

    used: float
    """Utilisation of the link, by both."""
    delay: float
    """Greatest queueing delay, in ms."""


@dataclass(frozen=True)
class Job:
    """A setting, a kind, and how much of its steady state is measured (s)."""

    setting: Setting
    kind: Kind
    seconds: float

    def warm_up(self) -> float:
        """Seconds until the course repeats (`settling`)."""
        return (start(self.setting, self.kind) + settling(self.setting)) / 1e3

    def measured(self) -> float:
        """Seconds: whole periods, so that no part of one weighs more, and whole samples."""
        period = self.setting.period
        return (
            _STEP_MS * round(max(1, round(1e3 * self.seconds / period)) * period / _STEP_MS) / 1e3
        )

    def assignments(self) -> dict[str, Any]:
        """The values to set in the scenario."""
        # Samples fall on the beginning of what is measured, which ends with the run.
        total_ms = _STEP_MS * -(-1e3 * self.warm_up() // _STEP_MS) + 1e3 * self.measured()
        return {"duration": f"{_us(total_ms)}us", **assignments(self.setting, self.kind)}

    def found(self, links: pl.DataFrame) -> Found:
        """Mean utilisation and greatest delay over what is measured."""
        measured = links.tail(round(1e3 * self.measured() / _STEP_MS))
        carried: Any = measured["carried_bps"].mean()
        delay: Any = measured["queue_delay_s"].max()
        return Found(carried / 1e6 / CAPACITY_MBIT, 1e3 * delay)


def settling(setting: Setting) -> float:
    """Milliseconds until the course repeats.

    A start-up of three round trips; the filter has forgotten all but 2 % after 4 tau; and D, of
    which the share R_on / C is handed on to the burst that meets Rapid's answer, all but 2 % after
    so many of those, of which forty are enough for a share of 0.9.
    """
    rtt = setting.round_trip()
    bursts = ceil((setting.on + rtt) / setting.period)
    handed = min(40, max(4, ceil(log(0.02) / log(min(0.99, setting.burst / CAPACITY_MBIT)))))
    return 3 * rtt + 4 * setting.tau + handed * bursts * setting.period


def start(setting: Setting, kind: Kind) -> float:
    """When Rapid starts, in ms.

    With a perfect estimate it begins at what it is told. That is of a burst, so that it comes to
    its course from below: from above it queues at first, and a queue may then stay for good (see
    `packet_scale_queue`). Probing it starts in a pause: from a low rate it sees no more than twice
    as much, and would take long.
    """
    periods = ceil(setting.round_trip() / setting.period) + 1
    news = setting.round_trip() + setting.on / 2
    pause = setting.on + setting.off / 2
    return periods * setting.period + (news if kind.estimator == "ideal" else pause)


def assignments(setting: Setting, kind: Kind) -> dict[str, Any]:
    """What the scenario says of a setting and a kind."""
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
    """Simulates them all, in one pool; each with a seed of its own, where bursts are random.

    `also` sets more values in the scenario.
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
