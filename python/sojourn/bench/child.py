"""Processes that measure: with this Sojourn, and never longer there than who started them."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import sojourn

# Isolated (-I), an interpreter looks neither at the environment nor in the current folder, whose
# files may have any name.
_START = """\
import sys
sys.path[:] = {path!r}
sys.argv = {argv!r}
{code}
"""


def command(code: str, argv: Sequence[str] = ()) -> list[str]:
    """What runs Python code that imports this Sojourn, and libraries from where it has them."""
    start = _START.format(path=_path(), argv=["sojourn", *argv], code=code)
    return [sys.executable, "-I", "-c", start]


def _path() -> list[str]:
    """Where this process imports from, but for the current folder."""
    here = Path.cwd().resolve()
    places = [Path(place).absolute() for place in sys.path if place]
    kept = [str(place) for place in places if place.resolve() != here]
    own = str(Path(sojourn.__file__).resolve().parents[1])
    return kept if own in kept else [*kept, own]


def run(code: str, text: str) -> "subprocess.CompletedProcess[str]":
    """Runs code that calls `end_with_parent` first; `text` is its standard input.

    The child ends when this process does, even by SIGKILL: then the other end of its pipe closes.
    """
    ours, theirs = os.pipe()
    try:
        # What is told and shown may have any name in it: -I leaves the encoding to the locale.
        return subprocess.run(
            command(code, [str(ours)]),
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            pass_fds=[ours],
        )
    finally:
        os.close(ours)
        os.close(theirs)


def end_with_parent() -> None:
    """Ends this process as soon as the pipe is closed that its first argument names."""
    watched = int(sys.argv[1])

    def watch() -> None:
        os.read(watched, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
