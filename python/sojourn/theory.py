"""Closed-form models, without simulation."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import cast

from sojourn import _core, inputs
from sojourn.contract import RapidTheory, SpikeTheory, TraceTheory
from sojourn.errors import UsageError


def spike(
    before: str,
    after: str,
    delay: str | Sequence[str],
    max_queue: str | None = None,
    *,
    shares: Sequence[float] | None = None,
    users: tuple[int, int] | None = None,
    mitigations: bool | Mapping[str, str | float] = False,
    course: bool = False,
) -> SpikeTheory:
    """The minimum queueing delay after a drop of capacity, or the loss if the queue is limited.

    `delay` is the loop delay: the time until the sender learns of the drop plus the time already
    in flight. It equals the base RTT if the receiver behind the bottleneck reports. `max_queue`
    limits the delay of the queue. All values are text with a unit. If the capacity rises, the
    spike is zero.

        >>> spike("60Mbit", "20Mbit", "50ms")["spike_s"]
        0.1

    For several flows that share one FIFO, give one delay each. `shares` are their shares of the
    capacity before the drop (default: equal); rates work too. `users` are the numbers of users
    of a fair queue before and after; each user has an equal part of the capacity:

        >>> spike("60Mbit", "20Mbit", ["20ms", "100ms"], shares=[3, 1])["spike_s"]
        0.08
        >>> spike("60Mbit", "60Mbit", "50ms", users=(1, 3))["r"]
        3.0

    `mitigations` adds a table with the effect of each mitigation on the bound. It uses example
    settings, or your own by name, such as `{"headroom": 0.2, "ramp": "80ms"}`. `course` adds the
    corners of the arrival rate and of the queueing delay (docs/theory/spike.md).
    """
    if not isinstance(delay, Sequence):
        _require_text(delay=delay)
    delays = [delay] if isinstance(delay, str) else list(delay)
    _require_text(before=before, after=after)
    for one in delays:
        _require_text(delay=one)
    if max_queue is not None:
        _require_text(max_queue=max_queue)
    given = [1.0] * len(delays) if shares is None else [float(share) for share in shares]
    if len(given) != len(delays):
        raise ValueError(f"{len(delays)} delays and {len(given)} shares; each flow has one of each")
    settings = None
    if mitigations is not False:
        own = {} if mitigations is True else mitigations
        settings = [(name, str(value)) for name, value in own.items()]
    flows = list(zip(delays, given, strict=True))
    found = _core.theory_spike(before, after, flows, max_queue, users, settings, course)
    return cast(SpikeTheory, json.loads(found))


def rapid(capacity: str, load: str, on: str, off: str, tau: str, eta: str) -> RapidTheory:
    """Rapid's steady state under periodic bursts, at the least favourable round-trip time.

    `load` is the mean rate of cross traffic that sends for `on` and pauses for `off`. `tau` and
    `eta` are the rise and fall times of Rapid's rate. All values are text with a unit.
    docs/theory/rapid.md has the model and its cases.

        >>> rapid("1Gbit", "111Mbit", "100ms", "350ms", "150ms", "75ms")["case"]
        'L1'
    """
    _require_text(capacity=capacity, load=load, on=on, off=off, tau=tau, eta=eta)
    found = _core.theory_rapid(capacity, load, on, off, tau, eta)
    return cast(RapidTheory, json.loads(found))


def trace(
    file: str | PathLike[str], delay: str, stretch: str = "10ms", series: bool = False
) -> TraceTheory:
    """Return the unavoidable delay of a link whose capacity follows a file.

    The file is a mahimahi trace, whose capacity is averaged over each `stretch`, or a
    comma-separated table of times and rates (docs/theory/trace.md). `delay` is the loop delay: the
    time until the sender learns of a change plus the time already in flight.
    """
    _require_text(delay=delay, stretch=stretch)
    path = Path(file)
    found = _core.theory_trace(path.name, _text_of(path), delay, stretch, series)
    return cast(TraceTheory, json.loads(found))


def process(
    name: str,
    delay: str,
    *,
    params: Mapping[str, str | float] | None = None,
    seed: int = 1,
    duration: str = "60s",
    series: bool = False,
) -> TraceTheory:
    """Return the unavoidable delay of a link whose capacity changes at random.

    The process is `wifi` or `cellular`, two published models; docs/theory/trace.md lists their
    parameters. The same seed gives the same capacity.
    """
    _require_text(name=name, delay=delay, duration=duration)
    given = [(key, str(value)) for key, value in (params or {}).items()]
    found = _core.theory_process(name, given, seed, duration, delay, series)
    return cast(TraceTheory, json.loads(found))


def fit(
    file: str | PathLike[str],
    delay: str,
    *,
    levels: int = 8,
    stretch: str = "10ms",
    seed: int = 1,
    duration: str = "60s",
    series: bool = False,
) -> TraceTheory:
    """Return the unavoidable delay of a Markov chain that is fitted to a measured capacity.

    The file has the format of `trace`. The chain has at most `levels` rates and makes one
    transition per `stretch`. The result describes it under `fitted`, and compares it with the file
    (docs/theory/trace.md).
    """
    _require_text(delay=delay, stretch=stretch, duration=duration)
    path = Path(file)
    text = _text_of(path)
    found = _core.theory_fit(path.name, text, delay, stretch, levels, seed, duration, series)
    return cast(TraceTheory, json.loads(found))


def _text_of(path: Path) -> str:
    try:
        return inputs.text(path, inputs.TRACE_LIMIT)
    except UsageError as error:
        advice = "give a mahimahi trace, or a table of times and rates"
        raise ValueError(f"{error}; {advice}") from error


def _require_text(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; it must be text, such as {_like(name)}")


def _like(name: str) -> str:
    rate = name in ("before", "after", "capacity", "load")
    return '"60Mbit"' if rate else '"20ms"'
