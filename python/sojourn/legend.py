"""Who gets a colour of its own, in the figure and in the tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sojourn.contract import Summary

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


@dataclass(frozen=True)
class Legend:
    """The colour of every label, and what the labels stand for.

    Runs with different controllers have a label each. In one run, flows with different
    controllers have one for each controller, and flows with the same one have one for each flow.
    """

    by: Literal["run", "control", "flow"]
    colours: dict[str, str]
    flows: list[str]
    control_of: dict[str, str]
    """The controller of each flow, where there is one run."""

    def label(self, control: str, flow: str) -> str:
        """The label of a flow of the run with this controller."""
        return {"run": control, "control": self.control_of[flow], "flow": flow}[self.by]


def of(summary: Summary) -> Legend:
    """The legend of a summary."""
    runs = list(dict.fromkeys(run["control"] for run in summary["runs"]))
    first = summary["runs"][0]["flows"]
    flows = [flow["name"] for flow in first]
    control_of = {flow["name"]: flow["control"] for flow in first}
    controls = list(dict.fromkeys(control_of.values()))
    if len(runs) > 1:
        return Legend("run", colours(runs), flows, control_of)
    if len(controls) > 1 or len(flows) == 1:
        return Legend("control", colours(controls), flows, control_of)
    return Legend("flow", colours(flows), flows, control_of)


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name: its own where it has one, else the next that is free."""
    ordered = list(dict.fromkeys(names))
    unknown = [name for name in ordered if name not in _KNOWN]
    given = {name: _OTHERS[place % len(_OTHERS)] for place, name in enumerate(unknown)}
    return {name: _KNOWN.get(name) or given[name] for name in ordered}
