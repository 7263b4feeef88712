"""Controllers that the user writes in Python: their interface and their declarations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sojourn import _core
from sojourn._core import Feedback, Limits, Setup
from sojourn.errors import UsageError, nearest
from sojourn.record.record_types import RunSummary
from sojourn.record.summary import Summary, UserController
from sojourn.user.loading import Source, running

T = TypeVar("T")

Quantity = bool | int | float | str
"""A plain value, or a value with a unit as in scenarios: "20ms", "60Mbit", "15kB"."""


class Controller(Protocol):
    """The interface of a congestion controller in Python.

    Three more methods are optional. `on_timeout(now_ns, in_flight_bytes)` is called on each
    retransmission timeout, and `on_sent(now_ns, sent)` for each packet that the sender sends.
    `on_handshake(now_ns, rtt_ns)` is called with the handshake's round-trip time before the
    first data packet. All times are whole nanoseconds, all amounts whole bytes of payload. These
    class attributes are optional too:

    `title`, `source`: one line each, for listings.
    `params`: the parameters, a dict from names to `sojourn.Param`; `setup.params` has the values.
    `ecn`: its use of ECN: "none" (the default), "classic", "counts" or "l4s".
    `receive_times`: whether it needs the arrival time of each packet (False).
    `prr`: whether the transport spreads a reduction of its window over a round trip (True).
    `random`: whether it draws random numbers from `setup.seed` (False).
    """

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        """Handle a processed acknowledgement, or losses that a timer declared."""

    def limits(self) -> Limits:
        """Return the current sending limits; called after each of the other methods."""
        ...


Factory = Callable[[Setup], Controller]
"""Makes a controller for each connection; usually the controller's class."""


@dataclass(frozen=True)
class Param:
    """A parameter of a controller, which a scenario sets by its name.

    The type follows from the default: a number, a whole number, a switch, one of `choices`, or a
    quantity with a unit. `setup.params` holds times in nanoseconds, data in bytes and rates in
    bit/s. Values below `least` (by default zero) or above `greatest` are refused.
    """

    default: Quantity
    least: Quantity | None = None
    greatest: Quantity | None = None
    doc: str = ""
    source: str = ""
    choices: Sequence[str] = ()


@dataclass(frozen=True)
class Declaration:
    """The description of a controller that `_core.Catalogue.add` reads."""

    name: str
    title: str
    source: str
    ecn: str
    receive_times: bool
    every_packet: bool
    prr: bool
    random: bool
    params: list[tuple[str, Param]]
    factory: Factory
    code: str
    """The identity of its code."""


_METHODS = ("on_feedback", "limits", "on_timeout", "on_sent", "on_handshake")
_ATTRIBUTES = ("title", "source", "params", "ecn", "receive_times", "prr", "random")
# Least similarity of a misspelled name, as difflib computes it: `on_timeoutt`, but not `on_ack`.
_NEAR = 0.8


