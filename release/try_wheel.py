"""Tries a wheel as a user has it: no Rust, no compiler, no checkout in reach.

    python release/try_wheel.py target/wheels/*.whl

It installs the wheel into a new virtual environment, and runs the commands with a new HOME, and a
PATH that has the environment and a few programs of the system. Prints one line for each command;
exits with 1 if one failed.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable
from pathlib import Path

# Programs of the system that a user's machine has and the commands may call.
_SYSTEM = ("sh", "env", "ip", "tc", "modprobe", "unshare", "mount")
# Programs that must not be in reach.
_ABSENT = ("cargo", "rustc", "cc", "gcc", "clang", "make", "git")
_TIMEOUT_S = 600


class Trial:
    """An environment with the wheel, and the outcomes of the commands."""

    def __init__(self, wheel: Path, place: Path) -> None:
        self.place = place
        self.failures = 0
        self.environment = {
            "PATH": f"{place / 'v' / 'bin'}{os.pathsep}{self._system()}",
            "HOME": str(place / "home"),
            "LANG": "C.UTF-8",
        }
        (place / "home").mkdir()
        venv.create(place / "v", with_pip=True)
        python = str(place / "v" / "bin" / "python")
        line = [python, "-m", "pip", "install", "--quiet", str(wheel)]
        subprocess.run(line, check=True)
        for program in _ABSENT:
            if shutil.which(program, path=self.environment["PATH"]):
                raise SystemExit(f"{program} is in reach: {self.environment['PATH']}")

    def _system(self) -> str:
        folder = self.place / "bin"
        folder.mkdir()
        for name in _SYSTEM:
            if found := shutil.which(name):
                (folder / name).symlink_to(found)
        return str(folder)

    def run(self, command: str, expected: str = "", may_refuse: str = "") -> None:
        """Run a command; its output must match `expected`, or a refusal that is allowed here."""
        began = time.perf_counter()
        done = subprocess.run(
            ["sojourn", *command.split()],
            cwd=self.place / "home",
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        took_s = time.perf_counter() - began
        said = done.stdout + done.stderr
        if done.returncode == 0 and re.search(expected, said):
            self.report("passed", command, took_s)
        elif may_refuse and re.search(may_refuse, done.stderr):
            self.report("refused by this machine", command, took_s, done.stderr)
        else:
            self.report("FAILED", command, took_s, said)

    def python(self, code: str, expected: str) -> None:
        """Run Python; its output must match `expected`."""
        began = time.perf_counter()
        line = [str(self.place / "v" / "bin" / "python"), "-c", code]
        done = subprocess.run(
            line, cwd=self.place / "home", env=self.environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        outcome = "passed" if re.search(expected, said) else "FAILED"
        self.report(outcome, f"(Python) {code}", time.perf_counter() - began, said)

    def serve(self, command: str, check: Callable[[str], bool], until: str) -> None:
        """Start a command, wait for a line, check it, and end the command by Ctrl-C."""
        began = time.perf_counter()
        process = subprocess.Popen(
            ["sojourn", *command.split()],
            cwd=self.place / "home",
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        passed = bool(re.search(until, line)) and check(line)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        if not line and "kernel" in command:
            self.report("refused by this machine", command, time.perf_counter() - began, errors)
            return
        outcome = "passed" if passed else "FAILED"
        self.report(outcome, command, time.perf_counter() - began, "" if passed else line + errors)

    def report(self, outcome: str, command: str, took_s: float, said: str = "") -> None:
        """Print the outcome of a command."""
        self.failures += outcome == "FAILED"
        print(f"{outcome:8} {took_s:6.1f} s  sojourn {command}", flush=True)
        if said:
            print("    " + "\n    ".join(said.strip().splitlines()[-6:]), flush=True)


def _answers(line: str) -> bool:
    """Whether the page at the address of this line is served."""
    address = re.search(r"http://\S+", line)
    if address is None:
        return False
    with urllib.request.urlopen(address[0]) as answer:
        return answer.status == 200 and b"Sojourn" in answer.read()


def main() -> int:
    """Install and run."""
    parser = argparse.ArgumentParser(description="Try a wheel without Rust, compiler or checkout.")
    parser.add_argument("wheel", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(args.wheel.resolve(), Path(folder))
        trial.run("--version", r"sojourn \d")
        trial.run("scenarios", "capacity-drop")
        trial.run("run capacity-drop", "Run directory: runs/capacity-drop")
        trial.run("run cellular --json", '"unavoidable"')
        trial.run("paper run bufferbloat --quick", "claims hold")
        trial.run("compare runs/capacity-drop runs/capacity-drop", "")
        trial.serve("view runs", _answers, "The page is at")
        trial.run("view runs/capacity-drop --save page.html", "page.html")
        trial.run("kernel list", "lola")
        # A user may lack the privilege or the kernel's features, and the message says which.
        trial.serve("kernel load dctcp", lambda _: True, "Loaded dctcp")
        refusals = "privilege|permitted|not allow|namespace|root"
        live = "live bufferbloat --set duration=6s --control cubic"
        trial.run(live, "Run directory", refusals)
        trial.run("sweep capacity-drop --control cubic --vary link.back.delay=5ms,25ms --out s")
        sobol = "sweep capacity-drop --vary link.bottleneck.delay=1ms..9ms --design sobol"
        trial.run(f"{sobol} --points 2 --dry-run", may_refuse=r"sojourn\[sweep\]")
        trial.run("sweep query s SELECT", may_refuse=r"sojourn\[sweep\]")
        cluster = "sweep capacity-drop --vary link.back.delay=5ms,9ms --cluster tcp://127.0.0.1:1"
        trial.run(f"{cluster} --out c", may_refuse=r"sojourn\[cluster\]")
        search = "worst capacity-drop --control cubic --rate 10Mbit..60Mbit --gap 1s"
        trial.run(search, may_refuse=r"sojourn\[worst\]")
        gym = "import sojourn.gym"
        trial.python(gym, r"sojourn\[gym\]")
        print(f"{trial.failures} failed")
        return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
