"""The worst link of each controller: `python benches/worst.py MEASURE NAME...`.

It prints rows of docs/worst.md for every named controller (default: all): the damage that CMA-ES
and random draws find, and that of known bad cases. These are a drop from the greatest to the least
capacity at 10 s, the worst of such drops at other times, such as the peak of a sawtooth or a phase
of probing, and, for the utilisation, a constant link with a small buffer.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import sojourn

FILE = Path(__file__).parents[1] / "scenarios" / "capacity-drop.toml"
EVALUATIONS = 2000
SETTINGS = {
    "duration": "20s",
    "link.bottleneck.rate": "60Mbit",
    "link.bottleneck.queue": "droptail",
    "link.bottleneck.buffer": "750kB",
}
SMALL_BUFFER = "30kB"
# Earlier drops have a mean capacity below that of the limits.
DROP_S, DROPS_S = 10.0, [8.0 + 0.2 * place for place in range(41)]
# For controllers that need the arrival time of each packet.
TIMES = {"flow.upload.transport": "{ receive_times = true }"}
NEEDS = {one["name"]: one["needs"] for one in sojourn.controllers()}
LIMITS = ("--rate", "10Mbit..60Mbit", "--mean-rate", "30Mbit", "--changes", "4", "--gap", "2s")


def settings(control: str) -> dict[str, str]:
    """Return the changes of the scenario."""
    return SETTINGS | (TIMES if NEEDS[control]["receive_times"] else {})


def searched(control: str, method: str, measure: str) -> dict[str, Any]:
    """Return the counter-example of a search."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "sojourn", "worst", str(FILE), *LIMITS, "--json"]
        line += ["--control", control, "--method", method, "--measure", measure]
        line += ["--evaluations", str(EVALUATIONS), "--out", f"{folder}/out"]
        for key, value in settings(control).items():
            line += ["--set", f"{key}={value}"]
        done = subprocess.run(line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def drop(control: str, measure: str, at_s: float) -> float:
    """Return the damage of a single drop."""
    steps = f'[{{ at = "{at_s:g}s", rate = "10Mbit" }}]'
    rate = {"link.bottleneck.rate": f'{{ start = "60Mbit", steps = {steps} }}'}
    return damage(control, measure, rate)


def damage(control: str, measure: str, changes: dict[str, str]) -> float:
    """Return the damage of a known bad case."""
    measured = {"record.spike_window": "2s", "measure.from": "2s", "record.interval": "0s"}
    changed = settings(control) | measured | changes
    run = sojourn.run(FILE, control=control, set=changed).runs[0]
    if measure == "excess":
        return max((spike["excess_s"] or 0.0 for spike in run["spikes"]), default=0.0)
    return 1 - next(one["utilisation"] or 0.0 for one in run["links"] if one["capacity_bps"])


def row(control: str, measure: str) -> str:
    """Return the row of a controller, in ms or in % of the capacity."""
    factor = 1e3 if measure == "excess" else 100.0
    cmaes, random = (searched(control, method, measure) for method in ("cmaes", "random"))
    world = cmaes["simple_world"]
    rates = [world["rates_bps"][0], *world["rates_bps"][1:]]
    steps = zip(world["times_s"], rates[1:], strict=True)
    shown = ", ".join([f"{rates[0] / 1e6:g}", *(f"{at:g} s: {r / 1e6:g}" for at, r in steps)])
    found = (cmaes["damage"], random["damage"])
    if measure == "excess":
        small = None
    else:
        small = damage(control, measure, {"link.bottleneck.buffer": SMALL_BUFFER})
    worst = max(drop(control, measure, at_s) for at_s in DROPS_S)
    known = (drop(control, measure, DROP_S), worst, small)
    cells = [
        f"{factor * figure:.0f}"
        for figure in (*found, *known, cmaes["simple_damage"])
        if figure is not None
    ]
    return f"| `{control}` | {' | '.join(cells)} | {shown} |"


if __name__ == "__main__":
    kind, *names = sys.argv[1:]
    for name in names or [name for name, needs in NEEDS.items() if not needs["media"]]:
        print(row(name, kind), flush=True)
