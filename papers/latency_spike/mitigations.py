"""Section IV, "Sketching solutions": the effect of each mitigation on simulated spikes.

Mitigations with a closed form (docs/theory/spike.md) are compared with the theory's bound. The
ideal sender learns of a drop from the scenario, not from packets. Delays or losses of packets
therefore do not affect it, and an early warning is impossible.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import polars as pl
from sojourn import theory
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Ask, Claim, Lab

BEFORE, AFTER, DELAY = "60Mbit", "20Mbit", "50ms"
PACKET_MS = 0.6
"""Transmission time at the capacity after the drop."""
REAL = ("cubic", "dctcp")
CODEL = {"kind": "codel", "ecn": True}
JOINS_S, WITHIN_S = 20.0, 5.0
"""Start of the second user, and the following time in which the first user's RTT is measured."""

Set = Mapping[str, Any]
# The median spikes in milliseconds by controller, in the order of the settings.
Spikes = dict[str, list[float]]


@dataclass(frozen=True)
class Degrees:
    """A mitigation with a variable strength."""

    name: str
    """The name in the theory's table."""
    title: str
    axis: str
    settings: Sequence[float]
    """The first setting is without the mitigation."""
    change: Callable[[float], Set]
    text: Callable[[float], str]
    """Formats a setting for the theory."""


@dataclass(frozen=True)
class Switch:
    """A mitigation without degrees, either present or absent."""

    name: str
    title: str
    scenario: str
    without: Set
    present: Set


def _headroom(share: float) -> Set:
    if share == 0:
        return {}
    return {"link.access.rate": f"{60e6 * (1 - share):.0f}bit", "link.access.queue": CODEL}


def _ramp(ms: float) -> Set:
    if ms == 0:
        return {}
    ramp = {"from": f"{JOINS_S:g}s", "to": f"{1e3 * JOINS_S + ms:g}ms", "rate": AFTER}
    return {"link.bottleneck.rate": {"start": BEFORE, "ramps": [ramp]}}


def _ms(value: float) -> str:
    return f"{value:g}ms"


DEGREES = (
    Degrees(
        "headroom",
        "headroom",
        "share of the capacity left unused",
        (0, 0.1, 0.2, 0.4, 0.6),
        _headroom,
        lambda share: f"{share:g}",
    ),
    Degrees(
        "ramp",
        "gradual ramp",
        "duration of the capacity's fall (ms)",
        (0, 25, 50, 100, 200),
        _ramp,
        _ms,
    ),
    Degrees(
        "near",
        "shorter loop (5 ms: a node that forwards at several fidelities)",
        "loop delay (ms)",
        (50, 25, 12.5, 5),
        lambda ms: {"link.back.delay": _ms(ms)},
        _ms,
    ),
)
_STEP = {"kind": "step", "k": 10_000_000, "k_bytes": "37500B"}
_HEAD = {"kind": "codel", "ecn": True, "target": "1000s", "ce_threshold": "5ms"}
_QUEUE = "link.bottleneck.queue"
SWITCHES = (
    Switch(
        "back_queue",
        "ACK priority",
        "back-queue.toml",
        {"link.reverse.queue": "droptail"},
        {"link.reverse.queue": "prio"},
    ),
    Switch(
        "standing",
        "signal at dequeue instead of enqueue",
        "mitigations.toml",
        {_QUEUE: _STEP},
        {_QUEUE: _HEAD},
    ),
    Switch(
        "users",
        "fair queueing",
        "users.toml",
        {_QUEUE: CODEL},
        {_QUEUE: {"kind": "fq_codel", "ecn": True}},
    ),
)


