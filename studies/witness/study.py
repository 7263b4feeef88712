"""Do the hosts `linux-6.x` behave as those kernels, without noise?

Each cell of `witness_cells` runs once on Debian's kernels, whose clock counts instructions
(`tests/vm/quiet`), and is simulated with several seeds.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import sojourn
import witness_picture
from tables import markdown
from witness_cells import CELLS, MSS, Cell, scenario, script

Row = dict[str, Any]
Tables = dict[str, list[Row]]

MINUTES = 40

ROOT = Path(__file__).resolve().parents[2]
KERNELS = {"6.1": "linux-6.1", "6.12": "linux-6.6", "7.3": "linux-6.18"}
"""Debian's kernels, and the host that models each."""
RUNS = 11


def is_cached(kernel: str) -> bool:
    """Return whether `tests/vm/fetch` has been run for a kernel."""
    return (ROOT / "target" / "vm" / kernel / "modules.cpio").exists()


# The tests run the small form, and download nothing.
NEEDS = (
    "qemu-system-x86_64",
    "cc",
    "tc",
    *(f"tests/vm/fetch {one} target/vm/{one}" for one in list(KERNELS)[:1] if not is_cached(one)),
)


def measure(small: bool) -> Tables:
    """Run each cell on each kernel, and simulate it."""
    if small:
        return {"flows": compare(list(KERNELS)[:1], [short(CELLS[0])], 2)}
    # Linux 6.12 confirms 6.1: half of the cells are enough.
    halved = {"6.12": CELLS[::2]}
    each = [compare([kernel], halved.get(kernel, CELLS)) for kernel in KERNELS]
    return {"flows": [row for rows in each for row in rows]}


def short(cell: Cell) -> Cell:
    """Return two seconds of a cell."""
    return Cell(cell.flows, cell.rate, cell.rtt, cell.queue, seconds=2.0, measured_from=0.5)


def compare(kernels: Sequence[str], cells: Sequence[Cell], runs: int = RUNS) -> list[Row]:
    """Return a row for each flow of each cell."""
    jobs = [(kernel, cell) for kernel in kernels for cell in cells]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        real = list(pool.map(lambda job: on_kernel(*job), jobs))
    rows = []
    for (kernel, cell), flows in zip(jobs, real, strict=True):
        both = zip(flows, simulate(kernel, cell, runs), strict=True)
        for index, (flow, simulated) in enumerate(both):
            row: Row = {"kernel": kernel, "cell": cell.name, "flow": index}
            row["control"] = cell.flows[index].control
            for figure in FIGURES:
                row[figure] = flow[figure]
                row[f"simulated_{figure}"] = simulated[figure]
            rows.append(row)
    return rows


FIGURES = ("goodput_mbps", "delay_ms", "retransmitted", "marked", "completion_s")


def on_kernel(kernel: str, cell: Cell, options: str = "") -> list[Row]:
    """Run a cell on a kernel."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script(cell, options))
        file.flush()
        line = [str(ROOT / "tests" / "vm" / "quiet" / "run"), kernel, file.name]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{cell.name} on {kernel}: {done.stdout}")
    # After it, `tc` may warn.
    found = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    return seen(json.loads(found)["flows"], cell)


def seen(flows: Sequence[Row], cell: Cell) -> list[Row]:
    """Return the figures of the flows that a kernel ran."""
    for flow, plan in zip(flows, cell.flows, strict=False):
        if not plan.size:
            # The count of delivered packets does not wait for gaps. The bytes read do.
            span = cell.seconds - max(plan.start, cell.measured_from)
            flow["goodput_bps"] = 8 * MSS * flow["delivered_packets"] / span
    return figures(flows[: len(cell.flows)])


def figures(flows: Sequence[Row]) -> list[Row]:
    """Return the figures of each flow of a run."""
    base = min(flow["min_rtt_s"] for flow in flows)
    return [figures_of(flow, base) for flow in flows]


def figures_of(flow: Row, base: float) -> Row:
    """Return the figures of a flow: the delay is the median srtt's part above the least RTT."""
    completion = flow["completion_s"]
    has_ended = completion is not None and completion >= 0
    srtt = flow["srtt_p50_s"]
    return {
        "goodput_mbps": round(flow["goodput_bps"] / 1e6, 3),
        "delay_ms": round(1e3 * (srtt - base), 3) if srtt else None,
        "retransmitted": flow["retransmitted_packets"],
        "marked": flow["marked_packets"],
        "completion_s": round(completion, 4) if has_ended else None,
    }


