"""Check before a run that its data fit into memory."""

import os
import resource
import sys
from pathlib import Path

from sojourn.errors import NotEnoughMemoryError

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
# Limits of a process (`ulimit -v`, `ulimit -d`), each with its counter in proc(5).
_LIMITS = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
# Addresses that polars reserves at import, and for each of its threads (stack and arena),
# measured with polars 2.1 and 1, 2 and 16 threads. If they run out, polars aborts the process.
_POLARS_BYTES = 800_000_000
_POLARS_THREAD_BYTES = 128_000_000


def available_bytes() -> int | None:
    """Return the memory that this process can use without swapping; None if unknown."""
    free = _fields(_MEMINFO).get("MemAvailable")
    if free is None:
        return None
    own = _fields(_STATUS)
    limits = [
        max(0, limit - own.get(used, 0))
        for limit, used in ((_limit(kind), used) for kind, used in _LIMITS)
        if limit is not None
    ]
    return min(free, *limits) if limits else free


def _limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft


def _fields(file: Path) -> dict[str, int]:
    """Read the sizes in a file of /proc, in bytes; empty if the file does not exist."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith("kB") and ":" in line)
    return {name: int(size.split()[0]) * 1024 for name, size in pairs}


def require(needed: int, advice: str, what: str = "this") -> None:
    """Refuse a request, which `what` names, for more memory than is available."""
    available = available_bytes()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {_human(needed)} of memory and {_human(available)} are "
            f"available; {advice}"
        )


def require_polars() -> None:
    """Refuse to load polars under a limit on addresses at which it would abort."""
    limit = _limit(resource.RLIMIT_AS)
    if limit is None or "polars.dataframe" in sys.modules:
        return
    left = max(0, limit - _fields(_STATUS).get("VmSize", 0))
    asked = os.environ.get("POLARS_MAX_THREADS", "")
    threads = int(asked) if asked.isdecimal() else os.cpu_count() or 1
    needed = _POLARS_BYTES + threads * _POLARS_THREAD_BYTES
    if needed > left:
        raise NotEnoughMemoryError(
            f"polars cannot be loaded within this limit of memory: it needs {_human(needed)} of "
            f"addresses and {_human(left)} are left; raise the limit (ulimit -v)"
        )


def _human(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB" if count < 1000 else f"{count:,.0f} TB"
