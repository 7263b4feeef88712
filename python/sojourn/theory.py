"""Closed forms, without simulation."""

import json
from typing import cast

from sojourn import _core
from sojourn.contract import SpikeTheory

_LIKE = {"before": '"60Mbit"', "after": '"20Mbit"', "delay": '"50ms"', "max_queue": '"20ms"'}


def spike(before: str, after: str, delay: str, max_queue: str | None = None) -> SpikeTheory:
    """The least queueing delay after a drop of capacity, or the loss instead of it.

    `delay` is the time until the sender knows plus the time already in flight: the base RTT
    where the bottleneck's receiver reports. `max_queue` caps the delay of the queue. All are text
    with a unit. Where capacity rises, the spike is zero.

        >>> spike("60Mbit", "20Mbit", "50ms")["spike_s"]
        0.1
    """
    given = {"before": before, "after": after, "delay": delay, "max_queue": max_queue}
    for name, value in given.items():
        if not isinstance(value, str) and not (name == "max_queue" and value is None):
            raise TypeError(f"{name} is {value!r}; it must be text, such as {_LIKE[name]}")
    return cast(SpikeTheory, json.loads(_core.theory_spike(before, after, delay, max_queue)))
