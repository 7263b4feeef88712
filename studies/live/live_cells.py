"""One flow over one bottleneck, live and simulated: every controller, three rates, two delays."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from typing import Any, Literal

import sojourn
from sojourn.live import real_time

Row = dict[str, Any]
Stack = Literal["kernel", "udp"]

KERNEL = ("reno", "cubic", "bbr", "dctcp")
# The bottleneck would have to signal `ideal`, and others need a source of media.
UDP = tuple(
    one["name"]
    for one in sojourn.controllers()
    if one["name"] != "ideal" and not one["needs"]["media"]
)
QUEUES: Mapping[str, object] = {
    "droptail": "droptail",
    "codel": {"kind": "codel", "ecn": True},
    "dualpi2": "dualpi2",
}
# The hosts of live runs. The kernel's asks for ECN, whichever its controller.
HOSTS: Mapping[str, Mapping[str, object]] = {
    "kernel": {**(real_time.host("kernel") or {}), "ecn": True},
    "udp": real_time.host("udp") or {},
}
# What a simulation of the kernel's controllers has beside its host. DCTCP, a program of BPF, keeps
# the fraction of a packet.
IN_KERNEL = {"dctcp": {"arithmetic": "exact"}}
# Plain hosts take as long to handle a packet as those of live runs (`sojourn hosts linux-6.18`).
PLAIN_NOISE = "idle"

# A cell agrees within this share of the goodput, and this share or time of the median delay.
GOODPUT_SHARE = 0.02
DELAY_SHARE, DELAY_MS = 0.1, 1.0
# A run beyond one of these limits is repeated: the 99th percentile of the packets' lateness, and
# the share of all processors' time that the hypervisor gave to others.
LATE_MS, STOLEN_SHARE = 1.0, 0.15
TRIES = 3

Change = Callable[[sojourn.Scenario], None]


@dataclass(frozen=True, order=True)
class Cell:
    """One controller over one bottleneck; the order lets neighbours differ in their rate."""

    hosts: Stack
    controller: str
    rtt_ms: int
    queue: str
    rate_mbps: int
    seconds: int = 6
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)
    is_plain: bool = False
    """Whether the simulation has the standards' TCP in place of Linux's."""

    def scenario(self, is_live: bool) -> sojourn.Scenario:
        """Build the scenario of the live run or of the simulation."""
        bottleneck: dict[str, object] = {
            "rate": f"{self.rate_mbps}Mbit",
            "delay": f"{self.rtt_ms / 2:g}ms",
            "queue": QUEUES[self.queue],
        }
        if self.queue == "droptail":
            bottleneck["buffer"] = f"{self.rate_mbps * self.rtt_ms * 125}B"
        in_kernel = self.hosts == "kernel" and not is_live and not self.is_plain
        own = {**self.parameters, **(IN_KERNEL.get(self.controller, {}) if in_kernel else {})}
        upload = {
            "control": {"kind": self.controller, **own} if own else self.controller,
            "path": ["bottleneck"],
            "back": ["back"],
            "host": "rfc" if self.is_plain else HOSTS[self.hosts],
        }
        return sojourn.Scenario(
            {
                "duration": f"{self.seconds}s",
                **({"noise": PLAIN_NOISE} if self.is_plain else {}),
                "record": {"interval": "0s"},
                "link": {"bottleneck": bottleneck, "back": {"delay": f"{self.rtt_ms / 2:g}ms"}},
                "flow": {"upload": upload},
            }
        )

    def simulated(self, runs: int) -> list[Row]:
        """Simulate with different seeds."""
        return [figures(run) for run in sojourn.run(self.scenario(False), runs=runs).runs]

    def live(self, seed: int) -> Row:
        """Run live, again while the run is disturbed; return the least late run.

        `seed` is that of the bottleneck's random draws, as of the marks of DualPI2.
        """
        done: list[Row] = []
        while len(done) < TRIES and (not done or self._is_disturbed(done[-1])):
            (run,) = sojourn.live(self.scenario(True), stack=self.hosts, seed=seed).runs
            timing = run["live"]
            late_ms = 1e3 * (timing["lateness_p99_s"] or 0.0)
            done.append(
                {**figures(run), "lateness_p99_ms": late_ms, "stolen_s": timing["stolen_s"]}
            )
        best = min(done, key=lambda one: (self._is_disturbed(one), one["lateness_p99_ms"]))
        return {**best, "tries": len(done)}

    def _is_disturbed(self, run: Row) -> bool:
        stolen_share = run["stolen_s"] / self.seconds / (os.cpu_count() or 1)
        return bool(run["lateness_p99_ms"] > LATE_MS or stolen_share > STOLEN_SHARE)


def figures(run: Mapping[str, Any]) -> Row:
    """Return the figures of a run."""
    (flow,) = run["flows"]
    link = next(one for one in run["links"] if one["name"] == "bottleneck")
    return {
        "goodput_mbps": flow["goodput_bps"] / 1e6,
        "delay_p50_ms": 1e3 * (link["queue_delay_p50_s"] or 0.0),
        "delay_p99_ms": 1e3 * (link["queue_delay_p99_s"] or 0.0),
        "dropped_packets": link["dropped_packets"],
        "marked_packets": link["marked_packets"],
    }


JUDGED = ("goodput_mbps", "delay_p50_ms")
FIGURES = (*JUDGED, "delay_p99_ms", "dropped_packets", "marked_packets")


def spread(runs: Sequence[Row], before: str = "") -> Row:
    """Return the median of each figure, and the extremes of the judged ones."""
    found: Row = {}
    for key in FIGURES:
        values = sorted(run[key] for run in runs)
        found[before + key] = short(median(values))
        if key in JUDGED:
            name, _, unit = key.rpartition("_")
            found[f"{before}{name}_least_{unit}"] = short(values[0])
            found[f"{before}{name}_greatest_{unit}"] = short(values[-1])
    return found


def short(value: float) -> float:
    """Keep five digits."""
    return float(f"{value:.5g}")


def row(cell: Cell, live: Sequence[Row], simulated: Sequence[Row]) -> Row:
    """Return the row of a cell, with its verdicts: medians are compared."""
    found = {
        "hosts": cell.hosts,
        "controller": cell.controller,
        "rate_mbps": cell.rate_mbps,
        "rtt_ms": cell.rtt_ms,
        "queue": cell.queue,
        "runs": len(live),
        **spread(live),
        **spread(simulated, "simulated_"),
        "lateness_p99_ms": short(max(one["lateness_p99_ms"] for one in live)),
        "stolen_s": max(one["stolen_s"] for one in live),
        "tries": sum(one["tries"] for one in live),
    }
    return {**found, **verdicts(found)}


def verdicts(found: Row) -> Row:
    """Return whether the medians of a row agree."""
    (goodput, expected), (delay, usual) = (
        (found[key], found["simulated_" + key]) for key in JUDGED
    )
    return {
        "goodput_agrees": abs(goodput - expected) <= GOODPUT_SHARE * expected,
        "delay_agrees": abs(delay - usual) <= max(DELAY_SHARE * usual, DELAY_MS),
    }


def agrees(found: Row) -> bool:
    """Whether a cell is within both targets."""
    return bool(found["goodput_agrees"] and found["delay_agrees"])


def all_cells() -> Iterator[Cell]:
    """Yield every cell."""
    controls: list[tuple[Stack, str]] = [("kernel", name) for name in KERNEL]
    controls += [("udp", name) for name in UDP]
    for (hosts, name), rate, rtt, queue in product(controls, (10, 50, 100), (10, 50), QUEUES):
        yield Cell(hosts, name, rtt, queue, rate)


@contextmanager
def dctcp_in_kernel(cells: Iterable[Cell]) -> Iterator[None]:
    """Keep DCTCP in the kernel if a cell needs it: runs side by side cannot all load it."""
    if not any((cell.hosts, cell.controller) == ("kernel", "dctcp") for cell in cells):
        yield
        return
    line = [sys.executable, "-m", "sojourn", "kernel", "load", "dctcp"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as loader:
        assert loader.stdout is not None
        loader.stdout.readline()
        try:
            yield
        finally:
            loader.terminate()


def live_runs(cells: Sequence[Cell], runs: int) -> dict[Cell, list[Row]]:
    """Run each cell live so often, two runs side by side."""
    asked = [(cell, seed) for cell in sorted(cells) for seed in range(1, runs + 1)]
    with dctcp_in_kernel(cells), ThreadPoolExecutor(2) as pool:
        found: dict[Cell, list[Row]] = {cell: [] for cell in cells}
        for (cell, _), run in zip(
            asked, pool.map(lambda ask: ask[0].live(ask[1]), asked), strict=True
        ):
            found[cell].append(run)
    return found


def measure_cells(small: bool) -> list[Row]:
    """Measure each cell once, and those that do not agree in five runs, which then count alone."""
    chosen = list(all_cells())
    if small:
        chosen = [
            Cell("kernel", "cubic", 10, "codel", 10, 1),
            Cell("udp", "bbr", 10, "codel", 10, 1),
        ]
    live = live_runs(chosen, 1)
    simulated = {cell: cell.simulated(2 if small else 21) for cell in chosen}
    missed = [cell for cell in chosen if not agrees(row(cell, live[cell], simulated[cell]))]
    if not small:
        live |= live_runs(missed, 5)
    return [row(cell, live[cell], simulated[cell]) for cell in chosen]


def measure_plain(cells: Sequence[Row], small: bool) -> list[Row]:
    """Simulate the cells of the kernel's TCP with hosts as the standards have them."""
    found = []
    for row in cells:
        if row["hosts"] != "kernel":
            continue
        cell = Cell(
            "kernel",
            row["controller"],
            row["rtt_ms"],
            row["queue"],
            row["rate_mbps"],
            1 if small else 6,
            is_plain=True,
        )
        simulated = spread(cell.simulated(1 if small else 5), "simulated_")
        names = ("controller", "rate_mbps", "rtt_ms", "queue", *JUDGED)
        found.append(
            {
                **{name: row[name] for name in names},
                **{f"simulated_{name}": simulated[f"simulated_{name}"] for name in JUDGED},
                **verdicts({**row, **simulated}),
            }
        )
    return found