def mitigations(lab: Lab) -> list[Claim]:
    """Simulate each with the ideal sender and real ones, and compare with the theory's bounds."""
    found = [(one, degrees(lab, one)) for one in DEGREES]
    switches = [(one, _switch(lab, one)) for one in SWITCHES]
    panels = [_degree_panel(one, spikes) for one, spikes in found]
    panels += [_switch_panel(one, spikes) for one, (spikes, _) in switches]
    title = "Mitigations of a spike: 60 to 20 Mbit/s over 50 ms"
    subtitle = ["spikes in ms, medians; black: the theory's bound"]
    lab.draw("mitigations", chart.Document(title, subtitle, [panels[:3], panels[3:]]))
    if lab.quick:
        lab.note("A quick run: each runs 4 times instead of 15.")
    lab.note(
        "Early warning is not simulated: the simulator does not announce future changes. Its bound "
        f"is {bounds_ms('warning', '25ms')[1]:.0f} ms for a warning of 25 ms."
    )
    claims = [agreement(found)]
    claims += [_claim(lab, one, spikes, _degree_why(one)) for one, spikes in found]
    for switch, (spikes, durations) in switches:
        claims.append(_claim(lab, switch, spikes, _switch_why(switch)))
        if switch.name == "standing":
            claims.append(_lasting(durations))
    return claims


_SETTINGS = {"back_queue": "12.5ms", "standing": "5ms", "users": "2"}
"""The strength of each switch in its scenario, for the theory."""


def bounds_ms(name: str, setting: str) -> tuple[float, float]:
    """Return the theory's maximum queueing delay without and with a mitigation."""
    table = theory.spike(BEFORE, AFTER, DELAY, mitigations={name: setting})["mitigations"]
    (row,) = (row for row in table if row["name"] == name)
    return 1e3 * row["before_s"], 1e3 * row["after_s"]


def _degree_why(one: Degrees) -> str:
    last = one.text(one.settings[-1])
    after = bounds_ms(one.name, last)[1]
    why = f"the bound falls from 100 to {after:.0f} ms at {last}. Holds if every spike is lower"
    if one.name == "ramp":
        why += (
            ". This bound is for a sender that also drains the queue that it caused. Section II's "
        )
        why += "ideal sender only matches the capacity, so its spike stays the same. The other "
        why += "senders drain their queues hardly sooner"
    return why


def _switch_why(one: Switch) -> str:
    before, after = bounds_ms(one.name, _SETTINGS[one.name])
    why = f"the bound falls from {before:.0f} to {after:.0f} ms. Holds if every spike is lower"
    if one.name == "standing":
        why += (
            ". This bound is for a sender that keeps its rate until the signal arrives. A window "
        )
        why += "limits the data in flight at any time"
    return why


def _lasting(durations: Spikes) -> Claim:
    """Check the signal at dequeue, which shortens the spike rather than lowering it."""
    ours = "; ".join(f"{c} {first:.0f} to {last:.0f} ms" for c, (first, last) in durations.items())
    sooner = theory.spike(BEFORE, AFTER, DELAY)["r"] * float(_SETTINGS["standing"][:-2])
    why = "beyond the paper: time until the queueing delay recovers. The signal arrives sooner by "
    why += f"the standing queue's time at the new capacity: r h = {sooner:.0f} ms"
    return Claim("signal at dequeue: duration of the spike", None, ours, "", None, why)


def degrees(lab: Lab, one: Degrees, controls: Sequence[str] = ("ideal", *REAL)) -> Spikes:
    """Simulate a mitigation at each of its settings."""
    asks = [
        Ask("mitigations.toml", one.change(setting), control)
        for control in controls
        for setting in one.settings
    ]
    runs = iter(lab.runs(asks, lab.pick(15, 4), keep=False))
    return {control: [spike_ms(next(runs)) for _ in one.settings] for control in controls}


def spike_ms(run: Run) -> float:
    """Return the median spike over the runs."""
    return median(1e3 * (one["spikes"][0]["spike_s"] or 0.0) for one in run.runs)


def duration_ms(run: Run) -> float:
    """Return the median time until the queueing delay recovers, with the window as its maximum."""
    return median(1e3 * (one["spikes"][0]["recovery_s"] or WITHIN_S) for one in run.runs)


