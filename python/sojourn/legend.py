"""The colour and the label of each run, controller and flow, in the figure and in the tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from sojourn.record_types import RunSummary
from sojourn.run_summary import Item, Summary

DARKEST = "#222222"
# Okabe and Ito (2008), "Color Universal Design": distinguishable with every kind of colour vision.
# Some are darkened here, so that thin lines keep a contrast of 3 on white.
_KNOWN = {
    "reno": "#b9629a",
    "cubic": "#0072b2",
    "bbr": "#d55e00",
    "bbr3": "#3d1fe0",
    "copa": "#4c7a34",
    "dctcp": "#009e73",
    "prague": "#b87900",
    "vegas": "#7a6a00",
    "ledbat": "#b5651d",
    "ledbat++": "#8a5a44",
    "swift": "#5a6e00",
    "vivace": "#b0005e",
    "lola": "#7b52ab",
    "rapid": "#a23b3b",
    "ideal": DARKEST,
    "none": "#7a7a7a",
}
_OTHERS = (
    *("#00798c", "#2f8fc4", "#5b6abf", "#b0446e"),
    *("#3f7f6b", "#8d6aa0", "#6b7f1e", "#b0563b", "#50788f"),
)


MOST_LINES = 24
"""Maximum number of lines that a reader can distinguish and names that a legend can hold."""

UNCONTROLLED = "none"
"""The `control` of a flow of datagrams or pings."""
# If more flows than this have no controller, they share one label.
_MOST_UNCONTROLLED = 4
_DATAGRAMS = "datagrams"


SIDES = {"a": "#7d8da0", "b": "#c2185b"}
"""The colours of two compared runs, which no controller has."""


@dataclass(frozen=True)
class Legend:
    """The colour of every label, and the meaning of the labels.

    If runs have different controllers, each run has one label for the flows that the run's
    controller controls. The other flows have separate labels: their own controller or, without a
    controller, their name. In a single run, flows with different controllers have one label per
    controller. Flows with the same controller have one label per flow, up to `MOST_LINES`.
    """

    by: Literal["run", "control", "flow"]
    colours: dict[str, str]
    flows: list[str]
    control_of: dict[str, str]
    """The controller of each flow, or the name of a flow without one; used for a single run."""
    others: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The label of each flow that its run's controller does not control, by run and flow."""

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
        named = {**colours([*runs, *others.values()]), **_of_sides(summary)}
        return Legend("run", named, flows, control_of, others)
    if len(controls) > 1 or len(flows) == 1 or len(flows) > MOST_LINES:
        return Legend("control", colours(controls), flows, control_of)
    return Legend("flow", colours(flows), flows, control_of)


def drawn(whole: Legend) -> Legend:
    """Return the legend with its first `MOST_LINES` labels, which a figure draws."""
    kept = dict(list(whole.colours.items())[:MOST_LINES])
    return replace(whole, colours=kept)


def takes(run: str, control: str) -> bool:
    """Return whether a run is named after this controller, alone or with parameters or a number."""
    return run == control or run.startswith(f"{control} ")


def _of_sides(summary: Summary) -> dict[str, str]:
    """Return the colours of the runs of a comparison: those of its figure."""
    sides = {side: cast(Item, summary).get(side) for side in SIDES}
    return {
        control: SIDES[side]
        for side, about in sides.items()
        if about is not None
        for control in about["controls"]
    }


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
                labels[run["control"], flow["name"]] = f"{own} beside {run['control']}"
    return labels


def _uncontrolled_names(run: RunSummary) -> dict[str, str]:
    """Return the labels of flows without a controller."""
    names = [flow["name"] for flow in run["flows"] if flow["control"] == UNCONTROLLED]
    if len(names) > _MOST_UNCONTROLLED:
        return dict.fromkeys(names, _DATAGRAMS)
    return {name: name for name in names}


def colours(names: Iterable[str]) -> dict[str, str]:
    """Assign each name its fixed colour, or the next free one."""
    ordered = list(dict.fromkeys(names))
    unknown = [name for name in ordered if name not in _KNOWN]
    given = {name: _OTHERS[place % len(_OTHERS)] for place, name in enumerate(unknown)}
    return {name: _KNOWN.get(name) or given[name] for name in ordered}
