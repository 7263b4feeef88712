"""Spikes of real hosts: CUBIC and BBR of the kernel's TCP, DCTCP and LoLa over UDP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Literal

from sojourn.live import real_time
from sojourn.live.real_time import Stack
from sojourn.picture import chart
from sojourn.record.record_types import SpikeSummary
from sojourn.run.results import Run
from sojourn_papers import Ask, Claim, Lab, Table
from sojourn_papers.live_runs import stolen_ms

from .figure_5 import PAPERS, SCENARIO

_Key = Literal["spike_s", "bound_s", "excess_s"]

STACKS: Mapping[str, Stack] = {"cubic": "kernel", "bbr": "kernel", "dctcp": "udp", "lola": "udp"}
"""The hosts of each controller: those of Linux run in the kernel, as on the testbed. Most kernels
have no DCTCP, which is for data centres."""
RATIOS = (2, 3)
DELAYS_MS = (25, 50)
SIMULATED_RUNS = 30
BEFORE_BPS = 60e6
# The hosts of live runs, for the simulation.
_NOISE = {"kernel": "idle", "udp": "process"}


@dataclass(frozen=True)
class Cell:
    """One controller at one ratio of capacities and one delay."""

    control: str
    ratio: int
    delay_ms: int

    def assignments(self, lab: Lab) -> dict[str, object]:
        """Return the changes of the testbed's scenario: a run of a few seconds."""
        return {
            "duration": lab.pick("6s", "3s"),
            "host": {**(real_time.host(STACKS[self.control]) or {}), "ecn": True},
            "noise": _NOISE[STACKS[self.control]],
            "link.netem.delay": f"{self.delay_ms}ms",
            "link.bottleneck.rate.steps.0.at": lab.pick("2s", "1500ms"),
            "link.bottleneck.rate.steps.0.rate": f"{BEFORE_BPS / self.ratio:.0f}bit",
            "record.spike_window": lab.pick("2s", "1s"),
        }


