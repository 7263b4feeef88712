"""Check before a run that its data fit into memory."""

import resource
from pathlib import Path

from sojourn.errors import NotEnoughMemoryError

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
# Limits of a process (`ulimit -v`, `ulimit -d`) with what they count (proc(5)).
_LIMITS = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))


def available_bytes() -> int | None:
    """Memory that this process can have without swapping; None if the system does not report it."""
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
    """The sizes in a file of /proc, in bytes; none where there is no such file."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith("kB") and ":" in line)
    return {name: int(size.split()[0]) * 1024 for name, size in pairs}


def require(needed: int, advice: str) -> None:
    """Refuse a request for more memory than is available."""
    available = available_bytes()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"this needs about {_human(needed)} of memory and {_human(available)} are available; "
            + advice
        )


def _human(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB" if count < 1000 else f"{count:,.0f} TB"
