"""Current and peak resident memory of this process."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
# proc_pid_clear_refs(5): writing 5 resets the peak to the current value.
_CLEAR_REFS = Path("/proc/self/clear_refs")


def begin() -> int:
    """Return the resident bytes, and reset the peak if the system allows it."""
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _status("VmRSS") or _greatest()


def peak() -> int:
    """Return the peak of the resident bytes since `begin`."""
    # getrusage includes the parent's peak, because exec keeps the greater of both.
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
    # macOS reports bytes, other systems KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