# Cells that are run many times, to compare the range of real runs with that of the seeds.
REPEATED: tuple[tuple[str, int, str, int], ...] = (
    ("reno", 10, "droptail", 50),
    ("reno", 50, "dualpi2", 10),
    ("reno", 10, "codel", 100),
    ("cubic", 10, "droptail", 10),
    ("cubic", 50, "droptail", 50),
    ("cubic", 50, "codel", 100),
    ("bbr", 10, "droptail", 50),
    ("bbr", 50, "droptail", 10),
    ("bbr", 50, "codel", 100),
    ("dctcp", 10, "dualpi2", 50),
    ("dctcp", 50, "codel", 50),
    ("dctcp", 10, "codel", 10),
)


def measure_repeats(small: bool) -> list[Row]:
    """Run some of the kernel's cells many times, beside many seeds."""
    seconds = 1 if small else 6
    cells = [Cell("kernel", *one, seconds) for one in (REPEATED[3:4] if small else REPEATED)]
    live = live_runs(cells, 2 if small else 20)
    simulated = {cell: cell.simulated(3 if small else 101) for cell in cells}
    return [repeats(cell, key, live[cell], simulated[cell]) for cell in cells for key in JUDGED]


def repeats(cell: Cell, key: str, live: Sequence[Row], simulated: Sequence[Row]) -> Row:
    """Compare the 5th to 95th percentiles of a figure; `inside` is a share of the live runs."""
    real, seeds = (sorted(run[key] for run in runs) for runs in (live, simulated))
    (low, high), (least, greatest) = (
        (each[len(each) // 20], each[-1 - len(each) // 20]) for each in (seeds, real)
    )
    return {
        "controller": cell.controller,
        "rate_mbps": cell.rate_mbps,
        "rtt_ms": cell.rtt_ms,
        "queue": cell.queue,
        "figure": key,
        "runs": len(real),
        "inside": round(sum(low <= value <= high for value in real) / len(real), 2),
        "p5": short(least),
        "p50": short(median(real)),
        "p95": short(greatest),
        "simulated_p5": short(low),
        "simulated_p50": short(median(seeds)),
        "simulated_p95": short(high),
    }


# A parameter on both sides that takes the cause of a difference away.
WITHOUT: tuple[tuple[str, int, int, str, str, int | float | str], ...] = (
    ("vivace", 50, 10, "droptail", "latency_coefficient", 0),
    ("vivace", 100, 10, "droptail", "latency_coefficient", 0),
    ("vivace", 10, 10, "codel", "latency_filter", 0.1),
    ("vivace", 50, 10, "droptail", "latency_filter", 0.1),
    ("vivace", 100, 10, "droptail", "latency_filter", 0.1),
    ("rapid", 100, 10, "droptail", "resolution", "20us"),
    ("rapid", 100, 10, "droptail", "resolution", "50us"),
)


def measure_causes(small: bool) -> list[Row]:
    """Measure both sides without the part of a controller that tells them apart."""
    found = []
    for name, rate, rtt, queue, key, value in WITHOUT[:1] if small else WITHOUT:
        cell = Cell("udp", name, rtt, queue, rate, 1 if small else 6, {key: value})
        live = [cell.live(seed)["goodput_mbps"] for seed in range(1, 2 if small else 3)]
        simulated = [run["goodput_mbps"] for run in cell.simulated(1 if small else 3)]
        found.append(
            {
                "controller": name,
                "rate_mbps": rate,
                "rtt_ms": rtt,
                "queue": queue,
                "parameter": key,
                "value": value,
                "goodput_mbps": short(median(live)),
                "simulated_goodput_mbps": short(median(simulated)),
            }
        )
    return found
