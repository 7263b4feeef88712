"""Live runs: a scenario in real time, over this machine's own network stack."""

import platform
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.extras import require_live
from sojourn.run.experiment import Job, Progress, Running, jobs_of, simulate
from sojourn.run.exports import Files

Stack = Literal["kernel", "udp"]
"""The hosts: the kernel's TCP, or Sojourn's transport over UDP."""

Bottleneck = Literal["sojourn", "tc"]
"""The links: those of the simulator in real time, or the kernel's queue disciplines."""

Departures = Literal["timer", "kernel"]
"""Keeper of departure times over UDP: Sojourn's thread, or the kernel (`SO_TXTIME`)."""


def host(stack: Stack) -> dict[str, str] | None:
    """Return this machine's host, so that a simulation of a live run has the same."""
    if stack == "udp":
        return {"like": "udp"}
    like = _core.kernel_host(platform.release())
    return None if like is None else {"like": like}


class Live(NamedTuple):
    """The settings of live runs that a scenario does not have."""

    stack: Stack = "kernel"
    ipv6: bool = False
    bottleneck: Bottleneck = "sojourn"
    departures: Departures = "timer"


DEFAULTS = Live()


class LiveFiles(NamedTuple):
    """Prefixes of the files of packets, of events and of acknowledgements, if they are wanted."""

    pcapng: str | None
    qlog: str | None
    acks: str | None


_refusals: list[_core.LiveError] = []


class Watcher(Protocol):
    """Shows runs while they go on."""

    reads: bool
    """Whether it takes readings of the bottleneck link."""

    def begin(self, run: "_core.LiveRun", control: str | None, seed: int) -> None:
        """Follow this run from now on. The thread that starts the run calls this."""


@dataclass(frozen=True)
class LiveJob(Job):
    """One live run."""

    live: Live = DEFAULTS
    watcher: Watcher | None = None
    files: Files | None = None

    def start(self) -> Running:
        """Start the run in real time."""
        pcapng, qlog = self.captures
        name = self.scenario.controls()[self.control]
        acks = self.files.acks_prefix(name, self.seed) if self.files is not None else None
        is_watched = self.watcher is not None and self.watcher.reads
        paths = LiveFiles(pcapng, qlog, acks)
        run = self.scenario.live(self.control, self.seed, self.live, paths, is_watched)
        if self.watcher is not None:
            self.watcher.begin(run, name, self.seed)
        return run


def run(
    scenario: _core.Scenario,
    runs: int,
    live: Live,
    progress: Progress | None = None,
    files: Files | None = None,
    watcher: Watcher | None = None,
) -> list[_core.Outcome]:
    """Run each controller with each seed, one after another, since they share the processor."""
    require_live("live runs")
    if live.departures != "timer" and live.stack != "udp":
        raise UsageError(
            "the kernel's TCP paces by itself; add --stack udp, or leave out --departures kernel"
        )
    if files is not None and files.acks is not None and live.stack != "kernel":
        raise UsageError("--tcp-probe traces the kernel's TCP; leave out --stack udp")
    require_privilege()
    jobs = [
        LiveJob(job.scenario, job.control, job.seed, job.captures, live, watcher, files)
        for job in jobs_of(scenario, runs, files)
    ]
    return simulate(jobs, 1, lambda outcome: outcome, progress)


def link_commands(scenario: _core.Scenario, live: Live) -> str:
    """Return the commands that make the scenario's links from the kernel's queues."""
    require_live("live runs")
    return scenario.link_commands(scenario.seed(), live.ipv6)


def gain_privilege() -> None:
    """Let this process create network namespaces, in a user namespace if it is not root's.

    Call it while the process has one thread, before the arguments are checked. `require_privilege`
    raises its fault, after theirs.
    """
    if hasattr(_core, "gain_privilege"):
        try:
            _core.gain_privilege()
        except _core.LiveError as error:
            _refusals.append(error)


def require_privilege() -> None:
    """Raise the fault of `gain_privilege`, if there was one."""
    if _refusals:
        raise _refusals[0]
