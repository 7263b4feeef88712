"""Compare cells of studies/witness with their simulations: python tests/vm/witness.py 6.1 6.12.

The kernels run on `tests/vm/quiet`, so that a cell gives the same figures in every run, unless the
kernel draws random numbers. Each tolerance has its reason. A simulated figure is the median of
several seeds.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))

import measure

Row = dict[str, Any]

# A packet's time at 10 Mbit/s is 1.2 ms: smaller delays are compared as parts of a millisecond.
LEAST_DELAY_MS = 1.0


@dataclass(frozen=True)
class Tolerance:
    """Greatest differences, as shares; `None`: not compared."""

    reason: str
    delay: float | None = 0.05
    goodput: float | None = 0.01
    retransmitted: float | None = None
    marked: float | None = None
    completion: float | None = None


CYCLE = "a window's cycle, which no random number decides"
TOLERANCES = {
    "cubic: 10 Mbit/s, 20 ms, pfifo": Tolerance(CYCLE),
    "cubic: 50 Mbit/s, 20 ms, pfifo": Tolerance(CYCLE),
    "reno: 50 Mbit/s, 50 ms, pfifo": Tolerance(CYCLE),
    "reno: 10 Mbit/s, 20 ms, fq_codel": Tolerance(CYCLE, retransmitted=0.1),
    "reno: 10 Mbit/s, 20 ms, cake": Tolerance(CYCLE, retransmitted=0.1),
    "cubic: 10 Mbit/s, 20 ms, red": Tolerance("RED drops at random, 14 times", delay=0.15),
    "bbr: 10 Mbit/s, 20 ms, pfifo": Tolerance("BBR's estimate depends on single samples", 0.1),
    "bbr: 10 Mbit/s, 20 ms, cake": Tolerance(
        "as many losses as an estimate above the rate causes", 0.1, retransmitted=0.15
    ),
    "vegas: 50 Mbit/s, 20 ms, pfifo": Tolerance("any of 2 to 4 packets may stay", 0.6),
    "dctcp+dctcp: 50 Mbit/s, 20 ms, red step": Tolerance(
        "flows converge slowly, and RED draws random numbers", goodput=None, marked=0.3
    ),
    "bbr: 50 Mbit/s, 20 ms, pfifo, loss 1%": Tolerance("random losses", None, goodput=0.1),
    # Linux 6.1 and 7.3 themselves differ by 11 % in the delay and 2.6 % in goodput.
    "cubic: 50 Mbit/s, 20 from 10 s, 50 from 15 s, 20 ms, fq_codel": Tolerance(
        "one loss of 14 more or less", 0.15, goodput=0.03
    ),
    "cubic 1000kB+cubic 1000kB+cubic 1000kB+cubic 1000kB+cubic 1000kB: 50 Mbit/s, 20 ms, pfifo": (
        Tolerance("slow start", None, None, completion=0.02)
    ),
}
FIGURES = {
    "delay": "delay_ms",
    "goodput": "goodput_mbps",
    "retransmitted": "retransmitted",
    "marked": "marked",
    "completion": "completion_s",
}


def faults(row: Row) -> list[str]:
    """Return the figures of a flow that differ by more than their tolerance."""
    tolerance = TOLERANCES[row["cell"]]
    found = []
    for name, figure in FIGURES.items():
        most, real, ours = getattr(tolerance, name), row[figure], row[f"simulated_{figure}"]
        least = LEAST_DELAY_MS if name == "delay" else 0.0
        if most is not None and abs(ours - real) > most * max(real, least):
            found.append(f"{name}: {real} on the kernel, {ours} simulated ({tolerance.reason})")
    return found


def main() -> None:
    """Compare the cells on each kernel."""
    study = measure.load("witness")
    cells = [cell for cell in study.CELLS if cell.name in TOLERANCES]
    assert len(cells) == len(TOLERANCES), "a cell was renamed"
    status = 0
    for row in study.compare(sys.argv[1:], cells):
        found = faults(row)
        status |= bool(found)
        print(f"{row['kernel']} {row['cell']}, flow {row['flow']}: {'; '.join(found) or 'agrees'}")
    sys.exit(status)


if __name__ == "__main__":
    main()
