"""Shared helpers of the tests, other than fixtures."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A scenario with one drop of capacity, which runs in a fraction of a second.
SMALL = """\
title    = "A small drop"
duration = "6s"
host     = "rfc"
controls = ["cubic", "dctcp"]

[link.bottleneck]
rate  = { start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }
delay = "10ms"
queue = { kind = "codel", ecn = true }

[link.back]
delay = "10ms"

[flow.upload]
path   = ["bottleneck"]
back   = ["back"]
source = "bulk"
"""

TUN = Path("/dev/net/tun")
# The node is not a TUN node, as in many containers.
WITHOUT_TUN = ["unshare", "--mount", "sh", "-c"]
WITHOUT_TUN += ['mount --bind /dev/null /dev/net/tun && exec "$@"', "sh"]

Sojourn = Callable[..., "subprocess.CompletedProcess[str]"]


def require(line: list[str]) -> None:
    """Skip the test if the machine does not allow this command."""
    if shutil.which(line[0]) is None or subprocess.run([*line, "true"]).returncode:
        pytest.skip(f"not allowed here: {' '.join(line)}")


# The first words of errors about this machine, after the names of the command and of the flow: it
# cannot run live, or has no controllers in the kernel. crates/live/tests/it/left_out.rs has the
# errors of live runs for the tests in Rust.
REFUSALS = re.compile(
    r"^(sojourn: )?(flow `[^`]*`: )?("
    r"cannot create a (network|user) namespace: "
    rf"|cannot [^\n]*{re.escape(str(TUN))}[^\n]*, and no veth pair "
    r"|the kernel has no congestion controller `"
    r"|the kernel or `tc` lacks "
    r"|`(ip|tc)` is missing; "
    r"|this build of Sojourn cannot load controllers into the kernel"
    r"|only root, outside user namespaces, can load"
    r"|this kernel cannot load controllers: it lacks )",
    re.MULTILINE,
)


def leave_out_live(error: object) -> NoReturn:
    """Skip the test if the machine refuses what it needs; fail for any other error.

    It fails also if the machine's TUN device opens and is unused.
    """
    said = str(error).strip()
    if REFUSALS.search(said) is None:
        pytest.fail(f"this is no refusal by the machine: {said}")
    # The error about devices is the only one that names the node.
    if str(TUN) in said:
        with suppress(OSError), TUN.open("rb+", buffering=0):
            pytest.fail(f"{TUN} opens here: {said}")
    pytest.skip(f"not possible here: {said}")


@contextmanager
def kernel_lock() -> Iterator[None]:
    """Wait for other tests with controllers in the kernel, which belong to the whole machine."""
    with (Path(tempfile.gettempdir()) / "sojourn-kernel-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def command(*args: str | Path) -> list[str]:
    """Return the command line of this environment's Sojourn."""
    return [sys.executable, "-m", "sojourn", *map(str, args)]


def environment() -> dict[str, str]:
    """Return the environment without variables that change the output, with our commands first."""
    # Readline, which a debugger imports, sets the first two.
    left_out = ("COLUMNS", "LINES", "FORCE_COLOR")
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept


def begun(line: list[str], place: Path) -> "subprocess.Popen[str]":
    """Start a process that SIGINT reaches."""
    return subprocess.Popen(
        line,
        cwd=place,
        stdin=subprocess.PIPE,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def begun_in(place: Path, args: list[str]) -> "Iterator[subprocess.Popen[str]]":
    """Start a process, which ends with the test."""
    with subprocess.Popen(
        args,
        cwd=place,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
