"""`.venv/bin/python tests/python/live_kills.py`: kills of live runs at random times.

A live run has network namespaces, devices, queues, captures and, for its controllers, programs in
the kernel. SIGKILL gives it no time to remove them. Afterwards no process, namespace, device,
controller, pinned program, trace instance or temporary file may be left, but for the hidden folder
of its output, which the next run with the same target removes.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from interrupts import alive
from support import REFUSALS, SMALL, command, environment

RUN_S = 3.0
# The longest run of another test with a controller takes 10 s, and more on a busy machine.
OTHERS_S = 60.0
COMMANDS: dict[str, Sequence[str]] = {
    "kernel": ("--pcapng", "packets", "--qlog", "events"),
    "kernel, IPv6": ("--ipv6", "--pcapng", "packets"),
    "kernel, tc": ("--bottleneck", "tc", "--qlog", "events"),
    "kernel, probe": ("--tcp-probe", "acks"),
    "udp": ("--stack", "udp", "--pcapng", "packets", "--qlog", "events"),
    "udp, page": ("--stack", "udp", "--page"),
}
# What the whole machine has. Others may add namespaces meanwhile, so these are compared by name.
_LISTS = ("/run/netns", "/sys/fs/bpf", "/sys/kernel/tracing/instances", "/sys/class/net")
_CONTROLLERS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass
class Found:
    """The results of all kills."""

    kills: int = 0
    early: int = 0
    """Kills before the run had a network namespace."""
    refused: dict[str, str] = field(default_factory=dict)
    """The commands that the machine cannot do, with their errors."""
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def kill(place: Path, count: int, seed: int, names: Sequence[str] = tuple(COMMANDS)) -> Found:
    """Kill live runs at random times, each command in turn."""
    draw = random.Random(seed)
    found = Found()
    scenario = SMALL.replace('["cubic", "dctcp"]', '["cubic"]').replace("3s", "1s")
    (place / "small.toml").write_text(scenario)
    (place / "tmp").mkdir()
    names = [name for name in names if _is_possible(place, name, found)]
    # A run takes some 1.5 s to its start and after its end.
    for number in range(count if names else 0):
        name = names[number % len(names)]
        faults = _one(place, name, draw.uniform(0.0, RUN_S + 1.5), found)
        found.faults += [f"{name}: {fault}" for fault in faults]
    for name in names:
        found.faults += [f"{name}: {fault}" for fault in _in_full(place, name)]
    # Each command removes what killed ones left of its own targets.
    found.faults += _files(place, hidden=False)
    return found


def _begin(place: Path, name: str) -> "subprocess.Popen[str]":
    line = command("live", "small.toml", "--set", f"duration={RUN_S}s", "--out", "target")
    return subprocess.Popen(
        [*line, *COMMANDS[name]],
        cwd=place,
        env={**environment(), "TMPDIR": str(place / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _one(place: Path, name: str, after_s: float, found: Found) -> list[str]:
    """Kill one run; return what it left."""
    before = _machine()
    own = _namespaces([os.getpid()])
    process = _begin(place, name)
    made: set[str] = set()
    try:
        process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        made = _namespaces([process.pid]) - own
        process.send_signal(signal.SIGKILL)
    _, stderr = process.communicate()
    found.statuses[process.returncode] += 1
    found.kills += process.returncode == -signal.SIGKILL
    found.early += process.returncode == -signal.SIGKILL and not made
    faults = alive(process.pid)
    if process.returncode not in (0, -signal.SIGKILL):
        faults.append(f"status {process.returncode}: {stderr}")
    everyone = [int(one.name) for one in Path("/proc").glob("[0-9]*")]
    faults += [f"namespace {one} is left" for one in made & _namespaces(everyone)]
    faults += [f"{one} is mounted" for one in made if one in _mounts()]
    faults += [f"left in the machine: {one}" for one in _left(before)]
    return faults + _files(place, hidden=process.returncode != 0)


def _is_possible(place: Path, name: str, found: Found) -> bool:
    """Whether this machine can do it: `tc` may lack queues, for instance."""
    process = _begin(place, name)
    _, stderr = process.communicate()
    if process.returncode and REFUSALS.search(stderr):
        found.refused[name] = stderr.strip()
        return False
    found.faults += _files(place, hidden=False)
    return True


def _in_full(place: Path, name: str) -> list[str]:
    """Run a command to its end, which removes what killed ones left in its folder."""
    process = _begin(place, name)
    _, stderr = process.communicate()
    status = [f"status {process.returncode}: {stderr}"] if process.returncode else []
    return status + _files(place, hidden=True)


def _files(place: Path, hidden: bool) -> list[str]:
    """Return the unexpected files; remove the complete ones."""
    faults = [f"temporary file {one.name}" for one in (place / "tmp").iterdir()]
    targets = {"target", "packets", "events", "acks"}
    for one in place.iterdir():
        if one.name in targets:
            shutil.rmtree(one)
        elif one.name.startswith(".sojourn-"):
            faults += [] if hidden else [f"{one.name} is left"]
        elif one.name not in ("small.toml", "tmp"):
            faults.append(f"{one.name} is left")
    return faults


def _left(before: set[str]) -> set[str]:
    """Return the names that stay. Tests beside this one load controllers too, for some seconds."""
    left, end = _machine() - before, time.monotonic() + OTHERS_S
    while left and time.monotonic() < end:
        time.sleep(0.2)
        left &= _machine()
    return left


def _machine() -> set[str]:
    """Return names of the machine: devices, pinned programs, named namespaces, controllers."""
    found = {f"controller {one}" for one in _CONTROLLERS.read_text().split()}
    for folder in map(Path, _LISTS):
        if folder.is_dir():
            found |= {str(one) for one in folder.iterdir()}
    return found


def _namespaces(processes: Sequence[int]) -> set[str]:
    """Return the network namespaces that the threads of processes are in or hold open."""
    found = set()
    for process in processes:
        for pattern in ("task/*/ns/net", "fd/*"):
            for link in Path(f"/proc/{process}").glob(pattern):
                with suppress(OSError):
                    found.add(str(link.readlink()))
    return {one for one in found if one.startswith("net:")}


def _mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="kills")
    parser.add_argument("--seed", type=int, default=1, help="of the times")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill(Path(folder), args.count, args.seed)
    print(found)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
