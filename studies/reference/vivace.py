"""Vivace beside its authors' code, as runs: its decisions follow from the effects of its own rates.

`data/vivace.csv` has the shares of a link's capacity that PCCproject/PCC-Uspace 30c2cfe1e276, with
its utility Vivace, used in a closed loop with a FIFO of 75 ms and a round trip of 30 ms: medians of
five seeds without the first third. Its decisions take the majority of three pairs of intervals,
the paper's one; the file has both.
"""

import csv
from pathlib import Path
from statistics import median
from typing import Any

import sojourn

Row = dict[str, Any]

DATA = Path(__file__).resolve().parent / "data" / "vivace.csv"
PAYLOAD = 1448 / 1500
RUNS = 5

SCENARIO = """
duration = "{seconds}s"
record = {{ interval = "0s" }}
measure = {{ from = "{from_s}s" }}
[link.bottleneck]
rate = "{mbit}Mbit"
delay = "15ms"
buffer = "75ms"
loss = {loss}
[link.back]
delay = "15ms"
[flow.upload]
path = ["bottleneck"]
back = ["back"]
control = "vivace"
host = "rfc"
"""


def shares(small: bool) -> list[Row]:
    """Return the share of the capacity that each code uses, for each rate and loss."""
    with DATA.open() as file:
        rows = list(csv.DictReader(file))
    return [
        {
            "mbit": int(row["mbit"]),
            "loss": float(row["loss"]),
            "share": share(row, small),
            "reference": float(row["three_pairs"]),
            "reference_with_one_pair": float(row["one_pair"]),
        }
        for row in (rows[:1] if small else rows)
    ]


def share(row: Row, small: bool) -> float:
    """Run Sojourn's Vivace: the median share of the capacity for payload."""
    seconds = 6 if small else 60
    given = {"seconds": seconds, "from_s": seconds // 3, "mbit": row["mbit"], "loss": row["loss"]}
    runs = sojourn.run(SCENARIO.format(**given), runs=1 if small else RUNS).runs
    goodput = median(run["flows"][0]["goodput_bps"] for run in runs)
    return round(goodput / (float(row["mbit"]) * 1e6 * PAYLOAD), 4)
