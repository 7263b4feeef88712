"""How long BBR keeps a queue after a drop of capacity, live and simulated."""

from collections.abc import Mapping
from statistics import median
from typing import Any

import live_cells
import sojourn

Row = dict[str, Any]

SCENARIO = "capacity-drop"
LINUX = {"host": live_cells.HOSTS["kernel"]}
IDEAL = {"host": "rfc"}
# The small form has an early drop.
SHORT: Mapping[str, object] = {
    "duration": "3s",
    "link.bottleneck.rate": {"start": "60Mbit", "steps": [{"at": "1s", "rate": "20Mbit"}]},
}


def recovery(small: bool) -> list[Row]:
    """Return the spikes and the times until the queue is short again, over seeds."""
    given = SHORT if small else {}
    lives, seeds = (1, 1) if small else (4, 21)
    return [
        row("live", sojourn.live(SCENARIO, control="bbr", runs=lives, set=given)),
        row("simulated as Linux", sojourn.run(SCENARIO, "bbr", runs=seeds, set={**LINUX, **given})),
        row("simulated, rfc", sojourn.run(SCENARIO, "bbr", runs=seeds, set={**IDEAL, **given})),
    ]


def row(kind: str, run: sojourn.Run) -> Row:
    """Return the row of some runs; a run whose queue stays long has no time."""
    spikes = [one["spikes"][0] for one in run.runs]
    spikes_ms = [1e3 * spike["spike_s"] for spike in spikes if spike["spike_s"] is not None]
    times_s = [spike["recovery_s"] for spike in spikes if spike["recovery_s"] is not None]
    return {
        "run": kind,
        "runs": len(spikes),
        "spike_least_ms": round(min(spikes_ms)),
        "spike_greatest_ms": round(max(spikes_ms)),
        "recovery_least_s": round(min(times_s), 2) if times_s else None,
        "recovery_median_s": round(median(times_s), 2) if times_s else None,
        "recovery_greatest_s": round(max(times_s), 2) if times_s else None,
    }
