"""How much memory this process holds, and has held at most."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
# proc_pid_clear_refs(5): 5 sets the peak back to what is held now.
_CLEAR_REFS = Path("/proc/self/clear_refs")


def begin() -> int:
    """Bytes held now; from here on the peak counts anew, where the system allows it."""
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _status("VmRSS") or _greatest()


def peak() -> int:
    """Most bytes held since `begin`."""
    # getrusage has the parent's peak in it: exec keeps the greatest of both.
    return _status("VmHWM") or _greatest()


def _status(key: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def _greatest() -> int:
    # macOS counts bytes, others kibibytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
