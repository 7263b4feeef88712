"""Candidate causes of DCTCP's spike on the testbed, each simulated separately for four delays.

`python -m papers.latency_spike.causes` prints them as a table (studies/testbed).
"""

import random
from statistics import median
from typing import Any

import sojourn

from .testbed import Cell, Change, rows, simulate

JITTER_MS = 10
# Pauses of the acknowledgement path: added delay, duration, and mean time between random pauses.
PAUSE_MS, PAUSED_MS, MEAN_GAP_MS = 20, 30, 700


def transport(**keys: Any) -> Change:
    """Change keys of the sender's transport."""
    return lambda scenario: scenario["flow"]["upload"]["transport"].update(keys)


def plain(scenario: sojourn.Scenario) -> None:
    """Disable bursts, and reduce the window by RFC 9937."""
    transport(tso="0B", prr="rfc9937")(scenario)


def with_jitter(scenario: sojourn.Scenario) -> None:
    """Add random delays to the acknowledgements."""
    plain(scenario)
    scenario["link"]["netem"]["jitter"] = f"{JITTER_MS}ms"


def with_pauses(scenario: sojourn.Scenario) -> None:
    """Pause the acknowledgements at random, which empties the queue like a pause of the host."""
    plain(scenario)
    netem, draws = scenario["link"]["netem"], random.Random(1)
    start_ms = float(netem["delay"].removesuffix("ms"))
    steps, at_ms = [], 2000
    while at_ms < 40_000:
        steps.append({"at": f"{at_ms}ms", "delay": f"{start_ms + PAUSE_MS}ms"})
        steps.append({"at": f"{at_ms + PAUSED_MS}ms", "delay": f"{start_ms}ms"})
        at_ms += PAUSED_MS + 1 + round(draws.expovariate(1 / (MEAN_GAP_MS - PAUSED_MS)))
    netem["delay"] = {"start": netem["delay"], "steps": steps}


def with_exact_alpha(scenario: sojourn.Scenario) -> None:
    """Use Linux's bursts and reduction, but a floating-point alpha."""
    scenario["controls"] = ["dctcp"]


CAUSES: dict[str, Change] = {
    "bursts, and Linux 5.10's rule of reduction": transport(),
    "the same with alpha as a float": with_exact_alpha,
    'bursts alone (`prr = "rfc9937"`)': transport(prr="rfc9937"),
    'the rule alone (`tso = "0B"`)': transport(tso="0B"),
    "neither": plain,
    f"neither, {JITTER_MS} ms of jitter on the acknowledgements": with_jitter,
    f"neither, the acknowledgements {PAUSE_MS} ms late for {PAUSED_MS} ms, "
    f"every {MEAN_GAP_MS} ms at random": with_pauses,
}


def dctcp() -> list[dict[str, str]]:
    """Return DCTCP's cells of the measurements."""
    return [row for row in rows() if row["cc"] == "dctcp"]


def table(measured: list[dict[str, str]]) -> str:
    """Format median spikes and windows, one line per cause."""
    lines = [
        "| DCTCP | " + " | ".join(f"{float(row['d_ms']):.0f} ms" for row in measured) + " |",
        "|---|" + "---|" * len(measured),
        "| measured | " + " | ".join(measured_text(row) for row in measured) + " |",
    ]
    for name, change in CAUSES.items():
        found = " | ".join(text(simulate(row, change)) for row in measured)
        lines.append(f"| {name} | {found} |")
    return "\n".join(lines)


def measured_text(row: dict[str, str]) -> str:
    """Format spike and window of a measured cell."""
    spike_ms = float(row["peak_minus_d_drop_aligned_ms"])
    return f"{spike_ms:.1f} ms ({row['cwnd_max_last1s_pkts']})"


def text(cell: Cell) -> str:
    """Format median spike and window of a simulated cell."""
    return f"{median(cell.spikes_ms):.1f} ms ({median(cell.windows):.0f})"


if __name__ == "__main__":
    print(table(dctcp()))
