"""Do real hosts over real sockets behave as the simulation of the same file?

The parts run one after the other on a machine without other work; the small form runs them side by
side, since it measures nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import live_answers
import live_cells
import live_papers
import live_picture
import live_recovery
import live_timing

Row = dict[str, Any]

MINUTES = 170
NEEDS = ("root",)
# Two seconds after a drop, the queue is still long. A run of one second on a busy machine may end
# before the look at the kernel's count. A second may pass without a stall of a host.
NULL_WHEN_SMALL = (
    "answers.between_stalls_ms",
    *(f"recovery.recovery_{which}_s" for which in ("least", "median", "greatest")),
    "tcp_probe.row_ns",
)

PARTS: Mapping[str, Callable[[bool], list[Row]]] = {
    "cells": live_cells.measure_cells,
    "repeats": live_cells.measure_repeats,
    "answers": live_answers.answers,
    "causes": live_cells.measure_causes,
    "papers": live_papers.papers,
    "recovery": live_recovery.recovery,
    "echoes": live_papers.echoes,
    "throughput": live_timing.throughput,
    "lateness": live_timing.lateness,
    "costs": live_timing.costs,
    "tcp_probe": live_timing.tcp_probe,
    "first_packets": live_timing.first_packets,
    "devices": live_timing.devices,
}


def measure(small: bool) -> dict[str, list[Row]]:
    """Measure every part."""
    if small:
        with ThreadPoolExecutor(4) as pool:
            parts = {name: pool.submit(part, True) for name, part in PARTS.items()}
        found = {name: part.result() for name, part in parts.items()}
    else:
        found = {name: part(False) for name, part in PARTS.items()}
    return {**found, "plain": live_cells.measure_plain(found["cells"], small)}


NAMES = {"kernel": "TCP", "udp": "UDP"}


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the cells that agree by controller; those with the same share have one row."""
    groups: dict[tuple[str, int, int], list[str]] = {}
    cells: dict[tuple[str, str], list[Row]] = {}
    for key, of in groupby(tables["cells"], key=lambda row: (row["hosts"], row["controller"])):
        cells[key] = list(of)
        agree = sum(row["goodput_agrees"] and row["delay_agrees"] for row in cells[key])
        groups.setdefault((key[0], agree, len(cells[key])), []).append(key[1])
    lines = [
        "| hosts: controllers | agree | goodput differs, %: median, most "
        "| delay differs, ms: median, most |",
        "|---|---|---|---|",
    ]
    order = sorted(groups.items(), key=lambda one: (one[0][0], -one[0][1]))
    for (hosts, agree, count), names in order:
        own = [row for name in names for row in cells[hosts, name]]
        goodput = sorted(
            100 * abs(row["goodput_mbps"] / row["simulated_goodput_mbps"] - 1) for row in own
        )
        delay = sorted(abs(row["delay_p50_ms"] - row["simulated_delay_p50_ms"]) for row in own)
        lines.append(
            f"| {NAMES[hosts]}: {', '.join(names)} | {agree}/{count} "
            f"| {median(goodput):.1f}, {goodput[-1]:.1f} | {median(delay):.2f}, {delay[-1]:.2f} |"
        )
    return "\n".join(lines)


def draw(tables: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Draw live figures over simulated ones, for docs/accuracy.md."""
    (folder / "cells.svg").write_text(live_picture.svg(tables["cells"]), "utf-8")
