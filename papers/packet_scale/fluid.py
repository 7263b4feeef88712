"""The paper's fluid system, step by step, at any RTT; the model covers only the worst phase.

Rapid learns of a change one RTT plus the queueing delay of the signal later (section IV). Its
rate then follows on a ramp of duration tau or eta (section II.A).
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from .setting import CAPACITY_MBIT, Found, Setting, settling

_STEP_MS = 0.1


@dataclass(frozen=True)
class Moment:
    """The state of the system at one time; rates in Mbit/s, the queueing delay in ms."""

    at: float
    rate: float
    cross: float
    wait: float


def course(setting: Setting, periods: int) -> Iterator[Moment]:
    """Simulate a number of periods, from an empty queue and the rate that a burst leaves.

    The rate starts low, because a start at C may build up a queue that never empties again.
    """
    rtt = setting.round_trip()
    rate = target = CAPACITY_MBIT - setting.burst
    slope = wait = 0.0
    was_on = False
    news: deque[tuple[float, float]] = deque()
    for step in range(round(periods * setting.period / _STEP_MS)):
        at = step * _STEP_MS
        is_on = at % setting.period < setting.on
        cross = setting.burst if is_on else 0.0
        if is_on != was_on:
            news.append((at + rtt + wait, CAPACITY_MBIT - cross))
            was_on = is_on
        while news and news[0][0] <= at:
            target = news.popleft()[1]
            slope = (target - rate) / max(setting.tau if target > rate else setting.eta, _STEP_MS)
        rate = _towards(rate, target, slope * _STEP_MS)
        wait = max(0.0, wait + (rate + cross - CAPACITY_MBIT) * _STEP_MS / CAPACITY_MBIT)
        yield Moment(at, rate, cross, wait)


def _towards(rate: float, target: float, step: float) -> float:
    return rate + step if abs(step) < abs(target - rate) else target


def steady(setting: Setting, seconds: float = 3.0) -> Found:
    """Utilisation and maximum delay after the initial transient."""
    settled = ceil(settling(setting) / setting.period)
    periods = settled + max(4, round(1e3 * seconds / setting.period))
    late = [one for one in course(setting, periods) if one.at >= settled * setting.period]
    sent = sum(one.rate + one.cross for one in late) / len(late)
    # Subtract the data that are still in the queue at the end.
    kept = (late[-1].wait - late[0].wait) / (late[-1].at - late[0].at)
    return Found(sent / CAPACITY_MBIT - kept, max(one.wait for one in late))


def growth(setting: Setting) -> float:
    """Return the growth of the queue in ms per second, if it does not empty between bursts."""
    settled = ceil(settling(setting) / setting.period)
    moments = list(course(setting, settled + 8))
    first, last = (moments[round(n * setting.period / _STEP_MS)] for n in (settled, settled + 7))
    return 1e3 * (last.wait - first.wait) / (last.at - first.at)
