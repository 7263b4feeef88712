"""Reasons why a spike is below the bound that is corrected for the link's carried traffic."""

from collections.abc import Mapping
from typing import Any

# Offered rates vary by whole packets between loop delays; smaller reductions are not reported.
_SAME = 0.98
# A packet of 1500 bytes with Ethernet framing. A spike is a packet's delay; the bound is fluid.
_PACKET_BITS = 1538 * 8


def reason(spike: Mapping[str, Any]) -> str | None:
    """Explain why the excess over the corrected bound is negative; return None if it is not.

    Figures may be those of one run or medians of several.
    """
    excess = _figure(spike, "excess_corrected_s")
    if excess is None or excess >= 0:
        return None
    by = f"{-1e3 * excess:.3g} ms below the corrected bound"
    causes = [*_drops(spike), *_slower(spike)]
    if causes:
        return f"{by}: {'; '.join(causes)}"
    packet = _PACKET_BITS / max(spike["to_bps"], 1.0)
    if -excess <= 2 * packet:
        return f"{by}: no more than the time of two packets ({2e3 * packet:.3g} ms)"
    return f"{by}: no drop and no slower sender was measured; the queue may serve flows separately"


def _drops(spike: Mapping[str, Any]) -> list[str]:
    dropped = _figure(spike, "dropped_to_peak_packets")
    return [f"the queue dropped {dropped:,.0f} packets before the peak"] if dropped else []


def _slower(spike: Mapping[str, Any]) -> list[str]:
    """Report senders that slow down before they can detect the change."""
    carried, offered = _figure(spike, "carried_loop_bps"), _figure(spike, "offered_loop_bps")
    if carried is None or offered is None or offered >= _SAME * carried:
        return []
    before, after = carried / 1e6, offered / 1e6
    return [
        f"senders slowed for another reason, from {before:.3g} Mbit/s in the loop delay before the "
        f"change to {after:.3g} Mbit/s in the one after it"
    ]


def _figure(spike: Mapping[str, Any], key: str) -> float | None:
    """Return the figure of one run, or the median of several; None if unknown."""
    found = spike.get(key)
    value: float | None = found["median"] if isinstance(found, Mapping) else found
    return value