@dataclass(frozen=True)
class Found:
    """The spikes of a cell, measured and simulated, one of each run."""

    cell: Cell
    live: Sequence[Run]
    simulated: Sequence[SpikeSummary]

    @property
    def measured(self) -> Sequence[SpikeSummary]:
        """The spike of each live run."""
        return [run.runs[0]["spikes"][0] for run in self.live]

    def measured_ms(self) -> list[float]:
        """Return the measured peaks of the queueing delay."""
        return _ms(self.measured, "spike_s")

    def excesses_ms(self) -> list[float]:
        """Return each measured spike minus its corrected bound."""
        return _ms(self.measured, "excess_s")

    def simulated_ms(self, share: float) -> float:
        """Return a nearest-rank quantile of the simulated peaks."""
        ranked = sorted(_ms(self.simulated, "spike_s"))
        return ranked[max(0, -(-round(100 * share) * len(ranked) // 100) - 1)]

    @property
    def is_inside(self) -> bool | None:
        """Whether the measured median lies between the simulated 5th and 95th percentile."""
        measured = _median(self.measured_ms())
        if measured is None:
            return None
        return self.simulated_ms(0.05) <= measured <= self.simulated_ms(0.95)


def _full_bound_ms(spike: SpikeSummary) -> float:
    """Equation 2 for a full link."""
    return 1e3 * (spike["from_bps"] / spike["to_bps"] - 1) * (spike["loop_s"] or 0.0)


def _ms(of: Sequence[SpikeSummary], key: _Key) -> list[float]:
    """Return the values in ms. A run without packets around the drop has none."""
    values = [one[key] for one in of]
    return [1e3 * value for value in values if value is not None]


def _median(of: Sequence[float]) -> float | None:
    return median(of) if of else None


def spikes(lab: Lab) -> list[Claim]:
    """Measure each cell, and simulate the same scenario thirty times."""
    # The quick run has one controller of each kind of hosts.
    controls = lab.pick(tuple(STACKS), ("cubic", "lola"))
    ratios, delays_ms = lab.pick((RATIOS, DELAYS_MS), (RATIOS[:1], DELAYS_MS[:1]))
    cells = [Cell(*one) for one in product(controls, ratios, delays_ms)]
    measured = [_measured(lab, cell) for cell in cells]
    simulated = _simulated(lab, cells)
    found = [Found(*one) for one in zip(cells, measured, simulated, strict=True)]
    lab.table(_table(found))
    lab.draw("spikes-live", _picture(found))
    lab.note(
        "Spikes are peaks of the queueing delay at the bottleneck. Each run has its own time of "
        "the drop, which the simulation with the same seed shares. The corrected bound is that "
        "for the rate which the link carried in the loop delay before the drop. Simulated hosts "
        "answer as those of live runs: `noise` is `idle` for the kernel's TCP, and `process` for "
        "UDP."
    )
    return [*(_below_bound(lab, found, control) for control in controls), _inside(found)]


def _measured(lab: Lab, cell: Cell) -> list[Run]:
    changes, spread = cell.assignments(lab), _spread(lab)
    return [
        lab.live(SCENARIO, changes, cell.control, spread, seed, STACKS[cell.control])
        for seed in range(1, lab.live_count(3) + 1)
    ]


def _simulated(lab: Lab, cells: Sequence[Cell]) -> list[list[SpikeSummary]]:
    asks = [Ask(SCENARIO, cell.assignments(lab), cell.control, _spread(lab)) for cell in cells]
    runs = lab.runs(asks, lab.pick(SIMULATED_RUNS, 4), keep=False)
    return [[one["spikes"][0] for one in run.runs] for run in runs]


def _spread(lab: Lab) -> str:
    return lab.pick("2s", "500ms")


def _below_bound(lab: Lab, found: Sequence[Found], control: str) -> Claim:
    excesses = [ms for one in found if one.cell.control == control for ms in one.excesses_ms()]
    lower = sum(ms < 0 for ms in excesses)
    name = f"live runs of {control} below the bound corrected for saturation"
    unit = f"of {len(excesses)}"
    if not excesses:
        return Claim(name, None, None, unit, None, "no run had a measurable spike")
    why = f"{_HOSTS[STACKS[control]]}. The smallest distance from the bound is {min(excesses):.1f} "
    why += "ms"
    if control not in PAPERS:
        return Claim(name, None, lower, unit, None, f"beyond the paper: {why}")
    return Claim(name, lab.value("below_corrected_bound"), lower, unit, lower == 0, why)


_HOSTS = {"kernel": "the kernel's TCP", "udp": "Sojourn's transport over UDP"}


def _inside(found: Sequence[Found]) -> Claim:
    inside = sum(one.is_inside is True for one in found)
    outside = [
        f"{one.cell.control}, r = {one.cell.ratio}, d = {one.cell.delay_ms} ms"
        for one in found
        if not one.is_inside
    ]
    name = "measured medians between the simulated 5th and 95th percentile"
    why = f"outside: {'; '.join(outside)}" if outside else "all cells"
    return Claim(name, None, inside, f"of {len(found)} cells", None, why)


def _table(found: Sequence[Found]) -> Table:
    columns = {
        "control": "controller",
        "stack": "hosts",
        "ratio": "r",
        "d_ms": "d",
        "runs": "runs",
        "missing_runs": "missing",
        "bound_ms": "bound",
        "bound_corrected_ms": "corrected",
        "spike_median_ms": "live p50",
        "spike_min_ms": "min",
        "spike_max_ms": "max",
        "excess_min_ms": "margin",
        "is_at_or_above": "above",
        "simulated_p5_ms": "simulated p5",
        "simulated_median_ms": "p50",
        "simulated_p95_ms": "p95",
        "is_inside": "inside",
        "stolen_ms": "stolen",
    }
    title = (
        "Spikes in ms; missing: runs without a measurable spike, left out; corrected: median of "
        "the corrected bounds; margin: least distance of a run "
        "from its own corrected bound; above: all runs are at or above theirs; inside: the live "
        "median is between the simulated 5th and 95th percentile; stolen: greatest processor time "
        "that a hypervisor took from a run"
    )
    return Table(title, columns, [_row(one) for one in found])


def _row(one: Found) -> dict[str, float | int | str | bool | None]:
    spikes_ms, excesses_ms, cell = one.measured_ms(), one.excesses_ms(), one.cell
    return {
        "control": cell.control,
        "stack": STACKS[cell.control],
        "ratio": cell.ratio,
        "d_ms": cell.delay_ms,
        "runs": len(one.measured),
        "missing_runs": len(one.measured) - len(excesses_ms),
        "bound_ms": _median([_full_bound_ms(spike) for spike in one.measured]),
        "bound_corrected_ms": _median(_ms(one.measured, "bound_s")),
        "spike_median_ms": _median(spikes_ms),
        "spike_min_ms": min(spikes_ms, default=None),
        "spike_max_ms": max(spikes_ms, default=None),
        "excess_min_ms": min(excesses_ms, default=None),
        "is_at_or_above": min(excesses_ms) >= 0 if excesses_ms else None,
        "simulated_p5_ms": one.simulated_ms(0.05),
        "simulated_median_ms": one.simulated_ms(0.5),
        "simulated_p95_ms": one.simulated_ms(0.95),
        "is_inside": one.is_inside,
        "stolen_ms": stolen_ms(one.live),
    }


def _picture(found: Sequence[Found]) -> chart.Document:
    controls = list(dict.fromkeys(one.cell.control for one in found))
    panels = [
        _panel(control, [f for f in found if f.cell.control == control]) for control in controls
    ]
    pairs = [panels[place : place + 2] for place in range(0, len(panels), 2)]
    subtitle = [
        "60 Mbit/s fall to 30 (r = 2) or 20 (r = 3), fq_codel with ECN; dots: live runs",
        "bars: 5th to 95th percentile of the simulation; dashed: the bound (r - 1) d",
    ]
    return chart.Document("Spikes of real hosts", subtitle, pairs)


def _panel(control: str, ones: Sequence[Found]) -> chart.Panel:
    layers = [chart.line("bound", [(15, 15), (110, 110)], chart.PUBLISHED, (5, 3), width=1.2)]
    for one in ones:
        colour = chart.COLOURS[RATIOS.index(one.cell.ratio)]
        # Two cells have the same bound of 50 ms.
        x = (one.cell.ratio - 1) * one.cell.delay_ms + 2.0 * (2 * one.cell.ratio - 5)
        span = [(x, one.simulated_ms(0.05)), (x, one.simulated_ms(0.95))]
        layers.append(chart.line(f"simulated, r = {one.cell.ratio}", span, colour, width=5))
        dots = [(x + 1.5, ms) for ms in one.measured_ms()]
        layers.append(chart.dots(f"live, r = {one.cell.ratio}", dots, colour))
    scale: chart.Scale = {"domain": [0, 115]}
    title = f"{control}, {_HOSTS[STACKS[control]]}"
    axis = "bound (r - 1) d, ms"
    return chart.Panel(
        title, axis, "spike, ms", layers, width=290, height=190, x_scale=scale, columns=3
    )
