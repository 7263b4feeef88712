"""Measure the time of a controller's programs in the kernel for each acknowledgement of a live run.

    sudo .venv/bin/python benches/kernel_cost.py --controller lola

The script enables the statistics of BPF (kernel.bpf_stats_enabled) during the run, which cost some
20 ns for each run of a program and are part of the figures. It prints one line of JSON.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bpf_objects

STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
# The program that runs once for each acknowledgement of data; names have 15 characters.
PER_ACK = {
    "lola": "sojourn_pkts_acked"[:15],
    "copa": "sojourn_cong_control"[:15],
    "dctcp": "sojourn_in_ack_event"[:15],
    "prague": "sojourn_cong_control"[:15],
}
# The program that sets ECT(1) runs once for each packet, not for each acknowledgement.
EGRESS = "sojourn_ect1"
SCENARIO = """
duration = "{seconds}s"
[link.there]
rate = "100Mbit"
delay = "10ms"
queue = {queue}
buffer = "1MB"
[link.back]
delay = "10ms"
[flow.first]
path = ["there"]
back = ["back"]
[flow.second]
path = ["there"]
back = ["back"]
"""
QUEUES = {
    "lola": '"droptail"',
    "copa": '"droptail"',
    "dctcp": '{ kind = "step", k = 20 }',
    "prague": '"dualpi2"',
}


def _watched(line: list[str]) -> dict[str, tuple[int, int]]:
    """Run a command, and return the latest figures of the programs that it loads."""
    found: dict[str, tuple[int, int]] = {}
    # The kernel keeps programs of an earlier run for a while.
    earlier = set(bpf_objects.identifiers("programs"))
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            found |= bpf_objects.runs(but=earlier)
            try:
                process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
    if process.returncode:
        sys.exit(process.returncode)
    return found


def _measure(controller: str, seconds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "cost.toml"
        scenario.write_text(SCENARIO.format(seconds=seconds, queue=QUEUES[controller]))
        line = [sys.executable, "-m", "sojourn", "live", str(scenario), "--json"]
        found = _watched([*line, "--control", controller])
    ours = {name: one for name, one in found.items() if name.startswith("sojourn_") and one[1]}
    _, acknowledgements = ours[PER_ACK[controller]]
    total = sum(time for name, (time, _) in ours.items() if name != EGRESS)
    return {
        "controller": controller,
        "acknowledgements": acknowledgements,
        "ns_per_ack": round(total / acknowledgements, 1),
        "ns_per_run": {name: round(time / count, 1) for name, (time, count) in ours.items()},
        "runs": {name: count for name, (_, count) in ours.items()},
    }


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Measure a controller's time in the kernel.")
    parser.add_argument("--controller", choices=PER_ACK, default="lola")
    parser.add_argument("--seconds", type=int, default=20)
    args = parser.parse_args()
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        figures = _measure(args.controller, args.seconds)
    finally:
        STATISTICS.write_text(before)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
