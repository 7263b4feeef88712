"""Figures as text for readers: rates, times and counts with their units."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sojourn.record.summary import Item

Unit = Literal["rate", "ms", "percent", "count", "ratio"]

MISSING = "–"
_UNITS: Mapping[str, Unit] = {
    "bps": "rate",
    "s": "ms",
    "packets": "count",
    "transfers": "count",
    "frames": "count",
    "share": "percent",
    "fraction": "percent",
}
# Characters that XML 1.0 cannot carry in any form (section 2.2).
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def unit_of(key: str) -> Unit:
    """Return the kind of unit that a key of a summary ends in; a ratio has none."""
    if key.startswith("utilisation"):
        return "percent"
    return _UNITS.get(key.rpartition("_")[2], "ratio")


def rate_text(bps: float) -> str:
    """Format a rate: `60 Mbit/s`."""
    scale, unit = rate_unit(bps)
    return f"{bps / scale:.4g} {unit}"


def named_path(path: str) -> str:
    """Return the last part of an absolute path: a reader elsewhere does not have its folders."""
    return Path(path).name if Path(path).is_absolute() else path


def rate_unit(bps: float) -> tuple[float, str]:
    """Choose the largest unit in which a rate is at least one; return its size and its name."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= scale:
            return scale, unit
    return 1.0, "bit/s"


def size_text(size: int) -> str:
    """Format a number of bytes: `12.5 MB`."""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} bytes"


def counted(number: float, thing: str) -> str:
    """Format a number of things: `1 packet`, `2,000 packets`."""
    return f"{number:,.0f} {thing}" if number == 1 else f"{number:,.0f} {thing}s"


def ms_text(seconds: float) -> str:
    """Format a time in milliseconds, or in seconds from ten seconds on."""
    # Four digits, but without exponent notation.
    return f"{1000 * seconds:.4g} ms" if seconds < 9.9995 else f"{seconds:.5g} s"


def span_text(seconds: float) -> str:
    """Format a duration of work, to three digits: `1.5 s`, `2 min`, `3 h`."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def change_text(spike: Item) -> str:
    """Describe a change of capacity in a few words."""
    change = f"{spike['link']} {rate_text(spike['from_bps'])} → {rate_text(spike['to_bps'])}"
    at, until = spike["at_s"], spike.get("complete_at_s")
    # With a spread, the time differs between seeds; show it only if it is the same.
    if isinstance(at, Mapping):
        return change
    if isinstance(until, (int, float)) and until > at:
        return f"{change} from {at:.4g} s to {until:.4g} s"
    return f"{change} at {at:.4g} s"


def scale_of(unit: Unit, largest: float) -> tuple[float, str]:
    """Return the divisor and the unit for figures up to this value."""
    if unit == "rate":
        return rate_unit(largest)
    return {"ms": (1e-3, "ms"), "percent": (1e-2, "%"), "count": (1.0, ""), "ratio": (1.0, "")}[
        unit
    ]


def digits_of(unit: Unit, largest: float) -> int:
    """Return the number of decimals for figures up to this value, in their displayed unit."""
    if unit == "count":
        return 0
    if unit == "percent":
        return 1
    two_below = 10 if unit == "ms" else 100
    return 2 if largest < two_below else 1 if largest < 10_000 else 0


def carried(text: str) -> str:
    """Return the text with U+FFFD for each character that SVG and HTML cannot carry."""
    return _NOT_XML.sub("\ufffd", text)
