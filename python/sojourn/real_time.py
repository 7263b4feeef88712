"""Live runs: a scenario in real time, over this machine's own network stack (docs/live.md)."""

from dataclasses import dataclass
from typing import Literal

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.experiment import Job, Progress, Running, jobs_of, simulate
from sojourn.exports import Files

Stack = Literal["kernel", "udp"]
"""The hosts: the kernel's TCP, or Sojourn's transport over UDP."""


@dataclass(frozen=True)
class Live:
    """The settings of live runs that a scenario does not have."""

    stack: Stack = "kernel"
    ipv6: bool = False


@dataclass(frozen=True)
class LiveJob(Job):
    """One live run."""

    live: Live = Live()

    def start(self) -> Running:
        """Start the run in real time."""
        pcapng, _ = self.captures
        return self.scenario.live(self.control, self.seed, self.live.stack, self.live.ipv6, pcapng)


def run(
    scenario: _core.Scenario,
    runs: int,
    live: Live,
    progress: Progress | None = None,
    files: Files | None = None,
) -> list[_core.Outcome]:
    """Run each controller with each seed, one after another, since they share the processor."""
    if not hasattr(scenario, "live"):
        raise UsageError("live runs need Linux; `sojourn run` simulates the scenario anywhere")
    jobs = [
        LiveJob(job.scenario, job.control, job.seed, job.captures, live)
        for job in jobs_of(scenario, runs, files)
    ]
    return simulate(jobs, 1, lambda outcome: outcome, progress)
