"""The cells of the matrix of live runs: their scenarios, live figures and simulated ones."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import product
from statistics import median
from typing import Any, Literal

import sojourn

Stack = Literal["kernel", "udp"]

SECONDS = 6
SIMULATED_RUNS = 21

KERNEL = ("reno", "cubic", "bbr", "dctcp")
# The bottleneck would have to signal `ideal`, and others need a source of media.
UDP = tuple(
    one["name"]
    for one in sojourn.controllers()
    if one["name"] != "ideal" and not one["needs"]["media"]
)
CONTROLS: tuple[tuple[Stack, str], ...] = (
    *(("kernel", name) for name in KERNEL),
    *(("udp", name) for name in UDP),
)
RATES_MBIT = (10, 50, 100)
RTTS_MS = (10, 50)
QUEUES: Mapping[str, object] = {
    "droptail": "droptail",
    "codel": {"kind": "codel", "ecn": True},
    "dualpi2": "dualpi2",
}
TRANSPORTS: Mapping[Stack, object] = {
    # As Linux 6.18 sends and acknowledges (docs/bursts.md), with the memory that live runs give to
    # the kernel's sockets: 1 MiB at first, half of which is the window, up to 64 MiB, of which
    # 160/256 are payload. These settings have no effect on the kernel itself.
    "kernel": {
        "profile": "tcp",
        "initial_receive_window": "512KiB",
        "receive_window": "40MiB",
        "window_tuning": "linux-6.18",
        "tso": "64KiB",
        "tso_defer": "linux-6.18",
        "burst_acks": True,
        "quick_acks": 16,
        "growth_by_sack": False,
        "timer_slack": "8ms",
        "ecn_acks": "linux",
        "prr": "linux-6.18",
    },
    "udp": {"profile": "quic"},
}

# Simulations of these in the kernel have Linux's windows in whole packets. BPF's DCTCP keeps the
# fraction of a packet (docs/kernel.md).
LINUX = ("reno", "cubic")

# Simulated hosts take up to this time, a random draw, to handle a packet that arrives. It is twice
# the mean time in which live hosts answered a packet, in captures of 3 s.
HOST_NOISE: Mapping[Stack, str] = {"kernel": "50us", "udp": "150us"}

# A cell agrees within this share of the goodput, and this share or time of the median delay.
GOODPUT_SHARE = 0.02
DELAY_SHARE, DELAY_S = 0.1, 1e-3
# A run beyond one of these limits is disturbed: the 99th percentile of the packets' lateness, and
# the share of all processors' time that the hypervisor gave to others.
LATE_S, STOLEN_SHARE = 1e-3, 0.15
TRIES = 3


@dataclass(frozen=True)
class Cell:
    """One controller over one bottleneck."""

    stack: Stack
    control: str
    rate_mbit: int
    rtt_ms: int
    queue: str

    @property
    def name(self) -> str:
        """Name in the file of results and in messages."""
        return f"{self.stack}/{self.control}/{self.rate_mbit}Mbit/{self.rtt_ms}ms/{self.queue}"

    def scenario(self, is_live: bool) -> sojourn.Scenario:
        """Build the scenario of the live run or of the simulation."""
        bottleneck: dict[str, object] = {
            "rate": f"{self.rate_mbit}Mbit",
            "delay": f"{self.rtt_ms / 2:g}ms",
            "queue": QUEUES[self.queue],
        }
        if self.queue == "droptail":
            bottleneck["buffer"] = f"{self.rate_mbit * self.rtt_ms * 125}B"
        upload = {
            "control": self.control if is_live else self._simulated_control(),
            "path": ["bottleneck"],
            "back": ["back"],
            "transport": TRANSPORTS[self.stack],
        }
        return sojourn.Scenario(
            {
                "duration": f"{SECONDS}s",
                "host_noise": HOST_NOISE[self.stack],
                "record": {"interval": "0s"},
                "link": {"bottleneck": bottleneck, "back": {"delay": f"{self.rtt_ms / 2:g}ms"}},
                "flow": {"upload": upload},
            }
        )

    def _simulated_control(self) -> object:
        if self.stack == "kernel" and self.control in LINUX:
            return {"kind": self.control, "arithmetic": "linux"}
        if self.stack == "kernel" and self.control == "dctcp":
            return {"kind": self.control, "window_end": "linux"}
        return self.control


@dataclass(frozen=True)
class Figures:
    """One run."""

    goodput_bps: float
    delay_p50_s: float
    delay_p99_s: float
    dropped_packets: int
    marked_packets: int

    @staticmethod
    def of(run: Mapping[str, Any]) -> "Figures":
        """Take the figures from a run's summary."""
        (flow,) = run["flows"]
        link = next(one for one in run["links"] if one["name"] == "bottleneck")
        return Figures(
            flow["goodput_bps"],
            link["queue_delay_p50_s"],
            link["queue_delay_p99_s"],
            link["dropped_packets"],
            link["marked_packets"],
        )


