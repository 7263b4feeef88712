"""`.venv/bin/python tests/python/interrupts.py`: signals at random times to every long command.

Each command is run once in full, for its duration and its output. Then it is started
again and again, and gets SIGINT, SIGTERM or SIGKILL at a random time. Afterwards its target must
be absent or the same as that of the full run, no process may be left, and after all of them one
more run in full must leave its target alone.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from support import ROOT, SMALL, command, environment

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# A second, and another one for a busy machine.
LONGEST_S = 2.0
# While Python starts or exits, its signal handlers are not installed.
_UNHANDLED = {signal.SIGINT: -2, signal.SIGTERM: -15, signal.SIGKILL: -9}
# The message of `python -m` if SIGINT arrives before it has begun any program.
_BEFORE_PROGRAM = "Could not import runpy module"

_INPUTS: dict[str, Sequence[str]] = {
    "a": ("run", "small.toml", "--out", "a", "--pcapng", "packets", "--qlog", "events"),
    "b": ("run", "small.toml", "--out", "b", "--set", "link.bottleneck.delay=20ms"),
}

COMMANDS: dict[str, Sequence[str]] = {
    "run": ("run", "small.toml", "--out", "target"),
    "run --runs": ("run", "small.toml", "--runs", "20", "--out", "target"),
    "run, captured": ("run", "small.toml", "--out", "target", "--pcapng", "p", "--qlog", "q"),
    "rtt": ("rtt", "large.pcapng", "--plot", "target.svg"),
    "qlog": ("qlog", "events/cubic-1.upload.sender.sqlog", "--out", "target"),
    "compare": ("compare", "a", "b", "--out", "target"),
    "matrix": (
        *("matrix", "--controls", "cubic,dctcp", "--queues", "droptail,codel"),
        *("--rtts", "20ms", "--duration", "5s", "--out", "target"),
    ),
    "paper": (
        *("paper", "run", "lola", "--quick", "--figure", "5b"),
        *("--papers", f"{ROOT}/papers", "--out", "target"),
    ),
    "theory trace": (
        *("theory", "trace", "--process", "cellular", "--delay", "50ms"),
        *("--duration", "1000s", "--plot", "target.svg"),
    ),
}


@dataclass
class Found:
    """The results of all signals of one kind to one command."""

    command: str
    signal: str
    count: int = 0
    absent: int = 0
    complete: int = 0
    longest_s: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def prepare(place: Path) -> None:
    """Write the commands' input files."""
    (place / "small.toml").write_text(SMALL)
    for arguments in _INPUTS.values():
        subprocess.run(
            command(*arguments), cwd=place, env=environment(), check=True, capture_output=True
        )
    packets = (place / "packets" / "cubic-1.sender.pcapng").read_bytes()
    with (place / "large.pcapng").open("wb") as large:
        for _ in range(40):
            # Concatenated captures are a valid capture with several sections.
            large.write(packets)


