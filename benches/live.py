"""Measure live runs: `.venv/bin/python benches/live.py`.

As root, on a machine without other work, it takes two minutes. It prints a table of the figures
beside their aims, and `benches/live.json` has them too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import sojourn

RESULTS = Path(__file__).with_name("live.json")

SECONDS = 4
# Slow start is over by then at all rates of this program.
STEADY_S = 2.0
RUNS = 5
BUSY = 2
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

HEAD = f'duration = "{SECONDS}s"\ncontrols = ["cubic"]\n'
# The queue holds a round trip at 1 Gbit/s and 10 ms.
BUFFER = 'buffer = "1MB"\n'
LINK = '[link.{}]\n{}delay = "{}"\n'
FLOW = '[flow.{}]\npath = ["{}"]\nback = ["{}"]\n'


def links(rate: str, delay: str = "5ms") -> str:
    """Return two links, there and back."""
    given = f'rate = "{rate}"\n{BUFFER}' if rate else ""
    return HEAD + LINK.format("there", given, delay) + LINK.format("back", given, delay)


ONE = FLOW.format("there", "there", "back")
EACH = ONE + FLOW.format("back", "back", "there")
TEN = ONE + "count = 10\n"


def measured(text: str, *options: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Run a scenario; return its summary and the processor time of each thread in s."""
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, Path(folder, "out").open("w+") as out:
        file = Path(folder, "scenario.toml")
        file.write_text(text)
        line = [sys.executable, "-m", "sojourn", "live", file, "--json", "--no-report", *options]
        with subprocess.Popen(line, cwd=folder, stdout=out) as process:
            while process.poll() is None:
                # A thread's time is gone with the thread.
                for name, now_s in thread_times(process.pid).items():
                    times[name] = max(times.get(name, 0.0), now_s)
                time.sleep(0.02)
        if process.returncode:
            raise SystemExit(process.returncode)
        out.seek(0)
        summary = json.load(out)
    return summary["runs"][0], times


