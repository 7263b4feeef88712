"""`sojourn theory`."""

import argparse
import json

from sojourn import theory
from sojourn.contract import SpikeTheory
from sojourn.errors import UsageError


def spike(args: argparse.Namespace) -> int:
    """The bound on a latency spike, with the equation's numbers."""
    try:
        found = theory.spike(args.before, args.after, args.delay, args.max_queue)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(found) if args.json else "\n".join(_lines(args, found)))
    return 0


def _lines(args: argparse.Namespace, found: SpikeTheory) -> list[str]:
    r, delay = found["r"], found["delay_s"]
    whole = (r - 1) * delay
    lines = [
        f"capacity       {args.before} -> {args.after}, r = {r:.4g}",
        f"delay          d = {_ms(delay)} (until the sender knows, plus in flight)",
    ]
    if r <= 1:
        change = "rises" if r < 1 else "stays as it is"
        return [*lines, f"bound          capacity {change}: no spike"]
    lines.append(f"bound          Q = (r - 1) d = ({r:.4g} - 1) x {_ms(delay)} = {_ms(whole)}")
    if args.max_queue is not None:
        lines += _capped(args.max_queue, found, whole)
    lines.append(_peak(found))
    return lines


def _capped(cap: str, found: SpikeTheory, whole: float) -> list[str]:
    shown = _ms(found["spike_s"])
    which = "q" if found["lost_fraction"] > 0 else "Q"
    return [
        f"cap            q = {cap}, the longest that a packet can wait in the queue",
        f"spike          {shown}, the lesser of Q and q: {which}",
        _lost(found, whole),
    ]


def _peak(found: SpikeTheory) -> str:
    peak, spike = _ms(found["time_to_peak_s"]), _ms(found["spike_s"])
    return (
        f"time to peak   {peak} after the drop: then the packet that waits longest arrives; "
        f"it leaves the queue {spike} later"
    )


def _lost(found: SpikeTheory, whole: float) -> str:
    share = f"{100 * found['lost_fraction']:.4g} %"
    if found["lost_fraction"] == 0:
        return f"lost           {share}: the cap is above the bound"
    numbers = f"({_ms(whole)} - {_ms(found['spike_s'])}) / {_ms(whole)}"
    return f"lost           (Q - q) / Q = {numbers} = {share} of what arrives in excess during d"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.4g} ms"
