"""Live runs: a scenario in real time, over this machine's own network stack (docs/live.md)."""

from dataclasses import dataclass

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.experiment import Job, Progress, Running, jobs_of, simulate


@dataclass(frozen=True)
class LiveJob(Job):
    """One live run."""

    ipv6: bool = False

    def start(self) -> Running:
        """Start the run in real time."""
        return self.scenario.live(self.control, self.seed, self.ipv6)


def run(
    scenario: _core.Scenario, runs: int, ipv6: bool, progress: Progress | None = None
) -> list[_core.Outcome]:
    """Run each controller with each seed, one after another, since they share the processor."""
    if not hasattr(scenario, "live"):
        raise UsageError("live runs need Linux; `sojourn run` simulates the scenario anywhere")
    jobs = [
        LiveJob(job.scenario, job.control, job.seed, ipv6=ipv6) for job in jobs_of(scenario, runs)
    ]
    return simulate(jobs, 1, lambda outcome: outcome, progress)
