"""Closed forms, without simulation."""

import json
from os import PathLike
from pathlib import Path
from typing import cast

from sojourn import _core
from sojourn.contract import RapidTheory, SpikeTheory, TraceTheory


def spike(before: str, after: str, delay: str, max_queue: str | None = None) -> SpikeTheory:
    """The least queueing delay after a drop of capacity, or the loss instead of it.

    `delay` is the time until the sender knows plus the time already in flight: the base RTT
    where the bottleneck's receiver reports. `max_queue` caps the delay of the queue. All are text
    with a unit. Where capacity rises, the spike is zero.

        >>> spike("60Mbit", "20Mbit", "50ms")["spike_s"]
        0.1
    """
    _require_text(before=before, after=after, delay=delay)
    if max_queue is not None:
        _require_text(max_queue=max_queue)
    return cast(SpikeTheory, json.loads(_core.theory_spike(before, after, delay, max_queue)))


def rapid(capacity: str, load: str, on: str, off: str, tau: str, eta: str) -> RapidTheory:
    """Rapid's steady state under periodic bursts, at the round-trip time that suits it least.

    `load` is the mean rate of cross traffic that sends for `on` and pauses for `off`; `tau` and
    `eta` are how long Rapid's rate takes to rise and to fall. All are text with a unit. The model
    and its cases: docs/theory/rapid.md.

        >>> rapid("1Gbit", "111Mbit", "100ms", "350ms", "150ms", "75ms")["case"]
        'L1'
    """
    _require_text(capacity=capacity, load=load, on=on, off=off, tau=tau, eta=eta)
    found = _core.theory_rapid(capacity, load, on, off, tau, eta)
    return cast(RapidTheory, json.loads(found))


def trace(
    file: str | PathLike[str], delay: str, stretch: str = "10ms", series: bool = False
) -> TraceTheory:
    """The unavoidable delay of a link whose capacity changes as a file tells.

    The file is a mahimahi trace, whose capacity is taken as its mean over each `stretch`, or a
    table of times and rates with a comma between (docs/theory/trace.md). `delay` is the loop: the
    time until the sender knows plus the time already in flight.
    """
    _require_text(delay=delay, stretch=stretch)
    path = Path(file)
    found = _core.theory_trace(path.name, path.read_text("utf-8"), delay, stretch, series)
    return cast(TraceTheory, json.loads(found))


def _require_text(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; it must be text, such as {_like(name)}")


def _like(name: str) -> str:
    rate = name in ("before", "after", "capacity", "load")
    return '"60Mbit"' if rate else '"20ms"'
