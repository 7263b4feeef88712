"""How bad is the worst link of each controller, beside the usual test, a single drop?

`sojourn worst` searches the changes of a link within limits, by CMA-ES and at random. The usual
test is a drop from the greatest to the least capacity. The search needs the library cmaes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import sojourn
from tables import markdown

Row = dict[str, Any]

MINUTES = 6

HIGH, LOW = "60Mbit", "10Mbit"
LIMITS = ("--rate", f"{LOW}..{HIGH}", "--mean-rate", "30Mbit", "--changes", "4", "--gap", "2s")
EVALUATIONS = 2000
DROP_S = 10.0
# Earlier drops have a mean capacity below that of the limits.
DROPS_S = tuple(8.0 + 0.2 * place for place in range(41))
BUFFER, SMALL_BUFFER = "750kB", "30kB"
WINDOW_S = 2
SCENARIO = """
duration = "20s"
host = "rfc"
[link.bottleneck]
rate = "60Mbit"
buffer = "{buffer}"
delay = "25ms"
[link.back]
delay = "25ms"
[flow.upload]
path = ["bottleneck"]
back = ["back"]
control = "{control}"
{host}
"""


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has one controller, short searches and few drops."""
    needs = {one["name"]: one["needs"] for one in sojourn.controllers()}
    names = [name for name, need in needs.items() if not need["media"]]
    if small:
        names = names[:1]
    # For controllers that need the arrival time of each packet.
    times = {name for name in names if needs[name]["receive_times"]}
    return {
        "excess": [excess(name, name in times, small) for name in names],
        "small_buffer": [
            {"control": name, "unused_share": round(unused(name, name in times), 3)}
            for name in names
            if not needs[name]["signal"]
        ],
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the damages of the search and of the known bad case as a table in Markdown."""
    lines = [["controller", "search", "worst drop", "Mbit/s, minimised"]]
    for row in tables["excess"]:
        rates = [row["start_mbps"], *(change["mbps"] for change in row["changes"])]
        link = "→".join(f"{one:g}" for one in rates)
        lines.append([f"`{row['control']}`", str(row["cmaes_ms"]), str(row["worst_drop_ms"]), link])
    return markdown(lines)


def scenario(control: str, has_times: bool, buffer: str = BUFFER) -> str:
    """Return one flow over a droptail link with a base round trip of 50 ms."""
    host = "host = { receive_times = true }" if has_times else ""
    return SCENARIO.format(control=control, buffer=buffer, host=host)


def excess(control: str, has_times: bool, small: bool) -> Row:
    """Measure the greatest excess over the bound of a spike, in ms."""
    text = scenario(control, has_times)
    evaluations = 4 if small else EVALUATIONS
    # The small form must not need a library.
    methods = ("random" if small else "cmaes", "random")
    found, drawn = (searched(text, method, evaluations) for method in methods)
    drops = {at_s: dropped(text, at_s) for at_s in (DROPS_S[10:12] if small else DROPS_S)}
    world = found["simple_world"]
    changes = zip(world["times_s"], world["rates_bps"][1:], strict=True)
    return {
        "control": control,
        "cmaes_ms": rounded_ms(found["damage"]),
        "random_ms": rounded_ms(drawn["damage"]),
        "drop_ms": rounded_ms(drops[DROP_S]),
        "worst_drop_ms": rounded_ms(max(drops.values())),
        "minimised_ms": rounded_ms(found["simple_damage"]),
        "start_mbps": world["rates_bps"][0] / 1e6,
        "changes": [{"at_s": at_s, "mbps": bps / 1e6} for at_s, bps in changes],
    }


def rounded_ms(seconds: float) -> int:
    """Return a damage in whole milliseconds."""
    return round(seconds * 1e3)


def searched(text: str, method: str, evaluations: int) -> Row:
    """Return the counter-example of a search."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, "utf-8")
        line = [sys.executable, "-m", "sojourn", "worst", str(file), *LIMITS, "--json"]
        line += ["--method", method, "--evaluations", str(evaluations), "--out", f"{folder}/out"]
        done = subprocess.run(line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: Row = json.loads(done.stdout)
    return found


def dropped(text: str, at_s: float) -> float:
    """Return the excess of a single drop."""
    steps = [{"at": f"{at_s:g}s", "rate": LOW}]
    rate = {"link.bottleneck.rate": {"start": HIGH, "steps": steps}}
    spikes = figures(text, rate)["spikes"]
    return max((spike["excess_s"] or 0.0 for spike in spikes), default=0.0)


def unused(control: str, has_times: bool) -> float:
    """Return the share of a constant link with a small buffer that stays unused."""
    links = figures(scenario(control, has_times, SMALL_BUFFER), {})["links"]
    return 1 - next(one["utilisation"] or 0.0 for one in links if one["capacity_bps"])


def figures(text: str, changes: Row) -> Row:
    """Simulate a link as the search does: a spike ends after the least time between changes."""
    measured = {
        "record.spike_window": f"{WINDOW_S}s",
        "measure.from": f"{WINDOW_S}s",
        "record.interval": "0s",
    }
    run: Row = {**sojourn.run(text, set={**measured, **changes}).runs[0]}
    return run
