"""The simulation of Linux's TCP beside live runs of Linux 6.18, which are outside figures."""

import json
import runpy
from typing import Any

import pytest
from support import ROOT

STUDY = ROOT / "studies" / "live"
MEASURED = json.loads((STUDY / "result.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    """Return the names of the module that has the cells of the study."""
    return runpy.run_path(str(STUDY / "live_cells.py"))


# Reno has 3 % less goodput over DualPI2 at 10 Mbit/s (docs/accuracy.md).
@pytest.mark.parametrize(
    ("controller", "most"), [("cubic", 0), ("dctcp", 0), ("reno", 2), ("bbr", 0)]
)
def test_the_simulation_of_linux_agrees_with_linux(
    cells: dict[str, Any], controller: str, most: int
) -> None:
    """The goodput is within 2 %, and the median delay within 10 % or 1 ms, but for a few cells."""
    missed = []
    measured = [
        row
        for row in MEASURED["cells"]
        if (row["hosts"], row["controller"]) == ("kernel", controller)
    ]
    assert len(measured) == 18
    for row in measured:
        cell = cells["Cell"]("kernel", controller, row["rtt_ms"], row["queue"], row["rate_mbps"])
        again = {**row, **cells["spread"](cell.simulated(21), "simulated_")}
        if not cells["agrees"]({**again, **cells["verdicts"](again)}):
            missed.append(cell)
    assert len(missed) <= most, missed