FIGURES = tuple(one.name for one in fields(Figures))
JUDGED = ("goodput_bps", "delay_p50_s")


@dataclass(frozen=True)
class Measured:
    """The live run of a cell."""

    figures: Figures
    lateness_p99_s: float
    stolen_s: float
    tries: int

    @property
    def is_disturbed(self) -> bool:
        """Whether the machine was late, or lost too much processor time."""
        stolen_share = self.stolen_s / SECONDS / (os.cpu_count() or 1)
        return self.lateness_p99_s > LATE_S or stolen_share > STOLEN_SHARE

    def as_json(self) -> dict[str, Any]:
        """Return the value in the file of results."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Measured":
        """Read a value of the file of results."""
        return Measured(**{**value, "figures": Figures(**value["figures"])})


@dataclass(frozen=True)
class Simulated:
    """The simulations of a cell with different seeds."""

    runs: tuple[Figures, ...]

    def values(self, key: str) -> list[float]:
        """Return one figure of all runs, in ascending order."""
        return sorted(getattr(one, key) for one in self.runs)

    def spread(self, key: str) -> dict[str, float]:
        """Return median, least and greatest value of a figure."""
        values = self.values(key)
        shown = {"median": median(values), "least": values[0], "greatest": values[-1]}
        return {name: _short(value) for name, value in shown.items()}


def cells() -> Iterator[Cell]:
    """Return all cells."""
    for (stack, control), rate, rtt, queue in product(CONTROLS, RATES_MBIT, RTTS_MS, QUEUES):
        yield Cell(stack, control, rate, rtt, queue)


@contextmanager
def dctcp_in_kernel(cells: Iterable[Cell]) -> Iterator[None]:
    """Keep DCTCP in the kernel if a cell needs it: runs side by side cannot all load it."""
    if not any((cell.stack, cell.control) == ("kernel", "dctcp") for cell in cells):
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


def measure(cell: Cell, seed: int) -> Measured:
    """Run a cell live, again while the run is disturbed; return the least late run.

    `seed` is that of the bottleneck's random draws, as of the marks of DualPI2.
    """
    runs: list[Measured] = []
    while len(runs) < TRIES and (not runs or runs[-1].is_disturbed):
        (run,) = sojourn.live(cell.scenario(True), stack=cell.stack, seed=seed).runs
        live = run["live"]
        runs.append(
            Measured(
                Figures.of(run),
                live["lateness_p99_s"],
                live["stolen_s"],
                len(runs) + 1,
            )
        )
    return min(runs, key=lambda one: (one.is_disturbed, one.lateness_p99_s))


def simulate(cell: Cell, delay: str | None = None, runs: int = SIMULATED_RUNS) -> Simulated:
    """Simulate a cell with different seeds; `delay` replaces the hosts' greatest delay."""
    scenario = cell.scenario(False)
    scenario["host_noise"] = delay or HOST_NOISE[cell.stack]
    done = sojourn.run(scenario, runs=runs)
    return Simulated(tuple(Figures.of(run) for run in done.runs))


def live_part(runs: Sequence[Measured]) -> dict[str, Any]:
    """Return the keys of docs/live-fidelity.json that live runs determine: medians and extremes."""
    figures = {key: sorted(getattr(one.figures, key) for one in runs) for key in FIGURES}
    return {
        "live": {key: _short(median(values)) for key, values in figures.items()},
        "live_runs": len(runs),
        "live_range": {key: [_short(figures[key][0]), _short(figures[key][-1])] for key in JUDGED},
        "lateness_p99_s": max(one.lateness_p99_s for one in runs),
        "stolen_s": max(one.stolen_s for one in runs),
        "tries": sum(one.tries for one in runs),
    }


def simulated_part(runs: Sequence[Figures]) -> dict[str, Any]:
    """Return the key of docs/live-fidelity.json that simulations determine."""
    simulated = Simulated(tuple(runs))
    return {"simulated": {key: simulated.spread(key) for key in FIGURES}}


def judged(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell of docs/live-fidelity.json with its verdicts: medians are compared."""
    live, simulated = row["live"], row["simulated"]
    (goodput, expected), (delay, usual) = (
        (live[key], simulated[key]["median"]) for key in ("goodput_bps", "delay_p50_s")
    )
    return {
        **row,
        "goodput_agrees": abs(goodput - expected) <= GOODPUT_SHARE * expected,
        "delay_agrees": abs(delay - usual) <= max(DELAY_SHARE * usual, DELAY_S),
    }


def empty_row(cell: Cell) -> dict[str, Any]:
    """Return the keys of docs/live-fidelity.json that identify a cell."""
    return {
        "stack": cell.stack,
        "control": cell.control,
        "rate_bps": 1_000_000 * cell.rate_mbit,
        "rtt_s": cell.rtt_ms / 1000,
        "queue": cell.queue,
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")
