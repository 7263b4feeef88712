"""Bounds and fluid models, without simulation."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TypedDict, cast

from sojourn import _core, inputs
from sojourn.errors import UsageError

MITIGATIONS = {
    "headroom": ("headroom", "{} of the capacity left unused before the drop"),
    "ramp": ("gradual ramp", "capacity falls over {}, and senders drain their queue"),
    "warning": ("early warning", "senders receive the signal {} before the drop"),
    "near": ("shorter loop", "a server or proxy at a loop delay of {}"),
    "back_queue": ("ACK priority", "signals do not wait {} in the reverse path's queue"),
    "standing": ("signal at dequeue", "a standing queue of {} before the drop"),
    "users": ("fair queueing", "among {} users, of whom others caused the drop"),
    "node": ("several fidelities", "a node at a loop delay of {} chooses what to forward"),
}
"""Name of each mitigation and description of its setting, which replaces `{}`."""


class Mitigation(TypedDict):
    """One way to shorten a spike: the greatest queueing delay without and with it.

    `setting` is the strength of the mitigation, with its unit.
    """

    name: str
    setting: str
    before_s: float
    after_s: float


class _SpikeTheory(TypedDict):
    r: float
    delay_s: float
    spike_s: float
    lost_fraction: float
    time_to_peak_s: float


class SpikeTheory(_SpikeTheory, total=False):
    """Output of `theory spike --json`.

    With several flows, `delay_s` is their mean weighted by share. `mitigations` is present only on
    request, and so are the corners of the figure: `arrivals` as pairs of seconds after the drop and
    bit/s, `queue` as pairs of seconds after the drop and seconds of delay. `capacity_bps` holds the
    capacity before and after the drop; with several users, the capacity of one user.
    """

    mitigations: list[Mitigation]
    arrivals: list[list[float]]
    queue: list[list[float]]
    capacity_bps: list[float]


class RapidTheory(TypedDict):
    """Output of `theory rapid --json`: the steady state at the worst phase.

    `D_s` is the delay until Rapid detects the end of a burst. Phases from `rtt_remainder_s` to
    `rtt_remainder_max_s` are the worst. `rate_middle_bps` is Rapid's rate at both ends of the worst
    burst, if only one phase is worst. `course` has the corners of one period of Rapid's rate at the
    smallest worst phase, as pairs of seconds since the start of the worst burst and bit/s.
    `burst_bps` is R_on.
    """

    case: str
    D_s: float
    queue_max_bytes: int
    throughput_bps: int
    utilisation: float
    rate_high_bps: int
    rate_low_bps: int
    rate_middle_bps: int | None
    rtt_remainder_s: float
    rtt_remainder_max_s: float
    course: list[list[float]]
    capacity_bps: int
    burst_bps: int
    on_s: float
    off_s: float


class Percentiles(TypedDict):
    """Queueing delay over all arriving traffic; each bit has the same weight."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class WorstInstant(TypedDict):
    """The arrival time and the queueing delay of the traffic that waited longest."""

    at_s: float
    delay_s: float


class LoopDelay(Percentiles):
    """The same figures at another loop delay."""

    delay_s: float
    drained: Percentiles


class Moments(TypedDict):
    """Mean and deviation of a capacity, and its autocorrelation at a lag of one loop delay."""

    mean_rate_bps: float
    deviation_bps: float
    autocorrelation: float


class Fitted(TypedDict):
    """A Markov chain of rates fitted to a file; it makes one transition per `stretch_s`.

    `shares` are the shares of time at each rate. `moves` has a row per rate with the transition
    probabilities to every rate. `measured` describes the file, `made` the chain's output, and
    `measured_delay` is the delay computed from the file itself.
    """

    stretch_s: float
    rates_bps: list[int]
    shares: list[float]
    moves: list[list[float]]
    measured: Moments
    made: Moments
    measured_delay: LoopDelay


class _TraceTheory(Percentiles):
    drained: Percentiles
    delay_s: float
    duration_s: float
    mean_rate_bps: float
    worst: list[WorstInstant]
    by_delay: list[LoopDelay]


class TraceTheory(_TraceTheory, total=False):
    """Output of `theory trace --json`: the minimum delay of traffic that fills the link.

    `drained` is for a sender that also drains the queue it caused, as soon as it can detect it.
    `series` is present only on request. Each row has the end of an interval, its mean capacity, and
    the longest delay of traffic that arrives in it (null without arrivals), once for each of the
    two senders. `fitted` is present if a fitted chain made the capacity.
    """

    series: list[list[float | None]]
    fitted: Fitted


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
