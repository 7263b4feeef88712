"""Live runs of a paper's scenarios. A run that the machine disturbed is repeated."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import _core
from sojourn.live.api import record_live
from sojourn.live.real_time import Live, Stack
from sojourn.record.record_types import LiveSummary
from sojourn.run.experiment import Progress
from sojourn.run.exports import Captures
from sojourn.run.results import Run

from sojourn_papers.measured import Timing

# Runs of the same seed, at most: a machine that is always busy does not stop a paper.
_ATTEMPTS = 3


@dataclass
class LiveRuns:
    """The settings of a paper's live runs, and the timing of those since the last `take_timing`."""

    ipv6: bool = False
    runs: int | None = None
    """Number of runs of each measurement; by default the paper's own."""
    _kept: list[LiveSummary] = field(default_factory=list)
    _repeated: int = 0
    _loads: list[float] = field(default_factory=list)

    def run(
        self,
        core: _core.Scenario,
        origin: str,
        stack: Stack,
        progress: Progress | None,
        pcapng: Path | None,
    ) -> Run:
        """Run a prepared scenario with its seed, and write its packets to the new folder `pcapng`.

        Raises `LiveError` if the machine cannot carry it out.
        """
        captures = Captures(pcapng, None)
        for attempt in range(1, _ATTEMPTS + 1):
            with captures.opened() as files:
                run = record_live(core, origin, 1, Live(stack, self.ipv6), progress, files)
            timing = run.runs[0]["live"]
            self._loads += _load_average()
            if timing["warning"] is None or attempt == _ATTEMPTS:
                break
            self._repeated += 1
            if pcapng is not None:
                shutil.rmtree(pcapng)
        self._kept.append(timing)
        return run

    def take_timing(self) -> Timing:
        """Return the timing of the runs since the last call."""
        kept, loads, repeated = self._kept, self._loads, self._repeated
        self._kept, self._loads, self._repeated = [], [], 0
        return {
            "runs": len(kept),
            "repeated_runs": repeated,
            "flagged_runs": sum(one["warning"] is not None for one in kept),
            "lateness_p50_s": max(_known(one["lateness_p50_s"] for one in kept), default=None),
            "lateness_p99_s": max(_known(one["lateness_p99_s"] for one in kept), default=None),
            "stolen_s": max((one["stolen_s"] for one in kept), default=None),
            "load_average_min": min(loads, default=None),
            "load_average_max": max(loads, default=None),
            "cores": os.cpu_count() or 1,
        }


def _known(of: Iterator[float | None]) -> Iterator[float]:
    return (one for one in of if one is not None)


def _load_average() -> list[float]:
    """Return the load average of the last minute, if the system has one."""
    try:
        return [os.getloadavg()[0]]
    except OSError:
        return []


def stolen_ms(runs: Iterable[Run]) -> float:
    """Return the greatest processor time that a hypervisor took during one of the live runs."""
    return 1e3 * max((one["live"]["stolen_s"] for run in runs for one in run.runs), default=0.0)


def text(timing: Timing) -> str:
    """Format the timing as a note below a figure's tables."""
    if timing["lateness_p99_s"] is None:
        return f"{timing['runs']} live runs"
    stolen = timing["stolen_s"] or 0.0
    parts = [
        f"{timing['runs']} live runs, at most {1e3 * timing['lateness_p99_s']:.3g} ms late (99th "
        f"percentile of each run); a hypervisor took up to {1e3 * stolen:.0f} ms of a run",
        f"{timing['repeated_runs']} runs with bad timing were repeated, and "
        f"{timing['flagged_runs']} stayed so",
    ]
    if timing["load_average_max"] is not None:
        parts.append(
            f"load average {timing['load_average_min']:.1f} to {timing['load_average_max']:.1f} "
            f"on {timing['cores']} cores, the runs included"
        )
    return ". ".join(parts)
