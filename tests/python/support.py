"""Shared helpers of the tests, other than fixtures."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A scenario with one drop of capacity, which runs in a fraction of a second.
SMALL = """\
title    = "A small drop"
duration = "6s"
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

Sojourn = Callable[..., "subprocess.CompletedProcess[str]"]


def command(*args: str | Path) -> list[str]:
    """Return the command line of this environment's Sojourn."""
    return [sys.executable, "-m", "sojourn", *map(str, args)]


def environment() -> dict[str, str]:
    """Return the environment without variables that change the output, with our commands first."""
    kept = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")
    }
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
