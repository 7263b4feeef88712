"""Closed forms, without simulation."""

import json
from typing import cast

from sojourn import _core
from sojourn.contract import SpikeTheory


def spike(before: str, after: str, delay: str, max_queue: str | None = None) -> SpikeTheory:
    """The least queueing delay after a drop of capacity, or the loss instead of it.

    `delay` is the time until the sender knows plus the time already in flight: the base RTT
    where the bottleneck's receiver reports. `max_queue` caps the delay of the queue.

        >>> spike("60Mbit", "20Mbit", "50ms")["spike_s"]
        0.1
    """
    return cast(SpikeTheory, json.loads(_core.theory_spike(before, after, delay, max_queue)))
