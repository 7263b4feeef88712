"""Does malformed input break a reader?

The whole measurement is `make fuzz`, which needs a C++ compiler. The small form mutates the seeds
of one target by itself.
"""

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sojourn import qlog
from sojourn.errors import UsageError

Row = dict[str, Any]

MINUTES = 65
# Only a fuzzer counts these.
NULL_WHEN_SMALL = ("counts.commit", "counts.edges", "counts.features", "counts.peak_mb")

ROOT = Path(__file__).resolve().parents[2]


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the counts of each target that ran."""
    if small:
        return {"counts": [mutated(1.0)]}
    subprocess.run(["make", "--directory", str(ROOT), "fuzz"], check=True)
    last = json.loads((ROOT / "fuzz" / "out" / "counts.json").read_text("utf-8"))
    return {"counts": [row(one, last) for one in last["targets"]]}


def row(found: Mapping[str, Any], run: Mapping[str, Any]) -> Row:
    """Return the row of a target."""
    return {
        "target": found["target"],
        "time_s": round(found["seconds"]),
        "executions": found["executions"],
        "edges": found["edges"],
        "features": found["features"],
        "seeds": found["seeds"],
        "corpus": found["corpus"],
        "peak_mb": found["peak_rss_mb"],
        "findings": int(found["finding"] is not None),
        "date": run["date"],
        "commit": run["commit"],
    }


def mutated(seconds: float) -> Row:
    """Read the seeds of the target `qlog` and mutations of them; a failure is an exception."""
    seeds = sorted((ROOT / "fuzz" / "src" / "__fuzz__" / "qlog" / "corpus").iterdir())
    chance, began, executions = random.Random(1), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fuzz.qlog"
        while executions < len(seeds) or time.monotonic() - began < seconds:
            data = bytearray(seeds[executions % len(seeds)].read_bytes())
            if executions >= len(seeds) and data:
                data[chance.randrange(len(data))] = chance.randrange(256)
            file.write_bytes(data)
            # A file without a trace is refused.
            with suppress(UsageError):
                qlog.read(file)
            executions += 1
    found = {
        "target": "qlog",
        "seconds": time.monotonic() - began,
        "executions": executions,
        "edges": None,
        "features": None,
        "seeds": len(seeds),
        "corpus": 0,
        "peak_rss_mb": None,
        "finding": None,
    }
    return row(found, {"date": time.strftime("%Y-%m-%d"), "commit": None})


READERS = {
    "scenario": "TOML",
    "json": "JSON",
    "set": "`--set`",
    "files": "files",
    "capacity": "capacity",
    "record": "summaries",
    "capture": "captures",
    "explain": "explanations",
    "qlog": "qlog",
    "udp": "UDP",
    "quic": "QUIC",
    "http3": "HTTP/3",
}


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the counts of each target, or that it did not run."""
    lines = [
        "| reader | inputs, a second | branches, features | faults |",
        "|---|---|---|---|",
    ]
    counts = {one["target"]: one for one in tables["counts"]}
    for target, reader in READERS.items():
        if target not in counts:
            lines.append(f"| {reader} | not run | – | – |")
            continue
        one = counts[target]
        # The small form has no instrumentation that counts branches.
        reached = "–" if one["edges"] is None else f"{one['edges']:,}, {one['features']:,}"
        rate = one["executions"] / max(one["time_s"], 1)
        lines.append(
            f"| {reader} | {one['executions']:,}, {rate:,.0f} | {reached} | {one['findings']} |"
        )
    total = sum(one["time_s"] for one in tables["counts"])
    return "\n".join([*lines, "", f"In {total:,} s of processor time."])