class Trials:
    """One command in its own folder."""

    def __init__(self, place: Path, name: str, arguments: Sequence[str], seed: int) -> None:
        self.place = place
        self.name = name
        self.arguments = arguments
        self.inputs = set(self._there())
        self.random = random.Random(f"{name} {seed}")
        began = time.monotonic()
        done = self._start()
        _, stderr = done.communicate()
        assert done.returncode == 0, stderr
        self.takes_s = time.monotonic() - began
        self.whole = self._written()
        self._clear()

    def signalled(self, number: signal.Signals, count: int) -> Found:
        """Start the command `count` times, and send this signal each time."""
        found = Found(self.name, number.name)
        for _ in range(count):
            self._one(number, found)
        return found

    def at_last(self) -> list[str]:
        """Run the command in full; list unexpected remaining files."""
        done = self._start()
        _, stderr = done.communicate()
        written = self._written()
        self._clear()
        if done.returncode or written != self.whole:
            return [f"the run after them: status {done.returncode}, {sorted(written)}; {stderr}"]
        return []

    def _one(self, number: signal.Signals, found: Found) -> None:
        process = self._start()
        after_s = self.random.uniform(0.0, 1.05 * self.takes_s)
        try:
            process.communicate(timeout=after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        sent = time.monotonic()
        try:
            _, stderr = process.communicate(timeout=10 * LONGEST_S)
        except subprocess.TimeoutExpired:
            stderr = "it did not end"
            process.kill()
            process.communicate()
        took_s = time.monotonic() - sent
        found.count += 1
        found.longest_s = max(found.longest_s, took_s)
        found.statuses[process.returncode] += 1
        faults = [
            *self._ending(number, process.returncode, took_s, stderr or ""),
            *self._target(number, process.returncode, found),
            *alive(process.pid),
        ]
        found.faults += [f"{after_s:.3f} s: {fault}" for fault in faults]

    def _ending(self, number: signal.Signals, status: int, took_s: float, stderr: str) -> list[str]:
        faults: list[str] = []
        if number == signal.SIGINT and _BEFORE_PROGRAM in stderr:
            return faults
        if status not in (0, 128 + number, _UNHANDLED[number]):
            faults.append(f"status {status}: {stderr}")
        if took_s > LONGEST_S:
            faults.append(f"it ended after {took_s:.2f} s")
        # Without a first line, Python itself handled the signal during its start.
        ours = status != _UNHANDLED[number]
        if ours and any(word in stderr for word in ("Traceback", "panicked", "Fatal", "Exception")):
            faults.append(stderr)
        return faults

    def _target(self, number: signal.Signals, status: int, found: Found) -> list[str]:
        written = self._written()
        hidden = {name for name in written if name.startswith(".sojourn-")}
        shown = {name: of for name, of in written.items() if name not in hidden}
        faults = []
        if hidden and number != signal.SIGKILL:
            faults.append(f"left: {sorted(hidden)}")
        if any(self.whole.get(name) != of for name, of in shown.items()):
            faults.append(f"not complete: {sorted(shown)}")
        if status == 0 and shown != self.whole:
            faults.append(f"status 0, and of the target only {sorted(shown)}")
        if shown == self.whole:
            found.complete += 1
        elif not shown:
            found.absent += 1
        self._clear(hidden)
        return faults

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command(*self.arguments),
            cwd=self.place,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Shells make background processes and their children ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def _there(self) -> list[str]:
        return os.listdir(self.place)  # noqa: PTH208

    def _written(self) -> dict[str, str]:
        """Return the files other than inputs, with a hash of each one's content."""
        return {name: _hash(self.place / name) for name in self._there() if name not in self.inputs}

    def _clear(self, but: Collection[str] = ()) -> None:
        for name in self._there():
            if name not in self.inputs and name not in but:
                one = self.place / name
                shutil.rmtree(one) if one.is_dir() else one.unlink()


def _hash(path: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            found.update(f"{file.relative_to(path)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def alive(session: int) -> list[str]:
    """Return the running processes of a session, after killing them."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        state, sid = fields[0], int(fields[3])
        if sid == session and state != "Z":
            found.append(f"process {stat.parent.name} is alive")
            os.kill(int(stat.parent.name), signal.SIGKILL)
    return found


def measure(names: Sequence[str], count: int, seed: int) -> list[Found]:
    """Send every signal to every command, `count` times."""
    every = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepare(place)
        for name in names:
            trials = Trials(place, name, COMMANDS[name], seed)
            found = [trials.signalled(number, count) for number in SIGNALS]
            found[-1].faults += trials.at_last()
            for one in found:
                print(_row(one), flush=True)
            every += found
    return every


_HEAD = (
    f"{'command':15}{'signal':9}{'sent':>6}{'absent':>8}{'complete':>10}{'longest':>10}  statuses"
)


def _row(one: Found) -> str:
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(one.statuses.items()))
    return (
        f"{one.command:15}{one.signal:9}{one.count:6}{one.absent:8}{one.complete:10}"
        f"{one.longest_s:8.2f} s  {statuses}" + "".join(f"\n    {fault}" for fault in one.faults)
    )


def main() -> int:
    """Print the table, and write it as JSON on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="of each signal to each command")
    parser.add_argument("--seed", type=int, default=1, help="of the times")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="this one alone")
    parser.add_argument("--json", type=Path, help="write the table to this file as well")
    args = parser.parse_args()
    print(_HEAD)
    found = measure(args.command or list(COMMANDS), args.count, args.seed)
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(one) for one in found], indent=1), "utf-8")
    return 1 if any(one.faults for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
