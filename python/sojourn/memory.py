"""Whether the runs fit into memory, asked before anything runs."""

from pathlib import Path

from sojourn.errors import NotEnoughMemoryError

_MEMINFO = Path("/proc/meminfo")


def available_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not say."""
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    kib = fields.get("MemAvailable", "").split()
    return int(kib[0]) * 1024 if kib else None


def require(needed: int, advice: str) -> None:
    """Refuses what would not fit."""
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
