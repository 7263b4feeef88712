"""Which combinations there are, and the scenario of each."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

from sojourn import api, names
from sojourn.own import Own
from sojourn.scenario import Scenario

# A path of a few milliseconds to a data centre near by, one across a continent, one around half
# the world: each four times the one before.
RTTS = ("10ms", "40ms", "160ms")
# The second flow comes once the first has left slow start on most paths.
_SECOND_STARTS = "1s"

BOTTLENECK = "bottleneck"
_BACK = "back"

AXES = {
    f"link.{BOTTLENECK}.rate": "--rate",
    f"link.{BOTTLENECK}.queue.rate": "--rate",
    f"link.{BOTTLENECK}.buffer": "--buffer",
    f"link.{_BACK}.delay": "--rtts",
    "duration": "--duration",
    "seed": "--seed",
}
"""What was asked for, by the place that it has in each scenario."""


@dataclass(frozen=True)
class Axes:
    """What is combined, and over which bottleneck. Amounts are text with units, as in scenarios."""

    controls: Sequence[str]
    queues: Sequence[str]
    rtts: Sequence[str] = RTTS
    rate: str = "50Mbit"
    buffer: str = "100ms"
    duration: str = "30s"
    seed: int = 1
    runs: int = 1
    """Seeds in a row that each combination is run with."""
    own: Own = field(default_factory=lambda: Own({}))
    """The user's controllers, which are among those named."""


@dataclass(frozen=True)
class Place:
    """One combination."""

    queue: str
    rtt: str
    controls: tuple[str, ...]


def axes(
    controls: Sequence[str] | None,
    queues: Sequence[str] | None,
    own: Own | None = None,
    **others: Any,
) -> Axes:
    """The axes as asked for; everything that ships, and the user's own, where nothing is named."""
    mine = own or Own({})
    given = {key: value for key, value in others.items() if value is not None}
    if "rtts" in given:
        given["rtts"] = list(dict.fromkeys(given["rtts"]))
    return Axes(
        _chosen("controller", controls, list(controllers(mine))),
        _chosen("queue", queues, list(_queues())),
        **given,
        own=mine,
    )


def places(of: Axes) -> Iterator[Place]:
    """Every controller alone, then every two: queue by queue, and the RTTs of each together."""
    alone = [(one,) for one in of.controls]
    pairs = combinations_with_replacement(of.controls, 2)
    who: list[tuple[str, ...]] = [*alone, *pairs]
    for queue in of.queues:
        for controls in who:
            for rtt in of.rtts:
                yield Place(queue, rtt, controls)


def scenario(of: Axes, place: Place) -> Scenario:
    """One bottleneck, all of the delay on the way back, and bulk flows."""
    built = Scenario(
        title=" against ".join(place.controls),
        duration=of.duration,
        seed=of.seed,
        record={"interval": "0s"},
    )
    built.link(BOTTLENECK, rate=of.rate, buffer=of.buffer, queue=_queue(of, place.queue))
    built.link(_BACK, delay=place.rtt)
    for number, control in enumerate(place.controls):
        built.flow(
            f"flow-{number + 1}",
            control=control,
            path=[BOTTLENECK],
            back=[_BACK],
            start=_SECOND_STARTS if number else "0s",
            transport={"receive_times": True} if _measures_arrivals(of, control) else None,
        )
    return built


def _queue(of: Axes, name: str) -> dict[str, Any]:
    """The queue with its defaults, and ECN where that is a choice; a shaper has the link's rate."""
    table: dict[str, Any] = {"kind": name}
    for param in _queues()[name]["params"]:
        if param["name"] == "ecn":
            table["ecn"] = True
        elif param["default"] == "required":
            table[param["name"]] = of.rate
    return table


def _measures_arrivals(of: Axes, control: str) -> bool:
    """Whether a controller lives on the receiver's times, which TCP does not give by itself."""
    return bool(controllers(of.own)[control]["needs"]["receive_times"])


@cache
def controllers(own: Own) -> dict[str, Any]:
    """Every controller that can be named, with what it says of itself."""
    return {one["name"]: one for one in json.loads(own.catalogue.controllers())}


@cache
def _queues() -> dict[str, Any]:
    return {one["name"]: one for one in api.queues()}


def _chosen(kind: str, asked: Sequence[str] | None, known: list[str]) -> list[str]:
    """The names asked for, each once; all where none is."""
    if asked is None:
        return known
    for name in asked:
        names.require(kind, name, known)
    return list(dict.fromkeys(asked))
