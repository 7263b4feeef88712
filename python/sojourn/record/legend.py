"""The look and the label of each run, controller and flow, in the figure and in the tables."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from sojourn import _core
from sojourn.record.record_types import RunSummary
from sojourn.record.summary import Summary

_PALETTE = json.loads(_core.palette())
_DASHES = [tuple(dash) for dash in _PALETTE["dashes"]]
WEIGHTS: Sequence[float] = _PALETTE["weights"]
"""Widths over the usual one, which distinguish flows of one colour and dash."""
BOUND: str = _PALETTE["bound"]["light"]
"""The colour of a bound, which no controller has."""
DARK: Mapping[str, str] = {
    one["light"]: one["dark"] for one in [*_PALETTE["inks"], *_PALETTE["parts"], _PALETTE["bound"]]
}
"""The colours of the palette on a dark ground."""


@dataclass(frozen=True)
class Ink:
    """The look of a line."""

    colour: str
    dash: tuple[float, ...] = ()
    """Lengths of strokes and gaps, in pixels."""
    weight: float = 1.0
    """Its width over the usual one."""


_INKS = [(one["name"], Ink(one["light"], _DASHES[one["dash"]])) for one in _PALETTE["inks"]]
INKS = {name: ink for name, ink in _INKS if name}
"""The looks of the shipped controllers, in the order of listings."""
OTHERS = [ink for name, ink in _INKS if not name]
"""The looks of other names."""
DARKEST = INKS["ideal"].colour
# The dashes of the first lines of controllers: the first ones.
_BASES = 1 + max(one["dash"] for one in _PALETTE["inks"])
MOST_LINES = len(_DASHES) // _BASES * len(WEIGHTS)
"""Maximum number of lines that a reader can distinguish and names that a legend can hold."""


@dataclass(frozen=True)
class PartInk:
    """The look of a part of a delay."""

    label: str
    colour: str
    block: str
    """The character of its bar in a terminal."""


PARTS: Mapping[str, PartInk] = {
    one["name"]: PartInk(one["label"], one["light"], one["block"]) for one in _PALETTE["parts"]
}
"""The looks of the parts of a delay, in the order of a bar."""

UNCONTROLLED = "none"
"""The `control` of a flow of datagrams or pings."""
# If more flows than this have no controller, they share one label.
_MOST_UNCONTROLLED = 4
_DATAGRAMS = "datagrams"
_BESIDE = " beside "


SIDES = {"a": Ink("#949494", weight=2.6), "b": Ink("#444444", weight=0.8)}
"""The looks of two compared runs, which have the same controller: A is a wide line behind B."""


@dataclass(frozen=True)
class Legend:
    """The look of every label, and the meaning of the labels.

    If runs have different controllers, each run has one label for the flows that the run's
    controller controls. The other flows have separate labels: their own controller or, without a
    controller, their name. In a single run, flows with different controllers have one label per
    controller. Flows with the same controller have one label per flow, up to `MOST_LINES`.
    """

    by: Literal["run", "control", "flow"]
    inks: Mapping[str, Ink]
    flows: list[str]
    control_of: dict[str, str]
    """The controller of each flow, or the name of a flow without one; used for a single run."""
    others: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The label of each flow that its run's controller does not control, by run and flow."""

    @property
    def colours(self) -> dict[str, str]:
        """The colour of every label."""
        return {label: ink.colour for label, ink in self.inks.items()}

    def label(self, control: str, flow: str) -> str:
        """Return the label of a flow of the run with this controller."""
        if self.by == "run":
            return self.others.get((control, flow), control)
        return {"control": self.control_of[flow], "flow": flow}[self.by]


def of(summary: Summary) -> Legend:
    """Build the legend of a summary."""
    runs = list(dict.fromkeys(run["control"] for run in summary["runs"]))
    first = summary["runs"][0]["flows"]
    flows = [flow["name"] for flow in first]
    own_names = _uncontrolled_names(summary["runs"][0])
    control_of = {flow["name"]: own_names.get(flow["name"], flow["control"]) for flow in first}
    controls = list(dict.fromkeys(control_of.values()))
    if len(runs) > 1:
        others = _others(summary["runs"])
        owners = {run["control"]: _owner(run) for run in summary["runs"]}
        owners |= {label: label.partition(_BESIDE)[0] for label in others.values()}
        return Legend("run", inks(owners), flows, control_of, others)
    if len(controls) > 1 or len(flows) == 1 or len(flows) > MOST_LINES:
        return Legend("control", inks({one: one for one in controls}), flows, control_of)
    return Legend("flow", inks(dict.fromkeys(flows, *controls)), flows, control_of)


def drawn(whole: Legend) -> Legend:
    """Return the legend with its first `MOST_LINES` labels, which a figure draws."""
    return replace(whole, inks=dict(islice(whole.inks.items(), MOST_LINES)))


def takes(run: str, control: str) -> bool:
    """Return whether a run is named after this controller, alone or with parameters or a number."""
    return run == control or run.startswith(f"{control} ")


def _owner(run: RunSummary) -> str:
    """Return the controller of a run, which may have the name of its directory; else that name."""
    controls = dict.fromkeys(flow["control"] for flow in run["flows"])
    controls.pop(UNCONTROLLED, None)
    own = [one for one in controls if takes(run["control"], one)] or list(controls)
    return own[0] if len(own) == 1 else run["control"]


def _others(runs: Iterable[RunSummary]) -> dict[tuple[str, str], str]:
    """Label flows whose controller differs from their run's, if another flow has the run's."""
    labels: dict[tuple[str, str], str] = {}
    for run in runs:
        if not any(takes(run["control"], flow["control"]) for flow in run["flows"]):
            continue
        own_names = _uncontrolled_names(run)
        for flow in run["flows"]:
            if not takes(run["control"], flow["control"]):
                own = own_names.get(flow["name"], flow["control"])
                labels[run["control"], flow["name"]] = f"{own}{_BESIDE}{run['control']}"
    return labels


def _uncontrolled_names(run: RunSummary) -> dict[str, str]:
    """Return the labels of flows without a controller."""
    names = [flow["name"] for flow in run["flows"] if flow["control"] == UNCONTROLLED]
    if len(names) > _MOST_UNCONTROLLED:
        return dict.fromkeys(names, _DATAGRAMS)
    return {name: name for name in names}


def inks(owners: Mapping[str, str]) -> dict[str, Ink]:
    """Return the look of each label from its owner, such as a controller with its parameters.

    A shipped controller has its own look. Another name has the one that follows from its letters,
    or the next if a figure has that already. Further labels of an owner differ in dash and weight.
    """
    count: Counter[Ink] = Counter()
    others: dict[str, Ink] = {}
    found = {}
    for label, owner in owners.items():
        ink = INKS.get(owner.partition(" ")[0]) or others.get(owner)
        if ink is None:
            place = sum(map(ord, owner)) % len(OTHERS)
            ink = min(OTHERS[place:] + OTHERS[:place], key=count.__getitem__)
            others[owner] = ink
        # Colours are apart only among controllers of one dash, which have the same further dashes.
        dashes = _DASHES[_DASHES.index(ink.dash) :: _BASES]
        weight, dash = divmod(count[ink], len(dashes))
        found[label] = Ink(ink.colour, dashes[dash], WEIGHTS[weight % len(WEIGHTS)])
        count[ink] += 1
    return found
