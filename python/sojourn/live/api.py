"""`sojourn.live`: live runs, for Python."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from sojourn import _core
from sojourn.arguments import checked
from sojourn.live import real_time
from sojourn.run import experiment
from sojourn.run.api import Source, as_scenario, recorded
from sojourn.run.exports import Captures, Files
from sojourn.run.results import Run


@checked
def live(
    scenario: Source,
    control: str | Sequence[str] | None = None,
    seed: int | None = None,
    runs: int = 1,
    set: Mapping[str, object] | Iterable[str] = (),
    spread: str | None = None,
    stack: real_time.Stack = "kernel",
    ipv6: bool = False,
    bottleneck: real_time.Bottleneck = "sojourn",
    pcapng: str | PathLike[str] | None = None,
    departures: real_time.Departures = "timer",
    tcp_probe: str | PathLike[str] | None = None,
    qlog: str | PathLike[str] | None = None,
) -> Run:
    """Run a scenario in real time over this machine's network stack.

    `stack` is "kernel" for the kernel's TCP and its own controllers, or "udp" for Sojourn's
    transport over UDP with all controllers. `bottleneck` is "sojourn" for the simulator's links, or
    "tc" for the kernel's queues. `pcapng` is a folder that receives the packets of every run.
    `departures` is "timer" if Sojourn's threads pace the flows over UDP, or "kernel" for the
    kernel's departure times. `tcp_probe` is a folder that receives a row for each acknowledgement
    at a sender of the kernel's TCP. `qlog` is a folder that receives the events of the transports:
    of each sender, and of both ends of a QUIC stack. The other parameters are those of `run`. The
    record is that of a simulation, so `compare` takes both. Raises `LiveError` if the machine
    cannot carry it out.
    """
    source = as_scenario(scenario)
    core = experiment.prepare(
        source.compile(),
        assignments=set,
        control=control,
        seed=seed,
        spread=spread,
        host=real_time.host(stack),
    )
    captures = Captures.to(pcapng, qlog, tcp_probe)
    captures.require_possible(core)
    live = real_time.Live(stack, ipv6, bottleneck, departures)
    with captures.opened() as files:
        return record_live(core, source.origin, runs, live, files=files)


def record_live(
    core: _core.Scenario,
    name: str,
    runs: int,
    live: real_time.Live,
    progress: experiment.Progress | None = None,
    files: Files | None = None,
    watcher: real_time.Watcher | None = None,
) -> Run:
    """Run a prepared scenario in real time, keep the series, and capture its packets if asked."""
    outcomes = real_time.run(core, runs, live, progress, files, watcher)
    return recorded(core, name, runs, outcomes)
