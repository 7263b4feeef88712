"""How does every controller do over every queue, alone and beside each other controller?

`dataset` has each combination as `sojourn matrix --dataset` keeps it, in one batch: `sojourn sweep
show` and `sojourn view` draw it. The tables have what a dataset lacks: how often a real QUIC stack
differs from the model, and the combinations that are impossible.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

Row = dict[str, Any]

MINUTES = 3

HERE = Path(__file__).parent
STACK = "noq"
FEW = ("--controls", "cubic,ideal", "--queues", "droptail,dualpi2", "--rtts", "40ms")
# Differences of a stack's goodput from the model's that count as small, and as large.
NEAR, FAR = 0.02, 0.05
# Digits of the figures in the dataset.
DIGITS = 4
ABOUT = ("version", "rate", "buffer", "duration", "seed", "runs")
PICTURE = "matrix.svg"
SHOWN = ["droptail", "red", "codel", "fq_codel", "cake", "pie", "dualpi2"]
DARK = (
    "<style>@media (prefers-color-scheme: dark)"
    "{svg{filter:invert(0.93) hue-rotate(180deg)}}</style>"
)


def measure(small: bool) -> dict[str, list[Row]]:
    """Write the dataset, and return the tables; the small form has ten runs of two seconds."""
    chosen = (*FEW, "--duration", "2s") if small else ()
    folder = Path("matrix")
    found = json.loads(
        sojourn("matrix", "--quic", STACK, *chosen, "--json", "--dataset", str(folder))
    )
    pack(folder, Path("dataset") if small else HERE / "dataset")
    return {
        "about": [{key: found[key] for key in ABOUT}],
        "stacks": [stack(found["cells"])],
        "refused": refusals(found["refused"]),
    }


def draw(tables: dict[str, list[Row]], folder: Path) -> None:
    """Draw the 99th percentile of the queueing delay of every controller alone, at 40 ms."""
    names = dict.fromkeys(pl.read_parquet(folder / "dataset" / "points.parquet")["controller"])
    controllers = [name for name in names if "(" not in name]
    where = (
        f"rtt == 40ms and beside == 'alone' and queue in {SHOWN} and controller in {controllers}"
    )
    axes = ("--x", "queue", "--y", "controller", "--metric", "links.queue_delay_p99_s")
    with tempfile.TemporaryDirectory() as place:
        line = ("sweep", "show", str(folder / "dataset"), "--where", where, *axes)
        sojourn(*line, "--plot", f"{place}/{PICTURE}")
        text = Path(place, PICTURE).read_text("utf-8")
    text = re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", text)
    (folder / PICTURE).write_text(text.replace(">", f">{DARK}", 1), "utf-8")


def sojourn(*arguments: str) -> str:
    """Run a command of Sojourn, and return its output."""
    line = [sys.executable, "-m", "sojourn", *arguments]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout


def stack(cells: list[Row]) -> Row:
    """Count the single flows whose goodput in the stack is about that in the model of QUIC."""
    singles = [cell for cell in cells if cell["carrier"]]
    own = [cell for cell in singles if cell["carrier"] == STACK]
    modelled = {place(cell): bps(cell) for cell in singles if cell["carrier"] != STACK}
    shares = [abs(bps(cell) / modelled[place(cell)] - 1) for cell in own]
    return {
        "stack": STACK,
        "cells": len(own),
        "within_2_percent": sum(share <= NEAR for share in shares),
        "over_5_percent": sum(share > FAR for share in shares),
        "closed_early": sum(bool(cell["closed"]) for cell in own),
    }


def place(cell: Row) -> tuple[str, str, str]:
    """Return the queue, the round-trip time and the controller of a single flow."""
    return cell["queue"], cell["rtt"], cell["controls"][0]


def bps(cell: Row) -> float:
    """Return the goodput of a single flow."""
    return float(cell["goodput_bps"][0])


def refusals(refused: list[Row]) -> list[Row]:
    """Return a row for each impossible combination, with its queues."""
    queues: dict[tuple[str, str | None, str], list[str]] = {}
    for one in refused:
        combined = (" + ".join(one["controls"]), one["carrier"], one["reason"])
        queues.setdefault(combined, []).append(one["queue"])
    return [
        {"flows": flows, "carrier": carrier, "queues": own, "reason": reason}
        for (flows, carrier, reason), own in queues.items()
    ]


def pack(source: Path, target: Path) -> None:
    """Write a dataset again in one batch, with the figures alone, rounded.

    Runs have numbers in place of their hashes, which would be half of the bytes. What is left out
    serves a command that continues: samples, and whole summaries. Links other than the bottleneck
    have no queue.
    """
    shutil.rmtree(target, ignore_errors=True)
    points = pl.read_parquet(source / "points.parquet").with_row_index("number")
    numbers = points.select("run", pl.col("number").cast(pl.String))
    for name in ("points", "scenarios", "flows", "links", "spikes", "runs"):
        file = source / f"{name}.parquet"
        table = pl.read_parquet(file if file.exists() else source / name / "*.parquet")
        if name == "links":
            table = table.filter(pl.col("name") == "bottleneck")
        rows = numbers.join(table, on="run", how="inner", maintain_order="left")
        rows = rows.with_columns(run="number").drop("number")
        content = io.BytesIO()
        rows.with_columns(cs.float().round_sig_figs(DIGITS)).write_parquet(
            content, compression_level=22, statistics=False
        )
        written = target / (file.name if file.exists() else f"{name}/all.parquet")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(content.getvalue())
    for name in ("scenario.toml", "sweep.json"):
        shutil.copyfile(source / name, target / name)