def _switch(lab: Lab, one: Switch) -> tuple[Spikes, Spikes]:
    """Measure the height and the duration of spikes; for users only the height."""
    sides = (one.without, one.present)
    if one.name == "users":
        return {c: [_joined_ms(lab, c, side) for side in sides] for c in REAL}, {}
    asks = [Ask(one.scenario, side, control) for control in REAL for side in sides]
    runs = lab.runs(asks, lab.pick(15, 4), keep=False)
    pairs = {c: runs[2 * place : 2 * place + 2] for place, c in enumerate(REAL)}
    heights = {c: [spike_ms(run) for run in pair] for c, pair in pairs.items()}
    return heights, {c: [duration_ms(run) for run in pair] for c, pair in pairs.items()}


def _joined_ms(lab: Lab, control: str, side: Set) -> float:
    """Return the median increase of the user's RTT when the second user starts."""
    count = lab.pick(15, 4)
    starts = [round(JOINS_S + WITHIN_S * place / count, 3) for place in range(count)]
    asks = [
        Ask(
            "users.toml",
            {**side, "flow.other.start": f"{start}s", "duration": f"{start + WITHIN_S}s"},
            control,
        )
        for start in starts
    ]
    runs = lab.runs(asks, keep=False)
    return median(_peak_ms(run, start) for run, start in zip(runs, starts, strict=True))


def _peak_ms(run: Run, from_s: float) -> float:
    user = run.flow("user")
    after = user.series.filter(pl.col("t_s") > from_s)["rtt_s"]
    return 1e3 * (float(after.max()) - user.summary["base_rtt_s"])  # type: ignore[arg-type]


def agreement(found: Sequence[tuple[Degrees, Spikes]]) -> Claim:
    """Compare the ideal sender with the closed forms."""
    apart = [
        abs(spike - bounds_ms(one.name, one.text(setting))[1]) / PACKET_MS
        for one, spikes in found
        if one.name != "ramp"
        for setting, spike in zip(one.settings, spikes["ideal"], strict=True)
    ]
    why = (
        f"maximum difference of {len(apart)} spikes with headroom or a shorter loop. Holds within "
    )
    why += "three packets: one in transmission on each link, and one cut off by rounding"
    name = "ideal senders: difference from the theory's bounds"
    return Claim(name, 0.0, max(apart), "packets", max(apart) < 3, why)


def _claim(lab: Lab, one: Degrees | Switch, spikes: Spikes, why: str) -> Claim:
    pairs = {control: (found[0], found[-1]) for control, found in spikes.items()}
    ours = "; ".join(f"{c} {first:.0f} to {last:.0f} ms" for c, (first, last) in pairs.items())
    # The difference must exceed one packet.
    holds = all(last < first - PACKET_MS for first, last in pairs.values())
    return Claim(one.title, lab.value(one.name), ours, "", holds, why)


def _degree_panel(one: Degrees, spikes: Spikes) -> chart.Panel:
    bound = [(setting, bounds_ms(one.name, one.text(setting))[1]) for setting in one.settings]
    layers = [chart.line("bound", bound, chart.PUBLISHED, (5, 3))]
    for control, found in spikes.items():
        points = list(zip(one.settings, found, strict=True))
        layers += [
            chart.line(control, points, width=1),
            chart.dots(control, points),
        ]
    return _panel(one.title.split(" (")[0], one.axis, layers)


def _switch_panel(one: Switch, spikes: Spikes) -> chart.Panel:
    bounds = bounds_ms(one.name, _SETTINGS[one.name])
    layers = [chart.line("bound", enumerate(bounds), chart.PUBLISHED, (5, 3))]
    for control, found in spikes.items():
        points = [(float(place), spike) for place, spike in enumerate(found)]
        layers += [
            chart.line(control, points, width=1),
            chart.dots(control, points),
        ]
    named = chart.Ticks(values=[0, 1], labels=["without", "with it"])
    return replace(_panel(one.title, "", layers), x_axis=named, x_scale={"domain": [-0.2, 1.2]})


def _panel(title: str, axis: str, layers: Sequence[chart.Layer]) -> chart.Panel:
    zero: chart.Scale = {"zero": True}
    return chart.Panel(title, axis, "ms", layers, width=230, height=170, y_scale=zero, columns=2)
