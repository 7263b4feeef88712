"""The combinations of the matrix, and the scenario of each."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, ClassVar

from sojourn.errors import require_known
from sojourn.run import api
from sojourn.run.scenario import Scenario
from sojourn.user.controllers import UserControllers

# Paths to a nearby data centre (a few milliseconds), across a continent, and around half the
# world; each RTT is four times the previous one.
RTTS = ("10ms", "40ms", "160ms")
# On most paths, the first flow has left slow start by then.
_SECOND_STARTS = "1s"

TITLE = "Every controller over every queue"
# The bucket of a policer: the bytes of a hundred packets.
_BUCKET = "150kB"
MODEL = "quic"
"""Sojourn's model of QUIC, the profile of that name."""
BOTTLENECK = "bottleneck"
_BACK = "back"

AXES = {
    f"link.{BOTTLENECK}.rate": "--rate",
    f"link.{BOTTLENECK}.queue.rate": "--rate",
    f"link.{BOTTLENECK}.buffer": "--buffer",
    f"link.{_BACK}.delay": "--rtts",
    "duration": "--duration",
    "seed": "--seed",
    "flow.flow-1.stack": "--stack or --quic",
}
"""The command's option for each place in a scenario."""


@dataclass(frozen=True)
class Axes:
    """The combined values and the bottleneck. Amounts are text with units, as in scenarios."""

    controls: Sequence[str]
    queues: Sequence[str]
    rtts: Sequence[str] = RTTS
    rate: str = "50Mbit"
    buffer: str = "100ms"
    duration: str = "30s"
    seed: int = 1
    runs: int = 1
    """Number of consecutive seeds per combination."""
    stack: str | None = None
    """The QUIC stack that carries the flows, instead of Sojourn's own transport."""
    quic: Sequence[str] = ()
    """QUIC stacks that carry single flows too, beside Sojourn's model of QUIC."""
    user_controllers: UserControllers = field(default_factory=lambda: UserControllers({}))
    """The user's own controllers among the named ones."""


@dataclass(frozen=True)
class Place:
    """One combination."""

    queue: str
    rtt: str
    controls: tuple[str, ...]
    carrier: str | None = None
    """A QUIC stack or `MODEL`, for the rows beside those of the transport of all flows."""

    COLUMNS: ClassVar = ("queue", "controller", "beside", "rtt")

    @property
    def values(self) -> tuple[str, ...]:
        """The values of `COLUMNS`, the axes of a dataset."""
        first, *others = self.controls
        beside = others[0] if others else "alone"
        return self.queue, row_name([first], self.carrier), beside, self.rtt


def row_name(controls: Sequence[str], carrier: str | None) -> str:
    """Name a flow or a pair, with its carrier in brackets."""
    return " + ".join(controls) + ("" if carrier is None else f" ({carrier})")


def choose_axes(
    controls: Sequence[str] | None,
    queues: Sequence[str] | None,
    user_controllers: UserControllers | None = None,
    **others: Any,
) -> Axes:
    """Build the axes; by default, every built-in controller and queue, and the user's own."""
    mine = user_controllers or UserControllers({})
    given = {key: value for key, value in others.items() if value is not None}
    if "rtts" in given:
        given["rtts"] = list(dict.fromkeys(given["rtts"]))
    return Axes(
        _chosen("controller", controls, list(controllers(mine))),
        _chosen("queue", queues, list(_queues())),
        **given,
        user_controllers=mine,
    )


def places(axes: Axes) -> Iterator[Place]:
    """Yield, for each queue, every single controller, those over QUIC, and every pair.

    Each has all RTTs.
    """
    carriers = [MODEL, *axes.quic] if axes.quic else []
    who: list[tuple[tuple[str, ...], str | None]] = [((one,), None) for one in axes.controls]
    who += [((one,), carrier) for one in axes.controls for carrier in carriers]
    who += [(pair, None) for pair in combinations_with_replacement(axes.controls, 2)]
    for queue in axes.queues:
        for controls, carrier in who:
            for rtt in axes.rtts:
                yield Place(queue, rtt, controls, carrier)


def scenario(axes: Axes, place: Place) -> Scenario:
    """Build a scenario with one bottleneck, all delay on the reverse path, and bulk flows."""
    built = Scenario(
        title=" against ".join(place.controls),
        duration=axes.duration,
        seed=axes.seed,
        record={"interval": "0s"},
    )
    built.link(BOTTLENECK, rate=axes.rate, buffer=axes.buffer, queue=_queue(axes, place.queue))
    built.link(_BACK, delay=place.rtt)
    for number, control in enumerate(place.controls):
        built.flow(
            f"flow-{number + 1}",
            control=control,
            path=[BOTTLENECK],
            back=[_BACK],
            start=_SECOND_STARTS if number else "0s",
            **_carrier(axes, control, place.carrier),
        )
    return built


def _queue(axes: Axes, name: str) -> dict[str, object]:
    """Return the queue with defaults, with ECN if optional, and with the link's rate if limited."""
    table: dict[str, object] = {"kind": name}
    for param in _queues()[name]["params"]:
        if param["name"] == "ecn":
            table["ecn"] = True
        elif param["default"] == "required":
            table[param["name"]] = axes.rate if param["unit"] == "rate" else _BUCKET
    return table


def _carrier(axes: Axes, control: str, carrier: str | None) -> dict[str, Any]:
    stack = axes.stack if carrier is None else carrier
    if stack not in (None, MODEL):
        return {"stack": stack}
    like = {} if stack is None else {"like": stack}
    times = {"receive_times": True} if _measures_arrivals(axes, control) else {}
    return {"host": {**like, **times} or None}


def _measures_arrivals(axes: Axes, control: str) -> bool:
    """Return whether a controller needs the receiver's timestamps, which TCP lacks by default."""
    return bool(controllers(axes.user_controllers)[control]["needs"]["receive_times"])


@cache
def controllers(user_controllers: UserControllers) -> dict[str, Any]:
    """Return every available controller of connections with its description."""
    every = json.loads(user_controllers.catalogue.controllers())
    return {one["name"]: one for one in every if not one["needs"]["media"]}


@cache
def _queues() -> dict[str, Any]:
    return {one["name"]: one for one in api.queues()}


def _chosen(kind: str, asked: Sequence[str] | None, known: list[str]) -> list[str]:
    """Return the requested names without duplicates, or all names by default."""
    if asked is None:
        return known
    for name in asked:
        require_known(kind, name, known)
    return list(dict.fromkeys(asked))
