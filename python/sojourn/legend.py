"""Who gets a colour of its own, in the figure and in the tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sojourn.contract import RunSummary, Summary

DARKEST = "#222222"
# Okabe and Ito (2008), "Color Universal Design": told apart with every kind of colour vision;
# some are darkened here, so that thin lines keep a contrast of 3 on white.
_KNOWN = {
    "reno": "#b9629a",
    "cubic": "#0072b2",
    "bbr": "#d55e00",
    "bbr3": "#a34100",
    "copa": "#4c7a34",
    "dctcp": "#009e73",
    "prague": "#00798c",
    "vegas": "#7a6a00",
    "ledbat++": "#8a5a44",
    "lola": "#7b52ab",
    "rapid": "#a23b3b",
    "ideal": DARKEST,
    "none": "#7a7a7a",
}
_OTHERS = (
    *("#b87900", "#2f8fc4", "#5b6abf", "#b0446e"),
    *("#3f7f6b", "#8d6aa0", "#6b7f1e", "#b0563b", "#50788f"),
)


MOST_LINES = 24
"""Lines that a reader can tell apart, and names that a legend can hold."""

UNCONTROLLED = "none"
"""The `control` of a flow of datagrams or pings."""
# More flows without a controller than this share a label.
_MOST_UNCONTROLLED = 4
_DATAGRAMS = "datagrams"


@dataclass(frozen=True)
class Legend:
    """The colour of every label, and what the labels stand for.

    Runs with different controllers have a label each, for the flows that the run's controller
    controls; the other flows have labels of their own, with their own controller or, without
    one, their name. In one run, flows with different controllers have one for each controller,
    and flows with the same one have one for each flow, up to `MOST_LINES` of them.
    """

    by: Literal["run", "control", "flow"]
    colours: dict[str, str]
    flows: list[str]
    control_of: dict[str, str]
    """The controller of each flow, or its name where it has none, where there is one run."""
    others: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The label of each flow that its run's controller does not control, by run and flow."""

    def label(self, control: str, flow: str) -> str:
        """The label of a flow of the run with this controller."""
        if self.by == "run":
            return self.others.get((control, flow), control)
        return {"control": self.control_of[flow], "flow": flow}[self.by]


def of(summary: Summary) -> Legend:
    """The legend of a summary."""
    runs = list(dict.fromkeys(run["control"] for run in summary["runs"]))
    first = summary["runs"][0]["flows"]
    flows = [flow["name"] for flow in first]
    own_names = _uncontrolled_names(summary["runs"][0])
    control_of = {flow["name"]: own_names.get(flow["name"], flow["control"]) for flow in first}
    controls = list(dict.fromkeys(control_of.values()))
    if len(runs) > 1:
        others = _others(summary["runs"])
        return Legend("run", colours([*runs, *others.values()]), flows, control_of, others)
    if len(controls) > 1 or len(flows) == 1 or len(flows) > MOST_LINES:
        return Legend("control", colours(controls), flows, control_of)
    return Legend("flow", colours(flows), flows, control_of)


def drawn(whole: Legend) -> Legend:
    """The first `MOST_LINES` labels: those that a figure draws."""
    kept = dict(list(whole.colours.items())[:MOST_LINES])
    return replace(whole, colours=kept)


def takes(run: str, control: str) -> bool:
    """Whether a run is named after this controller: by its name, or with parameters or a number."""
    return run == control or run.startswith(f"{control} ")


def _others(runs: Iterable[RunSummary]) -> dict[tuple[str, str], str]:
    """The flows whose controller is not their run's, where some other flow's is."""
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
    """What flows without a controller are called in its place."""
    names = [flow["name"] for flow in run["flows"] if flow["control"] == UNCONTROLLED]
    if len(names) > _MOST_UNCONTROLLED:
        return dict.fromkeys(names, _DATAGRAMS)
    return {name: name for name in names}


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name: its own where it has one, else the next that is free."""
    ordered = list(dict.fromkeys(names))
    unknown = [name for name in ordered if name not in _KNOWN]
    given = {name: _OTHERS[place % len(_OTHERS)] for place, name in enumerate(unknown)}
    return {name: _KNOWN.get(name) or given[name] for name in ordered}
