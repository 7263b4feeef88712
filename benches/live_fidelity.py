"""Compare live runs with simulations: the matrix of docs/fidelity.md.

    sudo .venv/bin/python benches/live_fidelity.py measure [--only kernel/cubic] [--time 50]
    .venv/bin/python benches/live_fidelity.py simulate
    .venv/bin/python benches/live_fidelity.py publish

`measure` runs every cell live for six seconds, half an hour in total, and writes each result to
`runs/live-fidelity.json`. A later call goes on with the cells that are missing; with `--again`, it
measures once more those that do not agree. `simulate` simulates the cells, and `publish` writes
docs/live-fidelity.json, its tables in docs/fidelity.md and the picture.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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


def is_missed(cell: matrix.Cell, live: dict[str, Any], simulated: dict[str, Any]) -> bool:
    """Whether the first measurement of a cell does not agree with the simulation."""
    if cell.name not in live or live[cell.name]["is_repeated"]:
        return False
    return not live_tables.agrees(row_of(cell, live, simulated))


def row_of(cell: matrix.Cell, live: dict[str, Any], simulated: dict[str, Any]) -> dict[str, Any]:
    """Return a cell of docs/live-fidelity.json."""
    runs = tuple(matrix.Figures(**one) for one in simulated[cell.name])
    measured = matrix.Measured.from_json(live[cell.name])
    return matrix.row(cell, measured, matrix.Simulated(runs))


def measure(chosen: list[matrix.Cell], time_s: float, again: bool, jobs: int) -> int:
    """Measure the missing cells for some time, or those that are missed again; return 3 if cells
    are left.
    """
    results, end = read(LIVE), time.monotonic() + time_s
    simulated = read(SIMULATED) if again else {}
    left = [
        one
        for one in chosen
        if (is_missed(one, results, simulated) if again else one.name not in results)
    ]
    # Runs side by side have different rates: one of 100 Mbit/s over UDP takes a whole processor.
    left.sort(key=lambda cell: (cell.stack, cell.control, cell.rtt_ms, cell.queue, cell.rate_mbit))

    def in_time(cell: matrix.Cell) -> tuple[matrix.Cell, matrix.Measured] | None:
        return None if time.monotonic() > end else (cell, matrix.measure(cell))

    with matrix.dctcp_in_kernel(left), ThreadPoolExecutor(jobs) as pool:
        done = pool.map(in_time, left)
        for place, found in enumerate(done, 1):
            if found is None:
                return 3
            cell, measured = found
            results[cell.name] = {**measured.as_json(), "is_repeated": again}
            write(LIVE, results)
            figures = measured.figures
            show(
                f"{place}/{len(left)} {cell.name}: {figures.goodput_bps / 1e6:.2f} Mbit/s, "
                f"{1e3 * figures.delay_p50_s:.2f} ms, late {1e3 * measured.lateness_p99_s:.2f} ms, "
                f"stolen {measured.stolen_s:.2f} s, {measured.tries} runs"
            )
    return 0


def simulate(chosen: list[matrix.Cell]) -> int:
    """Simulate the cells anew."""
    results = read(SIMULATED)
    for place, cell in enumerate(chosen, 1):
        results[cell.name] = [vars(one) for one in matrix.simulate(cell).runs]
        show(f"{place}/{len(chosen)} {cell.name}")
    write(SIMULATED, results)
    return 0


def publish() -> int:
    """Write the JSON, the tables and the picture of all measured cells into docs/."""
    live, simulated = read(LIVE), read(SIMULATED)
    measured = [cell for cell in matrix.cells() if cell.name in live and cell.name in simulated]
    rows = [row_of(cell, live, simulated) for cell in measured]
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
    """Carry out one of the three steps."""
    parser = argparse.ArgumentParser(description="Compare live runs with simulations.")
    parser.add_argument("step", choices=["measure", "simulate", "publish"])
    parser.add_argument("--only", default="", help="cells whose names contain this text")
    parser.add_argument("--time", type=float, default=float("inf"), help="end after this time, s")
    parser.add_argument(
        "--again", action="store_true", help="measure cells that do not agree once more"
    )
    parser.add_argument("--jobs", type=int, default=1, help="live runs at a time")
    args = parser.parse_args()
    chosen = [cell for cell in matrix.cells() if args.only in cell.name]
    if args.step == "measure":
        return measure(chosen, args.time, args.again, args.jobs)
    return publish() if args.step == "publish" else simulate(chosen)


if __name__ == "__main__":
    sys.exit(main())
