"""Records the syncs, moves and removals of every process of a command, for `power_failures.py`.

Python imports it as `sitecustomize`. A line is written after a sync, and before a change of a name;
the content that a name loses stays in a folder of its own, from which it can be put back.
"""

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

PLACE, KEPT, LOG = (os.environ[f"SYNC_{name}"] for name in ("PLACE", "KEPT", "LOG"))
_LENGTH = 500
_log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
_number = itertools.count()
_fsync = os.fsync
# Size of the log at which the power fails.
_end = int(os.environ.get("SYNC_KILL", sys.maxsize))


def note(*parts: object) -> None:
    """Write a line, which survives a kill."""
    # Lines of one length, so that each is as likely to be the last one.
    os.write(_log, ("\t".join(map(str, parts)).ljust(_LENGTH) + "\n").encode())
    if os.fstat(_log).st_size >= _end:
        os.killpg(0, signal.SIGKILL)


def synced(descriptor: Any) -> None:
    """Sync a file or a folder, and note how much of it the disk then has."""
    note("begin")
    _fsync(descriptor)
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    status = os.fstat(number)
    note("sync", status.st_ino, status.st_size, Path(f"/proc/self/fd/{number}").readlink())


def kept(path: str) -> str:
    """Keep the content of a name; return where, or nothing if there is no such file."""
    place = Path(KEPT) / f"{os.getpid()}-{next(_number)}"
    try:
        place.hardlink_to(path)
    except OSError:
        return ""
    return str(place)


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Note a change of a name in the dataset."""
    if event not in ("os.rename", "os.remove", "os.mkdir"):
        return
    names = args[: 1 + (event == "os.rename")]
    paths = [str(Path(os.fsdecode(one)).absolute()) for one in names]
    if not paths[-1].startswith(PLACE):
        return
    if event != "os.mkdir":
        note(event, *paths, kept(paths[-1]))
    elif not Path(paths[-1]).exists():
        note(event, *paths, "")


if os.environ["SYNC_MODE"] == "off":
    os.fsync = lambda fd: None
elif os.environ["SYNC_MODE"] == "record":
    os.fsync = synced  # type: ignore[assignment]
    sys.addaudithook(watch)