class UserControllers:
    """The user's own controllers, and the source of each."""

    def __init__(self, controllers: Mapping[str, Factory], origins: Iterable[Source] = ()) -> None:
        self.names = list(controllers)
        self.misspelled = [
            f"controller {name!r}: {found}"
            for name, factory in controllers.items()
            for found in _misspelled(factory)
        ]
        """A sentence for each name in a class that nobody reads, and that is near a right one."""
        self._origins = dict(zip(self.names, origins, strict=False))
        self.catalogue = _core.Catalogue()
        for name, factory in controllers.items():
            if name not in self._origins:
                self._origins[name] = Source.of(factory)
            origin = self._origins[name]
            with running(f"controller {name!r} cannot say what it is; no simulation ran"):
                try:
                    self.catalogue.add(_declaration(name, factory, origin))
                except (TypeError, ValueError) as error:
                    raise UsageError(f"controller {name!r}: {error}") from error

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def sources(self) -> dict[str, Source]:
        """The source of each controller by its name."""
        return {name: self._origins[name] for name in self.names}

    def used(self, runs: Iterable[RunSummary]) -> list[str]:
        """Return the names of the controllers that at least one flow used."""
        had = {flow["control"] for run in runs for flow in run["flows"]}
        return [name for name in self.names if name in had]

    def record(self, summary: Summary) -> dict[str, str]:
        """Add the used controllers to the summary; return their sources by file name."""
        used = self.used(summary["runs"])
        if not used:
            return {}
        summary["controllers"] = [self._entry(name) for name in used]
        origins = {name: self._origins[name] for name in used}
        return {
            source_file_name(name): one.text
            for name, one in origins.items()
            if one.text is not None
        }

    def _entry(self, name: str) -> UserController:
        origin = self._origins[name]
        return {
            "name": name,
            "class": origin.qualname,
            "file": origin.file,
            "sha256": origin.sha256,
        }

    def slowness(self, summary: Summary, took_s: float) -> str | None:
        """Describe in a sentence how many packets per second Python handled; None if unused."""
        used = self.used(summary["runs"])
        flows = [flow for run in summary["runs"] for flow in run["flows"]]
        packets = sum(flow["sent_packets"] for flow in flows if flow["control"] in used)
        if not used or took_s <= 0:
            return None
        return (
            f"note: {', '.join(used)}: a controller in Python is slow: {packets / took_s:,.0f} "
            "packets a second here; a controller in Rust processes millions"
        )


def source_file_name(name: str) -> str:
    """Return the name of the run directory's file with the source of this controller."""
    return f"controller-{name}.py"


def _declaration(name: str, factory: Factory, origin: Source) -> Declaration:
    if not callable(factory):
        raise TypeError(f"it is {factory!r}, neither a class nor a function that makes one")
    if isinstance(factory, type):
        for method in ("on_feedback", "limits"):
            if not callable(getattr(factory, method, None)):
                near = nearest(method, _own_names(factory), _NEAR)
                hint = f"; rename `{near}`" if near else ""
                raise TypeError(f"class {factory.__name__} has no method `{method}`{hint}")
    return Declaration(
        name=name,
        title=_attribute(factory, "title", str, _first_line(factory)),
        source=_attribute(factory, "source", str, origin.file or "the user's own"),
        ecn=_attribute(factory, "ecn", str, "none"),
        receive_times=_attribute(factory, "receive_times", bool, False),
        every_packet=hasattr(factory, "on_sent"),
        prr=_attribute(factory, "prr", bool, True),
        random=_attribute(factory, "random", bool, False),
        params=_params(factory),
        factory=factory,
        code=origin.identity,
    )


def _misspelled(factory: Factory) -> list[str]:
    """Name the methods and attributes of a class that nobody reads and whose near name is free."""
    found = []
    for own in _own_names(factory):
        is_method = callable(getattr(factory, own))
        right = nearest(own, _METHODS if is_method else _ATTRIBUTES, _NEAR)
        if right is not None and right != own and not hasattr(factory, right):
            what = "method" if is_method else "attribute"
            does = "calls" if is_method else "reads"
            found.append(f"nobody {does} its {what} `{own}`; did you mean `{right}`?")
    return found


def _own_names(factory: Factory) -> list[str]:
    """Return the public names of a class; none of a function that makes controllers."""
    return [name for name in dir(factory) if name[0] != "_"] if isinstance(factory, type) else []


def _attribute(factory: Factory, name: str, kind: type[T], default: T) -> T:
    value: object = getattr(factory, name, default)
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` is {value!r}, not of type {kind.__name__.lower()}")
    return value


def _params(factory: Factory) -> list[tuple[str, Param]]:
    given: object = getattr(factory, "params", {})
    if not isinstance(given, Mapping):
        raise TypeError(f"`params` is {given!r}, not of type mapping")
    for name, param in given.items():
        if not isinstance(name, str) or not isinstance(param, Param):
            raise TypeError(f"`params` has {name!r}: {param!r}; write a name and a sojourn.Param")
    return list(given.items())


def _first_line(factory: Factory) -> str:
    lines = (getattr(factory, "__doc__", None) or "").strip().splitlines()
    return lines[0].strip() if lines else "A controller in Python"