def simulate(kernel: str, cell: Cell, runs: int) -> list[Row]:
    """Return the medians of a cell's simulations."""
    run = sojourn.run(scenario(cell, KERNELS[kernel]), runs=runs)
    found = [
        figures([sampled(run, one["seed"], flow, cell) for flow in one["flows"]])
        for one in run.runs
    ]
    return [
        {figure: middle([one[index][figure] for one in found]) for figure in FIGURES}
        for index in range(len(cell.flows))
    ]


def sampled(run: sojourn.Run, seed: int, flow: Row, cell: Cell) -> Row:
    """Return a flow's figures with those that its samples have, from `measured_from` on."""
    series = run.flow(flow["name"], seed=seed).series
    samples = series.filter(pl.col("t_s") >= cell.measured_from)
    counts = {
        name: samples[name].max() - samples[name].min()
        for name in ("retransmitted_packets", "marked_packets")
    }
    rtts = {"srtt_p50_s": samples["srtt_s"].median(), "min_rtt_s": series["min_rtt_s"].min()}
    return {**flow, **counts, **rtts}


def middle(values: Sequence[float | None]) -> float | None:
    """Return the median of the known values."""
    known = [value for value in values if value is not None]
    return round(median(known), 4) if known else None


def errors(rows: Sequence[Row], figure: str, least: float = 0.0) -> list[float]:
    """Return the relative errors of a figure; below `least`, they are parts of it."""
    known = [(row[f"simulated_{figure}"], row[figure]) for row in rows]
    pairs = [(ours, real) for ours, real in known if ours is not None and real is not None]
    return sorted(abs(ours - real) / max(real, least) for ours, real in pairs if max(real, least))


# Least denominators: 1 ms of delay, 10 packets.
SHOWN = (
    ("queueing part of the median srtt", "delay_ms", 1.0),
    ("goodput", "goodput_mbps", 0.0),
    ("marks", "marked", 100.0),
    ("retransmissions", "retransmitted", 10.0),
    ("completion of a file", "completion_s", 0.0),
)


def answer(tables: Tables) -> str:
    """Return the error of each figure in the median and worst cell, by kernel."""
    kernels = list(dict.fromkeys(row["kernel"] for row in tables["flows"]))
    lines = [["figure", *(f"{kernel}: median, worst" for kernel in kernels)]]
    for title, figure, least in SHOWN:
        cells = []
        for kernel in kernels:
            rows = [row for row in tables["flows"] if row["kernel"] == kernel]
            found = errors([row for row in rows if is_judged(row, figure)], figure, least)
            cells.append(f"{100 * median(found):.1f} %, {100 * found[-1]:.0f} %" if found else "–")
        lines.append([title, *cells])
    return markdown(lines)


def is_judged(row: Row, figure: str) -> bool:
    """Return whether a figure of a flow is one of the comparison's: files have their own."""
    is_file = row["completion_s"] is not None
    if figure == "completion_s":
        return is_file
    if figure == "marked":
        return bool(row["marked"])
    return not is_file


def draw(tables: Tables, folder: Path) -> None:
    """Draw the delays and the goodput of the kernels over the simulated ones."""
    (folder / "cells.svg").write_text(witness_picture.svg(tables["flows"]), "utf-8")
