"""Measure the lateness of the departures of `sojourn quic serve` beside busy processes.

    sudo .venv/bin/python benches/quic_serve.py --busy 2 --runs 5

A client of another project (`gtlsclient` of ngtcp2) downloads four files of 1 MB through 10 Mbit/s,
20 ms and marks at 5 ms. Runs with each priority of the server take turns. The script prints a
table, or JSON with `--json`.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCENARIO = """
duration = "10s"
controls = ["prague"]

[link.down]
rate   = "10Mbit"
delay  = "10ms"
buffer = "20ms"
queue  = { kind = "threshold", ce_threshold = "5ms" }

[link.up]
delay = "10ms"

[flow.files]
path = ["up"]
back = ["down"]
"""
CLIENT = (
    "gtlsclient --quiet --exit-on-all-streams-close -n 4 "
    "$SOJOURN_PEER 4433 https://$SOJOURN_PEER:4433/bytes/1000000"
)
PRIORITIES = ("auto", "normal")
FIGURES = ("duration_s", "lateness_p50_s", "lateness_p99_s", "lateness_max_s")


def _spin() -> None:
    while True:
        pass


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep this many processes busy."""
    spinning = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for one in spinning:
        one.start()
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.join()


def _measure(priority: str) -> dict[str, Any]:
    """Return the figures of the server's connection."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bottleneck.toml").write_text(SCENARIO)
        own = f"{sys.executable} -m sojourn"
        serve = f"{own} quic serve --control prague --priority {priority} --json >served"
        line = [*own.split(), "shell", "bottleneck.toml", "--quiet", "--server", serve]
        subprocess.run([*line, "--", "sh", "-c", CLIENT], cwd=folder, check=True)
        lines = map(json.loads, (Path(folder) / "served").read_text().splitlines())
        first, *rest = lines
        (served,) = (one for one in rest if "requests" in one)
    figures = {key: served[key] for key in FIGURES}
    return {"asked": priority, "priority": first["priority"], **figures}


def main() -> None:
    """Measure, and print the runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--busy", type=int, default=2, help="busy processes (default: 2)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each priority (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with _busy(args.busy):
        runs = [_measure(priority) for _ in range(args.runs) for priority in PRIORITIES]
    if args.json:
        print(json.dumps({"busy": args.busy, "processors": os.cpu_count(), "runs": runs}))
        return
    print("| `--priority` | priority | four files | median | 99th percentile | maximum |")
    print("|---|---|---|---|---|---|")
    for one in sorted(runs, key=lambda one: str(one["asked"])):
        late = " | ".join(f"{one[key] * 1e6:.0f} us" for key in FIGURES[1:])
        print(f"| `{one['asked']}` | {one['priority']} | {one['duration_s']:.3f} s | {late} |")


if __name__ == "__main__":
    main()