def thread_times(process: int) -> dict[str, float]:
    """Return the processor time of the threads of a process, by their names."""
    found: dict[str, float] = {}
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            name = (thread / "comm").read_text().strip()
            fields = (thread / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # User and system time (proc(5), fields 14 and 15).
        found[name] = found.get(name, 0.0) + TICK_S * (int(fields[11]) + int(fields[12]))
    return found


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep processors busy at normal priority."""
    with ExitStack() as stack:
        for _ in range(count):
            one = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(one.wait)
            stack.callback(one.kill)
        yield


def unshaped(text: str) -> dict[str, float]:
    """Return the rate and the time of a packet without a shaped link."""
    run, times = measured(text)
    live = run["live"]
    rates = [flow["goodput_bps"] for flow in run["flows"]]
    packet_us = 1e6 * times["bottleneck"] / live["entered_packets"]
    return {"least_gbps": min(rates) / 1e9, "packet_us": packet_us}


def each_way() -> dict[str, float]:
    """Return the share of the line rate at 1 Gbit/s, and the packets without an account.

    BBR fills both directions. CUBIC does not: its acknowledgements wait behind the data of the
    other flow, and simulated goodputs are 0.76 and 0.57 of the line rate.
    """
    record = sojourn.live(sojourn.Scenario.parse(links("1Gbit") + EACH), "bbr")
    run = record.runs[0]
    live, both = run["live"], run["links"]
    dropped = sum(link["dropped_packets"] for link in both)
    copies = sum(link["duplicated_packets"] for link in both)
    out = live["delivered_packets"] + live["refused_packets"] + live["inside_packets"] + dropped
    return {
        "least_share": min(carried_bps(record, link["name"]) for link in both) / 1e9,
        "overflowed_packets": live["overflowed_packets"],
        "unaccounted_packets": live["entered_packets"] + copies - out,
    }


def departures(rate_mbit: int) -> dict[str, float]:
    """Return medians of the lateness beside busy processes, and the error of the mean rate."""
    with busy(BUSY):
        found = [departures_once(rate_mbit) for _ in range(RUNS)]
    return {key: median(one[key] for one in found) for key in found[0]}


def departures_once(rate_mbit: int) -> dict[str, float]:
    """Return the figures of one run."""
    run = sojourn.live(sojourn.Scenario.parse(links(f"{rate_mbit}Mbit") + ONE))
    live = run.runs[0]["live"]
    return {
        **{f"{key}_us": 1e6 * live[f"lateness_{key}_s"] for key in ("p50", "p99", "p999")},
        "rate_off": abs(carried_bps(run, "there") / (1e6 * rate_mbit) - 1),
    }


def carried_bps(run: sojourn.Run, link: str) -> float:
    """Return the mean rate of a link after slow start."""
    carried = run.link(link).series.filter(pl.col("t_s") > STEADY_S)["carried_bps"].mean()
    assert isinstance(carried, float)
    return carried


def threads() -> dict[str, float]:
    """Return the shares of a core of TCP_INFO for ten flows, and of a capture."""
    _, ten = measured(links("100Mbit") + TEN)
    with tempfile.TemporaryDirectory() as place:
        _, capture = measured(links("1Gbit") + ONE, "--pcapng", str(Path(place) / "packets"))
    return {
        "tcp_info_share": ten["run"] / SECONDS,
        "capture_share": capture["capture"] / SECONDS,
    }


FIGURES = {
    "unshaped_one_way": lambda: unshaped(links("", "10us") + ONE),
    "unshaped_each_way": lambda: unshaped(links("", "10us") + EACH),
    "1_gbit_each_way": each_way,
    "departures_100_mbit": lambda: departures(100),
    "departures_1_gbit": lambda: departures(1000),
    "threads": threads,
}


@dataclass(frozen=True)
class Row:
    """One figure of the table, with its aim."""

    name: str
    group: str
    key: str
    shown: str
    aim: str = ""


ROWS = (
    Row("unshaped, one way: goodput", "unshaped_one_way", "least_gbps", "{:.1f} Gbit/s", "5"),
    Row("bottleneck's time a packet", "unshaped_one_way", "packet_us", "{:.2f} µs", "1.2"),
    Row("unshaped, each way: lesser goodput", "unshaped_each_way", "least_gbps", "{:.1f}", "2"),
    Row(
        "1 Gbit/s each way: lesser share of the line",
        "1_gbit_each_way",
        "least_share",
        "{:.3f}",
        "0.93",
    ),
    Row("packets lost outside the queues", "1_gbit_each_way", "overflowed_packets", "{:.0f}", "0"),
    Row("packets without an account", "1_gbit_each_way", "unaccounted_packets", "{:.0f}", "0"),
    Row("100 Mbit/s, two busy processes: p50", "departures_100_mbit", "p50_us", "{:.1f} µs", "5"),
    Row("p99", "departures_100_mbit", "p99_us", "{:.1f} µs", "60"),
    Row("p99.9", "departures_100_mbit", "p999_us", "{:.1f} µs"),
    Row("error of the mean rate", "departures_100_mbit", "rate_off", "{:.3%}", "0.1 %"),
    Row("1 Gbit/s, two busy processes: p99", "departures_1_gbit", "p99_us", "{:.1f} µs", "120"),
    Row("p99.9", "departures_1_gbit", "p999_us", "{:.1f} µs"),
    Row("TCP_INFO of 10 flows at 1 ms", "threads", "tcp_info_share", "{:.1%} of a core", "3 %"),
    Row("capture at 1 Gbit/s", "threads", "capture_share", "{:.1%} of a core", "5 %"),
)


def table(found: dict[str, dict[str, float]]) -> str:
    """Return the figures as a table of Markdown."""
    rows = [
        f"| {row.name} | {row.shown.format(found[row.group][row.key])} | {row.aim} |"
        for row in ROWS
    ]
    return "\n".join(["| figure | measured | aim |", "|---|---|---|", *rows]) + "\n"


def main() -> int:
    """Measure all figures."""
    found = {}
    for place, (name, measure) in enumerate(FIGURES.items(), 1):
        sys.stderr.write(f"{place}/{len(FIGURES)} {name}\n")
        found[name] = measure()
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    sys.stdout.write(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
