"""Worlds: a link's capacity, delay and loss over time, within limits."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn import _core

_BISECTIONS = 50
# Rounding changes times and ratios of capacities by less.
_TIME_S, _RATIO = 1.1e-3, 1.011


@dataclass(frozen=True)
class Limits:
    """The limits of all worlds. Times are in seconds, rates in bit/s."""

    duration_s: float
    rates_bps: tuple[float, float]
    """Least and greatest capacity."""
    changes: int = 4
    gap_s: float = 2.0
    """Least time before the first change, between changes, and after the last one."""
    factor: float = math.inf
    """Greatest ratio between the capacities before and after a change."""
    mean_bps: float = 0.0
    """Least mean capacity."""
    delays_s: tuple[float, float] | None = None
    """Least and greatest delay, which changes with the capacity; the scenario's if absent."""
    loss: float = 0.0
    """Greatest probability of loss on the wire."""

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters of a world, each from 0 to 1."""
        levels = range(self.changes + 1)
        names = [f"{what}{place}" for what in ("gap", "rate") for place in levels]
        names += [f"delay{place}" for place in levels] if self.delays_s else []
        return [*names, "loss"] if self.loss else names


@dataclass(frozen=True)
class World:
    """A link over time: each change sets the next capacity and the next delay."""

    times_s: tuple[float, ...]
    rates_bps: tuple[float, ...]
    """One more than there are changes."""
    delays_s: tuple[float, ...] = ()
    """As many as `rates_bps`, or none."""
    loss: float | None = None

    def assignments(self, link: str) -> tuple[str, ...]:
        """Return the changes of a scenario that make its link this one."""
        rates = [_core.quantity_text("rate", round(rate)) for rate in self.rates_bps]
        found = [f"link.{link}.rate={_schedule('rate', self.times_s, rates)}"]
        if self.delays_s:
            delays = [_time(delay) for delay in self.delays_s]
            found.append(f"link.{link}.delay={_schedule('delay', self.times_s, delays)}")
        if self.loss is not None:
            found.append(f"link.{link}.loss={self.loss!r}")
        return tuple(found)


def _schedule(key: str, times_s: Sequence[float], values: Sequence[str]) -> str:
    changes = zip(times_s, values[1:], strict=True)
    steps = ", ".join(f'{{ at = "{_time(at)}", {key} = "{text}" }}' for at, text in changes)
    return f'{{ start = "{values[0]}", steps = [{steps}] }}'


def _time(seconds: float) -> str:
    return _core.quantity_text("time", round(seconds * 1e9))


def decoded(limits: Limits, values: Sequence[float]) -> World:
    """Return the world of parameters from 0 to 1, in the order of `Limits.parameters`.

    Capacities are on a logarithmic scale. The gaps share the time that their least lengths leave.
    """
    count = limits.changes + 1
    left = iter(values)
    gaps = list(itertools.islice(left, count))
    low, high = limits.rates_bps
    rates = tuple(low * (high / low) ** value for value in itertools.islice(left, count))
    delays: tuple[float, ...] = ()
    if limits.delays_s:
        least, most = limits.delays_s
        delays = tuple(least + value * (most - least) for value in itertools.islice(left, count))
    loss = limits.loss * next(left) if limits.loss else None
    slack_s = limits.duration_s - count * limits.gap_s
    total = sum(gaps) or 1.0
    ends = itertools.accumulate(limits.gap_s + slack_s * gap / total for gap in gaps[:-1])
    return projected(limits, World(tuple(ends), rates, delays, loss))


def projected(limits: Limits, world: World) -> World:
    """Return the nearest world within the limits, rounded: times to 1 ms, values to 3 digits."""
    rates = [_clipped(world.rates_bps[0], limits.rates_bps)]
    for rate in world.rates_bps[1:]:
        near = (rates[-1] / limits.factor, rates[-1] * limits.factor)
        rates.append(_clipped(_clipped(rate, near), limits.rates_bps))
    times = tuple(round(at, 3) for at in world.times_s)
    spans = _spans(times, limits.duration_s)
    scale = _scale(rates, spans, limits)
    rates = [_clipped(scale * rate, limits.rates_bps) for rate in rates]
    return replace(
        world,
        times_s=times,
        # Up, so that rounding does not leave the mean below its limit.
        rates_bps=tuple(_clipped(_rounded_up(rate), limits.rates_bps) for rate in rates),
        delays_s=tuple(round(delay, 4) for delay in world.delays_s),
        loss=None if world.loss is None else float(f"{world.loss:.2g}"),
    )


def _clipped(value: float, limits: tuple[float, float]) -> float:
    return min(max(value, limits[0]), limits[1])


def _spans(times_s: Sequence[float], duration_s: float) -> list[float]:
    edges = [0.0, *times_s, duration_s]
    return [end - start for start, end in itertools.pairwise(edges)]


def _scale(rates: Sequence[float], spans: Sequence[float], limits: Limits) -> float:
    """Return the least factor of 1 or more at which the mean capacity fulfils its limit.

    A common factor and common limits do not increase the ratio of neighbours.
    """

    def mean(scale: float) -> float:
        scaled = [_clipped(scale * rate, limits.rates_bps) for rate in rates]
        return _sum_of_products(scaled, spans) / limits.duration_s

    low, high = 1.0, limits.rates_bps[1] / min(rates)
    if mean(low) >= limits.mean_bps:
        return low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if mean(middle) >= limits.mean_bps else (middle, high)
    return high


def _sum_of_products(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _rounded_up(rate: float) -> float:
    """Round up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(rate)) - 2)
    return float(round(math.ceil(rate / unit - 1e-9) * unit))


def without(limits: Limits, world: World) -> list[World]:
    """Return the worlds with one change less: its time ends with the value before or after it."""
    found = []
    for place in range(len(world.times_s)):
        for value in (place, place + 1):
            fewer = replace(
                world,
                times_s=_without(world.times_s, place),
                rates_bps=_without(world.rates_bps, value),
                delays_s=_without(world.delays_s, value),
            )
            found.append(projected(limits, fewer))
    return list(dict.fromkeys(found))


def _without(values: tuple[float, ...], place: int) -> tuple[float, ...]:
    return values[:place] + values[place + 1 :]


def plainer(limits: Limits, world: World) -> list[World]:
    """Return worlds with rounder numbers, one delay, or no loss; the plainest first."""
    found = []
    for digits, seconds in ((1, 0), (2, 0), (2, 1)):
        times = tuple(round(at, seconds) for at in world.times_s)
        rates = tuple(float(f"{rate:.{digits}g}") for rate in world.rates_bps)
        found.append(replace(world, times_s=times, rates_bps=rates))
    if world.delays_s:
        found += [replace(world, delays_s=(one,) * len(world.delays_s)) for one in world.delays_s]
    if world.loss:
        found.append(replace(world, loss=0.0))
    return [one for one in dict.fromkeys(found) if one != world and is_within(limits, one)]


def is_within(limits: Limits, world: World) -> bool:
    """Whether a world fulfils the limits."""
    spans = _spans(world.times_s, limits.duration_s)
    rates = world.rates_bps
    ratios = [max(a / b, b / a) for a, b in itertools.pairwise(rates)]
    low, high = limits.rates_bps
    return (
        min(spans) >= limits.gap_s - _TIME_S
        and all(low <= rate <= high for rate in rates)
        and max(ratios, default=1.0) <= limits.factor * _RATIO
        and _sum_of_products(rates, spans) / limits.duration_s >= limits.mean_bps
    )
