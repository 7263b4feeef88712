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
    whole = max(r - 1, 0) * delay
    lines = [
        f"capacity       {args.before} -> {args.after}, r = {r:.4g}",
        f"delay          d = {_ms(delay)} (until the sender knows, plus in flight)",
        f"bound          Q = (r - 1) d = ({r:.4g} - 1) x {_ms(delay)} = {_ms(whole)}",
        f"time to peak   {_ms(found['time_to_peak_s'])} after the drop",
    ]
    if args.max_queue is not None:
        lines.append(
            f"spike          {_ms(found['spike_s'])}, the queue's cap being {args.max_queue}"
        )
        lines.append(_lost(found, whole))
    return lines


def _lost(found: SpikeTheory, whole: float) -> str:
    share = f"{100 * found['lost_fraction']:.4g} %"
    if found["lost_fraction"] == 0:
        return f"lost           {share}: the cap is above the bound"
    numbers = f"({_ms(whole)} - {_ms(found['spike_s'])}) / {_ms(whole)}"
    return f"lost           (Q - q) / Q = {numbers} = {share} of what arrives in excess during d"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.4g} ms"
