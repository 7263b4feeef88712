"""Compare live runs with simulations: the matrix of docs/fidelity.md.

    sudo .venv/bin/python benches/live_fidelity.py measure [--only kernel/cubic] [--time 50]
    sudo .venv/bin/python benches/live_fidelity.py measure --missed --runs 5
    .venv/bin/python benches/live_fidelity.py simulate
    .venv/bin/python benches/live_fidelity.py publish
    .venv/bin/python benches/live_fidelity.py delays --missed --only udp

`measure` runs every cell live for six seconds, half an hour in total, and adds each run to
`runs/live-fidelity.json`. A later call goes on with the runs that are missing; with `--missed`, it
measures the published cells that do not agree. `simulate` simulates the cells, and `publish` writes
docs/live-fidelity.json, its tables in docs/fidelity.md and the picture. Cells without a new run or
a new simulation keep their published values. `delays` prints cells simulated with other delays of
the hosts.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import live_matrix as matrix
import live_tables
from sojourn.report import render, views

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LIVE = ROOT / "runs" / "live-fidelity.json"
SIMULATED = ROOT / "runs" / "live-fidelity-simulated.json"


def read(file: Path) -> dict[str, Any]:
    """Read a file of results, which may be missing."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def write(file: Path, results: dict[str, Any]) -> None:
    """Replace a file of results at once, so that an interruption costs one cell at most."""
    file.parent.mkdir(exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(results, indent=1) + "\n")
    new.replace(file)


def published() -> dict[str, dict[str, Any]]:
    """Return the published cells by name."""
    rows = json.loads((DOCS / "live-fidelity.json").read_text())
    return {
        matrix.Cell(
            row["stack"],
            row["control"],
            round(row["rate_bps"] / 1e6),
            round(row["rtt_s"] * 1e3),
            row["queue"],
        ).name: row
        for row in rows
    }


def measure(chosen: list[matrix.Cell], runs: int, time_s: float, jobs: int) -> int:
    """Measure the missing runs of the cells for some time; return 3 if runs are left."""
    results, end = read(LIVE), time.monotonic() + time_s
    left = [
        (cell, 1 + done) for cell in chosen for done in range(len(results.get(cell.name, [])), runs)
    ]
    # Runs side by side have different rates: one of 100 Mbit/s over UDP takes a whole processor.
    left.sort(
        key=lambda run: (
            run[0].stack,
            run[0].control,
            run[0].rtt_ms,
            run[0].queue,
            run[1],
            run[0].rate_mbit,
        )
    )

    def in_time(run: tuple[matrix.Cell, int]) -> tuple[matrix.Cell, matrix.Measured] | None:
        return None if time.monotonic() > end else (run[0], matrix.measure(*run))

    with matrix.dctcp_in_kernel(cell for cell, _ in left), ThreadPoolExecutor(jobs) as pool:
        done = pool.map(in_time, left)
        for place, found in enumerate(done, 1):
            if found is None:
                return 3
            cell, measured = found
            results.setdefault(cell.name, []).append(measured.as_json())
            write(LIVE, results)
            figures = measured.figures
            show(
                f"{place}/{len(left)} {cell.name}: {figures.goodput_bps / 1e6:.2f} Mbit/s, "
                f"{1e3 * figures.delay_p50_s:.2f} ms, late {1e3 * measured.lateness_p99_s:.2f} ms, "
                f"stolen {measured.stolen_s:.2f} s, {measured.tries} tries"
            )
    return 0


def simulate(chosen: list[matrix.Cell]) -> int:
    """Simulate the cells anew."""
    results = read(SIMULATED)
    for place, cell in enumerate(chosen, 1):
        results[cell.name] = [vars(one) for one in matrix.simulate(cell).runs]
        write(SIMULATED, results)
        show(f"{place}/{len(chosen)} {cell.name}")
    return 0


def delays(chosen: list[matrix.Cell]) -> int:
    """Print medians of five simulations with each delay of the hosts: Mbit/s and ms."""
    for cell in chosen:
        found = []
        for delay in ("0us", "50us", "150us", "300us", "600us"):
            runs = matrix.simulate(cell, delay, 5)
            goodput, queue = (median(runs.values(key)) for key in matrix.JUDGED)
            found.append(f"{goodput / 1e6:.2f}, {1e3 * queue:.2f}")
        sys.stdout.write(f"| {cell.name} | {' | '.join(found)} |\n")
    return 0


def rows_of(
    live: dict[str, Any], simulated: dict[str, Any], earlier: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return all cells with their verdicts; refuse a matrix with cells that were not measured."""
    rows, missing = [], []
    for cell in matrix.cells():
        row = matrix.empty_row(cell) | earlier.get(cell.name, {})
        if cell.name in live:
            row |= matrix.live_part([matrix.Measured.from_json(one) for one in live[cell.name]])
        if cell.name in simulated:
            row |= matrix.simulated_part([matrix.Figures(**one) for one in simulated[cell.name]])
        if "live" in row and "simulated" in row:
            rows.append(matrix.judged(row))
        else:
            missing.append(cell.name)
    if missing:
        raise SystemExit(
            f"{len(missing)} cells lack a live run or a simulation, such as {missing[0]}; "
            "`measure` and `simulate` add them"
        )
    return rows


def publish() -> int:
    """Write the JSON, the tables and the picture of all cells into docs/."""
    rows = rows_of(read(LIVE), read(SIMULATED), published())
    lines = ",\n".join(json.dumps(row) for row in rows)
    (DOCS / "live-fidelity.json").write_text(f"[\n{lines}\n]\n")
    page = DOCS / "fidelity.md"
    page.write_text(live_tables.replaced(page.read_text(), live_tables.tables(rows)))
    picture = render.png(render.svg(views.document(live_tables.picture(rows))))
    (DOCS / "live-fidelity.png").write_bytes(picture)
    return 0


def show(line: str) -> None:
    """Show progress."""
    sys.stderr.write(line + "\n")


def main() -> int:
    """Carry out one of the steps."""
    parser = argparse.ArgumentParser(description="Compare live runs with simulations.")
    parser.add_argument("step", choices=["measure", "simulate", "publish", "delays"])
    parser.add_argument("--only", default="", help="cells whose names contain this text")
    parser.add_argument("--time", type=float, default=float("inf"), help="end after this time, s")
    parser.add_argument("--missed", action="store_true", help="published cells that do not agree")
    parser.add_argument("--runs", type=int, default=1, help="live runs of each cell")
    parser.add_argument("--jobs", type=int, default=1, help="live runs at a time")
    args = parser.parse_args()
    chosen = [cell for cell in matrix.cells() if args.only in cell.name]
    if args.missed:
        missed = {name for name, row in published().items() if not live_tables.agrees(row)}
        chosen = [cell for cell in chosen if cell.name in missed]
    if args.step == "measure":
        return measure(chosen, args.runs, args.time, args.jobs)
    if args.step == "delays":
        return delays(chosen)
    return publish() if args.step == "publish" else simulate(chosen)


if __name__ == "__main__":
    sys.exit(main())
